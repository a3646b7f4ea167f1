"""The formats of data files: LIBSVM text, CSV, Parquet, and arrays of NumPy."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..contracts.files import Data, DataFormat, DataRequest

if TYPE_CHECKING:
    from ..contracts.blocks import Blocks

MAX_LABELS_SHOWN = 10  # labels that a warning names


class NpyArray(DataFormat):
    """X as an array in NumPy's own format, y in another file: mapped, block by block."""

    name, title, suffixes = "npy", "An array of NumPy", (".npy",)
    can_read, can_write, can_stream = False, False, True
    is_text, has_targets_apart, takes_several_files = False, True, False

    def open_blocks(self, path: Any, **options: Any) -> Blocks:
        """Slices of rows of a mapped file."""
        from ..blocks.arrays import NpyBlocks

        return NpyBlocks(path, **options)


class ParquetTable(DataFormat):
    """Columns in a Parquet file, or in a folder of them."""

    name, title, suffixes, other_suffixes = "parquet", "Parquet", (".parquet",), (".pq", "folder")
    can_stream, is_text = True, False

    def read(self, path: Path, request: DataRequest) -> Data:
        """The columns, read block by block."""
        from .parquet_table import read_parquet

        return read_parquet(path, request)

    def write(self, path: str | os.PathLike | BinaryIO, data: Data) -> None:
        """A column for each feature, and the target last."""
        from .tables import write_parquet

        write_parquet(path, data)

    def open_blocks(self, path: Any, **options: Any) -> Blocks:
        """Row groups."""
        from ..blocks.parquet_files import ParquetBlocks

        return ParquetBlocks(path, **options)

    def stream(self, path: Path, request: DataRequest) -> Blocks:
        """Row groups of the columns that were asked for."""
        from .parquet_table import open_columns

        return open_columns(path, request)


class LibsvmText(DataFormat):
    """Lines of `label [qid:query] index:value index:value ...  # comment`; files of any other name are read as such."""

    name, title, suffixes = "libsvm", "LIBSVM text", (".svm", ".libsvm", ".svmlight", ".txt")
    can_stream, is_table = True, False

    def read(self, path: Path, request: DataRequest) -> Data:
        """Rows as CSR."""
        from .libsvm_text import read_text

        return read_text(path, request)

    def write(self, path: str | os.PathLike | BinaryIO, data: Data) -> None:
        """Labels that are texts are numbered, and a warning says how."""
        import numpy as np

        from .libsvm_text import write_libsvm

        if data.weight is not None:
            raise ValueError("LIBSVM text cannot store weights; leave them out, or write .csv or .parquet.")
        if data.y is None:
            raise ValueError("LIBSVM text starts every line with a target, but the data have none; say which it is.")
        y = data.y
        if not np.issubdtype(y.dtype, np.number):
            labels, y = np.unique(y, return_inverse=True)
            numbering = ", ".join(f"{number} = {label}" for number, label in enumerate(labels[:MAX_LABELS_SHOWN]))
            warnings.warn(f"LIBSVM text has numbers for labels: {numbering}.", UserWarning, stacklevel=2)
        write_libsvm(path, data.X, y, query=data.query, zero_based=data.first_index == 0)

    def open_blocks(self, path: Any, **options: Any) -> Blocks:
        """Pieces that end at ends of lines."""
        from ..blocks.libsvm_files import LibsvmBlocks

        return LibsvmBlocks(path, **options)

    def stream(self, path: Path, request: DataRequest) -> Blocks:
        """The same, with the features that were asked for."""
        return self.open_blocks(path, n_features=request.n_features, zero_based=request.zero_based)


class CsvTable(DataFormat):
    """Comma-separated values, or values separated by tabs."""

    name, title, suffixes = "csv", "CSV", (".csv", ".tsv")

    def read(self, path: Path, request: DataRequest) -> Data:
        """The columns; the delimiter is what was asked for, else what the suffix says."""
        from .csv_table import read_csv

        return read_csv(path, request)

    def write(self, path: str | os.PathLike | BinaryIO, data: Data) -> None:
        """A header, and a column for each feature, the target last."""
        from .tables import write_csv

        write_csv(path, data)
