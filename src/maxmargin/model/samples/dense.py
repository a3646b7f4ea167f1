"""Samples that are the rows of an array."""

from __future__ import annotations

import numpy as np

from ...runtime.interpreter import cached_property
from .rows import GROUP_ROWS, SampleRows, inherit_norms, inherit_rounding, make_writable
from .strips import add_strips, cut_tiles, fill_strips, fits_into_tile

# rows and multiplications from which on a product of our own is faster than that of BLAS, in vectors of 64 bytes
OWN_PRODUCT_MIN_ROWS, OWN_PRODUCT_MIN_TERMS = 64, 1 << 20


class Dense(SampleRows):
    """Rows x_i of an ndarray in float64 or float32."""

    def __init__(self, X: np.ndarray, dtype=np.float64):
        # A small float32 matrix is widened once; a large one stays as it is and is widened tile by tile.
        self.X = X.astype(dtype) if X.dtype != dtype and fits_into_tile(X) else X
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
        """<x_i, z_j>: a large tile by a product of our own, where it is the faster one."""
        if self.n >= OWN_PRODUCT_MIN_ROWS and self.n * other.n * self.d >= OWN_PRODUCT_MIN_TERMS:
            from ...compiled.dense_products import WIDE, dense_dots

            if WIDE:
                out = np.empty((self.n, other.n), self.dtype) if out is None else out
                rows, columns = (make_writable(np.ascontiguousarray(each.values)) for each in (self, other))
                dense_dots(out, rows, columns, WIDE)
                return out
        return np.dot(self.values, other.values.T, out=out)

    def distances(self, other: Dense, out: np.ndarray | None = None) -> np.ndarray:
        """|x_i - z_j|_1."""
        return self._differences(other, out, None)

    def squares(self, other: Dense, out: np.ndarray | None = None) -> np.ndarray:
        """|x_i - z_j|^2, from differences."""
        return self._differences(other, out, True)

    def _differences(self, other: Dense, out: np.ndarray | None, squares: bool | None) -> np.ndarray:
        """|x_i - z_j|^2, or |x_i - z_j|_1 where `squares` is None: compiled code is made for each of the two."""
        from ...compiled.kernel_rows import dense_differences

        out = np.empty((self.n, other.n), self.dtype) if out is None else out
        dense_differences(out, np.ascontiguousarray(self.values), np.ascontiguousarray(other.values), squares)
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
        from ...compiled.close_scores import add_dense_rows

        high, low = np.zeros(self.d), np.zeros(self.d)
        add_dense_rows(make_writable(np.ascontiguousarray(self.X[part], np.float64)), coef, high, low)
        return high, low

    def _project_closely(self, part: slice, high: np.ndarray, low: np.ndarray, out: np.ndarray) -> None:
        from ...compiled.close_scores import project_dense_rows

        project_dense_rows(make_writable(np.ascontiguousarray(self.X[part], np.float64)), high, low, out)

    def pack_groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, values and starts of groups of GROUP_ROWS rows, every feature in each."""
        groups = -(-self.n // GROUP_ROWS)
        rows = np.zeros((groups * GROUP_ROWS, self.d))
        rows[: self.n] = self.X
        values = rows.reshape(groups, GROUP_ROWS, self.d).transpose(0, 2, 1).reshape(-1)
        return np.tile(np.arange(self.d), groups), values, np.arange(groups + 1) * self.d

    @property
    def needs_conversion(self) -> bool:
        """Whether the rows are held in another precision than they are multiplied in."""
        return self.X.dtype != self.dtype

    @property
    def entries_per_sample(self) -> float:
        """d."""
        return self.d

    @property
    def size(self) -> int:
        """Numbers held."""
        return self.X.size

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers held."""
        return self.X.nbytes
