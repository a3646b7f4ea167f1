"""Data written as tables: comma-separated values and Parquet, a column for each feature and the target last."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from ..contracts.files import Data
from ..model.sparse_format import check_sparse
from ..runtime.streams import write_file

ENTRIES_PER_WRITE = 1 << 20  # entries that are written at a time


def write_csv(path: str | os.PathLike | BinaryIO, data: Data) -> None:
    """Write a header and `x1,x2,...,query,weight,y` per line; numbers read back as they were.

    Parameters
    ----------
    path : path, or a binary file that is open
        Compressed if it ends in .gz, .bz2 or .xz; there whole or not at all.
    data : Data
        Sparse samples are written with their zeros, some rows at a time.
    """
    with write_file(path) as file:
        for text in format_csv(data):
            file.write(text.encode())


def write_parquet(path: str | os.PathLike | BinaryIO, data: Data) -> None:
    """Write the same columns as Parquet, in row groups of a few megabytes.

    Parameters
    ----------
    path : path, or a binary file that is open
    data : Data
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow; install it with: pip install 'maxmargin[tables]'.") from error
    names, other_columns = list_columns(data)
    types = [(name, pyarrow.float64()) for name in names]
    for name, column in other_columns.items():
        numbers = column.dtype.kind in "biuf"
        types.append((name, pyarrow.from_numpy_dtype(column.dtype) if numbers else pyarrow.string()))
    schema = pyarrow.schema(types)
    with write_file(path) as file, ParquetWriter(file, schema) as writer:
        for part, trailing in split_rows(data, len(names), other_columns):
            columns = [*part.T.astype(np.float64), *trailing]
            arrays = [pyarrow.array(column, kind) for column, (_, kind) in zip(columns, types, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))


def list_columns(data: Data) -> tuple[list[str], dict[str, np.ndarray]]:
    """The names of the features, and the columns behind them, the target last, under its own name or y.

    Names that the features have already get a _ behind them.
    """
    names = list(data.names or [f"x{j + 1}" for j in range(data.X.shape[1])])
    other_columns = {}
    for name, column in (("query", data.query), ("weight", data.weight), (data.target or "y", data.y)):
        if column is not None:
            while name in names:
                name += "_"
            other_columns[name] = column
    return names, other_columns


def split_rows(
    data: Data, d: int, other_columns: dict[str, np.ndarray]
) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """Some rows at a time: the features, dense, and the columns behind them."""
    check_sparse(data.X)
    step = max(1, ENTRIES_PER_WRITE // max(d, 1))
    for start in range(0, data.X.shape[0], step):
        part = data.X[start : start + step]
        part = part.toarray() if sp.issparse(part) else np.asarray(part)
        yield part, [column[start : start + step] for column in other_columns.values()]


def format_csv(data: Data) -> Iterator[str]:
    """The header, then some lines at a time."""
    names, other_columns = list_columns(data)
    yield format_lines([[*names, *other_columns]])
    for part, trailing in split_rows(data, len(names), other_columns):
        columns = [[format_value(value) for value in column.tolist()] for column in trailing]
        features = ([format_value(value) for value in row] for row in part.tolist())
        yield format_lines([*row, *last] for row, last in zip(features, zip(*columns, strict=True), strict=True))


def format_lines(rows: Iterable[list[str]]) -> str:
    """Some lines of a table, fields in quotes where they need them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def format_value(value) -> str:
    """The shortest text that reads as the same number; a text as it is."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
