"""A search from coarse to fine: a grid, then the neighbours of the best candidate in steps that are halved.

It ends where the last refinement has gained less than the standard error of the best score over the folds: beyond, the
folds decide, not the parameters.
"""

from __future__ import annotations

from itertools import product
from typing import Any, ClassVar

import numpy as np

from ..runtime.scikit_learn_search import BaseSearchCV, route_params, takes_weights
from .ranges import COARSE_STEP, Axis
from .search import EngineSearchCV

FINEST_STEP = 1  # powers of two
EQUAL_SCORES = 1e-9  # relative: scores closer than that differ by rounding, and the first of them is the best
MAX_MOVES = 6  # of the best candidate to a neighbour at one step, before the step is halved


class RefiningSearchCV(EngineSearchCV):
    """The search of `SVCCV` and its like: over axes, some of which are refined."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        **EngineSearchCV._limit_constraints,
        "axes": "no_validation",
        "score_weight": "no_validation",
    }

    def __init__(
        self,
        estimator: Any,
        axes: tuple[Axis, ...],
        *,
        score_weight: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        cv: Any = None,
        verbose: int = 0,
        max_seconds: float | None = None,
        checkpoint: Any = None,
    ) -> None:
        super().__init__(
            estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose, error_score="raise",
            return_train_score=False,
        )  # fmt: skip
        self.axes = axes
        self.score_weight = score_weight
        self.max_seconds = max_seconds
        self.checkpoint = checkpoint

    def _get_routed_params_for_fit(self, params: dict[str, Any]) -> Any:
        """Weights of rows go to the fits, and those of scores to a scorer that takes any.

        A machine that tunes itself uses both: there is no request to be made of the machine
        within, whether scikit-learn routes metadata or not.
        """
        weighs = self.score_weight is not None and takes_weights(self._get_scorers()[0])
        return route_params(params, {"sample_weight": self.score_weight} if weighs else {})

    @staticmethod
    def _select_best_index(refit: Any, refit_metric: str, results: Any) -> int:
        """The candidate that the refinement ended with, where scikit-learn would let rounding choose among equals."""
        return find_leader(np.nan_to_num(np.asarray(results[f"mean_test_{refit_metric}"]), nan=-np.inf))

    def _run_search(self, evaluate_candidates: Any) -> None:
        """The coarse grid, then finer and finer steps around the best."""
        self.message_ = "The search was ended before its coarse grid was done."
        walk = Refinement(self.axes, evaluate_candidates)
        walk.take(product(*(axis.values for axis in self.axes)))
        if all(axis.is_given for axis in self.axes):
            self.message_ = "All candidates that were given are scored."
            return
        self.message_ = "The search was ended while the coarse grid was refined."
        self.message_ = walk.refine()


def find_leader(mean: np.ndarray) -> int:
    """The first of the highest scores."""
    highest = float(np.max(mean))
    if not np.isfinite(highest):
        return int(np.argmax(mean))
    return int(np.argmax(mean >= highest - EQUAL_SCORES * max(1.0, abs(highest))))


class Refinement:
    """What is known of the candidates of a refining search."""

    def __init__(self, axes: tuple[Axis, ...], evaluate: Any):
        self.axes, self.evaluate = axes, evaluate
        self.known: set[tuple[Any, ...]] = set()
        self.best: tuple[Any, ...] = ()
        self.score = self.error = float("nan")

    def take(self, places: Any) -> bool:
        """Evaluate the places that are new; whether the best is another one then."""
        fresh = [place for place in dict.fromkeys(map(tuple, places)) if place not in self.known]
        if not fresh:
            return False
        self.known.update(fresh)
        names = [axis.name for axis in self.axes]
        results = self.evaluate([dict(zip(names, place, strict=True)) for place in fresh])
        mean = np.nan_to_num(results["mean_test_score"], nan=-np.inf)
        before, leader = self.best, find_leader(mean)
        folds = sum(name.startswith("split") and name.endswith("_test_score") for name in results)
        self.best = tuple(results["params"][leader][name] for name in names)
        self.score = float(mean[leader])
        self.error = float(results["std_test_score"][leader]) / np.sqrt(folds)
        return self.best != before

    def refine(self) -> str:
        """Halve the steps until that gains nothing; the sentence says why it ended."""
        step = COARSE_STEP
        self.move(step)  # beyond the coarse grid, where the best lies at its edge
        while step > FINEST_STEP:
            step //= 2
            before = self.score
            self.move(step)
            gain = self.score - before
            if gain < self.error:
                return (
                    f"The search stopped at steps of a factor {2**step}: the last refinement gained {gain:.2g}, less "
                    f"than {self.error:.2g}, the standard error of the best score over the folds."
                )
        return f"The search stopped at steps of a factor {2**step}, the finest that it takes."

    def move(self, step: int) -> None:
        """To the best neighbour, and on from there, until none is better."""
        for _ in range(MAX_MOVES):
            neighbours = [axis.list_neighbours(value, step) for axis, value in zip(self.axes, self.best, strict=True)]
            if not self.take(product(*neighbours)):
                return
