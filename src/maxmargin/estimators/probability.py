"""Probabilities from decision values: Platt's sigmoid on held-out decisions, and pairwise coupling."""

from __future__ import annotations

from itertools import count

import numpy as np

from ..model.formulations import Machine
from ..runtime.scikit_learn import StratifiedKFold, check_random_state
from ..solvers.automatic import Automatic
from ..solvers.result import Status
from ..solvers.smo import SMO
from ..solvers.smo.together import is_default_smo
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


def cut_folds(task: Task, number: int, random_state) -> list[TaskFold]:
    """Folds in which each class of a task has the same share; none where a class has one sample only."""
    smallest = int(min((task.y > 0).sum(), (task.y < 0).sum()))
    if smallest < 2:
        return []
    splitter = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=random_state)
    return [TaskFold(number, train, test) for train, test in splitter.split(task.y[:, None], task.y)]


class FoldSolves:
    """The solves of the folds of a fit: they are numbered after its problems, and share its time and its callbacks.

    Where the fit has no limits and is not followed, folds over a shared kernel matrix are solved side by side, as the
    cells of a search are; any other fold has a solve of its own.
    """

    def __init__(
        self, problems: KernelProblems, solver, tol: float, max_iter: int, budget: Budget, observation: Observation,
        cache_size: float,
    ):  # fmt: skip
        self.problems, self.solver, self.budget, self.observation = problems, solver, budget, observation
        self.tol, self.max_iter = tol, None if max_iter == -1 else max_iter
        self.cache_bytes = cache_size * MEGABYTE_BYTES
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
        shared = SharedFolds.pose(self.problems, folds, self.cache_bytes) if self.may_share else None
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


def fit_slope(decisions: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """argmin over s >= 0 of the weighted log loss of P(y = 1) = 1 / (1 + exp(s' f)), s' = -s, by Newton's method.

    Targets are Platt's (n_+ + 1)/(n_+ + 2) and 1/(n_- + 2), which keep the slope finite on separated data.
    """
    n_plus, n_minus = (y > 0).sum(), (y < 0).sum()
    target = np.where(y > 0, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (n_minus + 2.0))
    slope = 0.0
    for _ in range(100):
        p = 0.5 * (1.0 + np.tanh(0.5 * slope * decisions))
        gradient = float(c @ ((p - target) * decisions))
        curvature = float(c @ (p * (1.0 - p) * decisions**2))
        if abs(gradient) < 1e-12 * max(1.0, curvature) or curvature <= 0:
            break
        slope += float(np.clip(-gradient / curvature, -10.0 - abs(slope), 10.0 + abs(slope)))
    return -max(slope, 1e-3)


def couple_pairs(decisions: np.ndarray, slopes: np.ndarray, shifts: np.ndarray, n_classes: int, *, rest: bool):
    """Class probabilities from those of the pairs (Wu, Lin and Weng 2004, second method)."""
    p = np.clip(0.5 * (1.0 - np.tanh(0.5 * (slopes * decisions + shifts))), 1e-7, 1.0 - 1e-7)
    if rest:
        return p / p.sum(axis=1, keepdims=True)
    if n_classes == 2:
        return np.column_stack([p[:, 0], 1.0 - p[:, 0]])
    r = np.zeros((len(p), n_classes, n_classes))
    first, second = np.triu_indices(n_classes, 1)
    r[:, first, second], r[:, second, first] = p, 1.0 - p
    # minimise sum_ij (r_ji q_i - r_ij q_j)^2 on the simplex: its conditions are one linear system per sample
    Q = -np.transpose(r, (0, 2, 1)) * r
    Q[:, np.arange(n_classes), np.arange(n_classes)] = (np.transpose(r, (0, 2, 1)) ** 2).sum(axis=2)
    system = np.zeros((len(p), n_classes + 1, n_classes + 1))
    system[:, :n_classes, :n_classes] = Q
    system[:, :n_classes, -1] = system[:, -1, :n_classes] = 1.0
    right = np.zeros((len(p), n_classes + 1, 1))
    right[:, -1] = 1.0
    q = np.clip(np.linalg.solve(system, right)[:, :n_classes, 0], 1e-12, 1.0)
    return q / q.sum(axis=1, keepdims=True)
