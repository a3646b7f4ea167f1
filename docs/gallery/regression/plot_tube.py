"""
How wide a tube?
================

Support vector regression does not pay for errors below epsilon. Samples inside the tube do not matter; the curve is
held by those on its walls and outside. A wider tube leaves fewer of these, and a flatter curve.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from maxmargin import SVR
from maxmargin.plots import plot_regression_tube

X, y = load_diabetes(return_X_y=True)
x, y = X[:150, [2]] * 100, y[:150]  # the body mass index, in hundredths of its length

figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", sharey=True)
for panel, epsilon in zip(panels, [20.0, 80.0], strict=True):
    model = SVR(C=100.0, gamma=0.05, epsilon=epsilon).fit(x, y)
    plot_regression_tube(model, x, y, ax=panel)
    panel.set(title=f"epsilon = {epsilon:g}", xlabel="body mass index, centred", ylabel="progression of the disease")
    print(f"epsilon = {epsilon:g}: {len(model.support_)} of {len(x)} samples are support vectors")
