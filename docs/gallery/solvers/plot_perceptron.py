"""
Why does a margin need a one?
=============================

The perceptron pays for wrong signs only. With a regulariser its best machine is :math:`f = 0`, which separates nothing.
The hinge pays until a margin of one is reached, so its best machine cannot collapse.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron

from maxmargin.plots import plot_perceptron_collapse

flowers, kinds = load_iris(return_X_y=True)
x, y = flowers[:100:3, [2]] - 2.45, 2.0 * kinds[:100:3] - 1.0  # two kinds, which the length of the petal separates
found = Perceptron(random_state=0).fit(x, y)
w, b = found.coef_[0] / abs(found.coef_[0, 0]), found.intercept_[0] / abs(found.coef_[0, 0])

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
plot_perceptron_collapse(x, y, w, b, penalty=2.0, axes=axes)
print(f"w = {w[0]:g}, b = {b:.2f} separates all {len(y)} flowers: {found.score(x, y):.0%}")
