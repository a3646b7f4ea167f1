"""Probabilities of a kernel classifier: a sigmoid for each of its binary machines, fitted on held-out decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..runtime.scikit_learn import (
    ConvergenceWarning,
    NotFittedError,
    available_if,
    check_is_fitted,
    deprecate_with_probability,
)
from ..runtime.user_warnings import warn_user
from .kernel_problems import KernelProblems
from .machine import KernelMachine
from .observers import Observation
from .probability import FOLDS, FoldSolves, calibrate_pairs, couple_pairs
from .tasks import Budget

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike


def _wants_probability(estimator: Any) -> bool:
    """predict_proba exists only where probability=True asked for it."""
    if estimator.probability == "deprecated" or not estimator.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class PairProbabilities(KernelMachine):
    """P(y = k | x) of binary machines, one for each pair of classes or for each class against the rest."""

    classes_: np.ndarray
    _is_one_vs_rest: bool

    def _count_solves(self, problems: KernelProblems) -> int:
        """Every task once, and five times more for the folds of its probabilities."""
        return len(problems) * (1 + FOLDS if self.wants_probabilities else 1)

    def _finish_fit(self, problems: KernelProblems, budget: Budget, observation: Observation) -> None:
        """Probabilities, where they were asked for."""
        if not self.wants_probabilities:
            return
        folds = FoldSolves(
            problems, self._solver(), self.tol, self.max_iter, budget, observation, self.cache_size
        )  # fmt: skip
        self._probA, self._probB = calibrate_pairs(folds, self.random_state)
        ended = budget.interrupt or observation.stopped or not all(result.converged for result in self.results_)
        if not (len(self._probA) or ended):  # else it is said elsewhere that the fit was ended
            warn_user(
                "The fit ended before the probabilities were there; raise max_seconds, or go on with warm_start=True.",
                ConvergenceWarning,
            )

    @property
    def wants_probabilities(self) -> bool:
        """Whether probability=True asks for folds after the solves."""
        return self.probability is True

    @property
    def has_probabilities(self) -> bool:
        """Whether the folds were fitted."""
        return self.wants_probabilities and len(self._probA) > 0

    @available_if(_wants_probability)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """P(y = k | x) by a sigmoid for each pair, fitted on held-out decisions, and pairwise coupling.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For two classes the larger probability is always that of the predicted class.
        """
        check_is_fitted(self)
        if self._probA.size == 0:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, nor where the fit ended before "
                "the probabilities were there: fit again, for instance with warm_start=True."
            )
        decisions = self._decision_values(X)
        return couple_pairs(decisions, self._probA, self._probB, len(self.classes_), rest=self._is_one_vs_rest)

    @available_if(_wants_probability)
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """log P(y = k | x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))

    @deprecate_with_probability  # type: ignore[prop-decorator, arg-type]
    @property
    def probA_(self) -> np.ndarray:
        """Slopes A of the sigmoids 1 / (1 + exp(A f + B))."""
        return self._probA

    @deprecate_with_probability  # type: ignore[prop-decorator, arg-type]
    @property
    def probB_(self) -> np.ndarray:
        """Shifts B of the sigmoids 1 / (1 + exp(A f + B))."""
        return self._probB
