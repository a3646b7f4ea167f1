"""What every machine of scores offers beside its predictions: where the scores of the exact optimum lie."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..certificates.optimum.bounds import Interval
from ..certificates.optimum.intercepts import OwnScores
from ..certificates.optimum.machines import MachineBounds, OptimumScores
from ..runtime.blas import single_threaded_blas
from ..runtime.scikit_learn import check_is_fitted
from .certified import CertifiedMachine
from .certified_predictions import CertifiedPredictions
from .label_certification import certify_training_labels, find_middle

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike
    from ..model.problem import Problem
    from ..solvers.result import Result
    from .observers import Observation
    from .tasks import Budget


class CertifiedScores(CertifiedMachine):
    """f*(x) of the exact minimiser within an interval, from the certificates of the fit."""

    _optimum: OptimumScores | None = None

    def decision_bounds(self, X: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """lower <= f*(x) <= upper, where f* belongs to the exact minimiser of the problem that was fitted.

        Whatever solver found the machine, and however roughly: the intervals follow from the certified gaps. They are
        infinite where nothing is proven. docs/certified_predictions.md has the proof.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        lower, upper : ndarray
            In the shape of `decision_function`, or of `predict` for a regression.
        """
        check_is_fitted(self)
        with single_threaded_blas():
            samples, optimum = self._view_samples(X), self._bound_optimum()
            scores = optimum.refine(samples, np.ones((samples.n, len(optimum.machines)), bool))
            return tuple(self._arrange_bounds(scores))

    def _bound_optimum(self) -> OptimumScores:
        """What is proven of the scores of all machines; found once."""
        if self._optimum is None:
            self._optimum = OptimumScores(self._bound_machines())
        return self._optimum

    @abstractmethod
    def _bound_machines(self) -> list[MachineBounds]:
        """What the certificate of each problem proves, in the order of the problems."""

    @abstractmethod
    def _bound_problem(self, problem: Problem, result: Result) -> list[MachineBounds]:
        """The same for the machines of one problem, with all of its rows at hand."""

    def _bound_own_scores(self, problem: Problem, result: Result) -> OwnScores | None:
        """What is proven of the samples of one problem without any kernel value; None where that takes some."""
        return None

    @abstractmethod
    def _view_samples(self, X: Any) -> Any:
        """X as the kernel of the fit sees it."""

    def _arrange_bounds(self, scores: Interval) -> Interval:
        """Of one column for each machine, in the sign of its problem, those of `decision_function`."""
        if scores.lower.shape[1] == 1:
            return Interval(scores.lower[:, 0], scores.upper[:, 0])
        return scores

    def _refuse_bounds(self, reason: str) -> ValueError:
        return ValueError(f"No bounds of {type(self).__name__} can be proven: {reason}.")


class CertifiedLabels(CertifiedScores):
    """Labels that are proven to be those of the exact minimiser."""

    certified_share_: float

    def __getstate__(self) -> dict[str, Any]:
        """A fit that was told to certify labels takes its bounds along, unless it comes from a file without duals."""
        if "certified_share_" in vars(self) and self._list_results():
            with single_threaded_blas(), suppress(ValueError):
                self._bound_optimum()
        return super().__getstate__()

    def _finish_fit(self, problems: Any, budget: Budget, observation: Observation) -> None:
        """With certify_labels the fit goes on until so many training labels are certain."""
        share = self._parameter("certify_labels")
        if share is not None:
            certify_training_labels(self, problems, share, budget, observation)
        super()._finish_fit(problems, budget, observation)

    def certified_predict(self, X: MatrixLike) -> CertifiedPredictions:
        """The labels of `predict`, and which of them the exact minimiser gives too: these are certain.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        CertifiedPredictions
            With `labels`, `certain`, and the bounds `lower` and `upper` on the decision function of the minimiser.
        """
        labels = self.predict(X)
        with single_threaded_blas():
            samples, optimum = self._view_samples(X), self._bound_optimum()
            scores, certain = self._certify(optimum, samples, labels)
            return CertifiedPredictions(labels, certain, *self._arrange_bounds(scores))

    def _certify(self, optimum: OptimumScores, samples: Any, labels: np.ndarray) -> tuple[Interval, np.ndarray]:
        """Bounds on the scores of all machines, and which labels are certain."""
        scores = optimum.bound(samples)
        certain = self._find_certain(scores, labels)
        if certain.all():
            return scores, certain
        open_scores = ~certain[:, None] & self._find_open_scores(scores)
        if not open_scores.any():
            return scores, certain
        rows = np.flatnonzero(open_scores.any(axis=1))
        part = optimum.refine(samples.take(rows), open_scores[rows])
        lower, upper = scores.lower.copy(), scores.upper.copy()
        lower[rows], upper[rows] = part
        scores = Interval(lower, upper)
        return scores, self._find_certain(scores, labels)

    def _find_certain_training(self, scores: Sequence[OwnScores], problems: Any) -> np.ndarray:
        """Which training labels are certain by the scores of each problem's own samples."""
        shape = problems.features.samples.n, len(scores)
        bounds = Interval(np.full(shape, -np.inf), np.full(shape, np.inf))
        for k, (index, own) in enumerate(zip(problems.indices, scores, strict=True)):
            bounds.lower[index, k], bounds.upper[index, k] = own.scores
        return self._find_certain(bounds, self._decide_training(bounds, problems))

    def _bound_rows(self, scores: Sequence[OwnScores], problems: Any, duals: np.ndarray, rows: np.ndarray) -> Interval:
        """The scores of all machines at some training samples: nothing is known of those of other problems."""
        return Interval(np.full((len(rows), len(scores)), -np.inf), np.full((len(rows), len(scores)), np.inf))

    @property
    def _decides_by_signs(self) -> bool:
        """Whether labels follow from the signs of scores."""
        return True

    def _decide_training(self, scores: Interval, problems: Any) -> np.ndarray:
        """The labels of training samples, from the scores of all machines."""
        return self._decide(find_middle(scores))

    def _find_open_scores(self, scores: Interval) -> np.ndarray:
        """Which scores may have either sign, and with it another label."""
        return ~((scores.lower > 0.0) | (scores.upper < 0.0))

    @abstractmethod
    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """The labels of scores, one column for each machine in the sign of its problem."""

    @abstractmethod
    def _find_certain(self, scores: Interval, labels: np.ndarray) -> np.ndarray:
        """Which labels no scores within the bounds can change."""
