"""Numbers of which only a bound is known, since a limit of time ended what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from .report import Table

MORE, LESS = ">", "<"


@dataclass(frozen=True)
class Timing:
    """Seconds of a run, and whether it came to its target in them."""

    seconds: float
    reached: bool


def relate(one: Timing | None, other: Timing | None) -> tuple[float | None, str]:
    """The seconds of one over those of the other, and > or < where one of them was ended too early.

    Nothing is known where both were.
    """
    if one is None or other is None or not (one.reached or other.reached):
        return None, ""
    return one.seconds / other.seconds, MORE if not one.reached else LESS if not other.reached else ""


class BoundedTable(Table):
    """A table whose marks stand before the number: > 12.3."""

    def show(self, row: dict, column: str) -> str:
        """One cell."""
        if row.get(column) is None:
            return "-"
        sign = row.get("marks", {}).get(column)
        text = self.columns[column].format(row[column])
        return f"{sign} {text}" if sign else text


def fill(row: dict, column: str, value: float | None, sign: str) -> None:
    """Put a number and its mark into a row."""
    row[column] = value
    if sign:
        row.setdefault("marks", {})[column] = sign
