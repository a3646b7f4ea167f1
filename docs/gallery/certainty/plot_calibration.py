"""
Does 90 per cent mean 90 per cent?
==================================

Of all tumours that are given a probability of 0.9, nine in ten should be benign. The diagram compares the predicted
share with the observed one, bin by bin, and the bars show how many tumours are in each bin.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from maxmargin import SVC
from maxmargin.plots import plot_calibration

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :3]  # three features are not enough to be sure
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=1)

figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for panel, method in zip(panels, ["sigmoid", "isotonic"], strict=True):
    model = SVC(gamma=1e-4, probability=method, random_state=0).fit(X, y)
    said = model.predict_proba(X_new)[:, 1]
    plot_calibration(y_new, said, bins=8, label=method, ax=panel)
    print(f"{method}: log loss {log_loss(y_new, said):.3f}")
