"""Probabilities of linear classifiers, from the decisions of rows that were held out by folds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..runtime.scikit_learn import (
    ConvergenceWarning,
    NotFittedError,
    StratifiedKFold,
    check_is_fitted,
    clone,
)
from ..runtime.user_warnings import warn_user
from .block_data import apply_blockwise, comes_in_blocks
from .calibration import METHODS, fit_maps, fit_temperature, read_classes
from .linear_classifier import LinearClassifier
from .probability import FOLDS

if TYPE_CHECKING:
    from typing import Self

    from ..contracts.inputs import MatrixLike


class MethodOfProbabilities:
    """A method that is there where the parameter `probability` asks for it.

    Elsewhere the error is that of a class without such a method, as scikit-learn's `LinearSVC` is, to the last word:
    estimators that contain one pass it on.
    """

    def __init__(self, method: Callable[..., np.ndarray]) -> None:
        update_wrapper(cast(Any, self), method)
        self.method = method

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self.method
        if not estimator.probability:
            name = self.method.__name__
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {name!r}", name=name)
        return MethodType(self.method, estimator)


class LinearProbabilities(LinearClassifier):
    """P(y = k | x) of a linear classifier whose parameter `probability` says by which method."""

    probability: Any
    _calibration: dict[str, Any] | None

    @property
    def wants_probabilities(self) -> bool:
        """Whether folds are to be fitted after the solves."""
        return bool(self.probability)

    @property
    def has_probabilities(self) -> bool:
        """Whether the folds were fitted."""
        return self.wants_probabilities and vars(self).get("_calibration") is not None

    @property
    def _method(self) -> str:
        """The method by name."""
        return self.probability if self.probability in METHODS else METHODS[0]

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, group: Any = None) -> Self:
        """The fit, and the folds after it."""
        began = time.perf_counter()
        if self.wants_probabilities and comes_in_blocks(X):
            raise ValueError(f"probability={self.probability!r} needs data in memory; give an array.")
        super()._fit(X, y, sample_weight, group)
        self._calibration = None
        if self.wants_probabilities:
            end = None if self.max_seconds is None else began + self.max_seconds
            self._calibrate(X, np.asarray(y).ravel(), sample_weight, end)
        return self

    def _calibrate(self, X: Any, y: np.ndarray, sample_weight: Any, end: float | None) -> None:
        """Decisions of held-out rows by machines of folds, and the maps that suit them."""
        places = np.searchsorted(self.classes_, y)
        smallest = int(np.bincount(places).min())
        if smallest < 2:
            raise ValueError(
                f"probability={self.probability!r} needs two rows of each class to hold one out, "
                f"got one of class {self.classes_[np.bincount(places).argmin()]}."
            )
        X = X if hasattr(X, "shape") else np.asarray(X)
        rows = X.tocsr() if hasattr(X, "tocsr") else X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
        weight = None if sample_weight is None else np.maximum(np.asarray(sample_weight, float), 0.0)
        found = np.zeros((len(y), 1 if len(self.classes_) == 2 else len(self.classes_)))
        state = vars(self).get("random_state", 0)
        splitter = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=0 if state is None else state)
        for train, test in splitter.split(places[:, None], places):
            if end is not None and time.perf_counter() > end:
                if all(result.converged for result in self.results_):  # else it is said already that the time is over
                    warn_user(
                        "The fit ended before the probabilities were fitted; raise max_seconds.", ConvergenceWarning
                    )
                return
            machine = self._make_fold_machine(None if end is None else max(end - time.perf_counter(), 1e-3))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                machine.fit(rows[train], y[train], None if weight is None else weight[train])
            found[test] = machine._margins(rows[test])
        self._calibration = self._fit_calibration(found, places, np.ones(len(y)) if weight is None else weight)

    def _make_fold_machine(self, seconds: float | None) -> Any:
        """The machine of a fold: as this one, and quiet."""
        plain = {"probability": False, "verbose": 0, "warm_start": False, "checkpoint": None, "max_seconds": seconds}
        return clone(self).set_params(**plain)

    def _fit_calibration(self, decisions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
        """The maps of the method."""
        k = len(self.classes_)
        if self._method == "temperature":
            scores = np.column_stack([decisions, -decisions]) * 0.5 if k == 2 else decisions
            return fit_temperature(scores, y, weight)
        labels = [np.where(y == each, 1.0, -1.0) for each in range(decisions.shape[1])]
        return fit_maps(self._method, list(decisions.T), labels, [weight] * decisions.shape[1])

    def _margins(self, X: Any) -> np.ndarray:
        """One column, positive for the first of two classes; else for each class what it has over the others."""
        f = self.decision_function(X)
        if f.ndim == 1:
            return -f[:, None]
        if not self._is_joint or self._method == "temperature":
            return f
        ranked = np.sort(f, axis=1)
        best, second = ranked[:, -1:], ranked[:, -2:-1]
        return f - np.where(f == best, second, best)

    @MethodOfProbabilities
    @apply_blockwise
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """P(y = k | x) from the decisions by maps that were fitted to those of rows that were held out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The largest probability is that of the predicted class; for two classes 1/2 where f(x) = 0.
        """
        check_is_fitted(self)
        calibration = vars(self).get("_calibration")
        if calibration is None:
            raise NotFittedError("predict_proba is not available: the fit was with probability=False, or ended early.")
        margins, k = self._margins(X), len(self.classes_)
        choice = (margins[:, 0] < 0).astype(int) if k == 2 else margins.argmax(axis=1)
        return read_classes(calibration, margins, k, choice, rest=k > 2)

    @MethodOfProbabilities
    @apply_blockwise
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
