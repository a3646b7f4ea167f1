"""The width gamma of a kernel, chosen from the variance of the training data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from ..samples import TILE_ENTRIES, wrap
from .moments import Moments, subtract_square

MAX_FLOAT = float(np.finfo(float).max)


def list_entries(X, weight: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows that hold every entry of X once, a tile of them at a time, and how often each of these rows counts."""
    if sp.issparse(X):
        samples = wrap(X)
        stored = np.diff(samples.indptr)
        step = max(1, TILE_ENTRIES // 4 * samples.n // max(len(samples.data), 1))
        for k in range(0, samples.n, step):
            begin, end = samples.indptr[k], samples.indptr[min(k + step, samples.n)]
            yield samples.data[begin:end, None], np.repeat(weight[k : k + step], stored[k : k + step])
        yield np.zeros((1, 1)), np.array([weight @ (samples.d - stored)])
    else:
        step = max(1, TILE_ENTRIES // 4 // X.shape[1])
        for k in range(0, X.shape[0], step):
            yield X[k : k + step], weight[k : k + step]


def measure_variance(X, weight: np.ndarray | None = None) -> float:
    """Var(X) over all entries, each row counted as often as its weight says; 0 where all entries are equal.

    The mean of (x - m)^2 less the square of the mean of x - m, which are exact to the last digits for every m near the
    mean of X. A difference of E(x^2) and E(x)^2 would have none left where data lie far from zero, and with m alone, a
    rounded number, data that are all equal would vary.
    """
    weight = np.ones(X.shape[0]) if weight is None else weight / weight.max()  # equal ones are ones
    count = float(weight.sum()) * X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        centre = sum(float(w @ rows.sum(axis=1, dtype=np.float64)) for rows, w in list_entries(X, weight)) / count
        away, square = 0.0, 0.0
        for rows, w in list_entries(X, weight):
            apart = np.subtract(rows, centre, dtype=np.float64)
            away += float(w @ apart.sum(axis=1)) / count
            square += float(w @ np.einsum("ij,ij->i", apart, apart)) / count
    return subtract_square(square, away)


def resolve_gamma(gamma: float | str, X, weight: np.ndarray | None = None, moments: Moments | None = None) -> float:
    """'scale' -> 1/(d Var(X)), 'auto' -> 1/d, a number -> itself.

    The variance counts each row as often as its weight, so that weight 2 equals the row twice. It need not be measured
    if the moments of X are known.
    """
    if gamma == "scale":
        variance = moments.variance if moments is not None and weight is None else measure_variance(X, weight)
        return min(1.0 / (X.shape[1] * variance), MAX_FLOAT) if variance != 0.0 else 1.0
    if gamma == "auto":
        return 1.0 / X.shape[1]
    return float(gamma)


def is_nonnegative(gamma: float | str) -> bool:
    """Whether gamma is a number >= 0, or a rule that gives one."""
    return isinstance(gamma, str) or gamma >= 0
