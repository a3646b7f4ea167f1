"""Cross-validation, as svm-train -v does it, and the search for C of LIBLINEAR's -C."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from .exit_codes import Exit, UsageError
from .fitting import CLASSIFIERS, Training, fit_machine
from .options import LINEAR
from .report import print_json
from .tally import Tally

SEARCH_FOLDS = 5
LARGEST_C = 1024.0  # where LIBLINEAR ends too
UNCHANGED = 5  # doublings of C without an effect, after which larger ones will have none either
TUBES = 20  # values of epsilon for regression


def cross_validate(training: Training, arguments: argparse.Namespace) -> int:
    """Every row predicted by a machine that has not seen it; prints the accuracy, or the errors of regression."""
    name = type(training.machine).__name__
    if name == "RankSVM":
        raise UsageError("--folds does not take RankSVM, whose rows belong to queries.")
    tally, unfinished = Tally(name), 0
    for train, test in split(training, arguments.folds):
        part = take_rows(training, train)
        if part.machine.max_seconds is not None:
            part.machine.set_params(max_seconds=part.machine.max_seconds / arguments.folds)
        fit_machine(part)
        unfinished += not all(result.converged for result in part.machine.results_)
        tally.add(part.machine.predict(take(training.X, test, train, part.machine)), training.y[test])
    if arguments.json:
        print_json({"command": "train", "estimator": name, "folds": arguments.folds, **tally.describe(),
                    "unfinished": unfinished, "files": {"data": arguments.data}})  # fmt: skip
    else:
        for line in tally.list_lines("Cross Validation "):
            print(line)
    return Exit.UNFINISHED if unfinished else Exit.FINE


def split(training: Training, folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows to train on and to predict; the classes in the same proportions in every fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    n = len(training.y)
    if folds > n:
        raise ValueError(f"--folds (-v) must be at most the number of rows, {n}, got {folds}.")
    labels = type(training.machine).__name__ in CLASSIFIERS
    kind = StratifiedKFold if labels and np.unique(training.y, return_counts=True)[1].min() >= folds else KFold
    return kind(folds, shuffle=True, random_state=0).split(np.zeros(n), training.y)


def take_rows(training: Training, rows: np.ndarray) -> Training:
    """A new machine of the same parameters, without probabilities, on some of the rows."""
    from sklearn.base import clone

    machine = clone(training.machine)
    if "probability" in machine.get_params():
        machine.set_params(probability="deprecated")
    weight = None if training.weight is None else training.weight[rows]
    return Training(machine, take(training.X, rows, rows, machine), training.y[rows], weight, None)


def take(X, rows: np.ndarray, columns: np.ndarray, machine):
    """Some rows of X; of kernel values the columns of the samples that were trained on, too."""
    return X[np.ix_(rows, columns)] if getattr(machine, "kernel", None) == "precomputed" else X[rows]


# ---- the search for C -----------------------------------------------------------------------------------------------


def find_cost(training: Training, arguments: argparse.Namespace) -> int:
    """The C, and for regression the epsilon, of best cross-validation: each C twice the last one, started from it."""
    name = type(training.machine).__name__
    if name not in LINEAR or training.machine.get_params().get("penalty", "l2") != "l2":
        raise UsageError(f"--find-C (-C) is for linear machines with the penalty |w|^2 / 2, and not for {name}.")
    asked = {**arguments.lettered, **arguments.given}
    smallest = asked["C"] if "C" in asked else find_smallest_cost(training.X)
    searches = name == "LinearSVR" and "epsilon" not in arguments.given
    tubes = np.arange(TUBES)[::-1] / TUBES * np.abs(training.y).max() if searches else [None]
    tried: list[tuple[float, float | None, Tally]] = []
    for epsilon in tubes:
        tried += search_costs(training, arguments.folds or SEARCH_FOLDS, smallest, epsilon, arguments)
    C, epsilon, tally = min(tried, key=lambda each: each[2].error)
    report_best(C, epsilon, tally, arguments)
    return Exit.FINE


def search_costs(training: Training, folds: int, C: float, epsilon: float | None, arguments) -> list:
    """(C, epsilon, tally) for every C, the machines of all folds warm from the C before."""
    rows = list(split(training, folds))
    parts = [take_rows(training, train) for train, _ in rows]
    for part in parts:
        part.machine.set_params(warm_start=True, **({} if epsilon is None else {"epsilon": epsilon}))
    tried, unchanged = [], 0
    while C <= LARGEST_C and unchanged < UNCHANGED:
        tally, before = Tally(type(training.machine).__name__), [getattr(p.machine, "coef_", None) for p in parts]
        for part, (_, test) in zip(parts, rows, strict=True):
            part.machine.set_params(C=C)
            fit_machine(part)
            tally.add(part.machine.predict(training.X[test]), training.y[test])
        tried.append((C, epsilon, tally))
        if not (arguments.quiet or arguments.json):
            tube = "" if epsilon is None else f"\tp={epsilon:7.2f}"
            print(f"log2c={math.log2(C):7.2f}{tube}\trate={tally.rate:g}", flush=True)
        still = all(is_same(old, part.machine.coef_, part.machine.tol) for old, part in zip(before, parts, strict=True))
        unchanged = unchanged + 1 if still else 0
        C *= 2.0
    return tried


def is_same(old: np.ndarray | None, new: np.ndarray, tol: float) -> bool:
    """Whether w has not moved by more than its tolerance explains: an objective within tol moves w by its root."""
    return old is not None and float(np.linalg.norm(new - old)) <= math.sqrt(tol) * float(np.linalg.norm(new))


def find_smallest_cost(X) -> float:
    """A power of two below 1 / (2 n max |x|^2), where the losses are still linear in w (Chu et al. 2015, section 3)."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return 2.0 ** math.floor(-math.log2(2.0 * X.shape[0] * max(float(np.max(squares)), 1e-300)))


def report_best(C: float, epsilon: float | None, tally: Tally, arguments: argparse.Namespace) -> None:
    """As LIBLINEAR writes it."""
    if arguments.json:
        print_json({"command": "train", "best": {"C": C, "epsilon": epsilon, **tally.describe()}})
    elif epsilon is not None:
        print(f"Best C = {C:g} Best p = {epsilon:g}  CV MSE = {tally.rate:g}")
    elif tally.classes:
        print(f"Best C = {C:g}  CV accuracy = {100.0 * tally.rate:g}%")
    else:
        print(f"Best C = {C:g}  CV MSE = {tally.rate:g}")
