"""The machines of folds: each was fitted without the rows that its fold holds out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...runtime.scikit_learn_search import clone, take_rows

MAX_DECISIONS = 1 << 22  # of all machines on some new rows, held at a time


class Fold(NamedTuple):
    """Rows that train a machine, and those that are held out."""

    train: np.ndarray
    test: np.ndarray


class Decisions(ABC):
    """What is read of a fitted machine: so many numbers for each row."""

    @abstractmethod
    def read(self, machine: Any, X: Any) -> np.ndarray:
        """Numbers of shape (rows, outputs)."""


class ClassScores(Decisions):
    """What is read of a classifier, and how badly each class fits a row."""

    @abstractmethod
    def score(self, decisions: np.ndarray, n_classes: int, *, by_pairs: bool) -> np.ndarray:
        """Scores of shape (..., n_classes); `by_pairs` says that there is a decision for each pair of classes."""


class Predictions(Decisions):
    """What a regression predicts."""

    def read(self, machine: Any, X: Any) -> np.ndarray:
        """f(x), one column."""
        return np.asarray(machine.predict(X), float).reshape(-1, 1)


class FoldMachines(ABC):
    """The machines of all folds.

    Attributes
    ----------
    folds : list of Fold
        Each row is held out by one of them.
    held_out : ndarray of shape (n, outputs)
        The decisions of each row by the machine that has not seen it.
    fold_of : ndarray of shape (n,)
        The fold that holds out each row.
    """

    def __init__(self, folds: Sequence[Fold], n: int):
        self.folds = list(folds)
        self.fold_of = np.full(n, -1)
        for number, fold in enumerate(self.folds):
            self.fold_of[fold.test] = number
        if (self.fold_of < 0).any() or sum(len(fold.test) for fold in self.folds) != n:
            raise ValueError("cv must hold out each row exactly once, as KFold and LeaveOneOut do.")
        self.held_out = np.empty((n, 0))

    @abstractmethod
    def decide(self, X: Any) -> np.ndarray:
        """The decisions of all machines, of shape (folds, rows, outputs)."""

    def decide_by_parts(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """The same for some rows at a time."""
        rows, outputs = X.shape[0], max(1, self.held_out.shape[1])
        step = max(1, MAX_DECISIONS // (len(self.folds) * outputs))
        for start in range(0, rows, step):
            part = slice(start, min(start + step, rows))
            yield part, self.decide(X[part])


class FittedFolds(FoldMachines):
    """Machines that were fitted one after the other, of any estimator."""

    def __init__(self, estimator: Any, X: Any, y: np.ndarray, folds: Sequence[Fold], decisions: Decisions):
        super().__init__(folds, len(y))
        self.decisions, self.machines = decisions, []
        found = []
        for fold in self.folds:
            machine = clone(estimator).fit(*take_rows(estimator, X, y, fold.train))
            self.machines.append(machine)
            found.append(decisions.read(machine, take_rows(estimator, X, y, fold.test, fold.train)[0]))
        self.held_out = np.empty((len(y), found[0].shape[1]))
        for fold, values in zip(self.folds, found, strict=True):
            self.held_out[fold.test] = values

    def decide(self, X: Any) -> np.ndarray:
        """The decisions of all machines."""
        return np.stack([self.decisions.read(machine, X) for machine in self.machines])
