"""Data of any format, told apart by the suffix (`formats.py`)."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ..contracts.files import Data, DataRequest
from ..runtime.streams import find_file, list_paths
from .formats import find_data_format


def read_data(
    path: str | os.PathLike,
    *,
    n_features: int | None = None,
    features: Sequence[str] | None = None,
    zero_based: bool | str = "auto",
    target: str | int | None = None,
    weight: str | int | os.PathLike | None = None,
    query: str | int | None = None,
    header: bool | str = "auto",
    delimiter: str | None = None,
    dtype=np.float64,
) -> Data:
    """Read samples and targets: .csv and .tsv, .parquet, and LIBSVM text in files of any other name.

    All texts may be compressed with .gz, .bz2 or .xz beneath which their suffix stands. A value that is missing or not
    finite is refused with its line and column.

    Parameters
    ----------
    path : path
        A folder is one of Parquet files.
    n_features : int, optional
        How many features there must be. In LIBSVM text there may be fewer; a table in which all columns are features
        then has no target.
    features : list of str, optional
        The columns of a table that are features, by name, in the order in which they are wanted; one column beside them
        is the target. If the columns have no names, or in LIBSVM text, only their number counts.
    zero_based : bool or "auto"
        Of LIBSVM text, as in `read_libsvm`.
    target : str or int, optional
        The column of labels or targets in a table, by its name or place from 0 on; by default the last one.
    weight : path, str or int, optional
        A file of weights, one number per line; or the column of a table.
    query : str or int, optional
        The column of query numbers in a table; LIBSVM text has them after qid:.
    header : bool or "auto"
        Whether the first line of a .csv file names the columns; "auto" means that it does if none of its fields is a
        number.
    delimiter : str, optional
        Of a .csv file; by default a comma, and a tab for .tsv.
    dtype : float64 or float32
        The type of X.

    Returns
    -------
    Data
        (X, y, weight, query, names, first_index, target): CSR for LIBSVM text, dense for tables; y in float64, or
        texts.
    """
    path = list_paths(path)[0] if isinstance(path, str | os.PathLike) else find_file(path)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}.")
    request = DataRequest(n_features, features, target, weight, query, zero_based, header, delimiter, dtype)
    return find_data_format(path).read(path, request)
