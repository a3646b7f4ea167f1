"""Dual coordinate descent for the multiclass hinge of Crammer and Singer: all duals of a sample at once."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...contracts.solvers import Run, Solver
from ...model.features import ClassDesign
from ...model.problem import Point, Problem
from ...model.samples import Dense, convert_to_sparse
from ...runtime.interpreter import release_interpreter
from ..refusals import refuse_list
from ..result import Outcome, Progress, StallDetector

SEED = 88172645463325252  # of the order of the samples
VIOLATION_FALL_FACTOR = 0.5  # of the violation at which the gap was last looked at, it is looked at again
# of the last gap, where the violation has halved: more means that rows were left out in error
MISSED_ROWS_GAP_SHARE = 0.6
GAP_CHECKS_WITHOUT_PROGRESS_LIMIT = 60  # looks without a fall of the gap by a tenth before a run gives up
STALE_PASS_FACTOR, MIN_PASSES = (
    32,
    5000,
)  # times the passes at the last such fall, and passes more, after which it gives up too


@dataclass(frozen=True)
class ClassCoordinate(Solver):
    """t_i = projection of t_i + (f_i + 1 - e_y) / q_i on c_i times the simplex, sample by sample; a_i = c_i e_y - t_i.

    Keerthi et al. 2008, with the exact projection. A free intercept is a proximal term of its own for each class, as
    in `Coordinate`.

    Parameters
    ----------
    effort : float
        Passes after which the run gives up; "auto" goes on with another solver then.
    """

    effort: float = np.inf
    name = "class_coordinate"
    formulation = "Wolfe dual"

    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot take the problem."""
        if reason := refuse_list(problem, "Coordinate descent over classes"):
            return reason
        if not isinstance(problem.features, ClassDesign) or problem.loss.name != "multiclass_hinge":
            return f"Coordinate descent over classes solves the multiclass hinge, not {problem.loss.name!r}."
        if not problem.loss.plain:
            return "Coordinate descent over classes takes errors that all cost the same; use 'bundle'."
        return None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> ClassCoordinateRun:
        """A run at the duals of `warm`, made feasible, or at zero."""
        return ClassCoordinateRun(self, problem, tol, warm)


class ClassCoordinateRun(Run):
    """Duals a (one row a sample), W = X'a and the intercepts, pass by pass."""

    def __init__(self, solver: ClassCoordinate, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        samples = problem.features.samples
        self.free = problem.balance is not None
        self.rows = convert_to_sparse(samples) if isinstance(samples, Dense) else samples
        self.norms = np.ascontiguousarray(samples.norms, float)
        least = 1e-3 / max(float(problem.c.max(initial=0.0)), 1e-300)  # for samples at the origin
        norm = float(self.norms[problem.c > 0].mean()) if (problem.c > 0).any() else 0.0
        self.tau = max(norm, least) if self.free else problem.features.scaling**2
        a = np.zeros(problem.shape) if warm is None else problem.feasible(warm.a)
        self.duals = np.ascontiguousarray(a.T, dtype=float)
        self.b0 = np.zeros(len(a)) if warm is None or not self.free else np.array(warm.b, float)
        self.y = problem.y.astype(np.int64)
        self.order = np.arange(problem.n)
        self.seed = np.array([SEED], np.uint64)
        self.n_iter, self.counters = 0, Counter(looks=0, updates=0)
        self.primal, self.dual = np.inf, -np.inf
        self.last_violation, self.patience, self.next_gap_check, self.last_fall_iter = (
            np.inf,
            StallDetector(GAP_CHECKS_WITHOUT_PROGRESS_LIMIT),
            MIN_PASSES,
            0,
        )
        self.recompute()

    @property
    def a(self) -> np.ndarray:
        """The duals, one row a class."""
        return np.ascontiguousarray(self.duals.T)

    def recompute(self) -> None:
        """W and the intercepts afresh from the duals; all samples take part again."""
        self.W = np.ascontiguousarray(self.problem.features.samples.combine(self.a).T)
        self.active, self.limit = self.problem.n, np.inf
        self.place_intercepts()

    def place_intercepts(self) -> None:
        """b = b0 + tau (sum a - balance), or what the constant feature amounts to."""
        missing = self.duals.sum(axis=0) - (self.problem.balance if self.free else 0.0)
        self.b = self.b0 + self.tau * missing

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Passes for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.n_iter < last:
            largest = self.take_pass()
            due = self.n_iter >= min(self.solver.effort, self.next_gap_check)
            if largest <= VIOLATION_FALL_FACTOR * self.last_violation or self.active == 0 or due:
                outcome = self.check_gap(largest)
                if outcome is not Outcome.GOING:
                    return outcome
            if time.perf_counter() >= end:
                break
        return Outcome.GOING

    def take_pass(self) -> float:
        """One pass over the active samples; the centres of free intercepts follow them."""
        from ...compiled.class_coordinate import class_pass

        rows, problem = self.rows, self.problem
        self.counters["updates"] += self.active
        with release_interpreter():
            self.active, largest = class_pass(
                rows.data, rows.indices, rows.indptr, self.order, self.active, self.W, self.duals, self.y, problem.c,
                self.norms, self.b, self.tau, self.limit, self.seed,
            )  # fmt: skip
        self.n_iter, self.limit = self.n_iter + 1, largest if largest > 0 else np.inf
        if self.free:
            self.b0 = self.b.copy()
            self.place_intercepts()
        return float(largest)

    def check_gap(self, largest: float) -> Outcome:
        """P and D from exact scores; done if they meet, and all samples take part again."""
        self.counters["looks"] += 1
        self.last_violation, self.next_gap_check = largest, 2 * self.n_iter + MIN_PASSES
        self.measure()
        if self.reached():
            return Outcome.DONE
        best, missed = self.patience.best, self.gap > MISSED_ROWS_GAP_SHARE * self.patience.best or self.active == 0
        stalled = self.patience.is_stalled(self.gap)
        self.last_fall_iter = self.n_iter if self.patience.best < best else self.last_fall_iter
        stale = (
            self.n_iter > STALE_PASS_FACTOR * self.last_fall_iter + MIN_PASSES
        )  # looks may be as rare as passes are many
        if stalled or stale or largest == 0.0 or self.n_iter >= self.solver.effort:
            return Outcome.STALLED
        if missed:  # samples that were left out have a part in the gap
            self.recompute()
        return Outcome.GOING

    def measure(self) -> None:
        """P at (w, b) and D at duals that balance."""
        problem, a = self.problem, self.problem.feasible(self.a)
        coef = problem.features.combine(self.a)
        b = self.b if self.free else 0.0
        scores = problem.features.scores(coef)
        self.primal = problem.primal_value(scores, problem.features.penalty_value(coef, scores), b)
        own = problem.features.combine(a) if self.free else coef
        self.dual = problem.dual_value(a, problem.features.penalty_conjugate(own, scores))

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    def reached(self) -> bool:
        """Whether the gap is within tol."""
        return self.gap <= 0.9 * self.tol * max(abs(self.primal), abs(self.dual))

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.duals.any(axis=1)))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D, as of the last look."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.active)

    def point(self) -> Point:
        """Duals that balance, the intercepts, and w of the duals as they are."""
        a = self.problem.feasible(self.a)
        coef = self.problem.features.combine(self.a)
        return Point(a, self.b.copy() if self.free else 0.0, coef)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found the gap wider than the run did: start afresh from exact W, and aim lower."""
        self.tol *= 0.5
        self.recompute()

    def count(self) -> Counter:
        """Looks at the gap, and samples updated."""
        return Counter(self.counters)
