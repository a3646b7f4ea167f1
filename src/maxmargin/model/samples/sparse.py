"""Samples that are the rows of a CSR matrix."""

from __future__ import annotations

import threading

import numpy as np
import scipy.sparse as sp

from ...runtime.interpreter import cached_property
from .rows import GROUP_ROWS, SampleRows, inherit_norms, inherit_rounding, make_writable
from .strips import add_strips, fill_strips

# bytes of the table in which sparse products unpack samples; wider data go through scipy
SPARSE_TABLE_MAX_BYTES = 1 << 24
# features up to which that table holds four vectors of each, and still stays near the first cache
FOUR_VECTOR_MAX_FEATURES = 400

_tables = threading.local()


class Sparse(SampleRows):
    """Rows of a CSR matrix, 32- or 64-bit indices, float32 or float64 values.

    A slice of rows shares the arrays of the whole: its `indptr` simply does not begin at zero.
    """

    sparse = True

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
        from ...compiled.sparse_products import sum_row_squares

        def fill(part: slice, out: np.ndarray) -> None:
            sum_row_squares(self.data, self.indptr[part.start : part.stop + 1], out)

        return fill_strips(self, (), fill).astype(self.dtype, copy=False)

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
        from ...compiled.kernel_rows import sparse_dots

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
        from ...compiled.kernel_rows import sparse_distances

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
        from ...compiled.kernel_rows import sparse_differences

        out = np.empty((self.n, other.n)) if out is None else out
        groups = other.pack_groups()
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
        from ...compiled.sparse_products import combine

        def add(part: slice) -> np.ndarray:
            total = np.zeros(self.d)
            combine(self.data, self.indices, self.indptr[part.start : part.stop + 1], coef[part], total)
            return total

        return add_strips(self, add)

    def project(self, w: np.ndarray) -> np.ndarray:
        """<x_i, w>, for one or several columns of w."""
        if np.ndim(w) > 1:
            return np.stack([self.project(column) for column in np.ascontiguousarray(w.T)], axis=-1)
        from ...compiled.sparse_products import project

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
        from ...compiled.close_scores import add_sparse_rows

        high, low = np.zeros(self.d), np.zeros(self.d)
        add_sparse_rows(*self.take(part).entries, coef, high, low)
        return high, low

    def _project_closely(self, part: slice, high: np.ndarray, low: np.ndarray, out: np.ndarray) -> None:
        from ...compiled.close_scores import project_sparse_rows

        project_sparse_rows(*self.take(part).entries, high, low, out)

    def pack_groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, values and starts of groups of GROUP_ROWS rows: the features that any row of a group has."""
        data, indices, indptr = self.entries
        lane = np.repeat(np.arange(self.n) % GROUP_ROWS, np.diff(indptr))
        features, values = [np.zeros(0, np.int64)], [np.zeros(0)]
        for first in range(0, self.n, GROUP_ROWS):
            inside = slice(indptr[first], indptr[min(first + GROUP_ROWS, self.n)])
            union, place = np.unique(indices[inside], return_inverse=True)
            block = np.zeros((len(union), GROUP_ROWS))
            block[place, lane[inside]] = data[inside]
            features.append(union)
            values.append(block.reshape(-1))
        starts = np.cumsum([len(union) for union in features])
        return np.concatenate(features), np.concatenate(values), starts

    @property
    def entries_per_sample(self) -> float:
        """Numbers that are stored, over the rows; a slice of rows shares those of the whole, and counts them all."""
        return len(self.data) / max(self.n, 1)

    @property
    def size(self) -> int:
        """Numbers of these rows."""
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers held."""
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes


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
