"""Interior point for kernel machines of a few thousand samples: the solver object and its run."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...contracts.solvers import Run, Solver
from ...contracts.traits import Takes, remedy
from ...model.problem import Point, Problem
from ..result import Outcome, Progress
from ..stalling import FALL_FACTOR, StallDetector
from .kernel_barrier import KernelBarrier

MAX_STEPS = 200  # of a run before it gives up
STEPS_WITHOUT_PROGRESS_LIMIT = 12  # steps without a fall of the gap by a tenth, before a run gives up
STALL_MAX_GAP = 0.5  # relative gap above which a run does not give up for want of progress
AIM_TOL_SHARE = 0.9  # of tol: the gap that a run aims at
CROSSOVER_GAP_FACTOR = 10.0  # times tol: from this gap on, duals are moved to their bounds
STEPS_AFTER_TOL = 6  # further steps for a point with duals at their bounds, once an interior point has reached tol


@dataclass(frozen=True)
class KernelInteriorPoint(Solver):
    """max D(a) by (K + 1/theta) da + db = r: Mehrotra's predictor and corrector, with one Cholesky factor per step.

    The number of steps hardly depends on the kernel. It suits kernels with large values, such as a polynomial of
    unscaled features, where SMO would need millions of steps.
    """

    name = "kernel_interior_point"
    formulation = "Wolfe dual"
    takes = Takes("Interior point in the duals", features="kernel rows", layers="any")

    def refuse(self, problem: Problem) -> str | None:
        """Refuse smooth losses, a tube in layers, and problems without a whole positive semidefinite kernel matrix."""
        traits = problem.traits
        if not traits.piecewise:
            return f"needs a piecewise loss, and {traits.loss!r} is not one{remedy(traits)}"
        if traits.layers > 1 and problem.row.e.any():
            return f"takes losses without a tube in layers{remedy(traits)}"
        if not traits.kernel_matrix or not problem.features.kernel.psd:
            return f"needs the whole matrix of a positive semidefinite kernel{remedy(traits)}"
        return None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> KernelInteriorRun:
        """A run from the beginning: a point at the bounds is a poor start for an interior point method."""
        return KernelInteriorRun(problem, tol)


class Candidate(NamedTuple):
    """Duals, intercept, P, D and the relative gap."""

    a: np.ndarray
    b: float | np.ndarray
    primal: float
    dual: float
    gap: float


class KernelInteriorRun(Run):
    """Barrier steps, and the best point so far."""

    def __init__(self, problem: Problem, tol: float):
        self.problem, self.tol, self.n_iter = problem, tol, 0
        self.barrier = KernelBarrier(problem, problem.features.form())
        self.stall_detector, self.extra = StallDetector(STEPS_WITHOUT_PROGRESS_LIMIT + 1), STEPS_AFTER_TOL
        self.best = self.measure(self.barrier.collect(self.barrier.a), self.barrier.b)

    def measure(self, a: np.ndarray, b: np.ndarray) -> Candidate:
        """P and D at some duals, one row per intercept, made feasible."""
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
            if self.n_iter >= MAX_STEPS or (self.stall_detector.exhausted and self.best.gap < STALL_MAX_GAP):
                return Outcome.STALLED
            try:
                self.take_step()
            except FloatingPointError:
                self.extra = 0
                return Outcome.DONE if self.best.gap <= self.aim else Outcome.STALLED
        return Outcome.GOING

    def take_step(self) -> None:
        """One step; keep the better of its duals and the same duals with those near a bound moved onto it."""
        self.barrier.step()
        self.n_iter += 1
        self.stall_detector.count(progressed=False)
        if not np.isfinite(self.barrier.scores).all():
            raise FloatingPointError
        self.compare(self.measure(self.barrier.collect(self.barrier.a), self.barrier.b))
        self.extra -= self.best.gap <= self.aim
        if self.best.gap < CROSSOVER_GAP_FACTOR * self.tol:
            crossed = self.measure(*self.barrier.cross_over())
            self.compare(crossed)
            if crossed.gap <= self.aim:  # within tol, and with few support vectors
                self.best, self.extra = crossed, 0

    def compare(self, candidate: Candidate) -> None:
        """Keep the better one."""
        if candidate.gap < self.best.gap:
            # By a tenth of the best gap so far, not of the gap at the last progress: small falls do not add up to one.
            self.stall_detector.count(candidate.gap < FALL_FACTOR * self.best.gap, looks=0)
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

    def describe_step(self, before: None) -> dict[str, Any]:
        """The mean complementarity mu, what the duals lack of their balance, and the duals themselves."""
        barrier = self.barrier
        return {
            "step": "predictor and corrector", "barrier": barrier.complementarity(0.0, 0.0, 0.0, 0.0),
            "imbalance": float(np.abs(barrier.missing).max()) if barrier.free else 0.0,
            "a_interior": barrier.collect(barrier.a), "b_interior": barrier.b,
        }  # fmt: skip

    def count(self) -> Counter:
        """Cholesky factorisations: one per step."""
        return Counter(factors=self.n_iter)

    def point(self) -> Point:
        """The duals, and the intercept."""
        return Point(self.best.a, self.best.b)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found too wide a gap: aim at a smaller one."""
        self.tol *= 0.1
