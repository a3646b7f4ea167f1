"""Dual coordinate descent: one dual at a time, solved exactly, with w kept beside them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ..features import Design
from ..problem import Point, Problem
from ..result import Outcome, Progress
from ..samples import Dense
from ..threads import step_aside

INTERCEPT, PULL, LARGEST, LIMIT = 0, 1, 2, 3  # places in `numbers`, see compiled/coordinate.py
SEED = 88172645463325252  # of the order of the rows
WASTED = 0.5  # times the last violation at which the gap was looked at, it is looked at again
LOOKS = 60  # looks without a fall of the gap by a tenth before a run gives up


@dataclass(frozen=True)
class Coordinate:
    """a_i = clip(soft(q_i a_i - f_i - p_i, e_i) / (q_i + d_i), lo_i, hi_i), row by row in random order.

    Hsieh et al. 2008. A free intercept is a proximal term of its own: b = b0 + tau (sum a - balance), b0 following b,
    which is the method of multipliers on the one constraint of the duals.

    Parameters
    ----------
    shrinking : bool
        Leave out rows that want to stay at their bounds, until the gap is looked at again.
    """

    shrinking: bool = True
    name = "coordinate"

    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot take the problem."""
        if problem.row is None:
            return f"Coordinate descent needs a piecewise loss, and {problem.loss.name!r} is smooth; use 'newton'."
        if not isinstance(problem.features, Design):
            return "Coordinate descent works on linear machines, and these features have a kernel; use 'smo'."
        if problem.y.ndim > 1:
            return "Coordinate descent does not take a problem in layers; use 'smo'."
        return None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> CoordinateRun:
        """A run at the duals of `warm`, made feasible, or at zero."""
        return CoordinateRun(self, problem, tol, warm)


class CoordinateRun:
    """Duals a, w = X'a and the intercept, pass by pass."""

    def __init__(self, solver: Coordinate, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        samples = problem.features.samples
        self.samples, self.free = samples, problem.balance is not None
        self.row = [np.ascontiguousarray(part, float) for part in problem.row]
        self.norms = np.ascontiguousarray(samples.norms, float)
        self.pull = float(np.mean(self.norms)) if self.free else problem.features.scaling**2
        self.a = np.zeros(problem.n) if warm is None else np.array(problem.feasible(warm.a), float)
        self.b0 = float(warm.b) if warm is not None and self.free else 0.0
        self.order = np.arange(problem.n)
        self.seed = np.array([SEED], np.uint64)
        self.numbers = np.zeros(4)
        self.n_iter, self.counters = 0, Counter(looks=0, updates=0)
        self.gap = self.best = np.inf
        self.patience, self.seen = LOOKS, np.inf
        self.recompute(self.a.any())
        self.primal, self.dual = np.inf, -np.inf

    def recompute(self, somewhere: bool = True) -> None:
        """w and the intercept afresh from the duals; all rows take part again."""
        self.w = self.samples.combine(self.a) if somewhere else np.zeros(self.samples.d)
        self.numbers[PULL] = self.pull
        self.active = self.problem.n
        self.numbers[LIMIT] = np.inf
        self.place_intercept()

    def place_intercept(self) -> None:
        """b = b0 + tau (sum a - balance), or what the constant feature amounts to."""
        missing = float(self.a.sum()) - (float(self.problem.balance) if self.free else 0.0)
        self.numbers[INTERCEPT] = self.b0 + self.pull * missing

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Passes for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.n_iter < last:
            self.take_pass()
            largest = float(self.numbers[LARGEST])
            whole = self.active == self.problem.n
            if largest <= WASTED * self.seen or self.active == 0 or (whole and largest == 0.0):
                outcome = self.look(largest)
                if outcome is not Outcome.GOING:
                    return outcome
            if time.perf_counter() >= end:
                break
        return Outcome.GOING

    def take_pass(self) -> None:
        """One pass over the active rows; a free intercept's centre follows it."""
        from ..compiled.coordinate import dense_pass, sparse_pass

        state = (self.order, self.active, self.w, self.a, *self.row, self.norms, self.numbers, self.seed)
        dense = isinstance(self.samples, Dense)
        matrix = (self.samples.X,) if dense else (self.samples.data, self.samples.indices, self.samples.indptr)
        self.counters["updates"] += self.active
        with step_aside():
            self.active = int((dense_pass if dense else sparse_pass)(*matrix, *state))
        self.n_iter += 1
        self.numbers[LIMIT] = self.numbers[LARGEST] if self.solver.shrinking and self.numbers[LARGEST] > 0 else np.inf
        if self.free:
            self.b0 = float(self.numbers[INTERCEPT])
            self.place_intercept()

    def look(self, largest: float) -> Outcome:
        """P and D from exact scores; done if they meet, and all rows take part again."""
        self.counters["looks"] += 1
        self.seen = largest
        self.measure()
        if self.reached():
            return Outcome.DONE
        if self.gap < 0.9 * self.best:
            self.best, self.patience = self.gap, LOOKS
        else:
            self.patience -= 1
        if self.patience <= 0 or largest == 0.0:
            return Outcome.STALLED
        self.active, self.numbers[LIMIT] = self.problem.n, np.inf
        return Outcome.GOING

    def measure(self) -> None:
        """P at (w, b) and D at the duals; what a free intercept's duals miss is charged at its price."""
        problem = self.problem
        coef = problem.features.combine(self.a)
        self.w = np.ascontiguousarray(coef[:-1])
        b = float(self.numbers[INTERCEPT]) if self.free else 0.0
        f = problem.features.scores(coef) + b
        norm = problem.features.square_norm(coef, f)
        self.primal = 0.5 * norm + float(problem.terms.value(f).sum()) + problem.offset(b)
        missing = float(self.a.sum()) - float(problem.balance) if self.free else 0.0
        self.missing = abs(missing)
        self.dual = -0.5 * norm - float(problem.terms.conjugate(self.a).sum()) - b * missing
        self.gap = self.primal - self.dual
        self.spread = float(np.abs(f).max(initial=0.0)) if self.free else 0.0

    def reached(self) -> bool:
        """Whether the gap, and what the imbalance may add to it, are within tol."""
        limit = max(self.tol * max(abs(self.primal), abs(self.dual), self.problem.floor), self.problem.resolution)
        return self.gap + self.missing * self.spread <= 0.9 * limit

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.a))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D, as of the last look."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.active)

    def point(self) -> Point:
        """The duals, w and the intercept."""
        a = self.problem.feasible(self.a)
        return Point(a, float(self.numbers[INTERCEPT]) if self.free else 0.0)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found the gap wider than the run did: start afresh from exact w, and aim lower."""
        self.tol *= 0.5
        self.recompute()

    def count(self) -> Counter:
        """Looks at the gap, and duals updated."""
        return Counter(self.counters)
