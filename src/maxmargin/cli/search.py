"""The search for C of LIBLINEAR's -C: cross-validation at rising values of C, and of epsilon for regression."""

from __future__ import annotations

import argparse
import math
import time
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .exit_codes import Exit, UsageError
from .fitting import Training, fit_machine
from .folds import split, take_rows
from .options import LINEAR
from .report import print_json
from .score import Tally

FOLDS = 5
LARGEST_C = 1024.0  # where LIBLINEAR ends too
UNCHANGED = 5  # doublings of C without an effect, after which larger ones will have none either
TUBES = 20  # values of epsilon


class Trial(NamedTuple):
    """Parameters, and how good the predictions of unseen rows were."""

    C: float
    epsilon: float | None
    tally: Tally


def find_cost(training: Training, arguments: argparse.Namespace) -> int:
    """The C, and for regression the epsilon, of best cross-validation; --max-seconds is for the whole search."""
    name = type(training.machine).__name__
    if name not in LINEAR or training.machine.get_params().get("penalty", "l2") != "l2":
        raise UsageError(f"--find-C (-C) is for linear machines with the penalty |w|^2 / 2, and not for {name}.")
    asked = {**arguments.lettered, **arguments.given}
    smallest = asked["C"] if "C" in asked else find_smallest_cost(training.X)
    searches = name == "LinearSVR" and "epsilon" not in arguments.given
    tubes = list_tubes(training.y, arguments.spelled.get("epsilon")) if searches else [None]
    budget = training.machine.max_seconds
    end = math.inf if budget is None else time.perf_counter() + budget
    trials: list[Trial] = []
    for epsilon in tubes:
        trials += try_costs(training, smallest, epsilon, end, arguments)
    if not trials:
        raise ValueError(f"--max-seconds {budget:g} was over before a single C was tried.")
    report(min(trials, key=lambda trial: trial.tally.error), arguments)
    return Exit.FINE if time.perf_counter() < end else Exit.UNFINISHED


def list_tubes(y: np.ndarray, largest: float | None) -> np.ndarray:
    """Values of epsilon, falling from the one that was asked for with -p, or from just below the largest |y|, to 0."""
    step = float(np.abs(y).max()) / TUBES
    begin = TUBES - 1 if largest is None or step == 0 else min(int(largest / step), TUBES - 1)
    return step * np.arange(begin + 1)[::-1]


def try_costs(training: Training, C: float, epsilon: float | None, end: float, arguments) -> list[Trial]:
    """Every C, twice the last one, until larger ones change nothing; machines of all folds warm from the C before."""
    rows = list(split(training, arguments.folds or FOLDS))
    parts = [take_rows(training, train) for train, _ in rows]
    for part in parts:
        part.machine.set_params(warm_start=True, **({} if epsilon is None else {"epsilon": epsilon}))
    trials: list[Trial] = []
    unchanged = 0
    while C <= LARGEST_C and unchanged < UNCHANGED:
        tally, still = Tally(type(training.machine).__name__), True
        for part, (_, test) in zip(parts, rows, strict=True):
            if (left := end - time.perf_counter()) <= 0:
                return trials
            still = fit_at(part, C, left) and still
            tally.add(part.machine.predict(training.X[test]), training.y[test])
        trials.append(Trial(C, epsilon, tally))
        if not (arguments.quiet or arguments.json):
            tube = "" if epsilon is None else f"\tp={epsilon:7.2f}"
            told = "rate" if tally.classes else "Mean squared error"
            print(f"log2c={math.log2(C):7.2f}{tube}\t{told}={tally.rate:g}", flush=True)
        unchanged = unchanged + 1 if still else 0
        C *= 2.0
    return trials


def fit_at(part: Training, C: float, seconds: float) -> bool:
    """Fit one fold; whether w is as before, up to what an objective within tol leaves open: the root of it."""
    machine = part.machine
    before = getattr(machine, "coef_", None)
    machine.set_params(C=C, max_seconds=None if math.isinf(seconds) else seconds)
    fit_machine(part)
    change = math.inf if before is None else float(np.linalg.norm(machine.coef_ - before))
    return change <= math.sqrt(machine.tol) * float(np.linalg.norm(machine.coef_))


def find_smallest_cost(X) -> float:
    """A power of two below 1 / (2 n max |x|^2), where the losses are still linear in w (Chu et al. 2015, section 3)."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return 2.0 ** math.floor(-math.log2(2.0 * X.shape[0] * max(float(np.max(squares)), 1e-300)))


def report(best: Trial, arguments: argparse.Namespace) -> None:
    """As LIBLINEAR writes it."""
    C, epsilon, tally = best
    if arguments.json:
        print_json({"command": "train", "best": {"C": C, "epsilon": epsilon, **tally.describe()}})
    elif tally.classes:
        print(f"Best C = {C:g}  CV accuracy = {100.0 * tally.rate:g}%")
    else:
        tube = "" if epsilon is None else f" Best p = {epsilon:g}"
        print(f"Best C = {C:g}{tube}  CV MSE = {tally.rate:g}")
