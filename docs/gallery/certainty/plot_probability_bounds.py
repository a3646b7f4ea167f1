"""
How sure is the probability itself?
===================================

Venn-Abers prediction returns two probabilities, one for each label that a new sample may turn out to have. One of the
two is calibrated, by a theorem. Where they are far apart, the data do not say more.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, VennAbersClassifier
from maxmargin.plots.canvas import LIGHT

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X[:, :2])
figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", sharey=True)
for panel, rows in zip(panels, [60, 400], strict=True):
    known, new, y_known, _ = train_test_split(X, y, train_size=rows, random_state=0, stratify=y)
    bounds = VennAbersClassifier(SVC(), method="split", random_state=0).fit(known, y_known).predict_bounds(new)
    order = np.argsort(bounds.mean(axis=1))
    panel.fill_between(np.arange(len(new)), *bounds[order].T, color=LIGHT.tube, alpha=0.8, linewidth=0, step="mid")
    panel.plot(bounds[order].mean(axis=1), color=LIGHT.ink, linewidth=1.4, drawstyle="steps-mid")
    panel.set(title=f"{rows} tumours", xlabel="new tumours", ylabel="probability of benign", ylim=(-0.02, 1.02))
    print(f"{rows} tumours: the two probabilities differ by {np.ptp(bounds, axis=1).mean():.2f} in the mean")
