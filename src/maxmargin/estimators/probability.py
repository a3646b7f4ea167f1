"""Held-out decisions of kernel classifiers, and the sigmoids, isotonic regressions or temperature fitted to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from ..model.formulations import Machine
from ..model.problem import Point
from ..runtime.scikit_learn import KFold, check_random_state
from ..solvers.automatic import Automatic
from ..solvers.result import Status
from ..solvers.smo import SMO
from ..solvers.smo.together import is_default_smo
from .calibration import couple, fit_maps, fit_slope, fit_temperature, sum_pairs
from .fold_decisions import SharedFolds, TaskFold
from .kernel_problems import KernelProblems
from .observers import Observation
from .tasks import Budget, Task

FOLDS = 5
MEGABYTE_BYTES = 2**20


class Unfinished(Exception):
    """The fit ended before a machine of the folds was trained."""


def calibrate_pairs(folds: FoldSolves, random_state) -> tuple[np.ndarray, np.ndarray]:
    """Slope A and shift B of P(y = +1) = 1 / (1 + exp(A f + B)) for each task; of none if the fit ends before all are.

    B stays 0: the sigmoid then crosses 1/2 where f crosses 0, and probabilities never contradict predictions.
    """
    tasks = folds.problems.tasks
    try:
        decisions = folds.predict_held_out(check_random_state(random_state))
    except Unfinished:
        return np.empty(0), np.empty(0)
    slopes = [fit_slope(found, task.y, task.c) for found, task in zip(decisions, tasks, strict=True)]
    return np.array(slopes), np.zeros(len(tasks))


def calibrate(
    folds: FoldSolves, method: str, random_state: Any, decide: Callable[[], np.ndarray], n_classes: int, rest: bool
) -> dict | None:
    """The maps of a method from decisions to probabilities; None if the fit ends before all folds are trained.

    `decide` returns the decisions of all samples by the machines of the whole fit. Of pairs, a temperature needs those
    of classes that a pair has not seen, too.
    """
    tasks = folds.problems.tasks
    try:
        decisions = folds.predict_held_out(check_random_state(random_state))
    except Unfinished:
        return None
    if method != "temperature":
        return fit_maps(method, decisions, [task.y for task in tasks], [task.c for task in tasks])
    y = folds.problems.y.astype(int)
    table, weight = (np.zeros((len(y), len(tasks))) if rest else decide()), np.zeros(len(y))
    for column, (task, found) in enumerate(zip(tasks, decisions, strict=True)):
        table[task.index, column] = found
        weight[task.index] = task.c
    return fit_temperature(table if rest else sum_pairs(table, n_classes), y, weight)


def decide_without_rows(folds: FoldSolves, random_state: Any) -> np.ndarray | None:
    """f(x) of all samples of one class by machines that have not seen them; None if the fit ends before."""
    task = folds.problems.tasks[0]
    splitter = KFold(min(FOLDS, len(task.index)), shuffle=True, random_state=random_state)
    cut = [TaskFold(0, train, test) for train, test in splitter.split(task.index)]
    found = np.zeros(len(task.index))
    try:
        for fold, values in zip(cut, folds.decide(cut), strict=True):
            found[fold.test] = values
    except Unfinished:
        return None
    return found


def cut_folds(task: Task, number: int, random_state) -> list[TaskFold]:
    """Folds in which each class of a task has the same share; none where a class has one sample only."""
    smallest = int(min((task.y > 0).sum(), (task.y < 0).sum()))
    if smallest < 2:
        return []
    folds = min(FOLDS, smallest)
    place = assign_folds(task.y, folds, random_state)
    held_out = [place == fold for fold in range(folds)]
    return [TaskFold(number, np.flatnonzero(~test), np.flatnonzero(test)) for test in held_out]


def assign_folds(y: np.ndarray, folds: int, random_state: np.random.RandomState) -> np.ndarray:
    """The fold that holds out each sample of two classes: those of `StratifiedKFold(folds, shuffle=True)`.

    The same random numbers give the same folds. Forty-five pairs of a few samples take longer to be checked by
    scikit-learn than to be solved.
    """
    is_first = y == y[0]
    dealt = np.arange(len(y)) % folds  # round robin over the samples sorted by class
    place = np.empty(len(y), np.intp)
    for own, cards in ((is_first, dealt[: is_first.sum()]), (~is_first, dealt[is_first.sum() :])):
        cards = np.sort(cards)
        random_state.shuffle(cards)
        place[own] = cards
    return place


class FoldSolves:
    """The solves of the folds of a fit: they are numbered after its problems, and share its time and its callbacks.

    Where the fit has no limits and is not followed, folds over a shared kernel matrix are solved side by side, as the
    cells of a search are, from the points of the whole fit; any other fold has a solve of its own.
    """

    def __init__(
        self, problems: KernelProblems, solver, tol: float, max_iter: int, budget: Budget, observation: Observation,
        cache_size: float, points: Sequence[Point] = (),
    ):  # fmt: skip
        self.problems, self.solver, self.budget, self.observation = problems, solver, budget, observation
        self.tol, self.max_iter = tol, None if max_iter == -1 else max_iter
        self.cache_bytes, self.points = cache_size * MEGABYTE_BYTES, points
        self.numbers = count(len(problems))

    def predict_held_out(self, random_state) -> list[np.ndarray]:
        """Decision values of every sample of each task by machines that have not seen it."""
        tasks = self.problems.tasks
        folds = [fold for k, task in enumerate(tasks) for fold in cut_folds(task, k, random_state)]
        decisions = [task.y.copy() for task in tasks]
        for fold, found in zip(folds, self.decide(folds), strict=True):
            decisions[fold.task][fold.test] = found
        return decisions

    def decide(self, folds: list[TaskFold]) -> list[np.ndarray]:
        """f(x) of the held-out samples of each fold."""
        shared = SharedFolds.pose(self.problems, folds, self.cache_bytes, self.points) if self.may_share else None
        if shared is not None:
            done = shared.solve(self.tol, self.budget.is_up)
            found = shared.decide()
        else:
            done, found = np.zeros(len(folds), bool), [np.empty(0)] * len(folds)
        self.budget.workers = 1  # those that are left come one after the other
        return [
            values if solved else self.decide_alone(fold)
            for fold, values, solved in zip(folds, found, done, strict=True)
        ]

    @property
    def may_share(self) -> bool:
        """Whether solves are the usual ones: by SMO or as the library chooses, without limits, and not followed."""
        smo = self.solver.smo if isinstance(self.solver, Automatic) else self.solver
        # Whatever the gap: folds that do not reach it are solved alone.
        usual = isinstance(smo, SMO) and is_default_smo(smo, np.inf) and self.max_iter is None
        return usual and not self.observation.is_watched and self.budget.end is None

    def decide_alone(self, fold: TaskFold) -> np.ndarray:
        """The same by a solve of its own."""
        task, features = self.problems.tasks[fold.task], self.problems.features
        inner, outer = task.index[fold.train], task.index[fold.test]
        machine = self.train(inner, task.y[fold.train], task.c[fold.train])
        used = np.flatnonzero(machine.coef)
        K = features.block(outer, inner[used]) - features.offset
        return K @ machine.coef[used] + machine.b

    def train(self, index: np.ndarray, y: np.ndarray, c: np.ndarray) -> Machine:
        """The machine of some samples.

        One that a budget ended is as good as the budget allows. One that Ctrl-C ended, or that had no time for a single
        step, tells nothing of the decisions of the whole fit.
        """
        if self.budget.interrupt or self.observation.stopped:
            raise Unfinished
        formulation = self.problems.formulation
        problem = formulation.pose(self.problems.features.subset(index), y, c)
        result = self.observation.solve(
            next(self.numbers), problem, self.solver, tol=self.tol, max_seconds=self.budget.share(),
            interrupt=self.budget.interrupt, max_iter=self.max_iter,
        )  # fmt: skip
        if result.status is Status.INTERRUPTED or not (result.n_iter or result.converged):
            raise Unfinished
        return formulation.read(problem, result.point)


def couple_pairs(decisions: np.ndarray, slopes: np.ndarray, shifts: np.ndarray, n_classes: int, *, rest: bool):
    """Class probabilities from those of the machines, 1 / (1 + exp(A f + B)) each."""
    return couple(0.5 * (1.0 - np.tanh(0.5 * (slopes * decisions + shifts))), n_classes, rest=rest)
