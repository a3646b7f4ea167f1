"""
What if I cannot wait?
======================

``max_seconds`` ends a fit in time and keeps the best point so far. The certificate says what that point is worth: the
gap at each moment is proven, so there is no need to guess whether the fit was long enough.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC
from maxmargin.plots.canvas import LIGHT

X, y = make_moons(4000, noise=0.3, random_state=0)
SVC(solver="smo").fit(X[:200], y[:200])  # the first fit loads the compiled loops
limits = [0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
gaps, scores = [], []
for seconds in limits:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # that it stopped early is the subject here
        model = SVC(C=1e3, gamma=5.0, solver="smo", tol=1e-4, max_seconds=seconds).fit(X[::2], y[::2])
    gaps.append(model.certificate_.relative_gap)
    scores.append(model.score(X[1::2], y[1::2]))
    print(f"{seconds:g} s: {model.result_.status}, relative gap {gaps[-1]:.1e}, {scores[-1]:.1%} right on new samples")

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
ax.loglog(limits, np.minimum(gaps, 1.0), "o-", color=LIGHT.bound, linewidth=2, label="certified relative gap")
ax.set(xlabel="max_seconds", ylabel="relative gap")
ax.legend(loc="upper right")
