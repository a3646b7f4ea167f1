"""
Which solver is fastest?
========================

Seven solvers on one problem. All of them approach the same optimum, in different ways: many cheap steps, or few
expensive ones. The dual values bound the optimum from below, so the distance to it is known and not guessed.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from maxmargin.insight.traces import record
from maxmargin.model.features import Design
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.plots import plot_convergence

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X[:, :10])
problem = Problem(Design(wrap(X), 1.0), 2.0 * y - 1.0, np.ones(len(y)), Hinge(), None)
names = ("smo", "coordinate", "multipliers", "interior_point", "bundle", "one_slack", "gradient_descent")
runs = {name: record(problem, name, tol=1e-6, max_iter=2000) for name in names}

figure, ax = plt.subplots(figsize=(7.4, 5.2), layout="constrained")
plot_convergence(runs, best_so_far=True, ax=ax)
for name, run in runs.items():
    print(f"{name}: {int(run.n_iter[-1])} iterations, P = {run.primal.min():.4f}, D = {run.dual.max():.4f}")
