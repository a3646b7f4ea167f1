"""thundersvm on the CPU, fitted attributes in scikit-learn's signs.

It counts classes in the order in which they appear, and so do the labels of a `Case`. Only dense data: for CSR data its
Python layer hands integer labels to code that reads floats, and the classes come out wrong.
"""

from __future__ import annotations

import numpy as np
import thundersvm


class Thundersvm:
    """fit and predict of thundersvm.SVC and SVR; their intercept_ is LIBSVM's rho."""

    def __init__(self, kind: str, parameters: dict):
        self.kind = kind
        self.model = getattr(thundersvm, kind)(**parameters)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Thundersvm:
        """Train at the default tolerance."""
        if self.model.fit(X, y) is None:
            raise RuntimeError("thundersvm says that the training failed")
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels or values."""
        return self.model.predict(X)

    @property
    def support_(self) -> np.ndarray:
        """The places of the support vectors."""
        return self.model.support_

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors of each class."""
        return self.model.n_support_ if self.kind == "SVC" else np.array([len(self.model.support_)])

    @property
    def sign(self) -> float:
        """scikit-learn turns the sign of two classes, so that the second one is positive."""
        return -1.0 if self.kind == "SVC" and len(self.model.dual_coef_) == 1 else 1.0

    @property
    def dual_coef_(self) -> np.ndarray:
        """The duals times their labels."""
        return self.sign * self.model.dual_coef_

    @property
    def intercept_(self) -> np.ndarray:
        """-rho."""
        return -self.sign * self.model.intercept_
