"""
What is a gradient where there is none?
=======================================

The hinge has a kink. There, every line through the point that stays below the curve has a slope that will do: a
subgradient. Where the curve is smooth there is only one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from maxmargin.plots import plot_subgradients
from maxmargin.plots.subgradients import find_subdifferential

flowers, kinds = load_iris(return_X_y=True)
x, y = flowers[[60, 70, 120, 130], 2] - 4.9, np.where(kinds[[60, 70, 120, 130]] == 1, -1.0, 1.0)


def mean_hinge(w):
    """The mean hinge over four flowers plus w^2 / 20, and a subgradient."""
    margins = y * x * w[0]
    active = margins < 1.0
    return np.maximum(0.0, 1.0 - margins).mean() + w[0] ** 2 / 20, -(y * x * active).mean(keepdims=True) + w / 10


kink = float(1.0 / (y * x)[np.argmax(y * x)])  # where the flower with the widest margin leaves the loss
figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
plot_subgradients(mean_hinge, [-1.0, kink], limits=(-2.0, 4.0), ax=ax)
ax.set_xlabel("w")
low, high = find_subdifferential(mean_hinge, kink)
print(f"At w = {kink:.3f} all slopes from {low:.3f} to {high:.3f} are subgradients")
