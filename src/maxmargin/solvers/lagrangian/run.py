"""What both Lagrangian runs share: timed steps, and the run's own view of the gap."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from ...contracts.solvers import Run
from ...model.problem import Point, Problem
from ..result import Outcome, Progress


class LagrangianRun(Run):
    """Steps until tol is reached or `ended` is set, and P and D as of the last gap check."""

    def __init__(self, solver, problem: Problem, tol: float):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.n_iter, self.ended, self.counters = 0, False, Counter()
        self.primal, self.dual = np.inf, -np.inf

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Steps for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.n_iter < last and not self.ended and not self.reached():
            self.n_iter += 1
            self.take_step()
            if time.perf_counter() >= end:
                break
        if self.reached():
            return Outcome.DONE
        return Outcome.STALLED if self.ended else Outcome.GOING

    def take_step(self) -> None:
        """One iteration."""
        raise NotImplementedError

    def point(self) -> Point:
        """Duals and intercept."""
        raise NotImplementedError

    def evaluate(self, point: Point) -> tuple[float, float]:
        """P at a point, and D at its duals, made feasible."""
        return self.problem.primal(point), self.problem.dual(self.problem.feasible(point.a))

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    def reached(self) -> bool:
        """Whether the gap is within tol."""
        size = max(abs(self.primal), abs(self.dual), self.problem.floor)
        return abs(self.gap) <= 0.9 * self.tol * size

    @property
    def a(self) -> np.ndarray:
        """The duals."""
        return self.point().a

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.a))

    def progress(self, seconds: float) -> Progress:
        """The run's own view of P and D, as of the last gap check."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.support)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found a wider gap than the run did: aim at a smaller one."""
        self.tol *= 0.5

    def count(self) -> Counter:
        """The counters of the run."""
        return Counter(self.counters)
