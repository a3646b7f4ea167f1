"""Whether what was read from a file is as it must be: types, shapes, places, finite numbers."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .archive import DamagedFileError


def require(condition: bool, what: str) -> None:
    """Refuse a file of which something does not hold."""
    if not condition:
        raise DamagedFileError(f"{what} is invalid")


def is_array(value, kinds: str, *shape: int | None) -> bool:
    """Whether a value is an array of such a type and shape; None is any length."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds or value.ndim != len(shape):
        return False
    return all(length is None or length == found for length, found in zip(shape, value.shape, strict=True))


def is_finite(value, *shape: int | None) -> bool:
    """Whether a value is an array of finite numbers of a shape."""
    return is_array(value, "f", *shape) and bool(np.isfinite(value).all())


def is_index(value, n: int) -> bool:
    """Whether a value holds places among n."""
    return is_array(value, "i", None) and (not len(value) or (value.min() >= 0 and value.max() < n))


def is_matrix(value, n: int, d: int) -> bool:
    """Whether a value is a finite matrix of this shape, dense or sparse."""
    if sp.issparse(value):
        return value.shape == (n, d) and bool(np.isfinite(value.data).all()) and value.has_sorted_indices
    return is_finite(value, n, d)
