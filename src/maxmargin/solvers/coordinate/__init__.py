"""Dual coordinate descent: one dual at a time, solved exactly, with w kept up to date."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...contracts.solvers import Run, Solver
from ...contracts.traits import Takes
from ...model.problem import Point, Problem
from ...runtime.interpreter import release_interpreter
from ...runtime.interruptible import abortable, check_interrupt
from ..result import Outcome, Progress
from ..stalling import RareLookStallDetector

INTERCEPT, TAU, MAX_VIOLATION, LIMIT = 0, 1, 2, 3  # indices into `numbers`, see compiled/coordinate.py
DUAL = 6  # column of the duals in the table of rows
SEED = 88172645463325252  # of the order of the rows
VIOLATION_FALL_FACTOR = 0.5  # times the violation at the last gap check: the next check comes there
FIRST_CHECK_PASSES = 4  # passes from zero before the first gap check
# of the last gap, once the violation has halved: a larger gap means that shrinking left out rows in error
MISSED_ROWS_GAP_SHARE = 0.6
ENTRIES_PER_PART = 1 << 24  # entries of the samples between two interrupt checks of a pass: about 20 ms
GAP_CHECKS_WITHOUT_PROGRESS_LIMIT = 60  # gap checks without a fall by a tenth before a run gives up
# a run also gives up after 32 times the passes at the last such fall, plus 5000
STALE_PASS_FACTOR, MIN_PASSES = 32, 5000


@dataclass(frozen=True)
class Coordinate(Solver):
    """a_i = clip(soft(q_i a_i - f_i - p_i, e_i) / (q_i + d_i), lo_i, hi_i), row by row in random order.

    Hsieh et al. (2008). A free intercept has its own proximal term, b = b0 + tau (sum a - balance) with b0 following b:
    the method of multipliers on the one constraint of the duals.

    Parameters
    ----------
    shrinking : bool
        Leave out rows whose duals tend to stay at their bounds, until the next gap check.
    effort : float
        Updates per sample after which the run gives up; "auto" then goes on with another solver.
    """

    shrinking: bool = True
    effort: float = np.inf
    name = "coordinate"
    formulation = "Wolfe dual"
    takes = Takes("Coordinate descent", features="linear", loss="piecewise")

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> CoordinateRun:
        """A run at the duals of `warm`, made feasible, or at zero."""
        return CoordinateRun(self, problem, tol, warm)


class CoordinateRun(Run):
    """Duals a, w = X'a and the intercept, pass by pass."""

    def __init__(self, solver: Coordinate, problem: Problem, tol: float, warm: Point | None) -> None:
        self.solver, self.problem, self.tol = solver, problem, tol
        samples: Any = problem.features.samples
        self.samples, self.free = samples, problem.balance is not None
        self.balance: Any = problem.balance
        counted = samples.norms[problem.c > 0]  # rows of weight zero do not count
        least = 1e-3 / max(float(problem.c.max(initial=0.0)), 1e-300)  # for samples at the origin
        self.tau = max(float(counted.mean()) if len(counted) else 0.0, least) if self.free else problem.features.offset
        a = np.zeros(problem.n) if warm is None else problem.feasible(warm.a)
        row: Any = problem.row
        self.table = np.column_stack([*row, samples.norms, a, np.zeros(problem.n)])
        self.b0 = 0.0 if not self.free else problem.centre if warm is None else float(warm.b)
        self.order = np.arange(problem.n, dtype=np.int32 if problem.n < 2**31 else np.int64)
        self.seed = np.array([SEED], np.uint64)
        self.numbers = np.zeros(4)
        self.n_iter, self.counters = 0, Counter(looks=0, updates=0)
        self.gap = np.inf
        self.stall_detector = RareLookStallDetector(GAP_CHECKS_WITHOUT_PROGRESS_LIMIT, STALE_PASS_FACTOR, MIN_PASSES)
        self.last_violation, self.next_gap_check = np.inf, 50
        self.first_look = FIRST_CHECK_PASSES if warm is None else 1
        self.recompute(bool(a.any()))
        self.primal, self.dual = np.inf, -np.inf

    @property
    def a(self) -> np.ndarray:
        """The duals."""
        return np.ascontiguousarray(self.table[:, DUAL])

    def recompute(self, nonzero: bool = True) -> None:
        """Recompute w and the intercept from the duals; all rows take part again."""
        self.w = self.samples.combine(self.a) if nonzero else np.zeros(self.samples.d)
        self.numbers[TAU] = self.tau
        self.active = self.problem.n
        self.numbers[LIMIT] = np.inf
        self.place_intercept()

    def place_intercept(self) -> None:
        """b = b0 + tau (sum a - balance), or the contribution of the constant feature."""
        missing = float(self.a.sum()) - (float(self.balance) if self.free else 0.0)
        self.numbers[INTERCEPT] = self.b0 + self.tau * missing

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Passes for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.n_iter < last:
            self.take_pass()
            largest = float(self.numbers[MAX_VIOLATION])
            whole = self.active == self.problem.n
            due = self.n_iter >= self.next_gap_check
            fallen = largest <= VIOLATION_FALL_FACTOR * self.last_violation and self.n_iter >= self.first_look
            if due or fallen or self.active == 0 or (whole and largest == 0.0):
                outcome = self.check_gap(largest)
                if outcome is not Outcome.GOING:
                    return outcome
            if time.perf_counter() >= end:
                break
        return Outcome.GOING

    def take_pass(self) -> None:
        """One pass over the active rows; afterwards b0 follows a free intercept.

        The pass runs in parts. An interrupt may end it after any part, and the updates so far are kept.
        """
        from ...compiled.coordinate import dense_pass, sparse_pass

        dense = not self.samples.sparse
        matrix = (self.samples.X,) if dense else (self.samples.data, self.samples.indices, self.samples.indptr)
        visits = max(1, ENTRIES_PER_PART * self.problem.n // max(self.samples.size, 1))
        self.counters["updates"] += self.active
        place = 0
        while place < self.active:
            state = (self.order, place, visits, self.active, self.w, self.table, self.numbers, self.seed)
            with release_interpreter():
                place, self.active = (dense_pass if dense else sparse_pass)(*matrix, *state)
            with abortable():
                check_interrupt()
        self.n_iter += 1
        self.numbers[LIMIT] = (
            self.numbers[MAX_VIOLATION] if self.solver.shrinking and self.numbers[MAX_VIOLATION] > 0 else np.inf
        )
        if self.free:
            self.b0 = float(self.numbers[INTERCEPT])
            self.place_intercept()

    def check_gap(self, largest: float) -> Outcome:
        """P and D of all rows; done if the gap is within tol. If rows were left out in error, all take part again."""
        self.counters["looks"] += 1
        self.last_violation, self.next_gap_check = largest, 2 * self.n_iter + 50
        self.measure()
        if self.reached():
            return Outcome.DONE
        missed = self.gap > MISSED_ROWS_GAP_SHARE * self.stall_detector.best or self.active == 0
        stalled = self.stall_detector.is_stalled_at(self.n_iter, self.gap)
        out_of_effort = self.counters["updates"] > self.solver.effort * self.problem.n
        settled = largest == 0.0 and not self.missing  # while the duals do not balance, a free intercept still moves
        if stalled or settled or out_of_effort:
            return Outcome.STALLED
        if missed:  # rows that were left out contribute to the gap
            self.active, self.numbers[LIMIT] = self.problem.n, np.inf
        return Outcome.GOING

    def measure(self) -> None:
        """P at (w, b) and D at the duals; with a free intercept b times their imbalance is subtracted from D."""
        from ...compiled.row_sums import sum_rows

        problem, a, row = self.problem, self.a, cast(Any, self.problem.row)
        coef = np.append(self.w, problem.features.scaling * a.sum())  # X'a, kept up to date; the judge forms its own
        b = float(self.numbers[INTERCEPT]) if self.free else 0.0
        f = problem.features.scores(coef) + b
        norm = problem.features.square_norm(coef, f)
        losses, conjugates = sum_rows(f, a, *row)
        missing = float(a.sum()) - float(self.balance) if self.free else 0.0
        self.primal = 0.5 * norm + losses + problem.offset(b)
        self.dual = -0.5 * norm - conjugates - b * missing
        self.gap, self.missing = self.primal - self.dual, abs(missing)
        self.spread = float(np.abs(f).max(initial=0.0)) if self.free else 0.0

    def reached(self) -> bool:
        """Whether the gap, and what the imbalance may add to it, are within tol."""
        limit = self.tol * max(abs(self.primal), abs(self.dual), self.problem.floor)
        return self.gap + self.missing * self.spread <= 0.9 * limit

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.a))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D, as of the last gap check."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.active)

    def point(self) -> Point:
        """The duals, w and the intercept."""
        a = self.problem.feasible(self.a)
        return Point(a, float(self.numbers[INTERCEPT]) if self.free else 0.0)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found a wider gap than the run did: recompute w, and aim at a smaller gap."""
        self.tol *= 0.5
        self.recompute()

    def count(self) -> Counter[str]:
        """Gap checks, and duals updated."""
        return Counter(self.counters)
