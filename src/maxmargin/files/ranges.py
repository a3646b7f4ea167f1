"""svm-scale's scaling: each feature to [lower, upper], by the lowest and highest value it had in the training data.

x -> lower + (upper - lower) (x - low) / (high - low)
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..model.sparse_format import check_sparse

ENTRIES_PER_STRIP = 1 << 22  # entries that are looked at together
MAX_FEATURES_SHOWN = 5  # features that a warning names
FILL_IN_WARNING_RATIO = 1.5  # times as many stored values as before are worth a warning


def rescale(values: np.ndarray, low, high, lower: float, upper: float) -> np.ndarray:
    """lower + (upper - lower) (x - low) / (high - low), in svm-scale's order; the ends are exact."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scaled = lower + (upper - lower) * (values - low) / (high - low)
    return np.where(values == low, lower, np.where(values == high, upper, scaled))


class TargetRange(NamedTuple):
    """The lowest and the highest target, and where they go."""

    low: float
    high: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Ranges:
    """The ranges of features, and of targets if they are scaled; values beyond a range go beyond [lower, upper].

    Attributes
    ----------
    features : ndarray
        Columns from 0 on, rising, that have a range; all others become 0.
    low, high : ndarray
        The lowest and the highest value of each of them.
    lower, upper : float
        Where they go.
    target : TargetRange or None
        The same for y.
    """

    features: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lower: float = -1.0
    upper: float = 1.0
    target: TargetRange | None = None

    def __post_init__(self):
        for name, goal in (("", self), ("y_", self.target)):
            if goal is not None and not (np.isfinite([goal.lower, goal.upper]).all() and goal.lower < goal.upper):
                lower, upper = f"{name}lower={goal.lower:g}", f"{name}upper={goal.upper:g}"
                raise ValueError(f"{name}lower must be less than {name}upper, got {lower} and {upper}.")
        extremes = [("features", self.low, self.high)]
        extremes += [] if self.target is None else [("targets", self.target.low, self.target.high)]
        for name, low, high in extremes:
            with np.errstate(over="ignore", invalid="ignore"):
                if not np.isfinite(np.subtract(high, low)).all():
                    raise ValueError(f"The ranges of {name} must be finite, and short enough for float64.")

    def scale(self, X):
        """X scaled, dense or sparse as it was.

        As in svm-scale, features without a range become 0, with a warning if they are not constant; features that X
        does not have count as 0, so the result has at least as many columns as there are ranges. If zeros of a sparse X
        become something else, and more values are stored than before, a warning says so.
        """
        X = check_matrix(X)
        width = max(X.shape[1], int(self.features[-1]) + 1 if len(self.features) else 0)
        return self.scale_sparse(X, width) if sp.issparse(X) else self.scale_dense(X, width)

    def scale_target(self, y) -> np.ndarray:
        """y scaled, or as it is if targets have no range."""
        return np.asarray(y) if self.target is None else rescale(np.asarray(y, np.float64), *self.target)

    def scale_dense(self, X: np.ndarray, width: int) -> np.ndarray:
        """One strip of rows at a time."""
        unseen = np.setdiff1d(np.arange(X.shape[1]), self.features)
        if len(X):
            warn_unseen(unseen[X[:, unseen].min(axis=0) != X[:, unseen].max(axis=0)])
        scaled = np.zeros((len(X), width), choose_float_type(X))
        known = int(np.searchsorted(self.features, X.shape[1]))
        columns, low, high = self.features[:known], self.low[:known], self.high[:known]
        scaled[:, self.features[known:]] = self.rescale_zeros()[known:]
        step = max(1, ENTRIES_PER_STRIP // max(width, 1))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            scaled[part, columns] = rescale(X[part, columns].astype(np.float64), low, high, self.lower, self.upper)
        return scaled

    def scale_sparse(self, X: sp.csr_array, width: int) -> sp.csr_array:
        """What is stored is scaled; then zeros are written out where they become something else."""
        slots, known = find_columns(self.features, X.indices)
        columns, low, high = measure_columns(X.indices[~known], X.data[~known], X.shape[0])
        warn_unseen(columns[low != high])
        values = np.zeros(X.nnz, choose_float_type(X))
        slots = slots[known]
        stored = X.data[known].astype(np.float64)
        values[known] = rescale(stored, self.low[slots], self.high[slots], self.lower, self.upper)
        scaled = sp.csr_array((values, X.indices, X.indptr), shape=(X.shape[0], width))
        zeros = self.rescale_zeros()
        if zeros.any():
            scaled = fill_zeros(scaled, self.features[zeros != 0], zeros[zeros != 0].astype(values.dtype))
        scaled.eliminate_zeros()
        if scaled.nnz > FILL_IN_WARNING_RATIO * X.nnz:
            warnings.warn(
                f"Scaling made {scaled.nnz:,} stored values of {X.nnz:,}, because zeros became nonzero; if the "
                "values are not negative and mostly zero, lower=0 keeps the zeros.",
                UserWarning,
                stacklevel=3,
            )
        return scaled

    def rescale_zeros(self) -> np.ndarray:
        """What 0 becomes, for each feature with a range."""
        return rescale(np.zeros(len(self.features)), self.low, self.high, self.lower, self.upper)


def find_ranges(
    X, y=None, *, lower: float = -1.0, upper: float = 1.0, target: tuple[float, float] | None = None
) -> Ranges:
    """The lowest and the highest value of each feature that is not constant, and of y where `target` is given.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,), optional
    lower, upper : float
        Where features are scaled to: svm-scale's -l and -u.
    target : (float, float), optional
        Where targets are scaled to: svm-scale's -y.

    Returns
    -------
    Ranges
    """
    X = check_matrix(X)
    n, d = X.shape
    if not n:
        raise ValueError("X must have at least one row to find ranges from.")
    if sp.issparse(X):
        columns, low, high = measure_columns(X.indices, X.data, n)
    else:
        columns, low, high = np.arange(d), X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    varied = low != high
    if target is None:
        target_range = None
    elif y is None:
        raise ValueError(f"y must be given where target={target!r} says how to scale it.")
    else:
        target_range = TargetRange(float(np.min(y)), float(np.max(y)), *map(float, target))
    return Ranges(columns[varied], low[varied], high[varied], float(lower), float(upper), target_range)


def measure_columns(indices: np.ndarray, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns in which something is stored, the lowest and the highest value of each; what is not stored is 0."""
    order = np.argsort(indices, kind="stable")
    columns, starts, counts = np.unique(indices[order], return_index=True, return_counts=True)
    if not len(columns):
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    values = values[order].astype(np.float64)
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    some = counts < n
    low[some], high[some] = np.minimum(low[some], 0.0), np.maximum(high[some], 0.0)
    return columns.astype(np.int64), low, high


def find_columns(features: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where columns are among rising features, and whether they are."""
    if not len(features):
        return np.zeros(len(columns), np.int64), np.zeros(len(columns), bool)
    slots = np.minimum(np.searchsorted(features, columns), len(features) - 1)
    return slots, features[slots] == columns


def fill_zeros(X: sp.csr_array, columns: np.ndarray, zeros: np.ndarray) -> sp.csr_array:
    """X with other values for the zeros of some columns, where nothing is stored; strip by strip."""
    step = max(1, ENTRIES_PER_STRIP // len(columns))
    parts = []
    for start in range(0, X.shape[0], step):
        part = X[start : start + step].tocoo()
        slots, stored = find_columns(columns, part.col)
        empty = np.ones((part.shape[0], len(columns)), bool)
        empty[part.row[stored], slots[stored]] = False
        rows, slots = np.nonzero(empty)
        places = np.concatenate([part.row, rows]), np.concatenate([part.col, columns[slots]])
        filled = sp.coo_array((np.concatenate([part.data, zeros[slots]]), places), shape=part.shape)
        parts.append(filled.tocsr())
    return sp.vstack(parts, format="csr") if parts else X


def warn_unseen(columns: np.ndarray) -> None:
    """Warn of features that are not constant and have no range."""
    if len(columns):
        shown = ", ".join(map(str, (columns[:MAX_FEATURES_SHOWN] + 1).tolist())) + (
            ", ..." if len(columns) > MAX_FEATURES_SHOWN else ""
        )
        warnings.warn(
            f"Features without a range are scaled to 0, {len(columns)} that are not constant: index {shown}.",
            UserWarning,
            stacklevel=4,
        )


def choose_float_type(X) -> np.dtype:
    """float32 stays, all else becomes float64."""
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


def check_matrix(X) -> np.ndarray | sp.csr_array:
    """A matrix, sparse ones without an entry in two parts."""
    if not sp.issparse(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {X.ndim}.")
        return X
    check_sparse(X)
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
