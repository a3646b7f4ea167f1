"""
How far off may a number be?
============================

Jackknife+ predicts each patient by a machine that has not seen them, and puts an interval around the prediction for a
new one. Asked for 90 per cent, it covers about 90 per cent of new patients, whatever their distribution.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from maxmargin import SVR, ConformalRegressor
from maxmargin.plots.canvas import LIGHT

X, y = load_diabetes(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
model = ConformalRegressor(SVR(C=100.0, gamma=4.0), method="jackknife+").fit(X, y)
low, high = model.predict_interval(X_new, coverage=0.9).T
covered = (low <= y_new) & (y_new <= high)

order = np.argsort(low + high)
place = np.arange(len(order))
figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
ax.vlines(place, low[order], high[order], color=LIGHT.tube, linewidth=2, label="90 % interval")
for inside, colour, mark in ((True, LIGHT.ink, "o"), (False, LIGHT.step, "D")):
    here = covered[order] == inside
    name = f"{np.sum(here)} patients {'inside' if inside else 'outside'}"
    ax.plot(place[here], y_new[order][here], mark, color=colour, markersize=4, label=name)
ax.set(xlabel="new patients by prediction", ylabel="progression of the disease")
ax.legend(loc="upper left")
print(f"{covered.mean():.1%} of {len(y_new)} new patients are covered; intervals are {np.mean(high - low):.0f} wide")
