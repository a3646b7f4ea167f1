"""
Is there a better C between the ones I tried?
=============================================

A grid leaves gaps. ``certify_tuning`` proves a lower bound of the cross-validated error for every C in the range, and
fits more values of C until nothing in the gaps can be better by more than eps.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import LinearSVC, certify_tuning
from maxmargin.plots import plot_certified_tuning

X, y = load_breast_cancer(return_X_y=True)
tuning = certify_tuning(make_pipeline(StandardScaler(), LinearSVC()), X, y, Cs=(1e-3, 10.0), eps=0.01, cv=5)

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
plot_certified_tuning(tuning, ax=ax)
ax.set_ylim(0.0, 0.09)
print(tuning)
