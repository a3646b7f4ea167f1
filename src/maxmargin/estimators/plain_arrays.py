"""Arrays that need no conversion, told at a glance: scikit-learn's checks of them take as long as a small fit.

Each function here only says yes where `sklearn.utils.validation.validate_data` would hand back the same array without
a word. All else, and all that is wrong, goes there.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..runtime.blas import ONE_THREAD_MAX_NUMBERS
from ..runtime.scikit_learn import check_classification_targets, column_or_1d

COMPRESSED_ROWS = (sp.csr_array, sp.csr_matrix)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
FEW_VALUES = 1 << 15  # up to which a look at each takes no longer than to prepare for the overflow of their sum


def is_plain_matrix(X: Any) -> bool:
    """Whether X is a C-ordered array or a CSR matrix of finite floats, with a row and a column at least."""
    if type(X) in COMPRESSED_ROWS:
        return X.ndim == 2 and min(X.shape) > 0 and X.dtype in FLOATS and is_finite(X.data)
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in FLOATS or not X.flags.c_contiguous or not X.size:
        return False
    return is_finite(X)


def is_plain_vector(y: Any, n: int) -> bool:
    """Whether y is an array of n numbers, all finite."""
    if type(y) is not np.ndarray or y.shape != (n,):
        return False
    return y.dtype.kind in "iu" or (y.dtype in FLOATS and is_finite(y))


def is_finite(values: np.ndarray) -> bool:
    """Whether all values are finite."""
    if values.size <= FEW_VALUES:
        # The sum of squares says nothing where it overflows, and does so without a warning.
        quick = values.size <= ONE_THREAD_MAX_NUMBERS and isfinite(np.vdot(values, values))
        return quick or bool(np.isfinite(values).all())
    with np.errstate(over="ignore", invalid="ignore"):
        return isfinite(values.sum(dtype=np.float64)) or bool(np.isfinite(values).all())


def note_features(estimator: Any, X: np.ndarray) -> None:
    """What a fit on an array without names says of its features."""
    estimator.n_features_in_ = X.shape[1]
    vars(estimator).pop("feature_names_in_", None)


def is_known_matrix(estimator: Any, X: Any) -> bool:
    """Whether X is plain and has the features of the fit, which had no names."""
    if not is_plain_matrix(X) or "feature_names_in_" in vars(estimator):
        return False
    return X.shape[1] == vars(estimator).get("n_features_in_")


def encode_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes and the class of each sample.

    Whole numbers are labels, unless classes are so many that scikit-learn warns that they may be targets of a
    regression. Others are what scikit-learn says.
    """
    if type(y) is np.ndarray and y.ndim == 1 and (y.dtype.kind in "iu" or is_whole(y)):
        found = find_counted_classes(y) or find_two_classes(y) or np.unique(y, return_inverse=True)
        if 2 * len(found[0]) <= len(y):
            return found
    labels = column_or_1d(y, warn=True)
    check_classification_targets(y)
    return np.unique(labels, return_inverse=True)


def find_counted_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """What `np.unique` says of labels that are the numbers 0 to k - 1, without sorting; None of others."""
    if y.dtype != np.intp or not y.size or y.min() != 0 or y.max() >= y.size:
        return None
    counts = np.bincount(y)
    return (np.arange(len(counts)), y.copy()) if all(counts.tolist()) else None


def find_two_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """What `np.unique` says of two classes, without sorting; None where there are more, or less."""
    if y.size == 0:
        return None
    low, high = y.min(), y.max()
    upper = y == high
    if low == high or not (upper | (y == low)).all():
        return None
    return np.array([low, high], y.dtype), upper.astype(np.intp)


def is_whole(y: np.ndarray) -> bool:
    """Whether y are finite floats without a fraction."""
    return y.dtype in FLOATS and is_finite(y) and bool((y == np.rint(y)).all())


def take_targets(y: Any) -> np.ndarray:
    """The targets of a regression as a vector of float64; a column is one, with scikit-learn's warning."""
    plain = type(y) is np.ndarray and y.ndim == 1
    return (y if plain else column_or_1d(y, warn=True)).astype(np.float64, copy=False)
