"""Samples as kernels see them: rows that can be taken, multiplied and measured, dense, sparse or given by index.

`dtype` is the precision of the arithmetic, float64 unless `to_float32` was called; the numbers themselves stay as they
were
given, and are converted tile by tile where the two differ.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from ..runtime.interpreter import cached_property
from ..runtime.rounding import UNIT, bound_sum
from ..runtime.threads import STRIPS, run_strips

TILE_ENTRIES = 1 << 21  # entries of a working tile (16 MB in float64): large for BLAS, small beside any cache_size
# features up to which that table holds four vectors of each, and still stays near the first cache
FOUR_VECTOR_MAX_FEATURES = 400
SPARSE_TABLE_MAX_BYTES = (
    1 << 24
)  # bytes of the table in which sparse products unpack samples; wider data go through scipy
GROUP_ROWS = 8  # rows of a vector in float64
UNDERFLOW_ALLOWANCE = 2.0**-1000  # more than all that products lose where they are too small for float64
BOUND_INFLATION = 1.0 + 1e-7  # of a bound that is itself summed with rounding
SPARSE_MAX_DENSITY, SPARSE_MIN_FEATURES = (
    0.35,
    32,
)  # dense data with a smaller share of nonzeros, and more features, are multiplied as sparse

Part = TypeVar("Part")
_tables = threading.local()


class SampleRows:
    """What dense and sparse rows share. `rounding` is the relative error of their numbers against the data as given.

    It is 0, or u where the samples were moved to another origin: fl(x - shift) is off by u |fl(x - shift)| at most.
    """

    rounding = 0.0
    displacement = 0.0  # |m| of samples that were moved by m
    norm_of_all = np.inf  # the largest |x|^2 of the samples that these are a part of, once it is known

    @cached_property
    def norm_bounds(self) -> np.ndarray:
        """|x_i|, or a little more: rounding is on the safe side, and u |x_i|^2 is not denormal."""
        with np.errstate(over="ignore"):
            norms = self.norms.astype(np.float64, copy=False)
            return np.sqrt(norms + self.terms * UNDERFLOW_ALLOWANCE) * (1.0 + bound_sum(self.terms + 4))

    @property
    def l1_norm_bounds(self) -> np.ndarray:
        """|x_i|_1, or a little more."""
        with np.errstate(over="ignore"):
            return self.lengths.astype(np.float64, copy=False) * (1.0 + bound_sum(self.terms + 4))

    @cached_property
    def largest_norm(self) -> float:
        """The largest |x_i|^2, as it was computed."""
        return float(self.norms.max(initial=0.0))

    @cached_property
    def largest_length(self) -> float:
        """The largest |x_i|_1, as it was computed."""
        return float(self.lengths.max(initial=0.0))

    def combine_closely(self, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """w = sum_i coef_i x_i as high + low for one row of coef, and a bound on |high + low - w|, the 2-norm.

        Exact products and sums of what sums lose: the error is gamma_k^2 sum_i |coef_i| |x_i| with k a little over n
        (Ogita, Rump and Oishi, 2005, proposition 5.5), and the rounding of samples that were moved.
        """
        coef = np.ascontiguousarray(coef, np.float64)
        parts = list_strips(self, lambda part: self._add_closely(part, coef[part]))
        high, low = np.zeros(self.d), np.zeros(self.d)
        with np.errstate(over="ignore", invalid="ignore"):
            for more, rest in parts:
                high, lost = two_sum(high, more)
                low = low + (lost + rest)
            high, low = two_sum(high, low)
            size = float(np.abs(coef) @ self.norm_bounds)
            square = bound_sum(self.n + 4 * len(parts) + 16) ** 2
            error = (square + self.rounding) * size * BOUND_INFLATION + (self.n + 8) * self.d * UNDERFLOW_ALLOWANCE
        sound = np.isfinite(error) and np.isfinite(high).all() and np.isfinite(low).all()
        return high, low, error if sound else np.inf

    def project_closely(self, high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """<x_i, w> for w = high + low, as f_high + f_low, and bounds on their errors.

        With |low| <= u |high| as `combine_closely` returns them, the error is gamma_k^2 |x_i| |high| with k a little
        over the number of terms, and the rounding of samples that were moved.
        """
        out = fill_strips(self, (2,), lambda part, out: self._project_closely(part, high, low, out))
        with np.errstate(over="ignore", invalid="ignore"):
            length = float(np.linalg.norm(high)) * BOUND_INFLATION + np.sqrt(len(high)) * 2.0**-537
            relative = bound_sum(self.terms + 24) ** 2 + self.rounding
            errors = relative * length * self.norm_bounds * BOUND_INFLATION + (self.terms + 8) * UNDERFLOW_ALLOWANCE
            errors[~np.isfinite(errors + out.sum(axis=1))] = np.inf
        return out[:, 0].copy(), out[:, 1].copy(), errors


class Dense(SampleRows):
    """Rows x_i of an ndarray in float64 or float32."""

    def __init__(self, X: np.ndarray, dtype=np.float64):
        # A small float32 matrix is widened once; a large one stays as it is and is widened tile by tile.
        self.X = X.astype(dtype) if X.dtype != dtype and X.size <= TILE_ENTRIES else X
        self.dtype = np.dtype(dtype)
        self.n, self.d = X.shape

    @cached_property
    def norms(self) -> np.ndarray:
        """|x_i|^2, formed in float64."""
        if self.X.dtype == np.float64:
            norms = np.einsum("ij,ij->i", self.X, self.X)
        else:
            norms = np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        return norms.astype(self.dtype, copy=False)

    @cached_property
    def lengths(self) -> np.ndarray:
        """|x_i|_1."""
        return np.concatenate([np.abs(tile.values).sum(axis=1) for tile in cut_tiles(self)])

    def take(self, index) -> Dense:
        """The rows of an index or a slice."""
        return inherit_norms(self, Dense(self.X[index], self.dtype), index)

    @property
    def values(self) -> np.ndarray:
        """The rows in the precision of the arithmetic."""
        return self.X.astype(self.dtype, copy=False)

    def dots(self, other: Dense, out: np.ndarray | None = None) -> np.ndarray:
        """<x_i, z_j>."""
        return np.dot(self.values, other.values.T, out=out)

    def distances(self, other: Dense, out: np.ndarray | None = None) -> np.ndarray:
        """|x_i - z_j|_1."""
        from ..compiled.kernel_rows import dense_differences

        out = np.empty((self.n, other.n), self.dtype) if out is None else out
        dense_differences(out, np.ascontiguousarray(self.values), np.ascontiguousarray(other.values), None)
        return out

    def squares(self, other: Dense, out: np.ndarray | None = None) -> np.ndarray:
        """|x_i - z_j|^2, from differences."""
        from ..compiled.kernel_rows import dense_differences

        out = np.empty((self.n, other.n), self.dtype) if out is None else out
        dense_differences(out, np.ascontiguousarray(self.values), np.ascontiguousarray(other.values), True)
        return out

    def to_float32(self, megabytes: float = np.inf) -> Dense:
        """The same rows for arithmetic in float32, as a copy if it is no larger than granted."""
        copy = self.X.dtype == np.float32 or 4 * self.X.size <= megabytes * 2**20
        half = Dense(self.X.astype(np.float32, copy=False) if copy else self.X, np.float32)
        half.norms = self.norms.astype(np.float32)
        return inherit_rounding(self, half)

    def combine(self, coef: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_i, for one or several rows of coef."""
        return add_strips(self, lambda part: coef[..., part] @ self.take(part).values)

    def project(self, w: np.ndarray) -> np.ndarray:
        """<x_i, w>, for one or several columns of w."""
        return fill_strips(self, np.shape(w)[1:], lambda part, out: np.dot(self.take(part).values, w, out=out))

    def sum_squares(self, coef: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_ij^2 for each feature j."""
        return add_strips(self, lambda part: coef[part] @ np.square(self.take(part).values))

    def take_features(self, index: np.ndarray) -> Dense:
        """The samples with some of their features."""
        return self if len(index) == self.d else inherit_rounding(self, Dense(self.X[:, index], self.dtype))

    @property
    def terms(self) -> int:
        """Terms of a product of two rows, at most."""
        return self.d

    @property
    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values in float64, features and starts of the rows, as of a CSR matrix in which every entry is stored."""
        values = make_writable(np.ascontiguousarray(self.X, np.float64)).reshape(-1)
        return values, np.tile(np.arange(self.d), self.n), np.arange(self.n + 1) * self.d

    def _add_closely(self, part: slice, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from ..compiled.close_scores import add_dense_rows

        high, low = np.zeros(self.d), np.zeros(self.d)
        add_dense_rows(make_writable(np.ascontiguousarray(self.X[part], np.float64)), coef, high, low)
        return high, low

    def _project_closely(self, part: slice, high: np.ndarray, low: np.ndarray, out: np.ndarray) -> None:
        from ..compiled.close_scores import project_dense_rows

        project_dense_rows(make_writable(np.ascontiguousarray(self.X[part], np.float64)), high, low, out)

    @property
    def size(self) -> int:
        """Numbers held."""
        return self.X.size

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers held."""
        return self.X.nbytes


class Sparse(SampleRows):
    """Rows of a CSR matrix, 32- or 64-bit indices, float32 or float64 values.

    A slice of rows shares the arrays of the whole: its `indptr` simply does not begin at zero.
    """

    copied = 0  # bytes that were made from dense data, beside those that the user gave

    def __init__(self, X: sp.csr_array, dtype=np.float64):
        self.data, self.indices, self.indptr = X.data, X.indices, X.indptr
        self.dtype = np.dtype(dtype)
        self.n, self.d = X.shape

    @classmethod
    def of(cls, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, d: int, dtype) -> Sparse:
        """Samples over the three arrays of a CSR matrix."""
        part = cls.__new__(cls)
        part.data, part.indices, part.indptr, part.dtype = data, indices, indptr, np.dtype(dtype)
        part.n, part.d = len(indptr) - 1, d
        return part

    @property
    def X(self) -> sp.csr_array:
        """The rows as a matrix of scipy's."""
        inside = slice(self.indptr[0], self.indptr[-1])
        return sp.csr_array((self.data[inside], self.indices[inside], self.indptr - self.indptr[0]), (self.n, self.d))

    @cached_property
    def norms(self) -> np.ndarray:
        """|x_i|^2, formed in float64."""
        return self._sum_rows(lambda values: np.square(values, dtype=np.float64))

    @cached_property
    def lengths(self) -> np.ndarray:
        """|x_i|_1."""
        return self._sum_rows(np.abs)

    def _sum_rows(self, measure) -> np.ndarray:
        """Sums over each row, added on its own so that no row borrows another's rounding."""
        sums, begins = np.zeros(self.n), self.indptr - self.indptr[0]
        filled = np.flatnonzero(np.diff(begins))
        if len(filled):
            values = measure(self.data[self.indptr[0] : self.indptr[-1]])
            sums[filled] = np.add.reduceat(values.astype(np.float64, copy=False), begins[filled])
        return sums.astype(self.dtype, copy=False)

    def take(self, index) -> Sparse:
        """The rows of an index or a slice; a slice is not copied."""
        if isinstance(index, slice):
            first, last, _ = index.indices(self.n)
            indptr = self.indptr[first : max(first, last) + 1]
            return inherit_norms(self, Sparse.of(self.data, self.indices, indptr, self.d, self.dtype), index)
        index = np.arange(self.n)[index]
        counts = np.diff(self.indptr)[index]
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(self.indptr.dtype)
        places = np.arange(indptr[-1]) + np.repeat(self.indptr[index] - indptr[:-1], counts)
        part = Sparse.of(self.data[places], self.indices[places], indptr, self.d, self.dtype)
        return inherit_norms(self, part, index)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """data, indices and indptr, the data in the precision of the arithmetic."""
        if self.data.dtype == self.dtype:
            return self.data, self.indices, self.indptr
        inside = slice(self.indptr[0], self.indptr[-1])
        return self.data[inside].astype(self.dtype), self.indices[inside], self.indptr - self.indptr[0]

    def dots(self, other: Sparse, out: np.ndarray | None = None) -> np.ndarray:
        """<x_i, z_j>."""
        from ..compiled.kernel_rows import sparse_dots

        out = np.empty((self.n, other.n), self.dtype) if out is None else out
        table = self._table(4 if self.d <= FOUR_VECTOR_MAX_FEATURES else 2)
        if table is None:
            mine, its = drop_absent_features(self.X, other.X)
            out[:] = (mine @ its.T).toarray()
        elif other.n and len(other.data):
            sparse_dots(out, *self.arrays, *other.arrays, 0, other.n, table)
        else:
            out[:] = 0.0
        return out

    def distances(self, other: Sparse, out: np.ndarray | None = None) -> np.ndarray:
        """|x_i - z_j|_1."""
        from ..compiled.kernel_rows import sparse_distances

        out = np.empty((self.n, other.n), self.dtype) if out is None else out
        table = self._table()
        if table is None:
            from sklearn.metrics.pairwise import manhattan_distances

            out[:] = manhattan_distances(*map(narrow_indices, drop_absent_features(self.X, other.X)))
        elif other.n and len(other.data):
            sparse_distances(out, *self.arrays, *other.arrays, other.lengths, 0, other.n, table)
        else:
            out[:] = self.lengths[:, None]
        return out

    def differences(self, other: Sparse, out: np.ndarray | None = None, *, squares: bool) -> np.ndarray:
        """|x_i - z_j|^2 or |x_i - z_j|_1 in float64, from differences of the numbers as they are."""
        from ..compiled.kernel_rows import sparse_differences

        out = np.empty((self.n, other.n)) if out is None else out
        groups = pack_groups(other)
        if len(groups[0]):
            sparse_differences(out, *self.entries, *groups, squares)
        else:
            out[:] = (self.norms if squares else self.lengths)[:, None]
        return out

    def squares(self, other: Sparse, out: np.ndarray | None = None) -> np.ndarray:
        """|x_i - z_j|^2, from differences."""
        return self.differences(other, out, squares=True)

    def _table(self, vectors: int = 2) -> np.ndarray | None:
        """Zeros of this thread, for d features of so many vectors; None where that would be too much."""
        size = vectors * 64 // self.dtype.itemsize * self.d
        if size * self.dtype.itemsize > SPARSE_TABLE_MAX_BYTES:
            return None
        tables = _tables.__dict__.setdefault("held", {})
        if self.dtype not in tables or tables[self.dtype].size < size:
            tables[self.dtype] = np.zeros(size, self.dtype)
        return tables[self.dtype][:size].reshape(self.d, -1)

    def to_float32(self, megabytes: float = np.inf) -> Sparse:
        """The same rows for arithmetic in float32, as a copy of the values if it is no larger than granted."""
        copy = self.data.dtype == np.float32 or 4 * self.data.size <= megabytes * 2**20
        data = self.data.astype(np.float32, copy=False) if copy else self.data
        half = Sparse.of(data, self.indices, self.indptr, self.d, np.float32)
        half.norms = self.norms.astype(np.float32)
        return inherit_rounding(self, half)

    def combine(self, coef: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_i, for one or several rows of coef."""
        if coef.ndim > 1:
            return np.stack([self.combine(row) for row in coef])
        from ..compiled.sparse_products import combine

        def add(part: slice) -> np.ndarray:
            total = np.zeros(self.d)
            combine(self.data, self.indices, self.indptr[part.start : part.stop + 1], coef[part], total)
            return total

        return add_strips(self, add)

    def project(self, w: np.ndarray) -> np.ndarray:
        """<x_i, w>, for one or several columns of w."""
        if np.ndim(w) > 1:
            return np.stack([self.project(column) for column in np.ascontiguousarray(w.T)], axis=-1)
        from ..compiled.sparse_products import project

        def fill(part: slice, out: np.ndarray) -> None:
            project(self.data, self.indices, self.indptr[part.start : part.stop + 1], w, out)

        return fill_strips(self, (), fill)

    def sum_squares(self, coef: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_ij^2 for each feature j."""
        return Sparse.of(np.square(self.data, dtype=np.float64), self.indices, self.indptr, self.d, np.float64).combine(
            coef
        )

    def take_features(self, index: np.ndarray) -> Sparse:
        """The samples with some of their features."""
        if len(index) == self.d:
            return self
        part = sp.csr_array(self.X[:, index])
        part.sort_indices()
        return inherit_rounding(self, Sparse(part, self.dtype))

    @cached_property
    def terms(self) -> int:
        """Terms of a product of two rows, at most."""
        return int(np.diff(self.indptr).max(initial=1))

    @property
    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values in float64, features and starts of the rows."""
        inside = slice(self.indptr[0], self.indptr[-1])
        values = make_writable(self.data[inside].astype(np.float64, copy=False))
        return values, self.indices[inside].astype(np.int64), (self.indptr - self.indptr[0]).astype(np.int64)

    def _add_closely(self, part: slice, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from ..compiled.close_scores import add_sparse_rows

        high, low = np.zeros(self.d), np.zeros(self.d)
        add_sparse_rows(*self.take(part).entries, coef, high, low)
        return high, low

    def _project_closely(self, part: slice, high: np.ndarray, low: np.ndarray, out: np.ndarray) -> None:
        from ..compiled.close_scores import project_sparse_rows

        project_sparse_rows(*self.take(part).entries, high, low, out)

    @property
    def size(self) -> int:
        """Numbers of these rows."""
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers held."""
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes


class PrecomputedRows:
    """Samples known only through a matrix of kernel values: row i of the matrix, column of each training sample."""

    dtype = np.dtype(np.float64)

    def __init__(self, matrix: np.ndarray, index: np.ndarray | None = None):
        self.matrix = matrix
        self.index = np.arange(matrix.shape[0]) if index is None else index
        self.n, self.d = len(self.index), matrix.shape[1]

    def take(self, index) -> PrecomputedRows:
        """The samples of an index or a slice."""
        return PrecomputedRows(self.matrix, self.index[index])

    def values(self, other: PrecomputedRows) -> np.ndarray:
        """matrix[i, j]."""
        return self.matrix[np.ix_(self.index, other.index)].astype(np.float64, copy=False)

    nbytes = 0


def inherit_norms(samples, part, index):
    """The part with those norms that were already known of the whole; thousands of tiles wait for it."""
    known, given = samples.__dict__, part.__dict__
    if "norms" in known:
        given["norms"] = known["norms"][index]
        given["norm_of_all"] = known.get("largest_norm", samples.norm_of_all)
    if "lengths" in known:
        given["lengths"] = known["lengths"][index]
    return inherit_rounding(samples, part)


def inherit_rounding(samples: SampleRows, part: SampleRows) -> SampleRows:
    """The part, its numbers as far from the data as those of the whole, its products of as many terms at most."""
    if samples.rounding:
        part.rounding, part.displacement = samples.rounding, samples.displacement
    if isinstance(part, Sparse):
        part.terms = samples.terms
    return part


def make_writable(values: np.ndarray) -> np.ndarray:
    """The array, or a copy where it is locked: compiled code would be compiled again for those."""
    return values if values.flags.writeable else values.copy()


def pack_groups(samples: Dense | Sparse) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """features, values[place * GROUP + lane] and starts: the features that any row of a group has, in order."""
    groups = -(-samples.n // GROUP_ROWS)
    if isinstance(samples, Dense):
        rows = np.zeros((groups * GROUP_ROWS, samples.d))
        rows[: samples.n] = samples.X
        values = rows.reshape(groups, GROUP_ROWS, samples.d).transpose(0, 2, 1).reshape(-1)
        return np.tile(np.arange(samples.d), groups), values, np.arange(groups + 1) * samples.d
    data, indices, indptr = samples.entries
    lane = np.repeat(np.arange(samples.n) % GROUP_ROWS, np.diff(indptr))
    features, values = [np.zeros(0, np.int64)], [np.zeros(0)]
    for first in range(0, samples.n, GROUP_ROWS):
        inside = slice(indptr[first], indptr[min(first + GROUP_ROWS, samples.n)])
        union, place = np.unique(indices[inside], return_inverse=True)
        block = np.zeros((len(union), GROUP_ROWS))
        block[place, lane[inside]] = data[inside]
        features.append(union)
        values.append(block.reshape(-1))
    starts = np.cumsum([len(union) for union in features])
    return np.concatenate(features), np.concatenate(values), starts


def strip_rows(samples) -> int:
    """Rows of a strip that a core takes at a time: an eighth of all, but not a few, and no more than a tile of them."""
    entries = samples.d if isinstance(samples, Dense) else max(1, len(samples.data) // max(samples.n, 1))
    fewest, most = (max(1, size // max(entries, 1)) for size in (TILE_ENTRIES // 16, TILE_ENTRIES))
    return int(np.clip(-(-samples.n // STRIPS), fewest, most))


def fill_strips(samples, shape: tuple, fill: Callable[[slice, np.ndarray], None]) -> np.ndarray:
    """One number (or `shape` of them) for each sample, strip by strip on all cores: fill(rows, out[rows])."""
    out = np.empty((samples.n, *shape))
    run_strips(lambda start, stop: fill(slice(start, stop), out[start:stop]), samples.n, strip_rows(samples))
    return out


def list_strips(samples, work: Callable[[slice], Part]) -> list[Part]:
    """work(rows) for each strip, on all cores, in order."""
    step = strip_rows(samples)
    parts: list = [None] * -(-samples.n // step)

    def run(start: int, stop: int) -> None:
        parts[start // step] = work(slice(start, stop))

    run_strips(run, samples.n, step)
    return parts


def add_strips(samples, add: Callable[[slice], np.ndarray]) -> np.ndarray:
    """The sum over strips of add(rows), evaluated on all cores and added in order."""
    parts = list_strips(samples, add)
    return sum(parts[1:], parts[0]) if parts else add(slice(0, 0))


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s = fl(a + b) and e with a + b = s + e (Knuth)."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)


def tile_rows(samples: Dense) -> int:
    """Rows of such a piece."""
    return max(1, TILE_ENTRIES // max(samples.d, 1))


def cut_tiles(samples: Dense) -> Iterator[Dense]:
    """The rows in pieces small enough to be converted, one after the other."""
    step = tile_rows(samples)
    return (samples.take(slice(k, k + step)) for k in range(0, max(samples.n, 1), step))


def drop_absent_features(A: sp.csr_array, B: sp.csr_array) -> tuple[sp.csr_array, sp.csr_array]:
    """Both matrices with the features that either of them has: there may be billions that neither has."""
    present, place = np.unique(np.concatenate([A.indices, B.indices]), return_inverse=True)
    places = place[: A.nnz], place[A.nnz :]
    return tuple(
        sp.csr_array((each.data, mine, each.indptr), (each.shape[0], len(present)))
        for each, mine in zip((A, B), places, strict=True)
    )


def narrow_indices(X: sp.csr_array) -> sp.csr_matrix:
    """The matrix in float64 with 32-bit indices, for routines that know no others."""
    index = [part.astype(np.int32, copy=False) for part in (X.indices, X.indptr)]
    return sp.csr_matrix((X.data.astype(np.float64, copy=False), *index), shape=X.shape)


def wrap(X) -> Dense | Sparse:
    """Samples over a dense or CSR matrix, without a copy unless entries are given twice."""
    if not sp.issparse(X):
        return Dense(np.asarray(X))
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return Sparse(X)


def mark_moved(samples: Dense | Sparse, shift: np.ndarray | None) -> Dense | Sparse:
    """The samples, known to be rounded where they are differences from a shift."""
    if shift is not None:
        samples.rounding, samples.displacement = UNIT, float(np.linalg.norm(shift))
    return samples


def choose_storage_format(samples: Dense | Sparse) -> Dense | Sparse:
    """The samples in the form in which their products are quicker: sparse where few numbers are not zero.

    A product of two dense rows costs d/20 cycles in BLAS, one of sparse rows about nnz/16 cycles and the unpacking.
    """
    if not isinstance(samples, Dense) or samples.d <= SPARSE_MIN_FEATURES or samples.n == 0:
        return samples
    probe = samples.X[:: max(1, samples.n // 256)]
    if np.count_nonzero(probe) >= SPARSE_MAX_DENSITY * probe.size:
        return samples
    sparse = convert_to_sparse(samples)
    sparse.copied = sparse.nbytes
    return sparse


def convert_to_sparse(samples: Dense) -> Sparse:
    """Dense samples as sparse ones."""
    part = Sparse(sp.csr_array(samples.X), samples.dtype)
    return inherit_norms(samples, part, slice(None))


def match_storage_format(samples, others):
    """The samples in the form of the others, so that the two can be multiplied."""
    return convert_to_sparse(samples) if isinstance(others, Sparse) and isinstance(samples, Dense) else samples
