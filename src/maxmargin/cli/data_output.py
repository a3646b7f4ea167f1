"""Data written to a file or to stdout, in the format that the suffix of the file says."""

from __future__ import annotations

from ..contracts.files import Data, DataFormat
from ..files.formats import DEFAULT_DATA_FORMAT, find_data_format
from .outputs import is_stdout, open_output


def write_data(path: str | None, data: Data, kind: DataFormat | None = None) -> None:
    """Write samples and targets.

    Parameters
    ----------
    path : str or None
        None is stdout. Text is compressed if the path ends in .gz, .bz2 or .xz.
    data : Data
        Queries are kept by every format, weights by tables, as a column.
    kind : DataFormat, optional
        By default what the suffix says, and LIBSVM text for stdout.
    """
    kind = kind or (DEFAULT_DATA_FORMAT if path is None else find_data_format(path))
    if is_stdout(path) and not kind.is_text:
        raise ValueError(f"{kind.title} cannot be written to stdout; name a file.")
    with open_output(path) as file:
        kind.write(file, data)
