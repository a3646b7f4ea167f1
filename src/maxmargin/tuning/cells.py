"""A cell of a search: one candidate on one fold; and what was found of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..certificates.certificate import Certificate
from ..runtime.display import Displayed, Table


@dataclass(frozen=True)
class Fold:
    """The rows a machine is trained on, and those it is scored on."""

    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, repr=False)
class CellOutcome(Displayed):
    """What is known of a candidate on a fold.

    Attributes
    ----------
    candidate, fold : int
        Their numbers.
    test_scores, train_scores : float, dict of str to float, or None
        As the scorer returned them; train_scores is None unless they were asked for.
    fit_seconds, score_seconds : float
        Shares of the time of what was computed for several cells at once.
    certificate : Certificate or None
        The worst of the binary problems of the cell; None where the fit failed.
    error : str or None
        The traceback of a fit that failed; the scores are `error_score` then.
    """

    candidate: int
    fold: int
    test_scores: Any
    train_scores: Any = None
    fit_seconds: float = 0.0
    score_seconds: float = 0.0
    certificate: Certificate | None = None
    error: str | None = None

    def describe(self) -> str:
        """The cell in a sentence."""
        return f"{self._say_gap()}, candidate {self.candidate} on fold {self.fold}; {say_scores(self.test_scores)}"

    def tabulate(self) -> Table:
        """Gap, place, scores and times."""
        return Table(
            [
                ("relative gap", self._say_gap().removeprefix("relative gap ")),
                ("candidate", f"{self.candidate}"),
                ("fold", f"{self.fold}"),
                ("test", say_scores(self.test_scores)),
                ("seconds", f"{self.fit_seconds:.2g} to fit, {self.score_seconds:.2g} to score"),
            ]
        )

    def _say_gap(self) -> str:
        """The relative gap of the cell, or that there is none."""
        if self.certificate is None:
            return "failed" if self.error is not None else "no certificate"
        return f"relative gap {self.certificate.relative_gap:.2g}"


@dataclass(frozen=True)
class SearchData:
    """What the cells of a search share.

    Attributes
    ----------
    X, y : as the user gave them
    folds : sequence of Fold
    fit_params, score_params : mapping
        As scikit-learn's metadata routing has them: arrays of one value per row are cut along with the rows.
    """

    X: Any
    y: Any
    folds: Sequence[Fold]
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    score_params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SearchSettings:
    """How cells are scored, and for how long.

    Attributes
    ----------
    scorer : callable
        (estimator, X, y) -> float or dict, as scikit-learn's `check_scoring` or its scorer of several metrics.
    return_train_score : bool
    error_score : "raise" or float
    n_jobs : int or None
        Threads; None means all cores.
    max_seconds : float or None
        Time for all cells; those it does not suffice for are left out.
    on_cell : callable or None
        Called with each CellOutcome as soon as it is known, in the order in which they are solved.
    """

    scorer: Callable[..., Any]
    return_train_score: bool = False
    error_score: Any = np.nan
    n_jobs: int | None = None
    max_seconds: float | None = None
    on_cell: Callable[[CellOutcome], None] | None = None


@dataclass(frozen=True, repr=False)
class SearchOutcome(Displayed):
    """The cells that are done, in any order, and why others are not.

    Attributes
    ----------
    cells : dict of (candidate, fold) to CellOutcome
    interrupted : bool
        Whether Ctrl-C ended the search.
    out_of_time : bool
        Whether max_seconds did.
    counters : dict of str to int
        Machines solved ("fits"), kernel values computed ("kernel_values") and the like.
    """

    cells: Mapping[tuple[int, int], CellOutcome]
    interrupted: bool = False
    out_of_time: bool = False
    counters: Mapping[str, int] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """The cells as a list, since each knows its place: files of skops have no keys but text."""
        return {**vars(self), "cells": list(self.cells.values())}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state, cells={(cell.candidate, cell.fold): cell for cell in state["cells"]})

    @property
    def relative_gap(self) -> float:
        """The largest of a cell; infinite where none is certified."""
        gaps = [cell.certificate.relative_gap for cell in self.cells.values() if cell.certificate is not None]
        return max(gaps, default=np.inf)

    def describe(self) -> str:
        """How the search went, in a sentence."""
        end = "interrupted" if self.interrupted else "out of time" if self.out_of_time else "all of them done"
        return f"relative gap at most {self.relative_gap:.2g} in {len(self.cells):,} cells, {end}"

    def tabulate(self) -> Table:
        """The largest gap, how the search ended, and what was counted."""
        failed = sum(cell.error is not None for cell in self.cells.values())
        return Table(
            [
                ("largest relative gap of a cell", f"{self.relative_gap:.2g}"),
                ("cells", f"{len(self.cells):,}"),
                ("failed", f"{failed:,}"),
                ("interrupted", "yes" if self.interrupted else "no"),
                ("out of time", "yes" if self.out_of_time else "no"),
                *((name.replace("_", " "), f"{count:,}") for name, count in self.counters.items()),
            ]
        )


def say_scores(scores: Any) -> str:
    """One score, or several with their names."""
    if isinstance(scores, Mapping):
        return ", ".join(f"{name} {value:.4g}" for name, value in scores.items())
    return f"score {scores:.4g}"
