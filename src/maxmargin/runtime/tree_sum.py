"""Sums whose bits depend on the number of their parts only, not on the processes that add them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

# Parts that are added at a time: a constant, or sums would depend on the number of workers.
SUM_FAN_IN = 8


class TreeSum:
    """A sum of parts that arrive in order, `SUM_FAN_IN` at a time: the tree depends on their number only."""

    def __init__(self, join: Callable[[list], Any]):
        self.join = join
        self.levels: list[list] = []

    def add(self, part: Any, level: int = 0) -> None:
        """Take the next part, or the sum of the next eight parts (level 1), of the next eight such sums (level 2)..."""
        while level >= len(self.levels):
            self.levels.append([])
        self.levels[level].append(part)
        if len(self.levels[level]) == SUM_FAN_IN:
            whole, self.levels[level] = self.join(self.levels[level]), []
            self.add(whole, level + 1)

    def total(self) -> Any:
        """The sum of all parts."""
        rest: list = []
        for level in self.levels:  # the higher ones hold the earlier parts
            if level or rest:
                rest = [self.join([*level, *rest])]
        return rest[0]


def add_all(parts: list) -> Any:
    """The sum of some parts, from left to right."""
    return reduce(add, parts)
