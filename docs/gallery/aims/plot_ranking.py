"""
Who should be seen first?
=========================

A ranking needs an order, not numbers. ``RankSVM`` learns one from pairs: of two patients, whose disease progressed
further? The picture shows the true progression over the place in the ranking, for patients that the fit has not seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import kendalltau
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from maxmargin import RankSVM
from maxmargin.plots.canvas import LIGHT

X, y = load_diabetes(return_X_y=True)
X, X_new, y, y_new = train_test_split(10 * X, np.ceil(y / 50), random_state=0)  # seven grades
model = RankSVM(C=0.01).fit(X, y)
order = np.argsort(-model.predict(X_new))
means = [part.mean() for part in np.array_split(y_new[order], 10)]

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
jitter = np.random.default_rng(0).uniform(-0.15, 0.15, len(order))
ax.plot(y_new[order] + jitter, "o", color=LIGHT.faint, markersize=4, label="patients")
ax.step((np.arange(10) + 0.5) * len(order) / 10, means, where="mid", color=LIGHT.colours[0], linewidth=2.2,
        label="mean of each tenth")  # fmt: skip
ax.set(xlabel="place in the ranking", ylabel="grade of progression")
ax.legend(loc="upper right")
tau = kendalltau(model.predict(X_new), y_new).statistic
print(f"{model.score(X_new, y_new):.1%} of all pairs of new patients are in order; Kendall's tau {tau:.2f}")
