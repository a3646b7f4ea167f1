"""Samples as kernels see them: rows that can be taken, multiplied and measured, dense, sparse or given by index."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

TILE = 1 << 21  # entries of a working tile (16 MB in float64): large for BLAS, small beside any cache_size


class Dense:
    """Rows x_i of an ndarray in float64 or float32; dot products are always formed in float64."""

    def __init__(self, X: np.ndarray):
        # A small float32 matrix is widened once; a large one stays as it is and is widened tile by tile.
        self.X = X.astype(np.float64) if X.dtype != np.float64 and X.size <= TILE else X
        self.n, self.d = X.shape

    @cached_property
    def norms(self) -> np.ndarray:
        """|x_i|^2."""
        if self.X.dtype == np.float64:
            return np.einsum("ij,ij->i", self.X, self.X)
        return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)

    def take(self, index) -> Dense:
        """The rows of an index or a slice."""
        part = Dense(self.X[index])
        if "norms" in self.__dict__:
            part.norms = self.norms[index]
        return part

    def dots(self, other: Dense) -> np.ndarray:
        """<x_i, z_j>."""
        return self.wide @ other.wide.T

    @property
    def wide(self) -> np.ndarray:
        """The rows in float64."""
        return self.X if self.X.dtype == np.float64 else self.X.astype(np.float64)

    def halve(self) -> Dense32:
        """The same rows for arithmetic in float32."""
        return Dense32(self.X.astype(np.float32, copy=False), self.norms.astype(np.float32))

    def combine(self, coef: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_i."""
        return coef @ self.wide if self.X.size <= TILE else _add_tiles(self, coef)

    def project(self, w: np.ndarray) -> np.ndarray:
        """<x_i, w>."""
        if self.X.dtype == np.float64 or self.X.size <= TILE:
            return self.wide @ w
        step = max(1, TILE // self.d)
        return np.concatenate([self.take(slice(k, k + step)).wide @ w for k in range(0, self.n, step)])


class Dense32:
    """Rows x_i whose products are formed in float32, into buffers that are used again and again."""

    def __init__(self, X: np.ndarray, norms: np.ndarray):
        self.X, self.norms = X, norms
        self.n, self.d = X.shape

    def take(self, index) -> Dense32:
        """The rows of an index or a slice."""
        return Dense32(self.X[index], self.norms[index])

    def dots(self, other: Dense32, out: np.ndarray | None = None) -> np.ndarray:
        """<x_i, z_j>."""
        return np.dot(self.X, other.X.T, out=out)


def _add_tiles(samples: Dense, coef: np.ndarray) -> np.ndarray:
    """sum_i coef_i x_i over tiles, so that float32 data are never widened whole."""
    if samples.X.dtype == np.float64:
        return coef @ samples.X
    step = max(1, TILE // samples.d)
    return sum(coef[k : k + step] @ samples.take(slice(k, k + step)).wide for k in range(0, samples.n, step))


class Sparse:
    """Rows of a CSR matrix, 32- or 64-bit indices, float32 or float64 values."""

    def __init__(self, X: sp.csr_array):
        self.X = X
        self.n, self.d = X.shape

    @cached_property
    def norms(self) -> np.ndarray:
        """|x_i|^2."""
        return _sum_rows(np.square(self.X.data, dtype=np.float64), self.X.indptr)

    def take(self, index) -> Sparse:
        """The rows of an index or a slice."""
        part = Sparse(self.X[index])
        if "norms" in self.__dict__:
            part.norms = self.norms[index]
        return part

    def dots(self, other: Sparse) -> np.ndarray:
        """<x_i, z_j>, the shorter side made dense in strips so that the work is nnz x strip."""
        if other.n < self.n:
            return np.ascontiguousarray(other.dots(self).T)
        out = np.empty((self.n, other.n))
        strip = max(1, TILE // max(self.d, 1))
        for k in range(0, self.n, strip):
            rows = self.X[k : k + strip].toarray().astype(np.float64, copy=False)
            out[k : k + strip] = (other.X @ np.ascontiguousarray(rows.T)).T
        return out

    def narrow_indices(self):
        """The matrix in float64 with 32-bit indices, for routines that know no others."""
        index = [part.astype(np.int32, copy=False) for part in (self.X.indices, self.X.indptr)]
        return sp.csr_matrix((self.X.data.astype(np.float64, copy=False), *index), shape=self.X.shape)

    def combine(self, coef: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_i."""
        return self.X.T @ coef

    def project(self, w: np.ndarray) -> np.ndarray:
        """<x_i, w>."""
        return self.X @ w


def _sum_rows(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Sums of the runs of a CSR matrix, each added on its own so that no row borrows another's rounding."""
    sums = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(values, indptr[filled])
    return sums


class Given:
    """Samples known only through a matrix of kernel values: row i of the matrix, column of each training sample."""

    def __init__(self, matrix: np.ndarray, index: np.ndarray | None = None):
        self.matrix = matrix
        self.index = np.arange(matrix.shape[0]) if index is None else index
        self.n, self.d = len(self.index), matrix.shape[1]

    def take(self, index) -> Given:
        """The samples of an index or a slice."""
        return Given(self.matrix, self.index[index])

    def values(self, other: Given) -> np.ndarray:
        """matrix[i, j]."""
        return self.matrix[np.ix_(self.index, other.index)].astype(np.float64, copy=False)


def wrap(X) -> Dense | Sparse:
    """Samples over a dense or CSR matrix, without a copy unless entries are given twice."""
    if not sp.issparse(X):
        return Dense(np.asarray(X))
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return Sparse(X)
