"""
How do cutting planes find a minimum?
=====================================

A convex function lies above its tangents. Each round goes to the lowest point of the tangents so far, and adds one
there: the model rises, and its minimum is a lower bound that climbs to the optimum.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import trace
from maxmargin.plots import plot_cuts


def curved(x):
    """|x - 1| / 2 + x^2 / 4 + exp(-x) / 4 and a subgradient."""
    u = float(x[0])
    value = 0.5 * abs(u - 1.0) + 0.25 * u * u + 0.25 * np.exp(-u)
    return value, np.array([0.5 * (1.0 if u > 1.0 else -1.0) + 0.5 * u - 0.25 * np.exp(-u)])


steps = trace(curved, "cutting-plane", x0=[3.0], bounds=(-3.0, 4.0), tol=1e-4)
figure, panels = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
for panel, step in zip(panels.ravel(), (1, 2, 4, 6), strict=True):
    plot_cuts(steps, curved, step, limits=(-3.2, 4.2), ax=panel)
    panel.set_title(f"round {step}")
gaps = np.asarray(steps.primal, float) - np.asarray(steps.dual, float)
print(f"{len(steps) - 1} rounds; value less bound: {', '.join(f'{gap:.2g}' for gap in gaps[1:])}")
