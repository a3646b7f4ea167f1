"""A fit as tasks: which samples each problem sees, how they share the time, and how they run side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import NamedTuple, TypeVar

import numpy as np

from ..features import Gram
from ..interrupt import Interrupt
from ..problem import Point
from ..threads import Turn

Outcome = TypeVar("Outcome")


class Task(NamedTuple):
    """One problem of a fit: some of the samples, their targets and weights; `pair` if they are all of two classes."""

    index: np.ndarray
    y: np.ndarray
    c: np.ndarray
    pair: tuple[int, int] | None = None

    def cut(self, features: Gram) -> Gram:
        """The features of these samples."""
        if len(self.index) == features.n:
            return features
        return features.subset(self.index) if self.pair is None else features.join(*self.pair, self.index)


class Budget:
    """The time of a whole fit, shared out evenly among the solves still to come, and the flag that ends them all."""

    def __init__(self, seconds: float | None, solves: int, interrupt: Interrupt):
        self.end = None if seconds is None else time.perf_counter() + seconds
        self.left, self.workers, self.interrupt = solves, 1, interrupt

    def share(self) -> float | None:
        """Seconds for the next solve."""
        rounds = -(-self.left // self.workers)
        self.left = max(self.left - 1, 1)
        return None if self.end is None else max(0.0, self.end - time.perf_counter()) / rounds


def run_side_by_side(
    run: Callable[[Task, Point | None], Outcome],
    tasks: list[Task],
    starts: list[Point | None],
    workers: int,
    turns: bool = True,
) -> list[Outcome]:
    """run(task, start) for each task, on so many threads.

    With `turns` the threads take turns at the interpreter and step aside while they compute, which small tasks want.
    Long ones spend their time in a few large products, and would wait for each other.
    """
    if workers == 1:
        return [run(task, start) for task, start in zip(tasks, starts, strict=True)]
    turn = Turn() if turns else None

    def run_in_turn(task: Task, start: Point | None) -> Outcome:
        with nullcontext() if turn is None else turn.take():
            return run(task, start)

    with ThreadPoolExecutor(workers) as pool:
        order = sorted(range(len(tasks)), key=lambda k: -len(tasks[k].index))  # the longest first
        futures = {k: pool.submit(run_in_turn, tasks[k], starts[k]) for k in order}
        return [futures[k].result() for k in range(len(tasks))]
