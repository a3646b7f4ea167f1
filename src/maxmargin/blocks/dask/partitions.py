"""Partitions of Dask collections as blocks, on the worker that holds or reads them."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from ...contracts.blocks import Block, Blocks
from ...model.sparse_format import check_sparse


@runtime_checkable
class SparseRows(Protocol):
    """Sparse matrices of SciPy, and others that become one."""

    def tocsr(self) -> Any:
        """The matrix as CSR."""


@runtime_checkable
class FrameRows(Protocol):
    """Frames and series of pandas, and others that become arrays."""

    def to_numpy(self, *arguments: Any, **options: Any) -> np.ndarray:
        """The values as an array."""


def load_block(number: int, source: Blocks) -> Block:
    """A block of a source, on the worker that asks for it."""
    return source.load(number)


def read_block(number: int, X, y, weight) -> Block:
    """Partitions as a block, in the forms that tasks know."""
    if isinstance(X, Block):
        return X
    X = read_samples(X)
    y = None if y is None else read_vector(y)
    weight = None if weight is None else read_vector(weight).astype(np.float64, copy=False)
    for name, values in (("y", y), ("weight", weight)):
        if values is not None and len(values) != X.shape[0]:
            raise ValueError(
                f"X and {name} must have partitions of the same rows, but partition {number} of X has {X.shape[0]} "
                f"and that of {name} has {len(values)}."
            )
    return Block(X, y, weight, number)


def read_samples(X) -> np.ndarray | sp.csr_array:
    """A partition of X as a C-ordered ndarray or a CSR array with sorted indices, in float32 or float64."""
    if isinstance(X, SparseRows):
        check_sparse(X)
        X = sp.csr_array(X.tocsr())
        X = X.astype(choose_precision(X.dtype), copy=False)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    elif isinstance(X, FrameRows):
        dtype = choose_precision(*X.dtypes)
        X = np.ascontiguousarray(X.to_numpy(dtype=dtype, na_value=np.nan))
    else:
        X = np.asarray(X)
        X = np.ascontiguousarray(X, dtype=choose_precision(X.dtype))
    if X.ndim != 2:
        raise ValueError(f"X must have blocks of rows and columns, got one of shape {X.shape}.")
    return X


def read_vector(values) -> np.ndarray:
    """A partition of y or of weights as an ndarray."""
    return values.to_numpy() if isinstance(values, FrameRows) else np.asarray(values)


def choose_precision(*dtypes) -> np.dtype:
    """float32 if all are, else float64."""
    return np.dtype(np.float32 if all(dtype == np.float32 for dtype in dtypes) else np.float64)
