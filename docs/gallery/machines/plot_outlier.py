"""
What does an outlier do to the margin?
======================================

A line separates two kinds of iris. One flower of the first kind, measured wrongly, lies beside the second. With a large
C the boundary squeezes in between; with a small one the machine pays for the error and keeps its margin.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from maxmargin import SVC
from maxmargin.plots import plot_decision_boundary

flowers, kinds = load_iris(return_X_y=True)
X, y = flowers[:100, [0, 1]], kinds[:100]
X_spoiled, y_spoiled = np.vstack([X, [[5.4, 3.1]]]), np.append(y, 0)

figure, panels = plt.subplots(1, 3, figsize=(10, 5.6), layout="constrained")
cases = [("clean, C = 10000", X, y, 1e4), ("outlier, C = 10000", X_spoiled, y_spoiled, 1e4),
         ("outlier, C = 1", X_spoiled, y_spoiled, 1.0)]  # fmt: skip
for panel, (title, data, labels, C) in zip(panels, cases, strict=True):
    model = SVC(kernel="linear", C=C).fit(data, labels)
    plot_decision_boundary(model, data, labels, ax=panel)
    panel.set(title=title, xlabel="sepal length, cm", ylabel="sepal width, cm")
    direction = np.degrees(np.arctan2(*model.coef_[0][::-1]))
    print(f"{title}: margin {model.margin_width_[0]:.2f} cm, normal at {direction:.0f} degrees")
