"""From an estimator and its data to the machines of the folds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...contracts.features import Features
from ...estimators.certified import CertifiedMachine
from ...estimators.linear_machine import LinearMachine
from ...model.features import Design, Gram
from ...model.problem import Problem
from .fold_machine import FoldMachine
from .proofs import Fold


class TuningData(NamedTuple):
    """The data of all folds: samples, labels, and weights of samples or None."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None


def make_folds(model: Any, data: TuningData, splits: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[Fold]:
    """The machines of each fold, at C = 1."""
    return [make_fold(model, data, np.asarray(train), np.asarray(test)) for train, test in splits]


def make_fold(model: Any, data: TuningData, train: np.ndarray, test: np.ndarray) -> Fold:
    """The machines of one fold: the steps before them are fitted to its training rows."""
    machine = get_machine(model)
    if machine.is_kernel_matrix:
        both = np.concatenate([train, test])
        X_train, X_both = data.X[np.ix_(train, train)], data.X[np.ix_(both, both)]
    else:
        X_train, X_test = transform(model, data, train, test)
        X_both = sp.vstack([X_train, X_test], format="csr") if sp.issparse(X_train) else join_rows(X_train, X_test)
    machine = clone(machine).set_params(C=1.0)
    weight = None if data.weight is None else data.weight[train]
    rows = machine._validate(X_train, data.y[train], weight)
    problems = machine._pose_problems(rows)
    held_out, known, machines = np.arange(len(train), len(train) + len(test)), {}, []
    for task in problems.tasks:
        places = task.index if isinstance(machine, LinearMachine) else problems.find_rows(task.index)
        key = places.tobytes()  # classes against the rest share their rows, unless a class has no weight
        if key not in known:
            X_task = take_rows(X_both, np.concatenate([places, held_out]), machine.is_kernel_matrix)
            known[key] = make_features(machine, problems, X_task)
        machines.append(FoldMachine(known[key], task.y.astype(float), task.c, make_poser(problems, task)))
    return Fold(tuple(machines), encode_labels(machine, problems, data.y[train], data.y[test]))


def get_machine(model: Any) -> CertifiedMachine:
    """The estimator itself, or the last step of a pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def transform(model: Any, data: TuningData, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
    """Training and held-out rows as the machine sees them."""
    X_train, X_test = data.X[train], data.X[test]
    if not isinstance(model, Pipeline) or len(model.steps) == 1:
        return X_train, X_test
    steps = clone(model[:-1])
    return steps.fit_transform(X_train, data.y[train]), steps.transform(X_test)


def join_rows(X_train: Any, X_test: Any) -> np.ndarray:
    """Both as one array."""
    return np.concatenate([np.asarray(X_train), np.asarray(X_test)]).astype(float)


def take_rows(X: Any, rows: np.ndarray, square: bool) -> Any:
    """Some rows; of a kernel matrix the columns too."""
    return X[np.ix_(rows, rows)] if square else X[rows]


def make_features(machine: CertifiedMachine, problems: Any, X: Any) -> Gram:
    """Training rows that count and held-out rows, as the kernel of the fold sees them."""
    if isinstance(machine, LinearMachine):
        return Design(problems.kernel.samples(X), problems.features.scaling)
    kernel = problems.features.kernel.bind(X)
    features = Gram(kernel, kernel.samples(X), problems.features.offset)
    features.form()
    return features


def make_poser(problems: Any, task: Any) -> Any:
    """The problem of features, labels and weights, as the estimator poses it."""

    def pose(features: Features, y: np.ndarray, c: np.ndarray) -> Problem:
        if isinstance(features, Design):
            return problems.pose(features, task._replace(index=np.arange(len(y)), y=y, c=c))
        return problems.formulation.pose(features, y, c)

    return pose


def encode_labels(machine: CertifiedMachine, problems: Any, y_train: np.ndarray, y_test: np.ndarray) -> np.ndarray:
    """The held-out labels as numbers of machines, or with one machine 1 for its positive class and 0 for the other."""
    classes = machine.classes_
    if len(problems.tasks) > 1:
        place = np.clip(np.searchsorted(classes, y_test), 0, len(classes) - 1)
        return np.where(classes[place] == y_test, place, -1)
    task = problems.tasks[0]
    positive = y_train[task.index[np.argmax(task.y)]]
    return np.where(np.isin(y_test, classes), (y_test == positive).astype(int), -1)
