"""
Which samples hold the margin?
==============================

Free support vectors, with :math:`0 < |a_i| < C`, lie exactly on the margin; those at the bound lie within it or on the
wrong side. As C grows there are fewer of the second kind, since each of them costs more.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from maxmargin import SVC
from maxmargin.plots import plot_decision_boundary, plot_support_counts

flowers, kinds = load_iris(return_X_y=True)
X, y = flowers[kinds > 0][:, 2:], kinds[kinds > 0]
models = [SVC(C=C, gamma=0.5).fit(X, y) for C in np.logspace(-2, 4, 13)]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
plot_decision_boundary(models[4], X, y, ax=left)
left.set(title=f"C = {models[4].C:g}", xlabel="petal length, cm", ylabel="petal width, cm")
plot_support_counts(models, ax=right)
right.set_title("over C")
for model in models[::4]:
    print(f"C = {model.C:g}: {len(model.free_support_)} free, {len(model.bounded_support_)} at the bound")
