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
from ...runtime.interpreter import cached_property, release_interpreter
from ...runtime.interruptible import abortable, check_interrupt
from ..result import Outcome, Progress
from ..stalling import RareLookStallDetector

# indices into `numbers`, see compiled/coordinate.py
COUNT_OF_NUMBERS = 10
INTERCEPT, TAU, MAX_VIOLATION, LIMIT, SEEN_GAP, STOP_GAP, CENTRE, _, _, PATIENCE = range(COUNT_OF_NUMBERS)
DUAL = 6  # column of the duals in the table of rows
SEED = 88172645463325252  # of the order of the rows
# times the gap to reach: a pass that saw no more, before each of its updates, has left about half of that
LOOK_FACTOR = 1.5
FIRST_PASSES = 3  # passes from zero before D is evaluated for the first time
D_IS_KNOWN_GAP, D_IS_OLD_FALL = 0.05, 0.125  # relative gap below which D is known; fall of a larger one that moves D
# times the gap that the last pass saw: a larger one means that shrinking left out rows in error
MISSED_ROWS_GAP_FACTOR = 2.5
# Times the mean violation: how far a row must want to stay where it is to be left out, where the rows are more than the
# features. Of fewer rows most are needed, and those that were left out come back.
MEAN_VIOLATIONS = 3.0
ENTRIES_PER_PART = 1 << 24  # entries of the samples between two interrupt checks of a pass: about 20 ms
GAP_CHECKS_WITHOUT_PROGRESS_LIMIT = 60  # gap checks without a fall by a tenth before a run gives up
CACHED_NUMBERS = 1 << 15  # of a matrix, that stay in the second cache from one operation to the next
# a run also gives up after 32 times the passes at the last such fall, plus 5000
STALE_PASS_FACTOR, MIN_PASSES = 32, 5000


