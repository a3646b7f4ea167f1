"""Cells of a table: how words and numbers are shown, and on which side they stand."""

from __future__ import annotations

import math

DIGITS = 4  # that are shown; the CSV files have all of them
SMALL, LARGE = 1e-4, 1e5  # numbers outside have an exponent
NOTHING, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def show_column(cells: list[object]) -> list[str]:
    """The cells of a column as text; floats with two decimals at most, as 0.1 and 2.5, are left as they are."""
    floats = [float(cell) for cell in cells if is_float(cell)]
    short = all(number == round(number, 2) and abs(number) < 1e5 for number in floats)
    return [f"{cell:g}".replace("-", MINUS) if short and is_float(cell) else show_cell(cell) for cell in cells]


def is_float(cell: object) -> bool:
    """Whether a cell is a number with decimals."""
    return isinstance(cell, float) or (hasattr(cell, "dtype") and cell.dtype.kind == "f")


def show_cell(cell: object) -> str:
    """A cell as text: four decimals of a float, whole numbers in groups of three, a dash for nothing."""
    if cell is None:
        return NOTHING
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if is_float(cell):
        return show_float(float(cell))
    return cell if isinstance(cell, str) else f"{cell:,}".replace("-", MINUS)


def show_float(number: float) -> str:
    """0.9777, 3839, 0.0013, 1.2e-07: four decimals or digits, two where an exponent says what matters."""
    if not math.isfinite(number):
        return NOTHING if math.isnan(number) else "\N{INFINITY}" if number > 0 else f"{MINUS}\N{INFINITY}"
    size = abs(number)
    if number == 0:
        return "0"
    if size < SMALL or size >= LARGE:
        text = f"{number:.1e}"
    else:
        text = f"{number:.{max(DIGITS - 1 - math.floor(math.log10(size)), 0) if size >= 10 else DIGITS}f}"
    return text.replace("-", MINUS)


def align_column(rows: list[list[object]], place: int) -> str:
    """Numbers to the right, words to the left: a column of both goes by its numbers."""
    cells = [row[place] for row in rows if place < len(row) and row[place] is not None]
    return "words" if not cells or any(isinstance(cell, str) for cell in cells) else "number"


def split_heading(column: str) -> tuple[str, str]:
    """report: seconds -> report, seconds; what has no colon has no common heading."""
    group, colon, name = column.partition(": ")
    return (group, name) if colon else ("", column)
