"""
Can my old program use it unedited?
===================================

``patch_sklearn`` puts maxmargin's classes into ``sklearn.svm``, so that a program that imports them from there fits
certified machines. The predictions stay the same; what is new is that each fit says how good it is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn import svm
from sklearn.datasets import load_digits

import maxmargin
from maxmargin.plots.canvas import LIGHT

X, digits = load_digits(return_X_y=True)
X, X_new, y = X[:900] / 16.0, X[900:] / 16.0, digits[:900]


def old_program():
    """Knows nothing of maxmargin."""
    return svm.SVC(C=10.0).fit(X, y)


before = old_program()
maxmargin.patch_sklearn(verbose=False)
after = old_program()
maxmargin.unpatch_sklearn(verbose=False)

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
ax.plot(before.decision_function(X_new).ravel(), after.decision_function(X_new).ravel(), ".", color=LIGHT.colours[0])
ax.set(xlabel="decisions of sklearn.svm.SVC", ylabel="decisions after patch_sklearn()")
same = np.mean(before.predict(X_new) == after.predict(X_new))
ax.set_title(f"{same:.1%} of {len(X_new)} labels agree")
print(f"{type(before).__module__} before, {type(after).__module__} after; {after.certificate_}")
print(f"scikit-learn's own fit, judged: {maxmargin.certify(before, X, y)}")
