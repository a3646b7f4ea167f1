"""Order statistics that cover one more exchangeable number, and the arguments that all conformal estimators share."""

from __future__ import annotations

from math import ceil, floor
from numbers import Real
from typing import Any

import numpy as np

RANK_ROUNDING = 1e-9  # of a rank: 0.9 * 10 is 9, whatever float64 makes of it


def check_coverage(coverage: Any) -> float:
    """A share between 0 and 1, both excluded."""
    if not (isinstance(coverage, Real) and not isinstance(coverage, bool) and 0.0 < float(coverage) < 1.0):
        raise ValueError(f"coverage must be above 0 and below 1, got {coverage!r}.")
    return float(coverage)


def upper_rank(n: int, coverage: float) -> int:
    """k = ceil(coverage (n + 1)): the k-th smallest of n numbers is exceeded by one more with probability 1 - coverage.

    It is n + 1 where n numbers are too few; that one is infinite.
    """
    return ceil(coverage * (n + 1) * (1.0 - RANK_ROUNDING))


def lower_rank(n: int, coverage: float) -> int:
    """floor((1 - coverage) (n + 1)), 0 where n numbers are too few."""
    return floor((1.0 - coverage) * (n + 1) * (1.0 + RANK_ROUNDING))


def select_upper(numbers: np.ndarray, coverage: float) -> np.ndarray:
    """The number of `upper_rank` along the first axis; infinity where there are too few."""
    rank = upper_rank(len(numbers), coverage)
    if rank > len(numbers):
        return np.full(numbers.shape[1:], np.inf)
    return np.partition(numbers, rank - 1, axis=0)[rank - 1]


def select_lower(numbers: np.ndarray, coverage: float) -> np.ndarray:
    """The number of `lower_rank` along the first axis; minus infinity where there are too few."""
    rank = lower_rank(len(numbers), coverage)
    if rank < 1:
        return np.full(numbers.shape[1:], -np.inf)
    return np.partition(numbers, rank - 1, axis=0)[rank - 1]
