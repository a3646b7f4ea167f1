"""The problems of a fit of a linear machine, over rows in memory or in blocks, and what was solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..blocks.dask import ClusterLost
from ..blocks.problem import BlockProblem
from ..model.features import Design
from ..model.kernels import Linear
from ..model.problem import Point, Problem
from ..runtime.checkpoints import CheckpointFile
from ..solvers.result import Result
from .fit_problems import FitProblems
from .tasks import Budget, Task, run_side_by_side

TURN_TAKING_BYTES = 1 << 20  # bytes of X from which a product is longer than a change of turns


class LinearFit(NamedTuple):
    """A solved task: the result, and w and b of its machine, one row per class where all were solved as one."""

    result: Result
    w: np.ndarray
    b: np.ndarray


ReadPoint = Callable[[Any, Any], tuple[np.ndarray, np.ndarray]]  # w and b of a point of a problem


class LinearProblems(FitProblems):
    """1/2 |w|^2 + sum_i c_i l(f_i; y_i) for each task, over rows in memory.

    Parameters
    ----------
    X : matrix of shape (n, d)
    kernel : Linear
        How the features see X: moved to their mean, or not.
    features : Design
    tasks : list of Task
    pose : callable
        The problem of the features of a task and the task.
    read_point : callable
        w and b of a problem and a point.
    small : bool
        Whether they are solved together: few rows and features, and nothing but the gap ends the fit.
    """

    def __init__(
        self,
        X: Any,
        kernel: Linear,
        features: Design,
        tasks: list[Task],
        pose: Callable[[Design, Task], Problem],
        read_point: ReadPoint,
        small: bool = False,
    ):
        self.X, self.kernel, self.features, self.tasks = X, kernel, features, tasks
        self.pose, self.read_point, self.small = pose, read_point, small
        first = tasks[0].index
        shared = all(task.index is first or np.array_equal(task.index, first) for task in tasks[1:])
        self.whole = tasks[0].cut(features) if shared else None  # rows without weight are taken out once for all tasks

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def indices(self) -> list[np.ndarray | None]:
        """The rows of positive weight of each task."""
        return [task.index for task in self.tasks]

    def problem(self, k: int) -> Problem:
        """The problem of a task."""
        return self.scaled_problem(k, 1.0)

    def scaled_problem(self, k: int, C: float) -> Problem:
        """The problem of a task with C times its weights."""
        task = self.tasks[k]
        features = task.cut(self.features) if self.whole is None else self.whole
        return self.pose(features, task if C == 1.0 else task._replace(c=C * task.c))

    def read(self, problem: Problem, result: Result) -> LinearFit:
        """w and b."""
        return LinearFit(result, *self.read_point(problem, result.point))

    def run_all(self, run: Callable[[int], LinearFit], budget: Budget, stores: list) -> list[LinearFit | None]:
        """Side by side; in turns at the interpreter where products are short."""
        return run_side_by_side(run, self.tasks, budget, turns=self.features.samples.nbytes < TURN_TAKING_BYTES)

    def fill_in(self, fits: list[LinearFit | None], starts: list[Point | None], interrupted: bool) -> list[LinearFit]:
        """The fits with those that had no time to begin where they were to start."""
        from ..solvers.loop import make_unstarted_result

        like = next(fit for fit in fits if fit is not None)

        def make_unstarted_fit(k: int) -> LinearFit:
            result = make_unstarted_result(like.result, len(self.tasks[k].index), starts[k], interrupted)
            if starts[k] is None:
                return LinearFit(result, np.zeros_like(like.w), np.zeros_like(like.b))
            return LinearFit(result, *self.read_point(self.problem(k), starts[k]))

        return [make_unstarted_fit(k) if fit is None else fit for k, fit in enumerate(fits)]


@dataclass(frozen=True, eq=False)
class BlockProblems(FitProblems):
    """The same problems over rows in blocks: one after the other, and each of them is begun."""

    problems: list[BlockProblem]
    read_point: ReadPoint
    kernel: Linear
    X: None = None
    side_by_side: ClassVar[bool] = False
    has_snapshots: ClassVar[bool] = False

    @property
    def indices(self) -> list[np.ndarray | None]:
        """Rows in blocks have no numbers."""
        return [None] * len(self.problems)

    def problem(self, k: int) -> BlockProblem:
        """Problem k."""
        return self.problems[k]

    def read(self, problem: BlockProblem, result: Result) -> LinearFit:
        """w and b."""
        return LinearFit(result, *self.read_point(problem, result.point))

    def run_all(
        self, run: Callable[[int], LinearFit], budget: Budget, stores: list[CheckpointFile | None]
    ) -> list[LinearFit | None]:
        """One after the other; where the workers are lost, the error says where the state is."""
        fits: list[LinearFit | None] = []
        for k, store in enumerate(stores):
            try:
                fits.append(run(k))
            except ClusterLost as error:
                where = "There was no checkpoint." if store is None else f"The state is in {str(store.path)!r}."
                raise ClusterLost(f"{error} {where}") from error
        return fits
