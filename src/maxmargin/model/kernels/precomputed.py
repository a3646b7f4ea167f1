"""Kernels that are given as matrices, or as functions that return them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...contracts.kernels import Kernel
from ...runtime.rounding import BOUND_INFLATION
from ..samples import PrecomputedRows


@dataclass(frozen=True)
class Precomputed(Kernel):
    """K itself: samples are given as rows of kernel values against the training samples.

    See Also
    --------
    maxmargin.SVC : Takes it as `kernel="precomputed"`.
    Custom : A function in place of a matrix.

    References
    ----------
    - Chang and Lin (2011). LIBSVM: a library for support vector machines. ACM Transactions on Intelligent Systems
      and Technology 2, 27:1-27.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> SVC(kernel="precomputed").fit(X @ X.T, y).score(X @ X.T, y) > 0.9
    True
    """

    name = "precomputed"
    psd = None

    def samples(self, X):
        """The rows of the matrix X."""
        return PrecomputedRows(np.asarray(X))

    def evaluate(self, A, B):
        """X[i, j]."""
        return A.values(B)

    def sizes(self, samples):
        """sqrt(max |K|), without a copy of the matrix."""
        K = samples.matrix
        largest = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)))
        return np.full(samples.n, np.sqrt(largest) * BOUND_INFLATION)

    def diagonal(self, A):
        """X[i, i]."""
        return A.matrix[A.index, A.index].astype(np.float64)


@dataclass(frozen=True)
class Custom(Precomputed):
    """function(X, Z), any callable that returns the matrix of kernel values; `X_fit` is bound at training.

    Parameters
    ----------
    function : callable
        Of two matrices; returns kernel values of all pairs of their rows.
    X_fit : array-like of shape (n, d), default=None
        The training samples.

    See Also
    --------
    maxmargin.SVC : Takes the function as `kernel`.
    Precomputed : A matrix in place of a function.

    References
    ----------
    - Chang and Lin (2011). LIBSVM: a library for support vector machines. ACM Transactions on Intelligent Systems
      and Technology 2, 27:1-27.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> SVC(kernel=lambda X, Z: X @ Z.T).fit(X, y).score(X, y) > 0.9
    True
    """

    function: Callable = None
    X_fit: Any = None
    name = "callable"

    def bind(self, X, weight=None):
        """This kernel with the training samples kept, since predictions need them."""
        return replace(self, X_fit=X)

    def samples(self, X):
        """function(X, X_fit), evaluated whole: only the function knows what a part of X is."""
        K = self.function(X, self.X_fit)
        try:
            K = np.asarray(K.toarray() if sp.issparse(K) else K)
            K = K.astype(np.float64, casting="same_kind" if K.dtype.kind == "c" else "unsafe", copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"kernel(X, Y) must return a matrix of numbers: {error}.") from error
        n, n_fit = count_rows(X), count_rows(self.X_fit)
        if K.shape != (n, n_fit):
            raise ValueError(f"kernel(X, Y) must return a matrix of shape ({n}, {n_fit}), but returned {K.shape}.")
        if not np.isfinite(K).all():
            i, j = np.argwhere(~np.isfinite(K))[0]
            raise ValueError(f"kernel(X, Y) must return finite values, but returned {K[i, j]} at [{i}, {j}].")
        return PrecomputedRows(K)


def count_rows(X: Any) -> int:
    """The number of samples of X, which may be a matrix or a list of anything."""
    return X.shape[0] if sp.issparse(X) else len(X)
