"""Columns of Parquet files as blocks of dense rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..contracts.blocks import Block, Blocks
from ..runtime.streams import list_paths
from .arrays import BLOCK_BYTES


class RowGroups(NamedTuple):
    """Row groups of a Parquet file that make one block."""

    path: Path
    groups: list[int]


class ParquetBlocks(Blocks):
    """Columns of Parquet files as blocks: row groups, small ones together up to 16 MB.

    A row group is read as a whole, so files with row groups of gigabytes need as much memory. Missing values are NaN.

    Parameters
    ----------
    path : path, list of paths, or a folder, whose .parquet files are taken by name
    target : str, optional
        The column of y, of numbers or of labels.
    weight : str, optional
        The column of sample weights.
    features : list of str, optional
        The columns of X; by default all others, without an index that pandas wrote.
    """

    def __init__(
        self, path, target: str | None = None, weight: str | None = None, features: Sequence[str] | None = None
    ):
        super().__init__()
        paths = list_parquet(path)
        schema = read_footer(paths[0]).schema_arrow
        named = [name for name in (target, weight, *(features or ())) if name is not None]
        for name in named:
            if name not in schema.names:
                raise ValueError(f"{paths[0]} has no column {name!r}; it has {', '.join(schema.names[:20])}.")
        self.target, self.weight = target, weight
        self.feature_names = list(features) if features is not None else list_feature_columns(schema, target, weight)
        self.dtype = check_types(schema, self.feature_names)
        self.d = len(self.feature_names)
        self.pieces, self.n = combine_row_groups(paths, schema, self.d * self.dtype.itemsize)
        self.n_blocks = len(self.pieces)

    def load(self, number: int) -> Block:
        """Read some row groups."""
        from pyarrow.parquet import ParquetFile

        path, groups = self.pieces[number]
        named = [name for name in (self.target, self.weight) if name is not None]
        with ParquetFile(path) as file:
            table = file.read_row_groups(groups, columns=[*self.feature_names, *named], use_threads=False)
        X = np.empty((table.num_rows, self.d), self.dtype)
        for j, name in enumerate(self.feature_names):
            X[:, j] = table.column(name).to_numpy()
        y = None if self.target is None else table.column(self.target).to_numpy()
        weight = None if self.weight is None else table.column(self.weight).to_numpy().astype(np.float64)
        return Block(X, y, weight, number)


def list_parquet(path) -> list[Path]:
    """The files of a folder by name, or the paths given."""
    paths = []
    for each in list_paths(path):
        found = sorted(each.rglob("*.parquet")) if each.is_dir() else [each]
        if not found:
            raise ValueError(f"path={str(each)!r} is a folder without .parquet files.")
        paths += found
    return paths


def read_footer(path: Path):
    """What a Parquet file says of itself."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow; install it with: pip install 'maxmargin[tables]'.") from error
    try:
        return ParquetFile(path)
    except ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as a Parquet file: {str(error).splitlines()[0]}") from error


def list_feature_columns(schema, *taken: str | None) -> list[str]:
    """All columns but those taken, and but an index of pandas."""
    return [name for name in schema.names if name not in taken and not name.startswith("__index_level_")]


def check_types(schema, names: Sequence[str]) -> np.dtype:
    """float32 if all columns are, else float64; columns that are no numbers are refused."""
    import pyarrow.types as kinds

    if not names:
        raise ValueError("features must name at least one column, and none is left.")
    types = [schema.field(name).type for name in names]
    for name, kind in zip(names, types, strict=True):
        if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
            raise ValueError(f"features must be columns of numbers, but {name!r} is of type {kind}.")
    return np.dtype(np.float32 if all(map(kinds.is_float32, types)) else np.float64)


def combine_row_groups(paths: list[Path], schema, width: int) -> tuple[list[RowGroups], int]:
    """Row groups of each file, together up to 16 MB, and the number of rows; all files have the same columns."""
    pieces, n = [], 0
    for path in paths:
        with read_footer(path) as footer:
            if not footer.schema_arrow.equals(schema, check_metadata=False):
                raise ValueError(f"{path} differs from {paths[0]} in its columns or their types.")
            rows = [footer.metadata.row_group(k).num_rows for k in range(footer.num_row_groups)]
        groups, filled = [], 0
        for k, count in enumerate(rows):
            if groups and filled + count * width > BLOCK_BYTES:
                pieces.append(RowGroups(path, groups))
                groups, filled = [], 0
            groups, filled = [*groups, k], filled + count * width
        if groups:
            pieces.append(RowGroups(path, groups))
        n += sum(rows)
    if not pieces:
        raise ValueError(f"{paths[0]} has no rows.")
    return pieces, n
