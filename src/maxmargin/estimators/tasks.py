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
    """The time of a whole fit from now on, shared out evenly among the solves still to come; and what ends them all."""

    def __init__(self, seconds: float | None):
        self.end = None if seconds is None else time.perf_counter() + seconds
        self.left, self.workers, self.interrupt = 1, 1, Interrupt()

    def plan(self, solves: int, interrupt: Interrupt) -> Budget:
        """So many solves, which the flag ends."""
        self.left, self.interrupt = solves, interrupt
        return self

    def share(self) -> float | None:
        """Seconds for the next solve."""
        rounds = -(-self.left // self.workers)
        self.left = max(self.left - 1, 1)
        return None if self.end is None else max(0.0, self.end - time.perf_counter()) / rounds


def run_side_by_side(
    run: Callable[[int], Outcome], tasks: list[Task], workers: int, turns: bool = True
) -> list[Outcome]:
    """run(k) for each task k, on so many threads; where one fails, the others are not waited for.

    With `turns` the threads take turns at the interpreter and step aside while they compute, which small tasks want.
    Long ones spend their time in a few large products, and would wait for each other.
    """
    if workers == 1:
        return [run(k) for k in range(len(tasks))]
    turn = Turn() if turns else None

    def run_in_turn(k: int) -> Outcome:
        with nullcontext() if turn is None else turn.take():
            return run(k)

    pool, done = ThreadPoolExecutor(workers, thread_name_prefix="maxmargin-task"), False
    try:
        order = sorted(range(len(tasks)), key=lambda k: -len(tasks[k].index))  # the longest first
        futures = {k: pool.submit(run_in_turn, k) for k in order}
        outcomes = [futures[k].result() for k in range(len(tasks))]
        done = True
        return outcomes
    finally:
        pool.shutdown(wait=done, cancel_futures=True)
