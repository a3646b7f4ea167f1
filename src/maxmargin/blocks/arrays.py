"""Arrays as blocks of rows: in memory, memory-mapped, or in .npy files, which are mapped and not read."""

from __future__ import annotations

import os

import numpy as np
import scipy.sparse as sp

from ..contracts.blocks import Block, Blocks
from ..model.sparse_format import check_sparse

# Bytes of a block of our own making: large for BLAS, and below the 32 MB from which on the C library maps memory anew
# for every block and has all its pages zeroed again: a quarter of a pass at 64 MB.
BLOCK_BYTES = 1 << 24


class ArrayBlocks(Blocks):
    """Blocks of rows of arrays: of memory-mapped ones, only the rows at hand are in memory.

    Parameters
    ----------
    X : ndarray, memmap or CSR matrix of shape (n, d)
    y : ndarray of shape (n,) or None
    weight : ndarray of shape (n,) or None
    rows : int, optional
        Rows of a block; by default as many as make 16 MB in float64.
    """

    def __init__(self, X, y=None, weight=None, rows: int | None = None):
        super().__init__()
        check_sparse(X)
        self.X, self.y, self.weight = X, y, weight
        n, d = X.shape
        width = 8 * (d if not sp.issparse(X) else 1 + 2 * X.nnz // max(n, 1))
        self.rows = max(1, BLOCK_BYTES // max(width, 1)) if rows is None else rows
        self.n, self.d = n, d
        self.n_blocks = max(1, -(-n // self.rows))

    def load(self, number: int) -> Block:
        """A copy of the rows in float64, made on the thread that loads."""
        part = slice(number * self.rows, min((number + 1) * self.rows, self.n))
        X = self.X[part]
        X = X if sp.issparse(X) else np.array(X, np.float64, order="C", subok=False)
        y, weight = (None if each is None else np.asarray(each[part]) for each in (self.y, self.weight))
        return Block(X, y, weight, number)


class NpyBlocks(ArrayBlocks):
    """Rows of X in an .npy file, y and weight in another or in memory; the files are mapped, not read.

    Parameters
    ----------
    path : path of an .npy file of shape (n, d)
    y, weight : path of an .npy file, or array of shape (n,), optional
    rows : int, optional
        Rows of a block; by default as many as make 16 MB.
    """

    def __init__(self, path, y=None, weight=None, rows: int | None = None):
        self.sources = (path, y, weight)
        X, y, weight = (map_array(each, name) for each, name in zip(self.sources, ("path", "y", "weight"), strict=True))
        if X is None or X.ndim != 2:
            raise ValueError(
                f"path must be an .npy file of two dimensions, got {path!r} of {0 if X is None else X.ndim}."
            )
        if X.dtype.kind not in "biuf":
            raise ValueError(f"path must hold real numbers, got {path!r} of {X.dtype}.")
        for name, values in (("y", y), ("weight", weight)):
            if values is not None and values.shape != (len(X),):
                raise ValueError(f"{name} must have one value for each of the {len(X)} rows, got shape {values.shape}.")
        super().__init__(X, y, weight, rows)

    def __getstate__(self) -> dict:
        """The paths and not what is mapped, or a pickle would hold the data."""
        return {key: value for key, value in self.__dict__.items() if key not in ("X", "y", "weight")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.X, self.y, self.weight = map(map_array, self.sources, ("path", "y", "weight"))


def map_array(source, name: str) -> np.ndarray | None:
    """An .npy file as a mapped array; an array as it is."""
    if source is None or not isinstance(source, str | os.PathLike):
        return source if source is None else np.asarray(source)
    try:
        return np.load(source, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{name}={str(source)!r} cannot be mapped as an .npy file: {error}") from error
