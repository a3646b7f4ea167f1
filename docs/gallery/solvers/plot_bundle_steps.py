"""
How far should a step go?
=========================

The minimum of a few cuts may be far away, where they say nothing. Bundle methods stay near the best point so far: held
by a spring, within a radius, or at the nearest point below a level.
"""

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import minimize
from maxmargin.plots import plot_bundle_steps


def curved(x):
    """|x - 1| / 2 + x^2 / 4 + exp(-x) / 4 and a subgradient."""
    u = float(x[0])
    value = 0.5 * abs(u - 1.0) + 0.25 * u * u + 0.25 * np.exp(-u)
    return value, np.array([0.5 * (1.0 if u > 1.0 else -1.0) + 0.5 * u - 0.25 * np.exp(-u)])


figure, axes = plt.subplots(1, 3, figsize=(10, 5.6), layout="constrained")
plot_bundle_steps(curved, [-2.0, 3.0], proximity=1.5, radius=1.0, level=1.2, limits=(-2.5, 3.5), axes=axes)
for method in ("cutting-plane", "proximal-bundle", "trust-region-bundle", "level-bundle"):
    found = minimize(curved, [3.0], method=method, bounds=(-30.0, 30.0), tol=1e-6)
    print(f"{method}: {found.n_calls} calls of the function, gap {found.fun - found.lower_bound:.1e}")
