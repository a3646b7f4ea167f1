"""The hash of the data of a fit: whether X, y and the weights are those that a model was trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from ..blocks import Blocks
from ..blocks.dask import is_collection
from ..model.sparse_format import check_sparse

STRIP_ENTRIES = 1 << 20  # entries that are looked at in one go


def hash_data(X, y=None, sample_weight=None) -> str:
    """BLAKE2b over the shapes, then over every entry of X that is not zero, over y, and over the weights.

    Numbers count as float64, so that neither the type nor the form of the data matters: a float32 matrix has the hash
    of its float64 copy, a sparse matrix that of the dense one, weights that are all 1 that of no weights. It takes
    little longer than BLAKE2b itself.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d); or a list of sequences
    y : array of shape (n,), numbers or texts; or a list of labellings; optional
    sample_weight : array of shape (n,), optional

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    if isinstance(X, Blocks) or is_collection(X):
        raise ValueError("X must be in memory to be hashed; data in blocks have no hash.")
    digest = hashlib.blake2b(digest_size=16)
    for part in list_parts(X):
        add_matrix(digest, part)
    digest.update(b"y")
    if y is not None:
        for part in list_parts(y):
            add_targets(digest, np.asarray(part))
    weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight is not None and not (weight == 1.0).all():
        digest.update(b"weight")
        digest.update(np.ascontiguousarray(weight, "<f8"))
    return digest.hexdigest()


def list_parts(values) -> list:
    """The sequences of a list of arrays; anything else is one part."""
    nested = isinstance(values, list | tuple) and len(values) and np.ndim(values[0]) > 0
    return list(values) if nested and (sp.issparse(values[0]) or isinstance(values[0], np.ndarray)) else [values]


def add_matrix(digest, X) -> None:
    """The shape; strip by strip how many entries each row has, where they are unless all are there, and the values."""
    check_sparse(X)
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    digest.update(repr(tuple(map(int, X.shape))).encode())
    for counts, places, values in cut_entries(X):
        digest.update(np.ascontiguousarray(counts, "<i8"))
        if len(values) < len(counts) * int(np.prod(X.shape[1:])):
            digest.update(np.ascontiguousarray(places, "<i8"))
        digest.update(np.ascontiguousarray(values, "<f8"))


def cut_entries(X) -> Iterator[tuple[np.ndarray, np.ndarray | None, np.ndarray]]:
    """Of each strip of rows: entries per row, their columns, their values; the strips depend on the shape only."""
    step = max(1, STRIP_ENTRIES // max(int(np.prod(X.shape[1:])), 1))
    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        if sp.issparse(part):
            part = part.copy()
            part.sum_duplicates()
            part.eliminate_zeros()
            yield np.diff(part.indptr), part.indices, part.data
        else:
            flat = np.ascontiguousarray(part).reshape(len(part), -1)
            counts = np.count_nonzero(flat, axis=1)
            if counts.sum() == flat.size:
                yield counts, None, flat.ravel()
            else:
                rows, columns = np.nonzero(flat)
                yield counts, columns, flat[rows, columns]


def add_targets(digest, y: np.ndarray) -> None:
    """Numbers as float64, anything else as texts."""
    digest.update(repr(y.shape).encode())
    if y.dtype.kind in "biuf":
        digest.update(np.ascontiguousarray(y, "<f8"))
    else:
        digest.update("\0".join(map(str, y.ravel().tolist())).encode())
