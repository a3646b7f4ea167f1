"""
Which pair should SMO take?
===========================

There are n (n - 1) pairs of duals. The most violating pair is cheap to find; the second-order rule looks at one kernel
row more and gains more with each step. The picture compares each step with the best of all pairs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from maxmargin import SMO, trace
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem
from maxmargin.plots import plot_working_sets

flowers, kinds = load_iris(return_X_y=True)
X, y = flowers[kinds > 0][:, 2:], np.where(kinds[kinds > 0] == 1, 1.0, -1.0)
problem = Problem(Gram.from_data(RBF(gamma=1.0), X), y, np.full(len(y), 3.0), Hinge(), 0.0)
rules = ("second-order", "mvp", "keerthi")
traces = {name: trace(problem, SMO(selection=name), tol=1e-5) for name in rules}

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
plot_working_sets(problem, traces, ax=ax)
for name, steps in traces.items():
    print(f"{name}: {int(steps.n_iter[-1])} steps to a gap of {steps.primal[-1] - steps.dual[-1]:.1e}")
