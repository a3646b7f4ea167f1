"""
How sure is this label?
=======================

A solver stops a little before the optimum. ``certified_predict`` bounds the score of the exact optimum from both sides:
where the interval does not contain zero, the label is proven to be that of the optimum. A longer fit decides the rest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from maxmargin import RiskClassifier
from maxmargin.plots.canvas import LIGHT

X, y = load_breast_cancer(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
scaler = StandardScaler().fit(X)
X, X_new = scaler.transform(X), scaler.transform(X_new)

figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", sharey=True)
for panel, tol in zip(panels, [1e-2, 1e-4], strict=True):
    model = RiskClassifier("logistic", tol=tol).fit(X, y)
    found = model.certified_predict(X_new)
    middle = 0.5 * (found.lower + found.upper)
    order = np.argsort(np.abs(middle))[:35]  # the tumours nearest to the boundary
    order = order[np.argsort(middle[order])]
    for certain, colour, mark in ((True, LIGHT.tube, "|"), (False, LIGHT.step, "D")):
        here = np.flatnonzero(found.certain[order] == certain)
        rows = order[here]
        panel.errorbar(here, middle[rows], middle[rows] - found.lower[rows], fmt=mark, color=colour, markersize=4,
                       label=f"{len(here)} {'certain' if certain else 'open'}")  # fmt: skip
    panel.axhline(0.0, color=LIGHT.ink, linewidth=1)
    panel.set(title=f"tol = {tol:g}", xlabel="tumours by score", ylabel="score of the optimum")
    panel.legend(loc="upper left")
    print(f"tol={tol:g}: {found}; {np.mean(found.labels == y_new):.1%} of the labels are right")
