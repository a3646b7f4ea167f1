"""
Which kernel?
=============

The same flowers, the same C, four kernels. The picture shows what each of them can draw, and the number above it how
often it is right about flowers that it has not seen.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from maxmargin import SVC
from maxmargin.plots import plot_decision_boundary

flowers, kinds = load_iris(return_X_y=True)
X = flowers[:, [0, 1]]  # length and width of the sepals: the two features that separate least

machines = {
    "linear": SVC(kernel="linear"),
    "polynomial of degree 3": SVC(kernel="poly", gamma=1.0, coef0=1.0),
    "Gaussian": SVC(kernel="rbf", gamma=1.0),
    "Laplacian": SVC(kernel="laplacian", gamma=1.0),
}
figure, panels = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
for panel, (name, model) in zip(panels.ravel(), machines.items(), strict=True):
    score = cross_val_score(model, X, kinds, cv=10).mean()
    plot_decision_boundary(model.fit(X, kinds), X, kinds, ax=panel)
    panel.set_title(f"{name}: {score:.1%} right")
    print(f"{name}: {score:.1%} of the held-out flowers, {len(model.support_)} support vectors")
