"""Data of any format: LIBSVM text, comma-separated values, Parquet, told apart by the suffix."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..blocks.files import ParquetBlocks, list_feature_columns, list_parquet, read_footer
from ..runtime.streams import find_file, find_suffix, list_paths
from .columns import ColumnRequest, choose_columns, is_weight_file
from .csv_table import read_head, read_labels, read_table
from .libsvm_text import read_libsvm, read_with_first_index

DELIMITERS = {".csv": ",", ".tsv": "\t"}
TABLES = (".parquet", ".pq", "folder")


class Data(NamedTuple):
    """Samples, labels or targets, weights, queries, names of the features; None where the file has none.

    Of LIBSVM text, `first_index` is the index of the first feature, 0 or 1; of a table, `target` is the name of y.
    """

    X: np.ndarray | sp.csr_array
    y: np.ndarray | None
    weight: np.ndarray | None
    query: np.ndarray | None
    names: list[str] | None
    first_index: int | None = None
    target: str | None = None


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
        A file of weights, one number a line; or the column of a table.
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
    suffix = find_suffix(path)
    request = ColumnRequest(n_features, features, target, weight, query)
    if suffix in DELIMITERS:
        return read_csv(path, request, header, delimiter or DELIMITERS[suffix], dtype)
    if suffix in TABLES:
        return read_parquet(path, request, dtype)
    for name, column in (("target", target), ("query", query)):
        if column is not None:
            raise ValueError(f"{name} is for tables, and {path.name!r} is read as LIBSVM text; it got {column!r}.")
    if features is not None:
        n_features = len(features)
    found, first = read_with_first_index(path, n_features, zero_based, "auto", dtype)
    given = None if weight is None else read_weights(weight, len(found.y))
    return Data(found.X, found.y, given, found.query, None, first)


def read_csv(path: Path, request: ColumnRequest, header: bool | str, delimiter: str, dtype) -> Data:
    """Comma-separated values."""
    if not any(header is each for each in (True, False)) and header != "auto":
        raise ValueError(f"header must be True, False or 'auto', got {header!r}.")
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"':
        raise ValueError(f"delimiter must be one letter, got {delimiter!r}.")
    head = read_head(path, delimiter, header)
    weights_in_file = is_weight_file(path, head.names, request.weight)
    columns = choose_columns(path, head.names, request._replace(weight=None) if weights_in_file else request)
    table = read_table(path, delimiter, head, columns, dtype)
    weights = read_weights(request.weight, len(table.X)) if weights_in_file else table.weight
    y = None if table.labels is None else read_labels(table.labels)
    named = not isinstance(head.names, int)
    names = [head.names[place] for place in columns.features] if named else None
    label = head.names[columns.target] if named and columns.target is not None else None
    queries = None if table.query is None else check_integers(path, table.query)
    return Data(table.X, y, weights, queries, names, target=label)


def read_parquet(path: Path, request: ColumnRequest, dtype) -> Data:
    """The columns of a Parquet file or of a folder of them, read block by block."""
    names = list_feature_columns(read_footer(list_parquet(path)[0]).schema_arrow)
    weights_in_file = is_weight_file(path, names, request.weight)
    columns = choose_columns(path, names, request._replace(weight=None) if weights_in_file else request)
    features = [names[place] for place in columns.features]
    label, weight_name, query_name = (None if place is None else names[place] for place in columns[1:])
    X, y, weights = join_blocks(path, ParquetBlocks(path, label, weight_name, features), dtype)
    if weights_in_file:
        weights = read_weights(request.weight, len(X))
    queries = None
    if query_name is not None:
        numbers = join_blocks(path, ParquetBlocks(path, features=[query_name]), np.float64)[0]
        queries = check_integers(path, numbers[:, 0])
    return Data(X, y, weights, queries, features, target=label)


def join_blocks(path: Path, blocks: ParquetBlocks, dtype) -> tuple:
    """X, labels and weights of all blocks; a value that is missing or not finite is refused."""
    X, y, weights, start = np.empty((blocks.n, blocks.d), dtype), [], [], 0
    for block in blocks.stream():
        check_finite(path, block.X, start, blocks.feature_names)
        X[start : start + len(block.X)] = block.X
        if block.y is not None:
            y.append(check_labels(path, block.y, start, blocks.target))
        if block.weight is not None:
            check_finite(path, block.weight[:, None], start, [blocks.weight])
            weights.append(block.weight)
        start += len(block.X)
    return X, np.concatenate(y) if y else None, np.concatenate(weights) if weights else None


def check_finite(path: Path, values: np.ndarray, start: int, names: list[str]) -> None:
    """Refuse what is missing or not finite, with its row and column."""
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        value = values[row, column]
        reason = "the value is missing" if np.isnan(value) else f"numbers must be finite, got {value}"
        raise ValueError(f"{path}, row {start + row + 1}, column {names[column]!r}: {reason}.")


def check_labels(path: Path, labels: np.ndarray, start: int, name: str) -> np.ndarray:
    """Numbers as they are, texts as texts; none missing."""
    if labels.dtype.kind == "f":
        check_finite(path, labels[:, None], start, [name])
    if labels.dtype.kind in "biufU":
        return labels
    for row, label in enumerate(labels):
        if not isinstance(label, str):
            reason = "the label is missing" if label is None else f"a number or a text was expected, got {label!r}"
            raise ValueError(f"{path}, row {start + row + 1}, column {name!r}: {reason}.")
    return labels.astype(str)


# ---- weights and queries --------------------------------------------------------------------------------------------


def read_weights(path: str | os.PathLike, n: int) -> np.ndarray:
    """One weight a line for each of n samples; such a file is LIBSVM text that has labels only."""
    path = find_file(path, "weight")
    X, weights, _ = read_libsvm(path)
    if X.nnz:
        row = int(np.flatnonzero(np.diff(X.indptr))[0])
        raise ValueError(f"weight={str(path)!r} must have one number a line, and row {row + 1} has more.")
    if len(weights) != n:
        raise ValueError(f"weight={str(path)!r} has {len(weights)} weights for {n} samples.")
    return weights


def check_integers(path: Path, numbers: np.ndarray) -> np.ndarray:
    """Queries as int64."""
    wrong = np.flatnonzero(numbers != np.floor(numbers))
    if len(wrong):
        raise ValueError(f"{path}, row {wrong[0] + 1}: a query must be a whole number, got {numbers[wrong[0]]:g}.")
    return numbers.astype(np.int64)
