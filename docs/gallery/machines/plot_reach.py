"""
How far does a sample reach?
============================

The Gaussian kernel, ``exp(-gamma |x - z|^2)``, is one at the sample and falls off around it. A large gamma makes
islands around single samples; a small one makes the machine nearly linear.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.model_selection import cross_val_score

from maxmargin import SVC
from maxmargin.plots import plot_decision_boundary

X, y = make_moons(150, noise=0.3, random_state=0)
figure, panels = plt.subplots(1, 3, figsize=(10, 5.6), layout="constrained")
for panel, gamma in zip(panels, [0.02, 1.0, 100.0], strict=True):
    model = SVC(gamma=gamma)
    score = cross_val_score(model, X, y, cv=10).mean()
    plot_decision_boundary(model.fit(X, y), X, y, ax=panel)
    panel.set_title(f"gamma = {gamma:g}: {score:.1%} right")
    print(f"gamma = {gamma:g}: {len(model.support_)} of {len(X)} samples are support vectors")
