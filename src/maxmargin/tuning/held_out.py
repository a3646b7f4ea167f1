"""A stand-in for a fitted estimator, given to scorers: it knows what is predicted of the rows that are to be scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contracts.estimators import Estimator
from ..estimators.multiclass import vote
from ..runtime.scikit_learn import count_votes
from ..runtime.scikit_learn_search import Pipeline, r2_score

# What an estimator says of itself whether it is fitted or not, under one version of scikit-learn or another.
KNOWN_BEFORE_FIT = frozenset(
    {"get_params", "__sklearn_tags__", "__sklearn_clone__", "_estimator_type", "_get_tags", "_more_tags"}
)


def last_step(estimator: Any) -> Any:
    """The estimator itself, or the last one of a Pipeline."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


class HeldOutMachine:
    """predict(X) and decision_function(X) of the held-out rows, and the fitted estimator for all that is beyond.

    Parameters
    ----------
    estimator : estimator
        With the parameters of the candidate, and not fitted: a machine of ours, or a Pipeline that ends in one.
    fit : callable
        Returns the same fitted to the training rows; called at most once, where a scorer asks for more than what
        is known.
    classes : ndarray, optional
        Of a classifier.

    Notes
    -----
    `learn(X, decisions)` tells it what the machine says of rows; X is known by identity.
    """

    def __init__(self, estimator: Any, fit: Callable[[], Any], classes: np.ndarray | None = None):
        known = {"_estimator": estimator, "_machine": last_step(estimator), "_fit": fit, "_decisions": {}}
        self.__dict__.update(known | ({} if classes is None else {"classes_": classes}))

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """That of the estimator: scorers of users may ask for it, and `clone` does."""
        return type(self._estimator)

    def learn(self, X: Any, decisions: np.ndarray | Callable[[], np.ndarray]) -> None:
        """What the machine says of X.

        Parameters
        ----------
        X : the object that scorers will be given
        decisions : ndarray of shape (n, machines) or (n,)
            Of a kernel classifier f(x) of each binary machine in LIBSVM's sign, as its `_decision_values` has them; of
            other classifiers what `decision_function` returns, and of regressors the predictions. A function is
            called when a scorer first asks.
        """
        self._decisions[id(X)] = X, decisions

    def _find(self, X: Any) -> np.ndarray | None:
        """What is known of X."""
        _, decisions = self._decisions.get(id(X), (X, None))
        if callable(decisions):
            decisions = decisions()
            self._decisions[id(X)] = X, decisions
        return decisions

    # ---- what is known ------------------------------------------------------------------------------------

    def predict(self, X: Any, **params: Any) -> Any:
        """Classes, or numbers."""
        decisions = self._find(X)
        if decisions is None or params:
            return self._fitted.predict(X, **params)
        if self._machine.task != "classification":
            return decisions.ravel()
        return self.classes_.take(choose_classes(self._machine, decisions, len(self.classes_)))

    def _decide(self, X: Any, **params: Any) -> Any:
        """decision_function, of classifiers."""
        decisions = self._find(X)
        if decisions is None or params:
            return self._fitted.decision_function(X, **params)
        return summarise_decisions(self._machine, decisions, len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> float:
        """Accuracy, or R^2."""
        if id(X) not in self._decisions or params or not self._has_usual_score:
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            return self._fitted.score(X, y, **weights, **params)
        return score_predictions(self._machine, y, self.predict(X), sample_weight)

    @property
    def _has_usual_score(self) -> bool:
        """Whether `score` is that of scikit-learn's mixins, and not one that a subclass has written."""
        method = getattr(type(self._machine), "score", None)
        return getattr(method, "__module__", None) in ("sklearn.base", "maxmargin.runtime.stand_ins")

    # ---- what is not --------------------------------------------------------------------------------------

    @property
    def _fitted(self) -> Any:
        """The fitted estimator."""
        if "_whole" not in self.__dict__:
            self.__dict__["_whole"] = self._fit()
        return self._whole

    def __getattr__(self, name: str) -> Any:
        estimator = self.__dict__["_estimator"]
        if name == "decision_function" and self._machine.task == "classification":
            return self._decide
        if name in KNOWN_BEFORE_FIT or name in vars(estimator):
            return getattr(estimator, name)
        if not (name.startswith("_") or name.endswith("_") or hasattr(estimator, name)):
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {name!r}")
        return getattr(self._fitted, name)

    def __repr__(self) -> str:
        return repr(self._estimator)


# ---- from decisions to what users see -------------------------------------------------------------------------------


def choose_classes(machine: Estimator, decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """The number of the class of each row, as `predict` of the machine has it."""
    if machine.family != "kernel":
        return (decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
    parameters: Any = machine
    if parameters.break_ties and parameters.decision_function_shape == "ovo":
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
    if n_classes == 2:
        return (decisions.ravel() < 0).astype(int)
    if parameters.multi_class == "ovr":
        return decisions.argmax(axis=1)
    if parameters.break_ties:
        return count_votes(decisions < 0, -decisions, n_classes).argmax(axis=1)
    return vote(decisions, n_classes)


def summarise_decisions(machine: Estimator, decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """decision_function of the machine."""
    if machine.family != "kernel":
        return decisions
    parameters: Any = machine
    if n_classes == 2:
        return -decisions.ravel()
    if parameters.multi_class == "ovr" or parameters.decision_function_shape == "ovo":
        return decisions
    return count_votes(decisions < 0, -decisions, n_classes)


def score_predictions(machine: Estimator, y: Any, predicted: np.ndarray, weight: Any = None) -> float:
    """Accuracy of labels, R^2 of numbers: those of scikit-learn, without half a millisecond of checks."""
    y = np.asarray(y)
    if machine.task == "classification":
        return float(np.average(y == predicted, weights=None if weight is None else np.asarray(weight)))
    if len(y) < 2 or y.ndim > 1 or weight is not None:
        return float(r2_score(y, predicted, sample_weight=weight))
    y = y.astype(float)
    missed, spread = float(np.sum((y - predicted) ** 2)), float(np.sum((y - y.mean()) ** 2))
    if spread == 0.0:
        return 1.0 if missed == 0.0 else 0.0
    return 1.0 - missed / spread
