"""Cross-validation, as svm-train -v does it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from .exit_codes import Exit, UsageError
from .fitting import Training, fit_machine
from .machines import leave_out_probabilities
from .report import print_json
from .score import Score


def cross_validate(training: Training, arguments: argparse.Namespace) -> int:
    """Every row predicted by a machine that has not seen it; prints the accuracy, or the errors of regression."""
    name = type(training.machine).__name__
    if training.machine.takes_queries:
        raise UsageError(f"--folds does not take {name}, whose rows belong to queries.")
    if training.y is None:
        raise ValueError(f"{arguments.data} has no targets, and --folds (-v) compares predictions with them.")
    score, unfinished = Score(training.machine), 0
    for train, test in split(training, arguments.folds):
        part = take_rows(training, train)
        if part.machine.max_seconds is not None:
            part.machine.max_seconds /= arguments.folds
        part.machine.verbose = int(sys.stderr.isatty() and not arguments.quiet)
        fit_machine(part)
        unfinished += not all(result.converged for result in part.machine.results_)
        score.add(part.machine.predict(take(training.X, test, train, part.machine)), training.y[test])
    if arguments.json:
        print_json({"command": "train", "estimator": name, "folds": arguments.folds, **score.describe(),
                    "unfinished": unfinished, "files": {"data": arguments.data}})  # fmt: skip
    else:
        for line in score.list_lines("Cross Validation "):
            print(line)
    return Exit.UNFINISHED if unfinished else Exit.SUCCESS


def split(training: Training, folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows to train on and to predict; the classes in the same proportions in every fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    n = len(training.y)
    if folds > n:
        raise ValueError(f"--folds (-v) must be at most the number of rows, {n}, got {folds}.")
    labels = training.machine.task == "classification"
    kind = StratifiedKFold if labels and np.unique(training.y, return_counts=True)[1].min() >= folds else KFold
    return kind(folds, shuffle=True, random_state=0).split(np.zeros(n), training.y)


def take_rows(training: Training, rows: np.ndarray) -> Training:
    """A new machine of the same parameters, without probabilities, on some of the rows."""
    from sklearn.base import clone

    machine = leave_out_probabilities(clone(training.machine))
    weight = None if training.weight is None else training.weight[rows]
    return Training(machine, take(training.X, rows, rows, machine), training.y[rows], weight, None)


def take(X, rows: np.ndarray, columns: np.ndarray, machine):
    """Some rows of X; of kernel values the columns of the samples that were trained on, too."""
    return X[np.ix_(rows, columns)] if machine.is_kernel_matrix else X[rows]
