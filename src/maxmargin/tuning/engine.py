"""The engine of a search: cells that share what they can, each certified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cells import CellOutcome, SearchData, SearchSettings


def can_tune(estimator: Any) -> bool:
    """Whether the engine takes searches over this estimator: one of ours, or a Pipeline that ends in one."""
    raise NotImplementedError


def evaluate_cells(
    estimator: Any, candidates: Sequence[Mapping[str, Any]], data: SearchData, settings: SearchSettings
) -> list[CellOutcome]:
    """The outcome of each candidate on each fold, candidate by candidate; fewer where time or Ctrl-C ended the search.

    On Ctrl-C the cells that are done are returned, and the flag `interrupted` of the list is set.
    """
    raise NotImplementedError
