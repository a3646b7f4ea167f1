"""How ill a label suits a row: scores of all classes, from the decisions or the probabilities of a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...estimators.kernel_classifier import KernelClassifier
from .fold_machines import ClassScores


class Margins(ClassScores):
    """Decisions of a classifier; the score of class k is max over m != k of f_m - f_k, or of the pairs that it loses.

    For two classes it is -y f(x). The predicted class has the smallest score, but where pairs vote in a circle.
    """

    def read(self, machine: Any, X: Any) -> np.ndarray:
        """f(x): one column for two classes, for each class, or for each pair of a kernel classifier."""
        if isinstance(machine, KernelClassifier):
            return machine._decision_values(X)
        found = np.asarray(machine.decision_function(X), float)
        return -found[:, None] if found.ndim == 1 else found

    def score(self, decisions: np.ndarray, n_classes: int, *, by_pairs: bool) -> np.ndarray:
        """Scores of shape (..., n_classes); one column is positive for the first of two classes."""
        if n_classes == 2:
            f = decisions[..., 0]
            return np.stack([-f, f], axis=-1)
        found = np.empty((*decisions.shape[:-1], n_classes))
        if by_pairs:
            first, second = np.triu_indices(n_classes, 1)
            for k in range(n_classes):
                lost = np.concatenate([-decisions[..., first == k], decisions[..., second == k]], axis=-1)
                found[..., k] = lost.max(axis=-1)
            return found
        for k in range(n_classes):
            found[..., k] = np.delete(decisions, k, axis=-1).max(axis=-1) - decisions[..., k]
        return found


class Probabilities(ClassScores):
    """Probabilities of a classifier: 1 - p_k, or the sum of all p_m >= p_k ("aps", Romano, Sesia and Candes 2020)."""

    def __init__(self, adaptive: bool):
        self.adaptive = adaptive

    def read(self, machine: Any, X: Any) -> np.ndarray:
        """P(y = k | x)."""
        return np.asarray(machine.predict_proba(X), float)

    def score(self, decisions: np.ndarray, n_classes: int, *, by_pairs: bool) -> np.ndarray:
        """Scores of shape (..., n_classes)."""
        if not self.adaptive:
            return 1.0 - decisions
        order = np.argsort(-decisions, axis=-1, kind="stable")
        sums = np.cumsum(np.take_along_axis(decisions, order, axis=-1), axis=-1)
        found = np.empty_like(decisions)
        np.put_along_axis(found, order, sums, axis=-1)
        return found


SCORES: dict[str, ClassScores] = {"margin": Margins(), "lac": Probabilities(False), "aps": Probabilities(True)}
