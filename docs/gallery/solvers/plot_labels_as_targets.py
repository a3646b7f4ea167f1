"""
Why not regress on the labels?
==============================

Labels are the numbers -1 and +1, so regression could learn them. But a line cannot stay within epsilon of two numbers:
nearly every sample ends outside the tube, and becomes a support vector. The margin asks for less, and keeps few.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR
from maxmargin.plots import plot_dense_labels

flowers, kinds = load_iris(return_X_y=True)
x = StandardScaler().fit_transform(flowers[kinds > 0][:, 2:]).sum(axis=1)  # length and width of the petals
y = np.where(kinds[kinds > 0] == 1, -1.0, 1.0)
tube = SVR(kernel="linear", epsilon=0.1).fit(x[:, None], y)
margin = SVC(kernel="linear", C=10.0).fit(x[:, None], y)

figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
plot_dense_labels(tube, margin, x, y, axes=axes)
print(f"Support vectors: {len(tube.support_)} of {len(x)} in the tube, {len(margin.support_)} with the margin")
