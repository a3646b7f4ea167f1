"""
Can I train for the area under the curve?
=========================================

The ROC area is the share of pairs, one sample of each class, that are in the right order. ``MetricSVC("roc_auc")``
minimises a bound on the share of the others. The picture compares it with a machine that minimises errors, on tumours
of which few are malignant.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from maxmargin import LinearSVC, MetricSVC
from maxmargin.plots.canvas import DASHES, LIGHT

cancer = load_breast_cancer()
rows = np.r_[np.flatnonzero(cancer.target == 1), np.flatnonzero(cancer.target == 0)[:60]]
X, y = StandardScaler().fit_transform(cancer.data[rows][:, [1, 4, 8, 9, 11, 14]]), 1 - cancer.target[rows]
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
machines = {"trained for errors": LinearSVC(loss="hinge", C=0.1), "trained for the area": MetricSVC("roc_auc", C=0.1)}
for place, (name, model) in enumerate(machines.items()):
    scores = model.fit(X, y).decision_function(X_new)
    area = roc_auc_score(y_new, scores)
    ax.plot(*roc_curve(y_new, scores)[:2], color=LIGHT.colours[place], linestyle=DASHES[place], linewidth=2.2,
            label=f"{name}: {area:.3f}")  # fmt: skip
    print(f"{name}: area {area:.3f} on new tumours, relative gap {model.certificate_.relative_gap:.0e}")
ax.plot([0, 1], [0, 1], color=LIGHT.faint, linewidth=1)
ax.set(xlabel="false alarms", ylabel="malignant tumours found")
ax.legend(loc="lower right")
