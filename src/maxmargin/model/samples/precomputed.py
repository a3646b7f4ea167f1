"""Samples that are known only through a matrix of kernel values."""

from __future__ import annotations

import numpy as np

from ...contracts.samples import Samples


class PrecomputedRows(Samples):
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
