"""`fit` of the searches of scikit-learn, where the estimator is one of ours: its cells go to the engine."""

from __future__ import annotations

import time
from numbers import Real
from os import PathLike
from typing import Any, ClassVar, Self

from ..runtime.interrupt import delay_interrupt
from ..runtime.scikit_learn import DocumentedEstimator
from ..runtime.scikit_learn_search import (
    BaseSearchCV,
    Interval,
    SearchPlan,
    fit_context,
    has_callbacks,
    make_best,
    plan_search,
    run_search,
    unwrap_scorers,
)
from ..runtime.user_warnings import warn_user
from .cells import SearchOutcome
from .engine import can_tune
from .held_out import last_step
from .search_table import SearchEnded, SearchTable


class EngineSearchCV(DocumentedEstimator, BaseSearchCV):
    """argmax over candidates of the mean over folds of score(fit(candidate, training rows), held-out rows)."""

    max_seconds: float | None
    checkpoint: Any
    search_outcome_: SearchOutcome
    _limit_constraints: ClassVar[dict[str, Any]] = {
        "max_seconds": [Interval(Real, 0.0, None, closed="neither"), None],
        "checkpoint": [str, PathLike, None],
    }

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Score all candidates on all folds, and fit the best of them to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Training vectors, or the Gram matrix if the kernel is precomputed.
        y : array-like of shape (n_samples,), default=None
            Targets.
        **params : dict of str -> object
            Passed to the `fit` of the estimator, to the scorer and to the splitter, as scikit-learn does.

        Returns
        -------
        self
        """
        if can_tune(self.estimator) and not has_callbacks(self):
            return self._fit_cells(X, y, **params)
        self._refuse_limits()
        return super().fit(X, y, **params)

    def _refuse_limits(self) -> None:
        """What scikit-learn's own search does not have."""
        reason = "follows callbacks" if can_tune(self.estimator) else f"is over {type(self.estimator).__name__}"
        for name in ("max_seconds", "checkpoint"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name} is for searches without callbacks over estimators of maxmargin, or over a Pipeline that "
                    f"ends in one; this one {reason}, got {name}={getattr(self, name)!r}."
                )

    @fit_context(prefer_skip_nested_validation=False)
    def _fit_cells(self, X: Any, y: Any = None, **params: Any) -> Self:
        """The steps of scikit-learn's fit; Ctrl-C ends the search, not the table of what is done."""
        plan = plan_search(self, X, y, params)
        self.n_splits_ = plan.n_splits
        table = SearchTable(self, plan)
        pressed = False
        try:
            run_search(self, table.evaluate)
        except SearchEnded:
            pressed = table.interrupted
        except KeyboardInterrupt:
            pressed = table.interrupted = True
        try:
            self._conclude(table, plan)
        except KeyboardInterrupt:  # the first one: what is known is kept; a second one ends it
            if pressed:
                raise
            pressed = True
            self._conclude(table, plan)
        if pressed:
            raise KeyboardInterrupt
        if table.late:
            self._warn_of_time(table)
        return self

    def _conclude(self, table: SearchTable, plan: SearchPlan) -> None:
        """The table, the best of it, and its refit."""
        with delay_interrupt():
            table.close()
            if not table.out:
                if table.interrupted:
                    raise KeyboardInterrupt
                raise ValueError(f"max_seconds={self.max_seconds!r} ended before any candidate was scored.")
            self._store_table(table, plan)
        if self.refit:
            self._refit(plan)

    def _store_table(self, table: SearchTable, plan: SearchPlan) -> None:
        """cv_results_ and best_*, as far as they follow from the scores."""
        self.n_splits_, self.search_outcome_ = table.n_splits, table.describe_outcome()
        self.multimetric_ = isinstance(table.out[0]["test_scores"], dict)
        refit_metric = plan.refit_metric
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(table.out[0]["test_scores"])
            refit_metric = self.refit
        results = table.results
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = results["params"][self.best_index_]
        self.scorer_, self.cv_results_ = unwrap_scorers(plan.scorer), results

    def _refit(self, plan: SearchPlan) -> None:
        """best_estimator_, on all rows; it is there once it is fitted, also where Ctrl-C has ended its fit early."""
        best, began = make_best(self.estimator, self.best_params_), time.perf_counter()
        targets = () if plan.y is None else (plan.y,)
        try:
            best.fit(plan.X, *targets, **plan.fit_params)
        except KeyboardInterrupt:
            if not is_fitted(best):
                raise
            self._store_best(best, began)
            raise
        self._store_best(best, began)

    def _store_best(self, best: Any, began: float) -> None:
        with delay_interrupt():
            self.best_estimator_, self.refit_time_ = best, time.perf_counter() - began
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_

    def _warn_of_time(self, table: SearchTable) -> None:
        """Once, how much of the search is missing."""
        done, asked = len(table.candidates), table.asked
        warn_user(
            f"max_seconds={self.max_seconds:g} sufficed for {done} of {asked} candidates; cv_results_ has those, and "
            "best_params_ is the best of them. Give it more time, or a checkpoint to go on from."
        )


def is_fitted(estimator: Any) -> bool:
    """Whether a machine, or the last step of a Pipeline, has come to the end of a fit."""
    return "n_iter_" in vars(last_step(estimator))
