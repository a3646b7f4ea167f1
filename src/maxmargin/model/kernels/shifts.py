"""Samples far from the origin, moved to their mean: products with them would have no digits left."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from ..samples import Sparse, wrap
from .moments import SHIFT_MIN_MEAN_SHARE, measure_small

SPREAD_CHECK_SAMPLES = 256  # samples among which the spread is looked at first
FEW_ENTRIES = 1 << 18  # of sparse samples, and features, that are all counted in less time than a few rows are compared
SPREAD_MAX_MEAN_SHARE = 0.8  # the same share for a few samples: below it the others are not looked at


def find_shift(X) -> np.ndarray | None:
    """The mean m of the samples where they lie far from the origin: |m|^2 > SHIFT_MIN_MEAN_SHARE times the mean |x|^2.

    Of sparse samples the mean of those features of which every sample has an entry, and 0 for the others: without these
    features no zero becomes a number. None where the samples need not, or cannot, be moved.
    """
    if (moments := measure_small(X)) is not None:
        return moments.shift
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            samples = wrap(X)
            if (mean := average_full_features(samples)) is None:
                return None
            square = samples.norms.mean()
        elif is_spread_out(X[:: max(1, len(X) // SPREAD_CHECK_SAMPLES)]):
            return None
        else:
            mean, square = X.mean(axis=0, dtype=np.float64), np.einsum("ij,ij->", X, X, dtype=np.float64) / len(X)
        far = mean @ mean
        return mean if far > SHIFT_MIN_MEAN_SHARE * square and np.isfinite(far) else None


def is_spread_out(X: np.ndarray) -> bool:
    """Whether |m|^2 <= SPREAD_MAX_MEAN_SHARE times the mean |x|^2 of a few samples: then the others do not matter."""
    mean = X.mean(axis=0, dtype=np.float64)
    return bool(mean @ mean <= SPREAD_MAX_MEAN_SHARE * np.einsum("ij,ij->", X, X, dtype=np.float64) / len(X))


def average_full_features(samples: Sparse) -> np.ndarray | None:
    """The mean of each feature of which every sample has an entry, 0 for the others; None where there is none."""
    if samples.size + samples.d <= FEW_ENTRIES:
        X = samples.X
        full = np.bincount(X.indices, minlength=samples.d) == samples.n
        sums = np.bincount(X.indices, weights=X.data, minlength=samples.d)
        return np.where(full, sums / samples.n, 0.0) if full.any() else None
    full = samples.take(slice(0, 1)).X.indices
    for k in range(
        0, samples.n, max(1, samples.n // SPREAD_CHECK_SAMPLES)
    ):  # of most data no feature passes a few of these
        full = np.intersect1d(full, samples.take(slice(k, k + 1)).X.indices)
        if not len(full):
            return None
    X = samples.X
    place = np.minimum(np.searchsorted(full, X.indices), len(full) - 1)
    inside = full[place] == X.indices
    kept = np.bincount(place[inside], minlength=len(full)) == samples.n
    mean = np.zeros(samples.d)
    sums = np.bincount(place[inside], weights=X.data[inside], minlength=len(full))
    mean[full[kept]] = sums[kept] / samples.n
    return mean if kept.any() else None


def translate(X, shift: np.ndarray | None):
    """x_i - shift; X itself where there is no shift. Sparse samples stay sparse."""
    if shift is None or not sp.issparse(X):
        return X if shift is None else X - shift
    samples = wrap(X)
    X, moved = samples.X, np.flatnonzero(shift)
    away = shift[X.indices]
    if np.count_nonzero(away) == samples.n * len(moved):  # every sample has an entry of every feature that moves
        return sp.csr_array((X.data - away, X.indices, X.indptr), X.shape)
    row = sp.csr_array((shift[moved], moved, [0, len(moved)]), (1, samples.d))
    return sp.csr_array(X - sp.csr_array(np.ones((samples.n, 1))) @ row)


def add_shift_product(b: np.ndarray, w, shift: np.ndarray) -> np.ndarray:
    """b + <w, shift> for each row of w, dense or sparse, rounded once."""
    moved = np.flatnonzero(shift)
    rows = w[:, moved].toarray() if sp.issparse(w) else np.atleast_2d(w)[:, moved]
    b, rows = np.broadcast_to(np.ravel(b), len(rows)), np.asarray(rows, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        products, errors = two_product(rows, shift[moved])
        plain = b + products.sum(axis=1)
    if not (np.isfinite(plain).all() and np.isfinite(errors).all()):
        return plain
    return np.array([math.fsum((each, *p, *e)) for each, p, e in zip(b, products, errors, strict=True)])


def two_product(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The products a b as sums p + e of two numbers, p being rounded and e what rounding took away (Dekker 1971)."""
    p = A * B
    (a, a_rest), (b, b_rest) = (split_mantissa(each) for each in (A, B))
    return p, a_rest * b_rest - (((p - a * b) - a_rest * b) - a * b_rest)


def split_mantissa(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A as the sum of two numbers of 26 digits each (Veltkamp 1968)."""
    upper_quantile = 134217729.0 * A  # 2^27 + 1
    high = upper_quantile - (upper_quantile - A)
    return high, A - high
