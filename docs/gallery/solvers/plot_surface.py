"""
Which way down?
===============

The objective of a machine with two weights is a surface over a plane. Gradient descent creeps along the valley,
momentum overshoots and turns, AdaGrad scales each coordinate by itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from maxmargin import AdaGrad, GradientDescent, solve
from maxmargin.insight.traces import record
from maxmargin.model.features import Design
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.plots import plot_loss_surface

flowers, kinds = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(flowers[kinds > 0][:, [0, 2]])
y = np.where(kinds[kinds > 0] == 1, -1.0, 1.0)
problem = Problem(Design(wrap(X)), y, np.ones(len(y)), Hinge(), None)
paths = {
    "gradient descent": record(problem, GradientDescent(step=0.02), max_iter=25),
    "momentum": record(problem, GradientDescent("polyak", beta=0.5, step=0.02), max_iter=25),
    "AdaGrad": record(problem, AdaGrad(step=0.8), max_iter=25),
}
figure, ax = plt.subplots(figsize=(7.4, 5.2), layout="constrained")
plot_loss_surface(problem, paths, ax=ax)
best = solve(problem, tol=1e-8).certificate.dual
for name, path in paths.items():
    print(f"{name}: P = {path.primal[-1]:.3f} after {int(path.n_iter[-1])} steps; no machine is below {best:.3f}")
