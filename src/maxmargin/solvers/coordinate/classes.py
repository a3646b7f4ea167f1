"""Dual coordinate descent for the multiclass hinge of Crammer and Singer: all duals of a sample at once."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...contracts.solvers import Run, Solver
from ...contracts.traits import Takes
from ...model.problem import Point, Problem
from ...model.samples import convert_to_sparse
from ...runtime.interpreter import release_interpreter
from ..result import Outcome, Progress
from ..stalling import RareLookStallDetector

SEED = 88172645463325252  # of the order of the samples
VIOLATION_FALL_FACTOR = 0.5  # of the violation at the last gap check: the next check comes there
# of the last gap, once the violation has halved: a larger gap means that shrinking left out rows in error
MISSED_ROWS_GAP_SHARE = 0.6
GAP_CHECKS_WITHOUT_PROGRESS_LIMIT = 60  # gap checks without a fall by a tenth before a run gives up
# a run also gives up after 32 times the passes at the last such fall, plus 5000
STALE_PASS_FACTOR, MIN_PASSES = 32, 5000


@dataclass(frozen=True)
class ClassCoordinate(Solver):
    """t_i = projection of t_i + (f_i + 1 - e_y) / q_i on c_i times the simplex, sample by sample; a_i = c_i e_y - t_i.

    Keerthi et al. (2008), with the exact projection. Each free intercept has its own proximal term, as in `Coordinate`.

    Parameters
    ----------
    effort : float
        Passes after which the run gives up; "auto" then goes on with another solver.

    See Also
    --------
    maxmargin.LinearSVC : With `multi_class="crammer_singer"`.
    maxmargin.Coordinate : One problem for each class.

    References
    ----------
    - Keerthi, Sundararajan, Chang, Hsieh and Lin (2008). A sequential dual method for large scale multi-class linear
      SVMs. KDD, 408-416.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(multi_class="crammer_singer").fit(X, y)
    >>> model.result_.solver.name, model.result_.converged
    ('bundle', True)
    """

    effort: float = np.inf
    name = "class_coordinate"
    formulation = "Wolfe dual"
    takes = Takes("Coordinate descent over classes", scores="many", features="linear", structure="simplex")

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> ClassCoordinateRun:
        """A run at the duals of `warm`, made feasible, or at zero."""
        return ClassCoordinateRun(self, problem, tol, warm)


class ClassCoordinateRun(Run):
    """Duals a (one row per sample), W = X'a and the intercepts, pass by pass."""

    def __init__(self, solver: ClassCoordinate, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        samples = problem.features.samples
        self.free = problem.balance is not None
        self.rows = samples if samples.sparse else convert_to_sparse(samples)
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
        self.stall_detector = RareLookStallDetector(GAP_CHECKS_WITHOUT_PROGRESS_LIMIT, STALE_PASS_FACTOR, MIN_PASSES)
        self.last_violation, self.next_gap_check = np.inf, MIN_PASSES
        self.recompute()

    @property
    def a(self) -> np.ndarray:
        """The duals, one row per class."""
        return np.ascontiguousarray(self.duals.T)

    def recompute(self) -> None:
        """Recompute W and the intercepts from the duals; all samples take part again."""
        self.W = np.ascontiguousarray(self.problem.features.samples.combine(self.a).T)
        self.active, self.limit = self.problem.n, np.inf
        self.place_intercepts()

    def place_intercepts(self) -> None:
        """b = b0 + tau (sum a - balance), or the contribution of the constant feature."""
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
        """One pass over the active samples; afterwards b0 follows the free intercepts."""
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
        """P and D from exact scores; done if the gap is within tol. Samples left out in error take part again."""
        self.counters["looks"] += 1
        self.last_violation, self.next_gap_check = largest, 2 * self.n_iter + MIN_PASSES
        self.measure()
        if self.reached():
            return Outcome.DONE
        missed = self.gap > MISSED_ROWS_GAP_SHARE * self.stall_detector.best or self.active == 0
        stalled = self.stall_detector.is_stalled_at(self.n_iter, self.gap)
        if stalled or largest == 0.0 or self.n_iter >= self.solver.effort:
            return Outcome.STALLED
        if missed:  # samples that were left out contribute to the gap
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
        """The solver's own view of P and D, as of the last gap check."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.active)

    def point(self) -> Point:
        """Duals that balance, the intercepts, and w of the duals as they are."""
        a = self.problem.feasible(self.a)
        coef = self.problem.features.combine(self.a)
        return Point(a, self.b.copy() if self.free else 0.0, coef)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found a wider gap than the run did: recompute W, and aim at a smaller gap."""
        self.tol *= 0.5
        self.recompute()

    def count(self) -> Counter:
        """Gap checks, and samples updated."""
        return Counter(self.counters)
