"""
What does an error cost?
========================

A machine is its loss: the price of a margin :math:`z = y f` for labels, and of a residual :math:`r = f - y` for
numbers. Every loss here is a convex function, and each fit with it is certified.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from maxmargin import RiskClassifier
from maxmargin.model.losses import EpsilonInsensitive, Huber, LeastSquares, Quantile
from maxmargin.plots import plot_losses

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
plot_losses(["hinge", "squared_hinge", "logistic"], ax=left)
plot_losses([LeastSquares(), EpsilonInsensitive(0.5), Huber(1.0), Quantile(0.8)], ax=right)
left.set_title("labels")
right.set_title("numbers")

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
for name in ("hinge", "squared_hinge", "logistic", "exponential"):
    model = RiskClassifier(name, C=0.1).fit(X, y)
    print(f"{name}: {model.score(X, y):.1%} right, relative gap {model.certificate_.relative_gap:.0e}")
