"""The file in which svm-scale keeps ranges.

y                   these three lines if targets are scaled
lower upper
low high
x
lower upper
index low high      for every feature that is not constant, indices from 1 on, or from 0, rising
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..runtime.streams import find_file, open_file, write_file
from .ranges import Ranges, TargetRange

MAX_INDEX = 1 << 62  # the largest index that is read
MAX_CHARACTERS_SHOWN = 20  # characters of a wrong line that are shown


def write_ranges(path: str | os.PathLike, ranges: Ranges, *, zero_based: bool = False) -> None:
    """Write `[y, lower upper, low high,] x, lower upper, index low high ...` as svm-scale -s does.

    Parameters
    ----------
    path : path
        The file is there whole or not at all.
    ranges : Ranges
    zero_based : bool
        Whether the first feature has the index 0 and not 1.
    """
    lines, first = [], int(not zero_based)
    if ranges.target is not None:
        low, high, lower, upper = ranges.target
        lines += ["y", f"{lower:.17g} {upper:.17g}", f"{low:.17g} {high:.17g}"]
    lines += ["x", f"{ranges.lower:.17g} {ranges.upper:.17g}"]
    rows = zip(ranges.features.tolist(), ranges.low.tolist(), ranges.high.tolist(), strict=True)
    lines += [f"{column + first} {low:.17g} {high:.17g}" for column, low, high in rows]
    with write_file(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def read_ranges(path: str | os.PathLike, *, zero_based: bool = False) -> Ranges:
    """Read `[y, lower upper, low high,] x, lower upper, index low high ...`, as svm-scale -s writes it.

    Parameters
    ----------
    path : path
    zero_based : bool
        Whether the first feature has the index 0 and not 1.

    Returns
    -------
    Ranges
    """
    first = int(not zero_based)
    path = find_file(path)
    target = None
    with open_file(path) as file:
        lines = RangeFileReader(path, file)
        section = lines.read_section()
        if section == b"y":
            (lower, upper), extremes = lines.read_numbers(2), lines.read_numbers(2)
            target = TargetRange(*extremes, lower, upper)
            section = lines.read_section()
        if section != b"x":
            raise lines.make_error("a line x, or y before it, was expected")
        lower, upper = lines.read_numbers(2)
        rows = list(lines.read_rows(first))
    features = np.array([row[0] - first for row in rows], np.int64)
    low, high = (np.array([row[k] for row in rows], np.float64) for k in (1, 2))
    try:
        return Ranges(features, low, high, lower, upper, target)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


class RangeFileReader:
    """The lines of a range file, read one by one, with their numbers for messages."""

    def __init__(self, path: Path, file):
        self.path, self.file, self.number, self.line = path, file, 0, b""

    def advance(self) -> list[bytes]:
        """The words of the next line that has any; none at the end."""
        for line in self.file:
            self.line, self.number = line, self.number + 1
            if words := line.split():
                return words
        self.line, self.number = b"", self.number + 1
        return []

    def make_error(self, reason: str) -> ValueError:
        """The sentence about the line that was read last."""
        shown = self.line.strip().decode(errors="replace")
        shown = shown if len(shown) <= MAX_CHARACTERS_SHOWN else f"{shown[:MAX_CHARACTERS_SHOWN]}..."
        return ValueError(f"{self.path}, line {self.number}: {reason}, got {shown!r}.")

    def read_section(self) -> bytes:
        """A line of one character."""
        return b" ".join(self.advance())

    def read_numbers(self, count: int) -> tuple[float, ...]:
        """A line of so many finite numbers."""
        return self.convert(self.advance(), count)

    def convert(self, words: list[bytes], count: int) -> tuple[float, ...]:
        """Words as finite numbers."""
        try:
            numbers = tuple(map(float, words))
        except ValueError:
            numbers = ()
        if len(numbers) != count or b"_" in self.line or not np.isfinite(numbers).all():
            raise self.make_error(f"{count} finite numbers were expected")
        return numbers

    def read_rows(self, first: int) -> Iterator[tuple[int, float, float]]:
        """The lines `index low high` to the end, indices from `first` on and rising."""
        before = first - 1
        while words := self.advance():
            index = int(words[0]) if words[0].isdigit() and len(words[0]) < 20 else -1
            if not before < index <= MAX_INDEX:
                raise self.make_error(f"increasing indices of at least {first} were expected")
            before = index
            yield (index, *self.convert(words[1:], 2))
