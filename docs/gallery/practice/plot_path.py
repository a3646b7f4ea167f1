"""
Which features matter, and from which C on?
===========================================

``path`` fits a machine for each of many values of C, and each fit starts where the one before ended. The weights grow
with C, some of them early and some late, and the dots say how good each fit is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from maxmargin import path
from maxmargin.plots import plot_path

cancer = load_breast_cancer()
X = StandardScaler().fit_transform(cancer.data)
found = path(X, cancer.target, loss="logistic", Cs=np.logspace(-4, 2, 40))

figure, ax = plt.subplots(figsize=(7.4, 5.2), layout="constrained")
plot_path(found, ax=ax, most=5)
for C, coef in zip(found.Cs[::13], found.coefs[::13], strict=True):
    first = int(np.argmax(np.abs(coef)))
    print(f"C = {C:.4g}: {cancer.feature_names[first]} (feature {first}) has the largest weight, {coef[first]:.3g}")
print(f"{len(found.Cs)} fits, relative gaps of at most {found.certificate.relative_gap:.0e}")
