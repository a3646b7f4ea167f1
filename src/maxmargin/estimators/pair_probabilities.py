"""Probabilities of a kernel classifier: a sigmoid for each of its binary machines, fitted on held-out decisions."""

from __future__ import annotations

from abc import abstractmethod
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
from .calibration import METHODS, read_classes
from .kernel_problems import KernelProblems
from .machine import KernelMachine
from .observers import Observation
from .probability import FOLDS, FoldSolves, calibrate, calibrate_pairs, couple_pairs
from .tasks import Budget

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike


def _wants_probability(estimator: Any) -> bool:
    """predict_proba exists only where the parameter probability asked for it."""
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
            problems, self._solver(), self.tol, self.max_iter, budget, observation, self.cache_size,
            [result.point for result in self.results_],
        )  # fmt: skip
        if self.probability is True:
            self._probA, self._probB = calibrate_pairs(folds, self.random_state)
        else:
            self._calibration = calibrate(
                folds, self.probability, self.random_state, lambda: self._find_training_decisions(problems),
                len(self.classes_), self._is_one_vs_rest,
            )  # fmt: skip
        ended = budget.interrupt or observation.stopped or not all(result.converged for result in self.results_)
        if not (self.has_probabilities or ended):  # else it is said elsewhere that the fit was ended
            warn_user(
                "The fit ended before the probabilities were fitted; raise max_seconds, or go on with warm_start=True.",
                ConvergenceWarning,
            )

    @property
    def wants_probabilities(self) -> bool:
        """Whether folds are to be fitted after the solves."""
        return self.probability is True or self.probability in METHODS

    @property
    def has_probabilities(self) -> bool:
        """Whether the folds were fitted."""
        return self.wants_probabilities and (len(self._probA) > 0 or self._held_calibration is not None)

    @property
    def _held_calibration(self) -> dict[str, Any] | None:
        """What was fitted with the name of a method; machines of earlier versions have none."""
        found: dict[str, Any] | None = vars(self).get("_calibration")
        return found

    def _find_training_decisions(self, problems: KernelProblems) -> np.ndarray:
        """The decisions of the samples of a fit, in the order of its features."""
        decisions = self._decision_values(problems.X)
        return decisions if problems.order is None else decisions[problems.order]

    @abstractmethod
    def _choose(self, decisions: np.ndarray) -> np.ndarray:
        """The place of the predicted class of each row."""

    @available_if(_wants_probability)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """P(y = k | x) by maps of held-out decisions of each pair, coupled; or by one temperature of all classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The largest probability is always that of the predicted class, for two classes 1/2 where f(x) = 0; but with
            `probability=True` and many classes the vote of the pairs may differ, as in LIBSVM.
        """
        check_is_fitted(self)
        if self._held_calibration is not None:
            decisions = self._decision_values(X)
            return read_classes(
                self._held_calibration, decisions, len(self.classes_), self._choose(decisions),
                rest=self._is_one_vs_rest,
            )  # fmt: skip
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
