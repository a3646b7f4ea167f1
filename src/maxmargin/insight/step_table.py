"""A trace as a table: text, CSV, and a DataFrame."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

import numpy as np

from ..runtime.display import HEAD_ROWS, TAIL_ROWS, leave_out_middle

SHOWN_ENTRIES = 3  # of an array in a cell of text
SPREAD_ENTRIES = 4  # the longest array that has a column for each of its numbers in a file
DIGITS = 5  # of numbers in text


def show_number(value: float) -> str:
    """A number as text: 0.12346, 1e-07, -3."""
    return f"{value:.{DIGITS}g}"


def show_cell(value: Any) -> str:
    """A cell as text; the first numbers of an array."""
    if value is None:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str | int | np.integer):
        return str(value)
    if isinstance(value, np.ndarray):
        flat = value.ravel()
        more = " ..." if len(flat) > SHOWN_ENTRIES else ""
        return "(" + " ".join(show_number(float(each)) for each in flat[:SHOWN_ENTRIES]) + more + ")"
    return show_number(float(value))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The table as text, its columns aligned; rows in the middle of a long one are left out."""
    kept = [row for row in leave_out_middle(rows) if row is not None]
    cells = [list(columns), *([show_cell(value) for value in row] for row in kept)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(columns))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    if len(kept) < len(rows):
        lines.insert(HEAD_ROWS + 1, f"... {len(rows) - HEAD_ROWS - TAIL_ROWS} more steps ...")
    return "\n".join(lines)


def spread_arrays(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """The table with a column for each number of short arrays: w becomes w[0], w[1]; long ones become text."""
    names: list[str] = []
    parts: list[list[Any]] = []
    for k, name in enumerate(columns):
        column = [row[k] for row in rows]
        sizes = {np.size(value) for value in column if isinstance(value, np.ndarray)}
        if len(sizes) == 1 and max(sizes) <= SPREAD_ENTRIES:
            for entry in range(max(sizes)):
                names.append(f"{name}[{entry}]")
                parts.append([None if value is None else np.ravel(value)[entry].item() for value in column])
        else:
            names.append(name)
            parts.append([join_array(value) if isinstance(value, np.ndarray) else value for value in column])
    return names, [list(row) for row in zip(*parts, strict=True)]


def join_array(values: np.ndarray) -> str:
    """All numbers of an array, with spaces between them, to the last digit."""
    return " ".join(repr(float(value)) for value in values.ravel())


def write_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The table as CSV with a line of names."""
    names, flat = spread_arrays(columns, rows)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(["" if value is None else value for value in row] for row in flat)
    return text.getvalue()


def make_frame(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """The table as a pandas DataFrame, indexed by iterations."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_frame needs pandas; install it with: pip install pandas.") from None
    names, flat = spread_arrays(columns, rows)
    return pd.DataFrame(flat, columns=names).set_index("n_iter")
