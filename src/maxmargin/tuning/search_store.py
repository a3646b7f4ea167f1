"""The cells of a search in a file, so that another search over the same data need not solve them again.

A cell is known by what it depends on: the parameters of its candidate and the rows of its fold. So a file serves a
search that was interrupted, and one with more candidates too.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from joblib import hash as digest

from ..certificates.certificate import Certificate
from ..runtime.checkpoints import CheckpointFile
from ..runtime.scikit_learn_search import SearchPlan, clone
from .cells import CellOutcome, Fold

CERTIFICATE_FIELDS = ("primal", "dual", "kkt", "convex", "floor", "rounding", "bound")


def open_store(search: Any, plan: SearchPlan) -> CellStore:
    """The store of a search, or one that keeps nothing."""
    return CellStore() if search.checkpoint is None else CellFile(search, plan)


class CellStore:
    """Keeps nothing."""

    def restore(
        self, candidates: Sequence[Mapping[str, Any]], folds: Sequence[Fold], cells: dict[tuple[int, int], CellOutcome]
    ) -> None:
        """Add those cells that are known."""

    def add(self, outcome: CellOutcome) -> None:
        """Keep a cell."""

    def save(self) -> None:
        """Write what was added."""


class CellFile(CellStore):
    """Cells by the digest of what they depend on, in a file that is there whole or not at all."""

    def __init__(self, search: Any, plan: SearchPlan):
        self.file = CheckpointFile(search.checkpoint)
        self.fingerprint = {
            "data": digest((plan.X, plan.y, plan.fit_params, plan.score_params)),
            "estimator": digest_parameters(clone(search.estimator)),
            "scoring": digest_parameters((search.scoring, search.return_train_score)),
        }
        state = self.file.load(self.fingerprint)
        self.known: dict[str, str] = {} if state is None else dict(zip(state["keys"], state["cells"], strict=True))
        self.keys: dict[tuple[int, int], str] = {}

    def restore(
        self, candidates: Sequence[Mapping[str, Any]], folds: Sequence[Fold], cells: dict[tuple[int, int], CellOutcome]
    ) -> None:
        """Add those cells that are known."""
        rows = [digest((fold.train, fold.test)) for fold in folds]
        parameters = [digest_parameters(dict(candidate)) for candidate in candidates]
        self.keys = {
            (number, place): f"{candidate} {fold}"
            for number, candidate in enumerate(parameters)
            for place, fold in enumerate(rows)
        }
        for (number, place), key in self.keys.items():
            if key in self.known:
                cells[number, place] = unpack_cell(number, place, self.known[key])

    def add(self, outcome: CellOutcome) -> None:
        """Keep a cell; a fit that failed is tried again."""
        if outcome.error is None:
            self.known[self.keys[outcome.candidate, outcome.fold]] = pack_cell(outcome)
            self.file.save_periodically(self.pack)

    def save(self) -> None:
        """Write what was added."""
        self.file.save(self.pack)

    def pack(self) -> dict[str, Any]:
        """The arrays of the file."""
        known = {"problem_" + name: np.array(value) for name, value in self.fingerprint.items()}
        cells = {"keys": np.array(list(self.known), str), "cells": np.array(list(self.known.values()), str)}
        return {"solver": np.array("search"), **known, **cells}


def digest_parameters(value: Any) -> str:
    """A digest that another process finds too."""
    try:
        return digest(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"checkpoint needs parameters that can be pickled, got {value!r}.") from error


def pack_cell(outcome: CellOutcome) -> str:
    """A cell as text."""
    certificate = outcome.certificate
    return json.dumps({
        "test": pack_scores(outcome.test_scores), "train": pack_scores(outcome.train_scores),
        "seconds": [outcome.fit_seconds, outcome.score_seconds],
        "certificate": None if certificate is None else [getattr(certificate, name) for name in CERTIFICATE_FIELDS],
    }, default=float)  # fmt: skip


def pack_scores(scores: Any) -> Any:
    """Scores as numbers of Python."""
    if scores is None:
        return None
    return {name: float(score) for name, score in scores.items()} if isinstance(scores, dict) else float(scores)


def unpack_cell(candidate: int, fold: int, text: str) -> CellOutcome:
    """A cell from its text."""
    state = json.loads(str(text))
    values = state["certificate"]
    certificate = None if values is None else Certificate(**dict(zip(CERTIFICATE_FIELDS, values, strict=True)))
    fit_seconds, score_seconds = state["seconds"]
    return CellOutcome(candidate, fold, state["test"], state["train"], fit_seconds, score_seconds, certificate)
