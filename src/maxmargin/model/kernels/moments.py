"""What a kernel wants to know of a small matrix of training data, found at once."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..samples import make_writable

SMALL_MAX_ENTRIES = 2**16  # numbers in a matrix: a tenth of a millisecond
VARIANCE_ROUNDING = 1e-10  # of the size of its terms: a smaller difference is rounding
# of the mean of |x|^2 that |m|^2 must be, m the mean of the samples, for them to be moved there
SHIFT_MIN_MEAN_SHARE = 0.99


class Moments(NamedTuple):
    """The variance of all entries, the mean of the rows, its square, and the mean of |x_i|^2."""

    variance: float
    mean: np.ndarray
    square_of_mean: float
    mean_square: float

    @property
    def shift(self) -> np.ndarray | None:
        """The mean where the samples lie far from the origin, as `find_shift` has it."""
        far = self.square_of_mean
        return self.mean if far > SHIFT_MIN_MEAN_SHARE * self.mean_square and isfinite(far) else None


def measure_small(X: Any) -> Moments | None:
    """The moments of a small array; None for other data."""
    if type(X) is not np.ndarray or X.size > SMALL_MAX_ENTRIES or not X.flags.c_contiguous or not X.size:
        return None
    from ...compiled.moments import measure_moments

    mean = np.empty(X.shape[1])
    square, away, far, mean_square = measure_moments(make_writable(X), mean)
    return Moments(subtract_square(square, away), mean, far, mean_square)


def subtract_square(square: float, away: float) -> float:
    """square - away^2, infinite where it overflows and 0 where only rounding is left of it."""
    if not isfinite(square):
        return np.inf
    return square - away**2 if square - away**2 > VARIANCE_ROUNDING * square else 0.0
