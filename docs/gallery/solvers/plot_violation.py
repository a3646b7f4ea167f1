"""
How does SMO know that it is done?
==================================

m is the largest rate at which D rises when a dual is raised, M the smallest at which it falls when one is lowered. As
long as m is above M there is a pair worth a step. When they meet, no pair is left.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from maxmargin import SMO, trace
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem
from maxmargin.plots import plot_rates, plot_violation

flowers, kinds = load_iris(return_X_y=True)
X, y = flowers[kinds > 0][::2, 2:], kinds[kinds > 0][::2]
problem = Problem(Gram.from_data(RBF(gamma=1.0), X), np.where(y == 1, 1.0, -1.0), np.full(len(y), 3.0), Hinge(), 0.0)
steps = trace(problem, SMO(selection="mvp", stop="kkt"), tol=1e-3)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained")
plot_rates(problem, steps, 5, ax=left)
plot_violation(steps, ax=right)
print(f"m - M falls from {steps['m'][1] - steps['M'][1]:.2f} to {steps['m'][-1] - steps['M'][-1]:.4f}")
print(f"after {int(steps.n_iter[-1])} pair steps, with P - D = {steps.primal[-1] - steps.dual[-1]:.2e}")
