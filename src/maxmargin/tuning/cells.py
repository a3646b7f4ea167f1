"""A cell of a search: one candidate on one fold; and what was found of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..certificates.certificate import Certificate


@dataclass(frozen=True)
class Fold:
    """The rows a machine is trained on, and those it is scored on."""

    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class CellOutcome:
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
    certificate: Certificate | None = field(default=None, repr=False)
    error: str | None = field(default=None, repr=False)


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


@dataclass(frozen=True)
class SearchOutcome:
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
