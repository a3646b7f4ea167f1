"""Cells of kernel machines that share their matrices: which these are, and how their held-out decisions are scored."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..estimators.machine import KernelMachine
from ..runtime.blas import single_threaded_blas
from ..runtime.scikit_learn_search import clone, cut_params, has_callbacks, score_estimator, take_rows
from .cells import CellOutcome, SearchData, SearchSettings
from .chains import Chain
from .fold_data import FoldData, prepare_fold
from .held_out import HeldOutMachine, last_step
from .matrix_cells import FoldRows, MatrixSearch, SampleSet, SolvedCell
from .predictions import KNOWN_BY_DECISIONS


class SharedSearch:
    """The chains of a search that share kernel matrices.

    Parameters
    ----------
    estimator, candidates, data, settings
        As of the search.
    chains : sequence of Chain
        All of them; `cells` has those that could be solved here, afterwards.
    is_over : callable
        Whether no other cell may begin.
    """

    def __init__(
        self,
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]],
        data: SearchData,
        settings: SearchSettings,
        chains: Sequence[Chain],
        is_over: Callable[[], bool],
    ):
        self.estimator, self.candidates, self.data = estimator, candidates, data
        self.settings, self.chains, self.is_over = settings, chains, is_over
        self.cells: dict[tuple[int, int], CellOutcome] = {}
        self.kernel_values = self.fits = 0

    def run(self) -> None:
        """All chains that share a matrix, preparation by preparation."""
        if not isinstance(last_step(self.estimator), KernelMachine):
            return
        with single_threaded_blas():
            for preparation in dict.fromkeys(chain.preparation for chain in self.chains):
                if self.is_over():
                    return
                numbers = sorted(
                    {number for chain in self.chains if chain.preparation == preparation for number in chain.candidates}
                )
                self.run_preparation(numbers)

    def run_preparation(self, numbers: list[int]) -> None:
        """Candidates whose steps before the last are the same: over all rows where there are none, else by fold."""
        estimators = {number: self.make_estimator(number) for number in numbers}
        whole = {number: each for number, each in estimators.items() if each is not None}
        if not whole:
            return
        first = next(iter(whole.values()))
        if first.machine is first.estimator:
            self.run_together(whole)
            return
        for number in range(len(self.data.folds)):
            if self.is_over():
                return
            self.run_fold(number, whole)

    def make_estimator(self, number: int) -> CandidateEstimator | None:
        """The estimator with the parameters of a candidate; None if its fit would refuse them, or has its own ways."""
        try:
            estimator = clone(self.estimator).set_params(**clone(dict(self.candidates[number]), safe=False))
            found = CandidateEstimator(estimator)
            if not found.can_share:
                return None
            found.machine._validate_params()
        except Exception:  # what is wrong is said by the fit itself, in its own words
            return None
        return found

    # ---- samples ------------------------------------------------------------------------------------------

    def run_together(self, estimators: Mapping[int, CandidateEstimator]) -> None:
        """All folds over the rows as they are."""
        X, y = as_matrix(self.data.X), as_targets(self.data.y)
        if X is None or y is None or len(y) != X.shape[0]:
            return
        rows = []
        for number, fold in enumerate(self.data.folds):
            params = cut_params(self.data.X, self.data.fit_params, fold.train)
            if not set(params) <= {"sample_weight"}:
                return
            rows.append(
                FoldRows(number, as_places(fold.train, X.shape[0]), as_places(fold.test, X.shape[0]), as_weight(params))
            )
        self.search(SampleSet(X, y, rows), estimators, {})

    def run_fold(self, number: int, estimators: Mapping[int, CandidateEstimator]) -> None:
        """One fold over its rows as the steps before the last have made them."""
        try:
            prepared = prepare_fold(next(iter(estimators.values())).estimator, self.data, number)
        except Exception:  # said where the cells are fitted one by one
            return
        if not prepared.steps or not set(prepared.fit_params) <= {"sample_weight"}:
            return
        train, test = as_matrix(prepared.inner_train), as_matrix(prepared.inner_test)
        y = as_targets(prepared.y_train)
        if train is None or test is None or y is None or sp.issparse(train) != sp.issparse(test):
            return
        X = sp.vstack([train, test], format="csr") if sp.issparse(train) else np.concatenate([train, test])
        targets = np.concatenate([y, as_targets(prepared.y_test)])
        places = np.arange(len(targets))
        fold = FoldRows(number, places[: len(y)], places[len(y) :], as_weight(prepared.fit_params))
        self.search(SampleSet(X, targets, [fold]), estimators, {number: prepared})

    def search(
        self, samples: SampleSet, estimators: Mapping[int, CandidateEstimator], prepared: dict[int, FoldData]
    ) -> None:
        """Solve the cells over some samples, and score them."""
        n = samples.X.shape[0]
        machines = {number: each.machine for number, each in estimators.items() if MatrixSearch.takes(each.machine, n)}
        if not machines:
            return
        scoring = CellScoring(self, estimators, prepared)
        search = MatrixSearch(samples, machines, scoring.score, scoring.finish, self.is_over)
        search.run()
        self.kernel_values += search.kernel_values
        self.fits += search.fits


class CellScoring:
    """What scorers say of solved cells.

    Parameters
    ----------
    search : SharedSearch
    estimators : mapping of candidate to CandidateEstimator
    prepared : dict of fold to FoldData
        Where steps before the last have made other rows; folds of rows as they are, are cut when they are first needed.
    """

    def __init__(
        self, search: SharedSearch, estimators: Mapping[int, CandidateEstimator], prepared: dict[int, FoldData]
    ):
        self.search, self.estimators, self.prepared = search, estimators, prepared
        self.held_out: dict[int, tuple[Any, Any, dict[str, Any]]] = {}
        self.outcomes: dict[tuple[int, int], CellOutcome] = {}

    def score(self, cell: SolvedCell) -> float:
        """The first score of a cell; its outcome is kept until it is finished."""
        began, settings = time.perf_counter(), self.search.settings
        X, y, params = self.open_held_out(cell.fold)
        machine = self.make_scored(cell, X)
        test = score_estimator(machine, X, y, settings.scorer, params, settings.error_score)
        seconds, train = time.perf_counter() - began, None
        if settings.return_train_score:
            prepared = self.open_fold(cell.fold)
            machine.learn(prepared.X_train, cell.train)
            train = score_estimator(
                machine, prepared.X_train, prepared.y_train, settings.scorer, prepared.score_train, settings.error_score
            )
        self.outcomes[cell.candidate, cell.fold] = CellOutcome(
            cell.candidate, cell.fold, test, train, cell.seconds, seconds, cell.certificate
        )
        first = next(iter(test.values())) if isinstance(test, dict) else test
        return float(first) if isinstance(first, Real) else 0.0

    def finish(self, candidate: int, fold: int) -> None:
        """Nothing more will be known of a cell."""
        outcome = self.outcomes.pop((candidate, fold))
        self.search.cells[candidate, fold] = outcome
        if self.search.settings.on_cell is not None:
            self.search.settings.on_cell(outcome)

    def make_scored(self, cell: SolvedCell, X: Any) -> HeldOutMachine:
        """A stand-in that knows what the machine says of X, and fits it where a scorer asks for more."""
        found = self.estimators[cell.candidate]

        def fit() -> Any:
            prepared, machine = self.open_fold(cell.fold), clone(found.machine)
            machine.fit(prepared.inner_train, prepared.y_train, **prepared.fit_params)
            return found.put_together(prepared, machine)

        stand_in = HeldOutMachine(found.estimator, fit, vars(cell.machine).get("classes_"))
        stand_in.learn(X, cell.test)
        return stand_in

    def open_held_out(self, number: int) -> tuple[Any, Any, dict[str, Any]]:
        """X, y and metadata of the held-out rows of a fold, as scorers see them."""
        if number in self.prepared:
            prepared = self.prepared[number]
            return prepared.X_test, prepared.y_test, prepared.score_test
        if number not in self.held_out:
            data, fold = self.search.data, self.search.data.folds[number]
            X, y = take_rows(self.search.estimator, data.X, data.y, fold.test, fold.train)
            self.held_out[number] = X, y, cut_params(data.X, data.score_params, fold.test)
        return self.held_out[number]

    def open_fold(self, number: int) -> FoldData:
        """All rows of a fold."""
        if number not in self.prepared:
            found = prepare_fold(self.search.estimator, self.search.data, number)
            X, y, params = self.open_held_out(number)
            self.prepared[number] = replace(found, X_test=X, y_test=y, inner_test=X, score_test=params)
        return self.prepared[number]


@dataclass(frozen=True)
class CandidateEstimator:
    """An estimator with the parameters of a candidate, not fitted: a machine, or a Pipeline that ends in one."""

    estimator: Any

    @property
    def machine(self) -> Any:
        """What is fitted to the rows that the steps before it have made."""
        steps = vars(self.estimator).get("steps")
        return self.estimator if steps is None else steps[-1][1]

    @property
    def can_share(self) -> bool:
        """Whether the machine is a kernel machine as it is here, whose fit does nothing but solve its problems."""
        machine = self.machine
        if type(machine) not in KNOWN_BY_DECISIONS or not isinstance(machine, KernelMachine):
            return False
        plain = machine.solver == "auto" and machine.max_iter == -1 and machine.max_seconds is None
        quiet = not machine.verbose and not has_callbacks(machine)
        return (
            plain
            and quiet
            and machine.intercept == "free"
            and vars(machine).get("probability") in (None, False, "deprecated")
        )

    def put_together(self, prepared: FoldData, machine: Any) -> Any:
        """The whole estimator, fitted: its steps, and the machine."""
        if not prepared.steps:
            return machine
        whole = copy(self.estimator)
        whole.steps = [*prepared.steps, (self.estimator.steps[-1][0], machine)]
        return whole


# ---- data as they are, or None where fit has to look at them --------------------------------------------------------


def as_matrix(X: Any) -> Any:
    """X as a matrix of finite float64 numbers, dense or CSR; None if it is no such thing."""
    try:
        if sp.issparse(X):
            found = sp.csr_array(X, dtype=np.float64)
            found = found if found.has_sorted_indices else found.sorted_indices()
            values = found.data
        else:
            found = values = np.ascontiguousarray(X, np.float64)
    except (TypeError, ValueError):
        return None
    return found if found.ndim == 2 and found.shape[1] > 0 and np.isfinite(values).all() else None


def as_targets(y: Any) -> np.ndarray | None:
    """y as a vector; None if it is no such thing."""
    found = np.asarray(y)
    return found if found.ndim == 1 and found.dtype.kind in "biufUSO" else None


def as_places(rows: Any, n: int) -> np.ndarray:
    """Rows of a fold as numbers; a splitter may give a mask."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else np.arange(n)[rows]


def as_weight(params: Mapping[str, Any]) -> np.ndarray | None:
    """sample_weight, if there is one."""
    weight = params.get("sample_weight")
    return None if weight is None else np.asarray(weight, np.float64)
