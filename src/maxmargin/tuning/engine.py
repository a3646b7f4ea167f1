"""The engine of a search: cells that share what they can, each certified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cells import SearchData, SearchOutcome, SearchSettings


def can_tune(estimator: Any) -> bool:
    """Whether the engine takes searches over this estimator: one of ours, or a Pipeline that ends in one."""
    raise NotImplementedError


def evaluate_cells(
    estimator: Any, candidates: Sequence[Mapping[str, Any]], data: SearchData, settings: SearchSettings
) -> SearchOutcome:
    """The outcome of each candidate on each fold, as far as time and Ctrl-C allowed."""
    raise NotImplementedError
