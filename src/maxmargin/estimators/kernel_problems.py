"""The problems of a fit of a kernel machine, and what was solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..model.features import Gram
from ..model.formulations import Formulation, Machine
from ..model.problem import Point, Problem
from ..runtime.interpreter import cached_property
from ..solvers.result import Result
from .fit_problems import FitProblems, SolvedTogether
from .tasks import Budget, PairTasks, Task, run_side_by_side


class KernelFit(NamedTuple):
    """A solved task: the result, its machine, which of its samples are free, and |w|."""

    result: Result
    machine: Machine
    free: np.ndarray
    norm: float


@dataclass(frozen=True, eq=False)
class KernelFits(SolvedTogether):
    """The solved tasks of a fit, what belongs to their samples one task after the other.

    Attributes
    ----------
    results : sequence of Result
    converged : ndarray of bool
        Which tasks are solved to the tolerance.
    coef, free : ndarray
        The coefficient of each sample of each task, and whether its dual is strictly between its bounds.
    b, norms, n_iter : ndarray of shape (number of tasks,)
        The intercept, |w| and the steps of each machine.
    weights : ndarray of shape (number of tasks, d) or None
        w of each machine where it was solved for, NaN where it was not; None where none was.
    scale : ndarray of shape (number of tasks,) or None
        `Machine.scale` of each; None where all are 1.
    ends : list of int
        Where each task begins among the samples, and the end of the last one.
    sound : ndarray of bool or None
        Which tasks have a certificate; None if all have.
    is_whole : bool
        Whether these are all tasks of the fit.
    """

    results: Sequence[Result]
    converged: np.ndarray
    coef: np.ndarray
    free: np.ndarray
    b: np.ndarray
    norms: np.ndarray
    n_iter: np.ndarray
    ends: list[int]
    weights: np.ndarray | None = None
    scale: np.ndarray | None = None
    sound: np.ndarray | None = None
    is_whole: bool = True

    @classmethod
    def listed(cls, fits: list[KernelFit]) -> KernelFits:
        """The same from fits that were solved one at a time."""
        results, machines = [fit.result for fit in fits], [fit.machine for fit in fits]
        return cls(
            results,
            np.array([result.converged for result in results]),
            np.concatenate([machine.coef for machine in machines]),
            np.concatenate([fit.free for fit in fits]),
            np.array([machine.b for machine in machines], float),
            np.array([fit.norm for fit in fits]),
            np.array([result.n_iter for result in results]),
            [0, *accumulate(len(machine.coef) for machine in machines)],
            stack_weights([machine.w for machine in machines]),
        )

    @property
    def is_complete(self) -> bool:
        """Whether these are all tasks of a fit, and all have converged."""
        return self.is_whole and self.all_converged

    @cached_property
    def all_converged(self) -> bool:
        """Whether all tasks are solved to the tolerance."""
        return bool(self.converged.all())

    def __len__(self) -> int:
        return len(self.b) if self.sound is None else int(np.count_nonzero(self.sound))

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.b)) if self.sound is None else np.flatnonzero(self.sound).tolist())

    def __getitem__(self, k: int) -> KernelFit:
        if not 0 <= k < len(self.b) or (self.sound is not None and not self.sound[k]):
            raise KeyError(k)
        cut = slice(self.ends[k], self.ends[k + 1])
        scale = 1.0 if self.scale is None else float(self.scale[k])
        machine = Machine(self.coef[cut], float(self.b[k]), scale)
        return KernelFit(self.results[k], machine, self.free[cut], float(self.norms[k]))


def stack_weights(weights: list[np.ndarray | None]) -> np.ndarray | None:
    """One row for each machine, NaN where w was not solved for; None where none was."""
    width = max((len(w) for w in weights if w is not None), default=None)
    return None if width is None else np.stack([np.full(width, np.nan) if w is None else w for w in weights])


class TaskPlaces(Sequence[np.ndarray]):
    """The samples of each task, as views of one array."""

    def __init__(self, places: np.ndarray, ends: list[int]):
        self.places, self.ends = places, ends

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        return self.places[self.ends[k] : self.ends[k + 1]]


@dataclass(frozen=True, eq=False)
class KernelProblems(FitProblems):
    """What a fit is to solve: features, formulation, and the tasks over the targets y.

    `order` are the rows of X in the order of the features and of y, or None if that is the same.
    """

    X: Any
    features: Gram
    formulation: Formulation
    tasks: Sequence[Task]
    y: np.ndarray
    order: np.ndarray | None = None

    @property
    def indices(self) -> Sequence[np.ndarray]:
        """The places of each task, in the order of the features."""
        tasks = self.tasks
        return TaskPlaces(tasks.places, tasks.ends) if isinstance(tasks, PairTasks) else [task.index for task in tasks]

    @property
    def places(self) -> np.ndarray:
        """The same for all tasks, one after the other."""
        if isinstance(self.tasks, PairTasks):
            return self.tasks.places
        return self.tasks[0].index if len(self.tasks) == 1 else np.concatenate([task.index for task in self.tasks])

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
    """Which samples have a dual strictly between its bounds and away from zero; of a smooth loss, all but zeros."""
    row = problem.row
    inside = a != 0 if row is None else (a > row.lo) & (a < row.hi) & (a != 0)
    if problem.features.signed:
        return problem.features.combine(problem.features.sign * inside) > 0
    return inside if inside.ndim == 1 else inside.any(axis=0)
