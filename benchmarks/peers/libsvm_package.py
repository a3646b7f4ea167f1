"""LIBSVM by its own Python package, fitted attributes in scikit-learn's shapes and signs.

It counts classes in the order in which they appear, and so do the labels of a `Case`.
"""

from __future__ import annotations

import numpy as np
from libsvm.svmutil import svm_predict, svm_train

TYPES = {"SVC": 0, "SVR": 3}
MEGABYTES = 200  # scikit-learn's default cache; LIBSVM's own is half of it


class Libsvm:
    """svm_train and svm_predict on CSR matrices; dense rows they would copy number by number in Python."""

    def __init__(self, kind: str, parameters: dict):
        self.kind = kind
        self.options = f"-s {TYPES[kind]} -t 2 -m {MEGABYTES} -q -c {parameters['C']!r} -g {parameters['gamma']!r}"
        if kind == "SVR":
            self.options += f" -p {parameters['epsilon']!r}"

    def fit(self, X, y: np.ndarray) -> Libsvm:
        """Train at the default tolerance."""
        self.model = svm_train(y, X, self.options)
        return self

    def predict(self, X) -> np.ndarray:
        """Labels or values."""
        return np.array(svm_predict([], X, self.model, "-q")[0])

    @property
    def n_classes(self) -> int:
        """The number of classes; LIBSVM says 2 for regression."""
        return self.model.nr_class

    @property
    def support_(self) -> np.ndarray:
        """The places of the support vectors, which LIBSVM counts from 1."""
        return np.ctypeslib.as_array(self.model.sv_indices, (self.model.l,)) - 1

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors of each class."""
        return np.ctypeslib.as_array(self.model.nSV, (self.n_classes,)).copy() if self.kind == "SVC" else [self.model.l]

    @property
    def sign(self) -> float:
        """scikit-learn turns the sign of two classes, so that the second one is positive."""
        return -1.0 if self.kind == "SVC" and self.n_classes == 2 else 1.0

    @property
    def dual_coef_(self) -> np.ndarray:
        """The duals times their labels, n_classes - 1 rows."""
        rows = [np.ctypeslib.as_array(self.model.sv_coef[k], (self.model.l,)) for k in range(self.n_classes - 1)]
        return self.sign * np.array(rows)

    @property
    def intercept_(self) -> np.ndarray:
        """-rho."""
        pairs = self.n_classes * (self.n_classes - 1) // 2
        return -self.sign * np.ctypeslib.as_array(self.model.rho, (pairs,))
