"""The engine of a search: cells that share what they can, each certified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..estimators.certified import CertifiedMachine
from .cells import SearchData, SearchOutcome, SearchSettings
from .held_out import last_step
from .plain_cells import evaluate_plainly


def can_tune(estimator: Any) -> bool:
    """Whether the engine takes searches over this estimator: one of ours, or a Pipeline that ends in one."""
    try:
        return isinstance(last_step(estimator), CertifiedMachine)
    except (TypeError, ValueError, IndexError):  # a Pipeline without steps, which scikit-learn refuses in its own words
        return False


def evaluate_cells(
    estimator: Any, candidates: Sequence[Mapping[str, Any]], data: SearchData, settings: SearchSettings
) -> SearchOutcome:
    """The outcome of each candidate on each fold, as far as time and Ctrl-C allowed."""
    return evaluate_plainly(estimator, candidates, data, settings)
