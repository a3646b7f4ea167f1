"""
Which loss ignores wild targets?
================================

Thirty targets are wrong by a lot. Squares make these few targets heavier than all others together; the Huber
loss and the absolute loss grow like :math:`|f - y|`, and are pulled far less.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from maxmargin import RiskRegressor
from maxmargin.model.losses import Huber
from maxmargin.plots.canvas import LIGHT, MARKS

X, y = load_diabetes(return_X_y=True)
x = X[:, [2]] * 100
spoiled = y.copy()
wrong = np.argsort(x[:, 0])[-30:]
spoiled[wrong] += 600.0

grid = np.linspace(x.min(), x.max(), 50)[:, None]
clean = RiskRegressor("least_squares", C=10.0).fit(x, y)
figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
ax.scatter(x, spoiled, s=12, color=LIGHT.faint, linewidths=0, label="patients, 30 spoiled")
ax.plot(grid, clean.predict(grid), color=LIGHT.ink, linewidth=2.2, label="least squares on clean targets")
losses = {"least squares": "least_squares", "Huber": Huber(20.0), "absolute": "absolute"}
for place, (name, loss) in enumerate(losses.items()):
    model = RiskRegressor(loss, C=10.0).fit(x, spoiled)
    ax.plot(grid, model.predict(grid), color=LIGHT.colours[place], marker=MARKS[place], markevery=7, label=name)
    print(f"{name}: slope {model.coef_[0]:.1f}, on clean targets {clean.coef_[0]:.1f}")
ax.set(xlabel="body mass index, centred", ylabel="progression of the disease")
ax.legend(loc="upper left")
