"""Data written as LIBSVM text, CSV or Parquet, by the suffix of the file."""

from __future__ import annotations

import warnings

import numpy as np

from .data import detect_data_format
from .outputs import is_stdout, open_output

MAX_LABELS_SHOWN = 10  # labels that are named


def write_data(path: str | None, data, kind: str | None = None) -> None:
    """Write samples and targets.

    Parameters
    ----------
    path : str or None
        None is stdout. Text is compressed if it ends in .gz, .bz2 or .xz.
    data : files.Data
        Queries are kept by every format, weights by tables, as a column.
    kind : "libsvm", "csv" or "parquet", optional
        By default what the suffix says, and LIBSVM text for stdout.
    """
    from ..files import write_csv, write_parquet

    kind = kind or ("libsvm" if path is None else detect_data_format(path))
    if kind == "parquet":
        if is_stdout(path):
            raise ValueError("Parquet is no text for stdout; name a file.")
        write_parquet(path, data)
        return
    with open_output(path) as file:
        write_csv(file, data) if kind == "csv" else write_text(file, data)


def write_text(file, data) -> None:
    """LIBSVM text; labels that are texts are numbered, and it is said how."""
    from ..files import write_libsvm

    if data.weight is not None:
        raise ValueError("LIBSVM text has no place for weights; leave --weight out, or write .csv or .parquet.")
    if data.y is None:
        raise ValueError("LIBSVM text begins every line with a target, and the data have none; name it with --target.")
    y = data.y
    if not np.issubdtype(y.dtype, np.number):
        labels, y = np.unique(y, return_inverse=True)
        numbering = ", ".join(f"{number} = {label}" for number, label in enumerate(labels[:MAX_LABELS_SHOWN]))
        warnings.warn(f"LIBSVM text has numbers for labels: {numbering}.", UserWarning, stacklevel=2)
    write_libsvm(file, data.X, y, query=data.query, zero_based=data.first_index == 0)