@dataclass(frozen=True)
class Coordinate(Solver):
    """a_i = clip(soft(q_i a_i - f_i - p_i, e_i) / (q_i + d_i), lo_i, hi_i), row by row in random order.

    Hsieh et al. (2008), each step a quarter longer where the row has no kink at zero (Cryer 1971). A free
    intercept has its own proximal term, b = b0 + tau (sum a - balance) with b0 following b: the method of multipliers
    on the one constraint of the duals.

    Parameters
    ----------
    shrinking : bool
        Leave out rows whose duals tend to stay at their bounds, until the next gap check.
    effort : float
        Updates per sample after which the run gives up; "auto" then goes on with another solver.
    onward_tol : float
        Relative gap to go on to, below the one that was asked for, while all passes together are estimated to take less
        than the Newton steps of the solver that "auto" goes on with.

    See Also
    --------
    Newton : For smooth losses.
    SMO : With a kernel.

    References
    ----------
    - Hsieh, Chang, Lin, Keerthi and Sundararajan (2008). A dual coordinate descent method for large-scale linear
      SVM. ICML, 408-415.
    - Cryer (1971). The solution of a quadratic programming problem using systematic overrelaxation. SIAM Journal on
      Control 9, 385-392.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Coordinate, LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", solver=Coordinate()).fit(X, y == 1)
    >>> model.result_.solver.name, model.result_.converged
    ('coordinate', True)
    """

    shrinking: bool = True
    effort: float = np.inf
    onward_tol: float = np.inf
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
        self.order = np.arange(problem.n, dtype=np.int32 if problem.n < 2**31 else np.int64)
        self.seed = np.array([SEED], np.uint64)
        self.numbers = np.zeros(COUNT_OF_NUMBERS)
        self.numbers[PATIENCE] = MEAN_VIOLATIONS if problem.n > samples.d else np.inf
        self.active: int = problem.n
        self.n_iter, self.counters = 0, Counter(looks=0, updates=0)
        self.gap, self.asked_tol = np.inf, tol
        self.stall_detector = RareLookStallDetector(GAP_CHECKS_WITHOUT_PROGRESS_LIMIT, STALE_PASS_FACTOR, MIN_PASSES)
        self.numbers[CENTRE] = 0.0 if not self.free else problem.centre if warm is None else float(warm.b)
        self.next_gap_check = 50
        self.primal, self.dual = np.inf, -np.inf
        self.recompute(bool(a.any()))

    @property
    def a(self) -> np.ndarray:
        """The duals."""
        return np.ascontiguousarray(self.table[:, DUAL])

    @property
    def b0(self) -> float:
        """The centre of the proximal term of a free intercept."""
        return float(self.numbers[CENTRE])

    def recompute(self, nonzero: bool = True) -> None:
        """Recompute w and the intercept from the duals; all rows take part again."""
        self.coef = np.zeros(self.samples.d + 1)  # w, and the weight of the constant feature as of the last gap check
        self.w = self.coef[:-1]
        if nonzero:
            self.w[:] = self.samples.combine(self.a)
        self.numbers[TAU] = self.tau
        self.bring_rows_back()
        self.first_passes = self.n_iter + (1 if nonzero else FIRST_PASSES)
        self.look_at(-1.0, np.inf)
        self.numbers[STOP_GAP] = -1.0  # not before the first passes
        self.place_intercept()

    def place_intercept(self) -> None:
        """b = b0 + tau (sum a - balance), or the contribution of the constant feature."""
        missing = float(self.a.sum()) - (float(self.balance) if self.free else 0.0)
        self.numbers[INTERCEPT] = self.b0 + self.tau * missing

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Passes for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.n_iter < last:
            stop = self.next_gap_check if self.n_iter >= self.first_passes else self.first_passes
            self.take_passes(min(last, stop) - self.n_iter)
            largest, seen = float(self.numbers[MAX_VIOLATION]), float(self.numbers[SEEN_GAP])
            if seen <= self.stale_gap and self.n_iter >= self.first_passes:
                self.evaluate_dual()
            due, whole = self.n_iter >= self.next_gap_check or self.is_out_of_effort, self.active == self.problem.n
            if due or seen <= self.worth_a_look or self.active == 0 or (whole and largest == 0.0):
                outcome = self.check_gap(largest)
                if outcome is not Outcome.GOING:
                    return outcome
            elif largest == 0.0:  # of the rows that are left
                self.bring_rows_back()
            if time.perf_counter() >= end:
                break
        return Outcome.GOING

    def evaluate_dual(self) -> None:
        """D at the duals, and P as the last pass saw their gap: from both follows which gap is worth a look."""
        row, a, seen = cast(Any, self.problem.row), self.a, float(self.numbers[SEEN_GAP])
        b = float(self.numbers[INTERCEPT]) if self.free else 0.0
        missing = float(a.sum()) - float(self.balance) if self.free else 0.0
        constant = 0.0 if self.free else self.tau * float(a.sum()) ** 2
        conjugates = float(row.p @ a) + 0.5 * float((row.d * a) @ a) + float(row.e @ np.abs(a))
        self.dual = -0.5 * (float(self.w @ self.w) + constant) - conjugates - b * missing
        self.primal = self.dual + seen
        known = seen <= D_IS_KNOWN_GAP * abs(self.dual)
        self.look_at(LOOK_FACTOR * self.limit, -1.0 if known else D_IS_OLD_FALL * seen)

    def look_at(self, worth_a_look: float, stale_gap: float = -1.0) -> None:
        """Passes stop where they see a gap that is worth a look, or one so much smaller that D must be known again."""
        self.worth_a_look, self.stale_gap = worth_a_look, stale_gap
        self.numbers[STOP_GAP] = max(worth_a_look, stale_gap)

    def take_passes(self, most: int) -> None:
        """Passes over the active rows, at most so many: several in one compiled call where they are short."""
        from ...compiled.coordinate import dense_passes, sparse_passes

        visits = self.visits_per_part
        if self.active > visits:
            self.take_pass()
            return
        visits = int(min(visits, max(self.active, self.solver.effort * self.problem.n - self.counters["updates"])))
        state = (self.order, visits, self.active, self.w, self.table, self.numbers, self.seed)
        with release_interpreter():
            done, made, self.active = (dense_passes if self.matrix_is_dense else sparse_passes)(
                *self.matrix, *state, most, self.solver.shrinking, self.free
            )
        self.n_iter += done
        self.counters["updates"] += made
        with abortable():
            check_interrupt()

    def take_pass(self) -> None:
        """One pass over the active rows; afterwards b0 follows a free intercept.

        The pass runs in parts. An interrupt may end it after any part, and the updates so far are kept.
        """
        from ...compiled.coordinate import dense_pass, end_pass, sparse_pass

        self.counters["updates"] += self.active
        place, visits = 0, self.visits_per_part
        while place < self.active:
            state = (self.order, place, visits, self.active, self.w, self.table, self.numbers, self.seed)
            with release_interpreter():
                place, self.active = (dense_pass if self.matrix_is_dense else sparse_pass)(*self.matrix, *state)
            with abortable():
                check_interrupt()
        self.n_iter += 1
        end_pass(self.numbers, self.solver.shrinking, self.free)

    @property
    def is_out_of_effort(self) -> bool:
        """Whether so many updates are made that the run is to give up."""
        return self.counters["updates"] >= self.solver.effort * self.problem.n

    @property
    def matrix_is_dense(self) -> bool:
        """Whether rows are dense."""
        return not self.samples.sparse

    @cached_property
    def matrix(self) -> tuple[np.ndarray, ...]:
        """The arrays of the rows."""
        samples = self.samples
        if self.matrix_is_dense:
            return (samples.X,)
        return tuple(map(np.ascontiguousarray, (samples.data, samples.indices, samples.indptr)))

    @property
    def visits_per_part(self) -> int:
        """Rows that are visited between two interrupt checks."""
        return max(1, ENTRIES_PER_PART * self.problem.n // max(self.samples.size, 1))

    def check_gap(self, largest: float) -> Outcome:
        """P and D of all rows; done if the gap is within tol. If rows were left out in error, all take part again."""
        self.counters["looks"] += 1
        self.next_gap_check = 2 * self.n_iter + 50
        seen = float(self.numbers[SEEN_GAP])
        self.measure()
        near = self.gap + self.missing * self.spread <= 0.9 * self.limit / self.tol * self.asked_tol
        if near and not self.has_cheap_passes():
            return Outcome.DONE
        if near and self.tol > self.solver.onward_tol:
            self.tol = self.solver.onward_tol
        if self.reached():
            return Outcome.DONE
        stalled = self.stall_detector.is_stalled_at(self.n_iter, self.gap)
        settled = largest == 0.0 and not self.missing  # while the duals do not balance, a free intercept still moves
        if stalled or settled or self.is_out_of_effort:
            return Outcome.STALLED
        if self.active < self.problem.n and (self.gap > MISSED_ROWS_GAP_FACTOR * seen or self.active == 0):
            self.bring_rows_back()
            self.look_at(LOOK_FACTOR * self.limit)
        else:  # the next look comes where the gap has fallen by as much as this one is too large
            self.look_at(min(0.8, 0.9 * self.limit / (self.gap + self.missing * self.spread)) * seen)
        return Outcome.GOING

    def has_cheap_passes(self) -> bool:
        """Whether passes may go on to `onward_tol`: so far they took less than Newton steps on the free duals would.

        In visits of entries, of 2 ns each. The matrix of m rows takes a fifth of one for each of its m^2 numbers and
        each entry of a row, and eight to scale and copy each number that does not fit into the second cache; its
        factors m^3 / 50, and a dozen products with all samples go with it.
        """
        if self.solver.onward_tol >= self.asked_tol:
            return False
        row, a = cast(Any, self.problem.row), self.a
        m, entries = float(np.count_nonzero((a > row.lo) & (a < row.hi))), self.samples.size / self.problem.n
        newton = m * m * entries / 5.0 + 8.0 * max(m * m - CACHED_NUMBERS, 0.0)
        newton += min(m, self.samples.d) ** 3 / 50.0 + 12.0 * self.samples.size
        return self.counters["updates"] * entries < newton

    def bring_rows_back(self) -> None:
        """All rows take part in the next pass: those that were left out contribute to the gap, or may move again."""
        self.active, self.numbers[LIMIT] = self.problem.n, np.inf

    def measure(self) -> None:
        """P at (w, b) and D at the duals; with a free intercept b times their imbalance is subtracted from D."""
        from ...compiled.row_sums import sum_rows

        problem, a, row = self.problem, self.a, cast(Any, self.problem.row)
        coef = self.coef  # X'a, kept up to date; the judge forms its own
        coef[-1] = problem.features.scaling * a.sum()
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
        return self.gap + self.missing * self.spread <= 0.9 * self.limit

    @property
    def limit(self) -> float:
        """The gap that is within tol."""
        return self.tol * max(abs(self.primal), abs(self.dual), self.problem.floor)

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.a))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D, as of the last gap check."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.active)

    def mark_step(self) -> tuple[np.ndarray, int]:
        """The duals before the pass, and the rows that take part in it."""
        return self.a, self.active

    def describe_step(self, before: tuple[np.ndarray, int]) -> dict[str, Any]:
        """The rows of the pass, those whose duals moved, the widest violation met, and the gap seen on the way.

        The intercept is b0 + tau (sum a - balance), or the contribution of the constant feature.
        """
        a, active = before
        return {
            "step": "pass", "active": active, "moved": int(np.count_nonzero(self.a != a)), "w": self.w.copy(),
            "intercept": float(self.numbers[INTERCEPT]), "violation": float(self.numbers[MAX_VIOLATION]),
            "gap_seen": float(self.numbers[SEEN_GAP]),
        }  # fmt: skip

    def point(self) -> Point:
        """The duals, w and the intercept."""
        a = self.problem.feasible(self.a)
        coef = np.append(self.w, self.problem.features.scaling * a.sum())  # the judge forms X'a and compares
        return Point(a, float(self.numbers[INTERCEPT]) if self.free else 0.0, coef)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found a wider gap than the run did: recompute w, and aim at a smaller gap."""
        self.tol *= 0.5
        self.asked_tol *= 0.5
        self.recompute()

    def count(self) -> Counter[str]:
        """Gap checks, and duals updated."""
        return Counter(self.counters)
