"""From cells to `cv_results_`: what a search asks for, what is known of it, and where it is kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..runtime.deadline import Clock
from ..runtime.interrupt import delay_interrupt
from ..runtime.scikit_learn_search import SearchPlan, clone, insert_error_scores, warn_of_failures
from .cells import CellOutcome, Fold, SearchData, SearchOutcome, SearchSettings
from .engine import evaluate_cells
from .search_report import SearchReport
from .search_store import open_store

GAP_COLUMN = "worst_relative_gap"  # the largest certified relative gap of a candidate over its folds


class SearchEnded(Exception):
    """Ctrl-C, or no time left: no further candidates are wanted."""


@dataclass
class Round:
    """Candidates that were asked for at once; a search by halving has several rounds."""

    candidates: list[dict[str, Any]]
    folds: list[Fold]
    more_results: dict[str, list[Any]]
    cells: dict[tuple[int, int], CellOutcome] = field(default_factory=dict)

    def list_missing(self) -> dict[tuple[int, ...], list[int]]:
        """Candidates by the folds that they lack."""
        missing: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for number in range(len(self.candidates)):
            lacked = tuple(fold for fold in range(len(self.folds)) if (number, fold) not in self.cells)
            if lacked:
                missing[lacked].append(number)
        return missing

    def list_complete(self, folds: Iterable[int]) -> list[int]:
        """Candidates that are done on some folds."""
        folds = list(folds)
        return [number for number in range(len(self.candidates)) if all((number, fold) in self.cells for fold in folds)]


class SearchTable:
    """`cv_results_` as it grows.

    Parameters
    ----------
    search : EngineSearchCV
    plan : SearchPlan
    """

    def __init__(self, search: Any, plan: SearchPlan):
        self.search, self.plan = search, plan
        self.estimator = clone(search.estimator)
        self.clock, self.store = Clock(search.max_seconds), open_store(search, plan)
        self.rounds: list[Round] = []
        self.candidates: list[dict[str, Any]] = []
        self.out: list[dict[str, Any]] = []
        self.more_results: dict[str, list[Any]] = defaultdict(list)
        self.results: dict[str, Any] = {}
        self.counters: Counter[str] = Counter()
        self.gaps: list[float] = []
        self.n_splits, self.asked, self.closed = plan.n_splits, 0, 0
        self.interrupted = self.late = False

    # ---- evaluating ---------------------------------------------------------------------------------------

    def evaluate(
        self, candidate_params: Any, cv: Any = None, more_results: Any = None, callback_ctx: Any = None
    ) -> Any:
        """What scikit-learn's searches call with candidates: all results so far."""
        plan, candidates = self.plan, list(candidate_params)
        splits = list((cv or plan.splitter).split(plan.X, plan.y, **plan.split_params))
        if not candidates or not splits:
            raise ValueError("No fits were performed. Was the CV iterator empty? Were there no candidates?")
        if len(splits) != plan.n_splits:
            raise ValueError(
                "cv.split and cv.get_n_splits return inconsistent results. "
                f"Expected {plan.n_splits} splits, got {len(splits)}"
            )
        folds = [Fold(np.asarray(train), np.asarray(test)) for train, test in splits]
        current = Round(candidates, folds, dict(more_results or {}))
        self.rounds.append(current)
        self.asked += len(candidates)
        self.solve(current)
        if current.list_missing():
            raise SearchEnded
        with delay_interrupt():  # candidates, scores and results belong together
            self.close()
        return self.results

    def solve(self, current: Round) -> None:
        """The cells that are not kept from an earlier search, as far as time and Ctrl-C allow."""
        self.store.restore(current.candidates, current.folds, current.cells)
        report = SearchReport(self.search, current.candidates, len(current.folds), self.plan.refit_metric)
        try:
            with report:
                for outcome in current.cells.values():
                    report.count(outcome)
                for folds, numbers in current.list_missing().items():
                    self.solve_part(current, folds, numbers, report)
                    if self.interrupted or self.late:
                        break
        finally:
            self.save(current)

    def save(self, current: Round) -> None:
        """Write all cells to the file, also where Ctrl-C came when the search did not listen."""
        with delay_interrupt():
            for outcome in current.cells.values():
                self.store.add(outcome)
            self.store.save()

    def solve_part(self, current: Round, folds: tuple[int, ...], numbers: list[int], report: SearchReport) -> None:
        """Some candidates on the same folds."""
        search, plan = self.search, self.plan

        def keep(outcome: CellOutcome) -> None:
            found = place_cell(outcome, numbers, folds)
            if (found.candidate, found.fold) not in current.cells:
                current.cells[found.candidate, found.fold] = found
                self.store.add(found)
                report.show(found)

        data = SearchData(plan.X, plan.y, [current.folds[k] for k in folds], plan.fit_params, plan.score_params)
        settings = SearchSettings(
            plan.scorer, search.return_train_score, search.error_score, search.n_jobs,
            None if search.max_seconds is None else max(self.clock.left, 0.0), keep,
        )  # fmt: skip
        try:
            outcome = evaluate_cells(self.estimator, [current.candidates[k] for k in numbers], data, settings)
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        for each in outcome.cells.values():
            keep(each)
        self.counters.update(outcome.counters)
        self.interrupted, self.late = self.interrupted or outcome.interrupted, self.late or outcome.out_of_time

    # ---- results ------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Take up the candidates that are done, in rounds that have not been taken up yet."""
        fresh = self.rounds[self.closed :]
        self.closed = len(self.rounds)
        for current in fresh:
            folds = self.choose_folds(current)
            numbers = current.list_complete(folds) if folds else []
            cells = [current.cells[number, fold] for number in numbers for fold in folds]
            out = [self.describe_cell(cell, len(current.folds[cell.fold].test)) for cell in cells]
            if not out:
                continue
            warn_of_failures(out, self.search.error_score)
            if callable(self.search.scoring):
                insert_error_scores(out, self.search.error_score)
            self.candidates += [current.candidates[number] for number in numbers]
            self.out += out
            for name, values in current.more_results.items():
                self.more_results[name] += [values[number] for number in numbers]
            self.gaps += [find_worst_gap(current, number, folds) for number in numbers]
            self.results = self.search._format_results(self.candidates, self.n_splits, self.out, self.more_results)
            if not np.isnan(self.gaps).all():
                self.results[GAP_COLUMN] = np.array(self.gaps)

    def choose_folds(self, current: Round) -> list[int]:
        """All of them; where Ctrl-C came before any candidate was done on all, those of the one that came furthest."""
        if self.out or current.list_complete(range(self.n_splits)):
            return list(range(self.n_splits))
        done = Counter(number for number, _ in current.cells)
        if not done:
            return []
        furthest = done.most_common(1)[0][0]
        folds = sorted(fold for number, fold in current.cells if number == furthest)
        self.n_splits = len(folds)
        return folds

    def describe_cell(self, cell: CellOutcome, n_test: int) -> dict[str, Any]:
        """As scikit-learn's `_fit_and_score` has it."""
        out = {
            "fit_error": cell.error, "test_scores": cell.test_scores, "n_test_samples": n_test,
            "fit_time": cell.fit_seconds, "score_time": cell.score_seconds,
        }  # fmt: skip
        return out | ({"train_scores": cell.train_scores} if self.search.return_train_score else {})

    def describe_outcome(self) -> SearchOutcome:
        """All cells, candidates numbered through all rounds in the order in which they were asked for."""
        cells: dict[tuple[int, int], CellOutcome] = {}
        begin = 0
        for current in self.rounds:
            for cell in current.cells.values():
                placed = place_cell(cell, range(begin, begin + len(current.candidates)), range(len(current.folds)))
                cells[placed.candidate, placed.fold] = placed
            begin += len(current.candidates)
        return SearchOutcome(cells, self.interrupted, self.late, dict(self.counters))


def place_cell(outcome: CellOutcome, candidates: Any, folds: Any) -> CellOutcome:
    """The cell by its numbers in a larger list."""
    return replace(outcome, candidate=candidates[outcome.candidate], fold=folds[outcome.fold])


def find_worst_gap(current: Round, number: int, folds: Iterable[int]) -> float:
    """The largest certified relative gap of a candidate; NaN where none of its fits has a certificate."""
    certificates = [current.cells[number, fold].certificate for fold in folds]
    gaps = [certificate.relative_gap for certificate in certificates if certificate is not None]
    return max(gaps, default=np.nan)
