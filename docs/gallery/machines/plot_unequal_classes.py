"""
What if one class is rare?
==========================

A machine that minimises the number of errors gives up a rare class where the classes overlap. ``class_weight`` makes
its errors as expensive as those of the frequent class: more of its samples are found, at the price of false alarms.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC
from maxmargin.plots import plot_decision_boundary

cancer = load_breast_cancer()
rare = np.flatnonzero(cancer.target == 0)[:30]  # 30 malignant tumours beside 357 benign ones
rows = np.sort(np.concatenate([rare, np.flatnonzero(cancer.target == 1)]))
X = StandardScaler().fit_transform(cancer.data[rows][:, [1, 8]])  # texture and symmetry
y = np.where(cancer.target[rows] == 0, 1, 0)  # 1: malignant

figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for panel, weight in zip(panels, [None, "balanced"], strict=True):
    model = SVC(kernel="linear", class_weight=weight)
    found = cross_val_predict(model, X, y, cv=10)
    recall, precision = recall_score(y, found), precision_score(y, found, zero_division=0.0)
    plot_decision_boundary(model.fit(X, y), X, y, ax=panel)
    panel.set(title=f"class_weight = {weight}: recall {recall:.0%}", xlabel="texture", ylabel="symmetry")
    print(f"class_weight={weight}: recall {recall:.2f}, precision {precision:.2f}")
