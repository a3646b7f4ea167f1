"""sum_i weight_i x_i x_i' over samples with one constant feature more, in tiles of bounded memory on all cores.

To form such a matrix and to factor it are the longest steps of the second-order methods, and change nothing: a run that
is told to stop is left there and then.
"""

from __future__ import annotations

import numpy as np

from ..runtime.interpreter import release_interpreter
from ..runtime.interruptible import abortable
from ..runtime.scipy_functions import LinAlgError, cho_factor
from ..runtime.threads import STRIPS, run_on_own_thread, run_strips
from .samples import TILE_ENTRIES, Dense, Sparse, VectorSamples, add_strips

TILE_ROWS = 2048  # of a tile of dense samples: at 54 features it stays in the second cache
PAIRS_PER_MATRIX_ENTRY = 4  # pairs of entries of sparse rows for which another matrix, to be filled and added, pays
OWN_THREAD_MIN_PAIRS = 1 << 24  # pairs of entries that take longer than a thread costs
THREADED_FACTOR_MIN_ROWS = 1000  # rows of a matrix from which on its factors take longer than a thread costs
RIDGE_SHARE_OF_TRACE = 1e-10  # of the trace, added to the diagonal where rounding leaves a matrix without factors


def form_normal_matrix(samples: VectorSamples, weight: np.ndarray, constant: float = 0.0) -> np.ndarray:
    """M = sum_i weight_i z_i z_i' with z_i = (x_i, constant), its upper half; rows of weight zero are not touched.

    Parameters
    ----------
    samples : VectorSamples
    weight : ndarray of shape (n,)
        Not negative.
    constant : float
        The value of the last feature.

    Returns
    -------
    ndarray of shape (d + 1, d + 1)
    """
    if samples.n == 0:
        return np.zeros((samples.d + 1, samples.d + 1))
    if samples.sparse:
        return form_sparse_matrix(samples, weight, constant)
    if np.count_nonzero(weight) < samples.n // 2:
        weighted_rows = np.flatnonzero(weight)
        samples, weight = samples.take(weighted_rows), weight[weighted_rows]
    with abortable():
        return add_strips(samples, lambda part: add_dense_squares(samples, weight, constant, part))


def form_sparse_matrix(samples: Sparse, weight: np.ndarray, constant: float) -> np.ndarray:
    """The matrix of sparse rows: in strips that have a matrix each, where their pairs of entries are worth one."""
    pairs = 0.5 * samples.entries_per_sample**2 * np.count_nonzero(weight)
    strips = int(min(STRIPS, pairs / (PAIRS_PER_MATRIX_ENTRY * (samples.d + 1) ** 2)))
    everything = slice(0, samples.n)
    if strips < 2 and pairs < OWN_THREAD_MIN_PAIRS:
        with release_interpreter():
            return add_sparse_squares(samples, weight, constant, everything)
    with abortable():
        if strips < 2:
            return run_on_own_thread(lambda: add_sparse_squares(samples, weight, constant, everything))
        parts: dict[int, np.ndarray] = {}

        def add(start: int, stop: int) -> None:
            parts[start] = add_sparse_squares(samples, weight, constant, slice(start, stop))

        run_strips(add, samples.n, -(-samples.n // strips))
    first, *others = (parts[start] for start in sorted(parts))
    for part in others:
        first += part
    return first


def factor_matrix(matrix: np.ndarray, *, lower: bool = False, overwrite: bool = True) -> tuple[np.ndarray, bool]:
    """The factors L L' = M as `scipy.linalg.cho_solve` takes them; LinAlgError where M is not positive definite."""
    if len(matrix) < THREADED_FACTOR_MIN_ROWS:
        with release_interpreter():
            return cho_factor(matrix, lower=lower, overwrite_a=overwrite, check_finite=False)
    with abortable():
        return run_on_own_thread(lambda: cho_factor(matrix, lower=lower, overwrite_a=overwrite, check_finite=False))


def factor_semidefinite(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """The factors of M, or of M + 1e-10 trace(M) where rounding leaves M indefinite: features of very unequal scale."""
    try:
        return factor_matrix(matrix, overwrite=False)
    except LinAlgError:
        return factor_matrix(matrix + RIDGE_SHARE_OF_TRACE * np.trace(matrix) * np.eye(len(matrix)))


def add_dense_squares(samples: Dense, weight: np.ndarray, constant: float, part: slice) -> np.ndarray:
    """The sum over some rows: BLAS on tiles of rows times the root of their weight."""
    d = samples.d
    step = max(1, min(TILE_ROWS, TILE_ENTRIES // (d + 1)))
    total, tile = np.zeros((d + 1, d + 1)), np.empty((step, d + 1))
    root = np.sqrt(weight[part])
    for start in range(part.start, part.stop, step):
        stop = min(start + step, part.stop)
        scale = root[start - part.start : stop - part.start]
        rows = tile[: stop - start]
        np.multiply(samples.X[start:stop], scale[:, None], out=rows[:, :d])
        np.multiply(scale, constant, out=rows[:, d])
        total += rows.T @ rows
    return total


def add_sparse_squares(samples: Sparse, weight: np.ndarray, constant: float, part: slice) -> np.ndarray:
    """The sum over some rows, pair by pair of their entries."""
    from ..compiled.sparse_products import add_squares, combine

    d, weight = samples.d, weight[part]
    total, border = np.zeros((d + 1, d + 1)), np.zeros(d)
    indptr = samples.indptr[part.start : part.stop + 1]
    add_squares(samples.data, samples.indices, indptr, weight, total)
    if constant:
        combine(samples.data, samples.indices, indptr, weight, border)
        total[:d, d] = constant * border
        total[d, d] = constant**2 * weight.sum()
    return total
