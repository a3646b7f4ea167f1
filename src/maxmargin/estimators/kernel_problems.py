"""The problems of a fit of a kernel machine, and what was solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..model.features import Gram
from ..model.formulations import Formulation, Machine
from ..model.problem import Point, Problem
from ..solvers.result import Result
from .fit_problems import FitProblems
from .tasks import Budget, Task, run_side_by_side


class KernelFit(NamedTuple):
    """A solved task: the result, its machine, which of its samples are free, and |w|."""

    result: Result
    machine: Machine
    free: np.ndarray
    norm: float


@dataclass(frozen=True, eq=False)
class KernelProblems(FitProblems):
    """What a fit is to solve: features, formulation, and the tasks over the targets y.

    `order` are the rows of X in the order of the features and of y, or None if that is the same.
    """

    X: Any
    features: Gram
    formulation: Formulation
    tasks: list[Task]
    y: np.ndarray
    order: np.ndarray | None = None

    @property
    def indices(self) -> list[np.ndarray | None]:
        """The places of each task, in the order of the features."""
        return [task.index for task in self.tasks]

    def __len__(self) -> int:
        return len(self.tasks)

    def find_rows(self, places: np.ndarray) -> np.ndarray:
        """The rows of X at places in the order of the features."""
        return places if self.order is None else self.order[places]

    def problem(self, k: int) -> Problem:
        """The problem of a task."""
        task = self.tasks[k]
        return self.formulation.pose(task.cut(self.features), task.y, task.c)

    def read(self, problem: Problem, result: Result) -> KernelFit:
        """What was solved, as a machine; |w| is not known where the point was not judged."""
        point, scores = result.point, result.certificate.scores
        machine = self.formulation.read(problem, point)
        if scores is None:
            norm = np.nan
        elif point.w is not None:
            norm = float(np.linalg.norm(point.w))
        else:
            norm = np.sqrt(max(problem.features.square_norm(problem.expand(point), scores), 0.0))
        return KernelFit(result, machine, find_free(problem, point.a), norm * machine.scale)

    def run_all(self, run: Callable[[int], KernelFit], budget: Budget, stores: list) -> list[KernelFit | None]:
        """Side by side, in turns at the interpreter."""
        return run_side_by_side(run, self.tasks, budget)

    def fill_in(self, fits: list[KernelFit | None], starts: list[Point | None], interrupted: bool) -> list[KernelFit]:
        """The fits with those that had no time to begin where they were to start.

        There may be tens of thousands of them. So those that start at zero are not posed, and share what they have.
        """
        from ..solvers.loop import make_unstarted_result

        like = next(fit.result for fit in fits if fit is not None)

        @cache
        def make_zero_fit(n: int) -> KernelFit:
            return KernelFit(
                make_unstarted_result(like, n, None, interrupted), Machine(np.zeros(n), 0.0), np.zeros(n, bool), 0.0
            )

        def make_unstarted_fit(k: int) -> KernelFit:
            n, start = len(self.tasks[k].index), starts[k]
            if start is None or not start.a.any():
                return make_zero_fit(n)
            return self.read(self.problem(k), make_unstarted_result(like, n, start, interrupted))

        return [make_unstarted_fit(k) if fit is None else fit for k, fit in enumerate(fits)]


def find_free(problem: Problem, a: np.ndarray) -> np.ndarray:
    """Which samples have a dual strictly between its bounds and away from zero."""
    row = problem.row
    inside = (a > row.lo) & (a < row.hi) & (a != 0)
    if problem.features.signed:
        return problem.features.combine(problem.features.sign * inside) > 0
    return inside if inside.ndim == 1 else inside.any(axis=0)
