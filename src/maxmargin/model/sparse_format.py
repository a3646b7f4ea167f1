"""Whether the parts of a sparse matrix suit each other: compiled code believes them, and dies of those that do not."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def check_sparse(X, name: str = "X") -> None:
    """Refuse a sparse matrix with parts that contradict each other; anything else passes.

    Parameters
    ----------
    X : object
        A sparse matrix or array of scipy's in any format is looked at, in time O(nnz) and without a copy.
    name : str
        What the caller knows it as, for the message.
    """
    if not sp.issparse(X):
        return
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, but {name} is a {type(X).__name__} of shape {X.shape}.")
    if fault := find_fault(X):
        raise ValueError(f"{name} is a broken {type(X).__name__}: {fault}.")


def find_fault(X) -> str:
    """The first thing that is wrong with the parts of a sparse matrix, or nothing."""
    return FORMATS[X.format](X)


def find_compressed_fault(X) -> str:
    """CSR, CSC and BSR: indptr cuts indices and data into rows (or columns), and indices are places in them."""
    if np.ndim(X.data) != (3 if X.format == "bsr" else 1):
        return f"data has {np.ndim(X.data)} dimensions"
    block = X.blocksize if X.format == "bsr" else (1, 1)
    n, d = (length // size for length, size in zip(X.shape, block, strict=True))
    n, d = (d, n) if X.format == "csc" else (n, d)
    for part, array in (("indptr", X.indptr), ("indices", X.indices)):
        if fault := find_index_fault(part, array):
            return fault
    if len(X.indices) != len(X.data):
        return f"indices has {len(X.indices)} entries and data has {len(X.data)}"
    if len(X.indptr) != n + 1:
        return f"indptr has {len(X.indptr)} entries where {n + 1} are expected"
    if X.indptr[0] != 0:
        return f"indptr begins with {X.indptr[0]} and not with 0"
    if X.indptr[-1] > len(X.indices):
        return f"indptr ends with {X.indptr[-1]}, beyond the {len(X.indices)} entries of indices"
    falls = X.indptr[1:] < X.indptr[:-1]
    if falls.any():
        place = int(np.argmax(falls))
        return f"indptr must not fall, and indptr[{place + 1}] is {X.indptr[place + 1]} after {X.indptr[place]}"
    return find_index_out_of_range("indices", X.indices[: X.indptr[-1]], d)


def find_coordinate_fault(X) -> str:
    """COO: row and col are as long as data, and are places in the matrix."""
    for part, array, length in (("row", X.row, X.shape[0]), ("col", X.col, X.shape[1])):
        if fault := find_index_fault(part, array):
            return fault
        if np.shape(X.data) != array.shape:
            return f"{part} has {len(array)} entries and data has the shape {np.shape(X.data)}"
        if fault := find_index_out_of_range(part, array, length):
            return fault
    return ""


def find_diagonal_fault(X) -> str:
    """DIA: one offset for each row of data."""
    if fault := find_index_fault("offsets", X.offsets):
        return fault
    if np.ndim(X.data) != 2 or len(X.data) != len(X.offsets):
        return f"data has the shape {np.shape(X.data)}, and there are {len(X.offsets)} offsets"
    return ""


def find_list_fault(X) -> str:
    """LIL: one list of columns and one of values for each row, equally long."""
    if not np.shape(X.rows) == np.shape(X.data) == (X.shape[0],):
        return f"rows and data have {len(X.rows)} and {len(X.data)} lists where {X.shape[0]} are expected"
    for i, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if len(columns) != len(values):
            return f"rows[{i}] has {len(columns)} entries and data[{i}] has {len(values)}"
        array = np.array(columns or [0])
        if fault := find_index_fault(f"rows[{i}]", array) or find_index_out_of_range(f"rows[{i}]", array, X.shape[1]):
            return fault
    return ""


def find_key_fault(X) -> str:
    """DOK: the keys are places in the matrix."""
    strange = (key for key, _ in X.items() if not all(0 <= k < length for k, length in zip(key, X.shape, strict=True)))
    return next((f"the key {key} is outside of it" for key in strange), "")


def find_index_fault(part: str, array: np.ndarray) -> str:
    """Whether an array can hold places at all."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind != "i":
        shown = f"shape {array.shape} and type {array.dtype}" if isinstance(array, np.ndarray) else f"{type(array)}"
        return f"{part} must be one row of signed integers, got {shown}"
    return ""


def find_index_out_of_range(part: str, array: np.ndarray, length: int) -> str:
    """A place that is not among so many."""
    if not array.size or (array.min() >= 0 and array.max() < length):
        return ""
    place = int(np.argmax((array < 0) | (array >= length)))
    return f"{part}[{place}] is {array[place]}, and must be from 0 to {length - 1}"


FORMATS = {
    "csr": find_compressed_fault,
    "csc": find_compressed_fault,
    "bsr": find_compressed_fault,
    "coo": find_coordinate_fault,
    "dia": find_diagonal_fault,
    "lil": find_list_fault,
    "dok": find_key_fault,
}
