"""Probabilities from decision values: Platt's sigmoid on held-out decisions, and pairwise coupling."""

from __future__ import annotations

from itertools import count

import numpy as np

from ..model.formulations import Machine
from ..runtime.scikit_learn import StratifiedKFold, check_random_state
from ..solvers.result import Status
from .kernel_problems import KernelProblems
from .observers import Observation
from .tasks import Budget, Task

FOLDS = 5


class Unfinished(Exception):
    """The fit ended before a machine of the folds was trained."""


def calibrate_pairs(folds: FoldSolves, random_state) -> tuple[np.ndarray, np.ndarray]:
    """Slope A and shift B of P(y = +1) = 1 / (1 + exp(A f + B)) for each task; of none if the fit ends before all are.

    B stays 0: the sigmoid then crosses 1/2 where f crosses 0, and probabilities never contradict predictions.
    """
    random_state, tasks, slopes = check_random_state(random_state), folds.problems.tasks, []
    folds.budget.workers = 1  # the folds come one after the other
    try:
        for task in tasks:
            slopes.append(fit_slope(folds.predict_held_out(task, random_state), task.y, task.c))
    except Unfinished:
        return np.empty(0), np.empty(0)
    return np.array(slopes), np.zeros(len(tasks))


class FoldSolves:
    """The solves of the folds of a fit: they are numbered after its problems, and share its time and its callbacks."""

    def __init__(
        self, problems: KernelProblems, solver, tol: float, max_iter: int, budget: Budget, observation: Observation
    ):
        self.problems, self.solver, self.budget, self.observation = problems, solver, budget, observation
        self.tol, self.max_iter = tol, None if max_iter == -1 else max_iter
        self.numbers = count(len(problems))

    def predict_held_out(self, task: Task, random_state) -> np.ndarray:
        """Decision values of every sample of a task by machines that have not seen it."""
        smallest = int(min((task.y > 0).sum(), (task.y < 0).sum()))
        decisions = np.zeros(len(task.y))
        if smallest < 2:
            return task.y.copy()
        folds = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=random_state)
        features = self.problems.features
        for train, test in folds.split(task.y[:, None], task.y):
            inner, outer = task.index[train], task.index[test]
            machine = self.train(inner, task.y[train], task.c[train])
            used = np.flatnonzero(machine.coef)
            K = features.block(outer, inner[used]) - features.offset
            decisions[test] = K @ machine.coef[used] + machine.b
        return decisions

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
