"""
Can I choose C without held-out data?
=====================================

The training error is no guide: it falls as C grows. Bounds from one fit, and the exact leave-one-out error, need no
held-out samples. Each ring is the C that its curve would choose.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, risk_bounds
from maxmargin.plots import plot_risk_bounds

wine = load_wine()
X, y = StandardScaler().fit_transform(wine.data)[:, [0, 1, 10]], wine.target == 1
Cs = np.logspace(-2, 3, 11)
bounds = [risk_bounds(SVC(C=C).fit(X, y), X, y) for C in Cs]

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
plot_risk_bounds(Cs, bounds, ax=ax)
left_out = np.array([each.leave_one_out.error for each in bounds])
print(f"leave-one-out chooses C = {Cs[left_out.argmin()]:g}, with an error of {left_out.min():.1%}")
