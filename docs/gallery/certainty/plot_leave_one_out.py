"""
Which flowers would the others get wrong?
=========================================

For each flower, leave-one-out asks what a machine trained on all the others would say. Samples that are not support
vectors cannot change anything, so only a few machines have to be solved again, each from where the first one ended.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from maxmargin import SVC, risk_bounds
from maxmargin.plots import plot_decision_boundary
from maxmargin.plots.canvas import LIGHT

flowers, kinds = load_iris(return_X_y=True)
X, y = flowers[kinds > 0][:, [0, 2]], kinds[kinds > 0]
model = SVC(C=10.0, gamma=0.5).fit(X, y)
found = risk_bounds(model, X, y).leave_one_out

wrong = np.asarray(found.losses) > 0
figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
plot_decision_boundary(model, X, y, ax=ax)
ax.scatter(*X[wrong].T, marker="x", s=110, color=LIGHT.step, linewidths=2.2, zorder=5)
ax.set(xlabel="sepal length, cm", ylabel="petal length, cm")
ax.set_title(f"crosses: {wrong.sum()} flowers that the other {len(y) - 1} get wrong")
print(f"leave-one-out error {found.error:.1%} from {found.refits} refits in place of {len(y)} fits")
