"""
When is a derivative a derivative?
==================================

Derivatives in every direction do not make a Gâteaux derivative, and a Gâteaux derivative does not make a Fréchet
derivative. Each column shows a function for which one of these steps fails, and below it why.
"""

import matplotlib.pyplot as plt

from maxmargin.plots import plot_derivatives
from maxmargin.plots.subgradients import bend, cliff, ridge

figure, axes = plt.subplots(2, 3, figsize=(13.5, 8.6), layout="constrained")
plot_derivatives(axes)
print(f"Not linear: the slopes along (1, 0) and (0, 1) add up to {bend(1.0, 0.0) + bend(0.0, 1.0):g},")
print(f"but along (1, 1) the slope is {bend(1.0, 1.0):g}.")
print(f"Not continuous: along y = x^3 the value is {cliff(1e-6, 1e-18):g} down to the origin, where it is 0.")
print(f"Not Fréchet: along y = x^2 the remainder is {ridge(1e-6, 1e-12) / 1e-6:.2f} |h|.")
