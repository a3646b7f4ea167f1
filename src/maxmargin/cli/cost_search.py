"""The search for C of LIBLINEAR's -C: cross-validation at rising values of C, and of epsilon for regression."""

from __future__ import annotations

import argparse
import math
import time
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .cross_validation import split, take_rows
from .exit_codes import Exit, UsageError
from .fitting import Training, fit_machine
from .report import print_json
from .score import Score

DEFAULT_FOLDS = 5
LARGEST_C = 1024.0  # where LIBLINEAR ends too
MAX_UNCHANGED_DOUBLINGS = 5  # doublings of C without an effect, after which larger ones will have none either
N_EPSILONS = 20  # values of epsilon


class Trial(NamedTuple):
    """Parameters, and how good the predictions of unseen rows were."""

    C: float
    epsilon: float | None
    score: Score


def search_cost(training: Training, arguments: argparse.Namespace) -> int:
    """The C, and for regression the epsilon, of best cross-validation; --max-seconds is for the whole search."""
    machine = training.machine
    is_sum_over_rows = machine.family == "linear" and machine.takes_blocks
    if not is_sum_over_rows or machine.get_params().get("penalty", "l2") != "l2":
        name = type(machine).__name__
        raise UsageError(f"--find-C (-C) is for linear machines with the penalty |w|^2 / 2, and not for {name}.")
    asked = {**arguments.short_option_parameters, **arguments.given}
    smallest = asked["C"] if "C" in asked else find_smallest_cost(training.X)
    has_tube = machine.tube_losses and machine.losses == machine.tube_losses  # whatever its loss is
    searches = has_tube and "epsilon" not in arguments.given
    epsilons = list_epsilons(training.y, arguments.explicit_short_parameters.get("epsilon")) if searches else [None]
    budget = machine.max_seconds
    deadline = math.inf if budget is None else time.perf_counter() + budget
    trials: list[Trial] = []
    for epsilon in epsilons:
        trials += cross_validate_costs(training, smallest, epsilon, deadline, arguments)
    if not trials:
        raise ValueError(f"--max-seconds {budget:g} ended before any C was tried.")
    report(min(trials, key=lambda trial: trial.score.error), arguments)
    return Exit.SUCCESS if time.perf_counter() < deadline else Exit.UNFINISHED


def list_epsilons(y: np.ndarray, largest: float | None) -> np.ndarray:
    """Values of epsilon, falling from the one that was asked for with -p, or from just below the largest |y|, to 0."""
    step = float(np.abs(y).max()) / N_EPSILONS
    begin = N_EPSILONS - 1 if largest is None or step == 0 else min(int(largest / step), N_EPSILONS - 1)
    return step * np.arange(begin + 1)[::-1]


def cross_validate_costs(
    training: Training, C: float, epsilon: float | None, deadline: float, arguments
) -> list[Trial]:
    """Every C, twice the last one, until larger ones change nothing; machines of all folds warm from the C before."""
    rows = list(split(training, arguments.folds or DEFAULT_FOLDS))
    parts = [take_rows(training, train) for train, _ in rows]
    for part in parts:
        part.machine.warm_start = True
        part.machine.set_params(**({} if epsilon is None else {"epsilon": epsilon}))
    trials: list[Trial] = []
    unchanged = 0
    while C <= LARGEST_C and unchanged < MAX_UNCHANGED_DOUBLINGS:
        score, is_unchanged = Score(training.machine), True
        for part, (_, test) in zip(parts, rows, strict=True):
            if (left := deadline - time.perf_counter()) <= 0:
                return trials
            is_unchanged = fit_at(part, C, left) and is_unchanged
            score.add(part.machine.predict(training.X[test]), training.y[test])
        trials.append(Trial(C, epsilon, score))
        if not (arguments.quiet or arguments.json):
            tube = "" if epsilon is None else f"\tp={epsilon:7.2f}"
            told = "rate" if score.classes else "Mean squared error"
            print(f"log2c={math.log2(C):7.2f}{tube}\t{told}={score.metric_value:g}", flush=True)
        unchanged = unchanged + 1 if is_unchanged else 0
        C *= 2.0
    return trials


def fit_at(part: Training, C: float, seconds: float) -> bool:
    """Fit one fold; whether w is as before, up to what an objective within tol leaves open: the root of it."""
    machine = part.machine
    before = vars(machine).get("coef_")
    machine.set_params(C=C)
    machine.max_seconds = None if math.isinf(seconds) else seconds
    fit_machine(part)
    change = math.inf if before is None else float(np.linalg.norm(machine.coef_ - before))
    return change <= math.sqrt(machine.tol) * float(np.linalg.norm(machine.coef_))


def find_smallest_cost(X) -> float:
    """A power of two below 1 / (2 n max |x|^2), where the losses are still linear in w (Chu et al. 2015, section 3)."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return 2.0 ** math.floor(-math.log2(2.0 * X.shape[0] * max(float(np.max(squares)), 1e-300)))


def report(best: Trial, arguments: argparse.Namespace) -> None:
    """As LIBLINEAR writes it."""
    C, epsilon, score = best
    if arguments.json:
        print_json({"command": "train", "best": {"C": C, "epsilon": epsilon, **score.describe()}})
    elif score.classes:
        print(f"Best C = {C:g}  CV accuracy = {100.0 * score.metric_value:g}%")
    else:
        tube = "" if epsilon is None else f" Best p = {epsilon:g}"
        print(f"Best C = {C:g}{tube}  CV MSE = {score.metric_value:g}")
