"""Probabilities from decision values: Platt's sigmoid on held-out decisions, and pairwise coupling."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from ..solvers.result import Status
from .fit_problems import FitProblems
from .observers import Observation
from .tasks import Budget, Task

FOLDS = 5


class Unfinished(Exception):
    """The fit ended before a machine of the folds was trained."""


def calibrate_pairs(
    estimator, posed: FitProblems, budget: Budget, observation: Observation
) -> tuple[np.ndarray, np.ndarray]:
    """Slope A and shift B of P(y = +1) = 1 / (1 + exp(A f + B)) for each task; of none if the fit ends before all are.

    B stays 0: the sigmoid then crosses 1/2 where f crosses 0, and probabilities never contradict predictions.
    """
    random_state = check_random_state(estimator.random_state)
    slopes, numbers = [], count(len(posed.tasks))
    budget.workers = 1  # the folds come one after the other
    try:
        for task in posed.tasks:
            held_out = predict_held_out(estimator, posed, task, random_state, budget, observation, numbers)
            slopes.append(fit_slope(held_out, task.y, task.c))
    except Unfinished:
        return np.empty(0), np.empty(0)
    return np.array(slopes), np.zeros(len(posed.tasks))


def predict_held_out(
    estimator,
    posed: FitProblems,
    task: Task,
    random_state,
    budget: Budget,
    observation: Observation,
    numbers: Iterator[int],
) -> np.ndarray:
    """Decision values of every sample of a task by machines that have not seen it; these solves have the numbers.

    A machine that a budget ended is as good as the budget allows. One that Ctrl-C ended, or that had no time for a
    single step, tells nothing of the decisions of the whole fit.
    """
    features, formulation = posed.features, posed.formulation
    smallest = int(min((task.y > 0).sum(), (task.y < 0).sum()))
    decisions = np.zeros(len(task.y))
    if smallest < 2:
        return task.y.copy()
    folds = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=random_state)
    for train, test in folds.split(task.y[:, None], task.y):
        if budget.interrupt or observation.stopped:
            raise Unfinished
        inner, outer = task.index[train], task.index[test]
        problem = formulation.pose(features.subset(inner), task.y[train], task.c[train])
        result = observation.solve(
            next(numbers), problem, estimator._solver(), tol=estimator.tol, max_seconds=budget.share(),
            interrupt=budget.interrupt, max_iter=None if estimator.max_iter == -1 else estimator.max_iter,
        )  # fmt: skip
        if result.status is Status.INTERRUPTED or not (result.n_iter or result.converged):
            raise Unfinished
        machine = formulation.read(problem, result.point)
        used = np.flatnonzero(machine.coef)
        K = features.block(outer, inner[used]) - features.offset
        decisions[test] = K @ machine.coef[used] + machine.b
    return decisions


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
    # minimise sum_ij (r_ji q_i - r_ij q_j)^2 on the simplex: its conditions are one linear system a sample
    Q = -np.transpose(r, (0, 2, 1)) * r
    Q[:, np.arange(n_classes), np.arange(n_classes)] = (np.transpose(r, (0, 2, 1)) ** 2).sum(axis=2)
    system = np.zeros((len(p), n_classes + 1, n_classes + 1))
    system[:, :n_classes, :n_classes] = Q
    system[:, :n_classes, -1] = system[:, -1, :n_classes] = 1.0
    right = np.zeros((len(p), n_classes + 1, 1))
    right[:, -1] = 1.0
    q = np.clip(np.linalg.solve(system, right)[:, :n_classes, 0], 1e-12, 1.0)
    return q / q.sum(axis=1, keepdims=True)
