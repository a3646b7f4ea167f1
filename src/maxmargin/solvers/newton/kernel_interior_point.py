"""Interior point for kernel machines of a few thousand samples: the solver object and its run."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...contracts.solvers import Run, Solver
from ...model.features import Gram, SignedGram
from ...model.problem import Point, Problem
from ..result import Outcome, Progress
from .kernel_barrier import KernelBarrier

MAX_STEPS = 200  # after which a run gives up
STEPS_WITHOUT_PROGRESS_LIMIT = 12  # steps without a fall of the gap by a tenth, once it is below NEAR
STALL_MAX_GAP = 0.5
AIM_TOL_SHARE = 0.9  # of tol is aimed at
CROSSOVER_GAP_FACTOR = 10.0  # times tol is the gap from which on duals are put at their bounds
STEPS_AFTER_TOL = 6  # steps more for duals at their bounds, where those between them are good enough already


@dataclass(frozen=True)
class KernelInteriorPoint(Solver):
    """max D(a) by (K + 1/theta) da + db = r: Mehrotra's predictor and corrector, with one Cholesky factor a step.

    Its number of steps hardly depends on the kernel: for kernels whose values are large, as the polynomial one's of
    features that were not scaled, where SMO would need millions.
    """

    name = "kernel_interior_point"
    formulation = "Wolfe dual"

    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot take the problem."""
        features = problem.features
        if problem.row is None:
            return f"Interior point needs a piecewise loss, and {problem.loss.name!r} is none; use 'gradient_descent'."
        if not isinstance(features, Gram | SignedGram):
            return "Interior point in the duals needs kernel values, and these features have none."
        if features.penalty != "l2" or (problem.y.ndim > 1 and problem.row.e.any()):
            return "Interior point in the duals is for the penalty 1/2 |w|^2, and in layers for losses without a tube."
        if not features.small or not features.kernel.psd:
            return "Interior point in the duals needs the whole matrix of a positive semidefinite kernel; use 'smo'."
        return None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> KernelInteriorRun:
        """A run from the beginning: a point at the bounds is no good place for an interior point to start."""
        return KernelInteriorRun(problem, tol)


class Candidate(NamedTuple):
    """Duals, intercept, P, D and the relative gap."""

    a: np.ndarray
    b: float | np.ndarray
    primal: float
    dual: float
    gap: float


class KernelInteriorRun(Run):
    """Steps of a barrier, and the best point of all."""

    def __init__(self, problem: Problem, tol: float):
        self.problem, self.tol, self.n_iter = problem, tol, 0
        self.barrier = KernelBarrier(problem, problem.features.form())
        self.steps_since_progress, self.extra = 0, STEPS_AFTER_TOL
        self.best = self.measure(self.barrier.collect(self.barrier.a), self.barrier.b)

    def measure(self, a: np.ndarray, b: np.ndarray) -> Candidate:
        """P and D at some duals, made feasible, with one row for each intercept."""
        problem, flat = self.problem, self.problem.y.ndim == 1
        a, b = problem.feasible(a[0] if flat else a), float(b[0]) if flat else b
        coef = problem.features.combine(a)
        scores = problem.features.scores(coef)
        penalty_conjugate = problem.features.penalty_conjugate(coef, scores)
        primal, dual = problem.primal_value(scores, penalty_conjugate, b), problem.dual_value(a, penalty_conjugate)
        return Candidate(a, b, primal, dual, (primal - dual) / max(abs(primal), abs(dual), problem.floor))

    @property
    def aim(self) -> float:
        """The gap to reach, so that the judge finds it within tol."""
        return AIM_TOL_SHARE * self.tol

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Steps for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.n_iter < last and time.perf_counter() < end:
            if self.best.gap <= self.aim and self.extra <= 0:
                return Outcome.DONE
            if self.n_iter >= MAX_STEPS or (
                self.steps_since_progress > STEPS_WITHOUT_PROGRESS_LIMIT and self.best.gap < STALL_MAX_GAP
            ):
                return Outcome.STALLED
            try:
                self.take_step()
            except FloatingPointError:
                self.extra = 0
                return Outcome.DONE if self.best.gap <= self.aim else Outcome.STALLED
        return Outcome.GOING

    def take_step(self) -> None:
        """One step; the duals as they are, and as they are once those near their bounds are put there."""
        self.barrier.step()
        self.n_iter, self.steps_since_progress = self.n_iter + 1, self.steps_since_progress + 1
        if not np.isfinite(self.barrier.scores).all():
            raise FloatingPointError
        self.compare(self.measure(self.barrier.collect(self.barrier.a), self.barrier.b))
        self.extra -= self.best.gap <= self.aim
        if self.best.gap < CROSSOVER_GAP_FACTOR * self.tol:
            crossed = self.measure(*self.barrier.cross_over())
            self.compare(crossed)
            if crossed.gap <= self.aim:  # good enough, and with few support vectors
                self.best, self.extra = crossed, 0

    def compare(self, candidate: Candidate) -> None:
        """Keep the better one."""
        if candidate.gap < self.best.gap:
            self.steps_since_progress = 0 if candidate.gap < 0.9 * self.best.gap else self.steps_since_progress
            self.best = candidate

    @property
    def a(self) -> np.ndarray:
        """The duals."""
        return self.best.a

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.a))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        return Progress(self.n_iter, seconds, self.best.primal, self.best.dual, self.problem.n)

    def count(self) -> Counter:
        """Factors of the matrix: one for each step."""
        return Counter(factors=self.n_iter)

    def point(self) -> Point:
        """The duals, and the intercept."""
        return Point(self.best.a, self.best.b)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge was not content: its tolerance is aimed at more tightly."""
        self.tol *= 0.1
