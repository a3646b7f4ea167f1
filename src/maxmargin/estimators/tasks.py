"""A fit as tasks: which samples each problem sees, how they share the time, and how they run side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import accumulate
from typing import NamedTuple, TypeVar, overload

import numpy as np

from ..model.class_pairs import PairRows
from ..model.features import Gram
from ..runtime.interpreter import InterpreterTurn
from ..runtime.interrupt import Interrupt
from ..runtime.threads import wait_for_workers

TaskResult = TypeVar("TaskResult")
# of a budget and of a second: so long after its end, problems that have not begun may have a certificate
GRACE_FRACTION = 0.05
INTERRUPT_GRACE_SECONDS = 0.03  # seconds for which that goes on after Ctrl-C
GATHER_SECONDS_PER_SOLVE = 5e-6  # seconds that a solve takes after all are done
MIN_SOLVE_SECONDS = 0.005  # seconds that are worth a solve: the smallest take a tenth of it


class Task(NamedTuple):
    """One problem of a fit: some of the samples, their targets and weights.

    `pair` are the two classes if the samples are all of those, and `group` the query of each sample of a ranking.
    """

    index: np.ndarray
    y: np.ndarray
    c: np.ndarray
    pair: tuple[int, int] | None = None
    group: np.ndarray | None = None

    def cut(self, features: Gram) -> Gram:
        """The features of these samples."""
        if len(self.index) == features.n:
            return features
        return features.subset(self.index) if self.pair is None else features.join(*self.pair, self.index)


class PairTasks(Sequence[Task]):
    """One task for each pair of classes over samples that lie class by class, all of them in flat arrays.

    Tasks are views of these arrays, made when they are asked for: a small fit asks for none.

    Attributes
    ----------
    places, y, c, pairs, class_ends : ndarray
        As in `PairRows`, whose `index` are the places.
    sizes : list of int
        The samples of each task.
    ends : list of int
        Where each task begins in the arrays, and the end of the last one.
    """

    def __init__(self, rows: PairRows):
        self.places, self.y, self.c, self.pairs, self.class_ends = rows
        places = rows.class_ends.tolist()
        self.sizes = [places[i + 1] - places[i] + places[j + 1] - places[j] for i, j in rows.pairs.tolist()]
        self.ends = [0, *accumulate(self.sizes)]

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, k: int) -> Task: ...
    @overload
    def __getitem__(self, k: slice) -> list[Task]: ...
    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        k = range(len(self))[k]  # beyond the last one this ends an iteration
        cut, (first, second) = slice(self.ends[k], self.ends[k + 1]), self.pairs[k].tolist()
        return Task(self.places[cut], self.y[cut], self.c[cut], (first, second))

    @property
    def largest(self) -> int:
        """The samples of the largest task."""
        return max(self.sizes)


class Budget:
    """The time of a whole fit from now on, shared out evenly among the solves still to come; and what ends them all."""

    def __init__(self, seconds: float | None):
        self.end = None if seconds is None else time.perf_counter() + seconds
        self.grace = 0.0 if seconds is None else GRACE_FRACTION * (1.0 + seconds)
        self.left, self.workers, self.interrupt = 1, 1, Interrupt()

    def plan(self, solves: int, interrupt: Interrupt) -> Budget:
        """So many solves, which the flag ends; the time to gather what they have found is held back."""
        self.left, self.interrupt = solves, interrupt
        self.end = None if self.end is None else self.end - GATHER_SECONDS_PER_SOLVE * solves
        return self

    def share(self) -> float | None:
        """Seconds for the next solve: thousands of solves have so little each that some are solved and others left."""
        rounds = -(-self.left // self.workers)
        self.left = max(self.left - 1, 1)
        if self.end is None:
            return None
        rest = max(0.0, self.end - time.perf_counter())
        return min(rest, max(rest / rounds, MIN_SOLVE_SECONDS))

    def skip(self, solves: int) -> None:
        """So many solves are done already."""
        self.left = max(self.left - solves, 1)

    def is_up(self) -> bool:
        """Whether the time is over, or Ctrl-C was pressed."""
        return bool(self.interrupt) or (self.end is not None and time.perf_counter() > self.end)

    def is_over(self) -> bool:
        """Whether no other solve may begin. For a moment after the end they do: a start that is judged is worth it."""
        if self.interrupt:
            return self.interrupt.measure_wait() > INTERRUPT_GRACE_SECONDS
        return self.end is not None and time.perf_counter() > self.end + self.grace


def run_side_by_side(
    run: Callable[[int], TaskResult], tasks: Sequence[Task], budget: Budget, turns: bool = True
) -> list[TaskResult | None]:
    """run(k) for each task k, on so many threads; where one fails, the others are not waited for.

    None for tasks that had not begun when the budget was over; the first one always begins. With `turns` the threads
    take turns at the interpreter and step aside while they compute, which small tasks want. Long ones spend their time
    in a few large products, and would wait for each other.
    """
    outcomes: list[TaskResult | None] = [None] * len(tasks)
    order = list(range(len(tasks)))
    if budget.workers > 1:
        order.sort(key=lambda k: -len(tasks[k].index))  # the longest first
    first, left, turn = order[0], iter(order), InterpreterTurn() if turns and budget.workers > 1 else None

    def drain() -> None:
        for k in left:  # next() of a list is one step of the interpreter: no two threads get the same task
            if k != first and budget.is_over():
                return
            with nullcontext() if turn is None else turn.take():
                outcomes[k] = run(k)

    if budget.workers == 1:
        drain()
        return outcomes
    pool, done = ThreadPoolExecutor(budget.workers, thread_name_prefix="maxmargin-task"), False
    try:
        wait_for_workers([pool.submit(drain) for _ in range(budget.workers)])
        done = True
        return outcomes
    finally:
        order.clear()  # threads still at work after a failure find no other task
        pool.shutdown(wait=done)
