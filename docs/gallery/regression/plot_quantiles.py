"""
Between which values do nine in ten lie?
========================================

The quantile loss fits a quantile instead of a mean. Three fits give a median with a band around it that is wide where
the targets vary a lot.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from maxmargin import SVR
from maxmargin.plots.canvas import LIGHT

X, y = load_diabetes(return_X_y=True)
x = X[:, [2]] * 100  # the body mass index
grid = np.linspace(x.min(), x.max(), 300)[:, None]
fits = {q: SVR(loss="quantile", quantile=q, C=50.0, gamma=0.03).fit(x, y) for q in (0.05, 0.5, 0.95)}

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
ax.scatter(x, y, s=12, color=LIGHT.faint, linewidths=0, label="patients")
ax.fill_between(grid[:, 0], fits[0.05].predict(grid), fits[0.95].predict(grid), color=LIGHT.tube, alpha=0.3,
                label="from 5 % to 95 %")  # fmt: skip
ax.plot(grid, fits[0.5].predict(grid), color=LIGHT.ink, linewidth=2.2, label="median")
ax.set(xlabel="body mass index, centred", ylabel="progression of the disease")
ax.legend(loc="upper left")
for q, model in fits.items():
    print(f"quantile {q}: {np.mean(y <= model.predict(x)):.1%} of the targets lie below the curve")
inside = (fits[0.05].predict(x) <= y) & (y <= fits[0.95].predict(x))
print(f"{inside.mean():.1%} lie in the band")
