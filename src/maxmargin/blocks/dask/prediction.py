"""Predictions of a Dask collection, computed where its blocks are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from .collections import check_samples, is_array
from .partitions import read_samples


def predict_blocks(X, function: Callable, dtype, n_columns: int | None = None):
    """function(rows) for each block of rows, as a dask array that is computed when it is asked for.

    Parameters
    ----------
    X : dask array or DataFrame
    function : callable
        Takes an ndarray or a CSR array of shape (rows, d), returns an array of shape (rows,) or (rows, n_columns).
    dtype : dtype of what it returns
    n_columns : int or None
        None for a vector.
    """
    X = check_samples(X)
    shape = (0,) if n_columns is None else (0, n_columns)
    meta = np.empty(shape, dtype)
    apply = partial(apply_rows, function, meta)
    if not is_array(X):
        return X.map_partitions(apply, meta=meta)
    if n_columns is None:
        return X.map_blocks(apply, dtype=dtype, drop_axis=1, meta=meta)
    return X.map_blocks(apply, dtype=dtype, chunks=(X.chunks[0], (n_columns,)), meta=meta)


def apply_rows(function: Callable, empty: np.ndarray, X) -> np.ndarray:
    """function(rows); of no rows, nothing."""
    X = read_samples(X)
    return function(X) if X.shape[0] else empty
