"""Interior point on the rows that matter: rows far from their kinks are replaced by their tangents.

A row beyond its kink is linear there and convex everywhere, so the tangent bounds it from below: the optimum of the
sifted problem is a lower bound, its duals are feasible duals of the whole, and the bound rises as rows come back. Where
no row has crossed its kink, the sifted optimum is the optimum.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

from ...contracts.solvers import Run
from ...model.losses import PiecewiseConjugate
from ...model.problem import Point, Problem
from ..result import Outcome, Progress
from .barrier import Barrier
from .block import RowBlock
from .oracle import RowOracle

DRAWN_ROW_RATIO = 8  # one row in so many, sampled at random, is solved first
SIFTING_MIN_ROWS, SIFTING_MIN_ROWS_PER_FEATURE = 8_000, 40  # rows, and rows per feature, from which on that pays
KEPT_ROW_SHARE = 0.2  # share of the rows that is kept after that
DRAWN_ROWS_GAP = 1e-3  # relative gap to which the sampled rows are solved
RETURN_MOVE_SHARE = 0.1  # times its last move: a row this near to its kink comes back before it crosses
MAX_BARRIER_STEPS = 250  # of one barrier before it is abandoned


class SiftingRun(Run):
    """Rounds of interior point on a growing set of rows."""

    def __init__(self, solver, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.free = problem.balance is not None
        self.scale = problem.scale
        samples = problem.features.samples
        base = np.zeros(samples.d + 1)
        base[-1] = -float(problem.balance) if self.free else 0.0
        oracle = RowOracle(problem.row, np.zeros(problem.n), 1e-9 * self.scale)
        constant = 1.0 if self.free else problem.features.scaling
        self.whole = RowBlock(samples, oracle, constant, 0.0 if self.free else 1.0, base)
        self.n_iter, self.steps, self.counters = 0, 0, Counter(rounds=0, near=0)
        self.aim, self.rough, self.barrier = 0.3, 0.0, None
        self.near = np.ones(problem.n, bool)
        self.u, self.f, self.a = np.zeros(samples.d + 1), np.zeros(problem.n), np.zeros(problem.n)
        self.primal, self.dual = float(problem.terms.value(self.f).sum()), -np.inf
        if warm is not None:
            self.begin_at(warm)
        elif problem.n >= max(SIFTING_MIN_ROWS, SIFTING_MIN_ROWS_PER_FEATURE * DRAWN_ROW_RATIO * samples.d):
            self.draw_rows()
        else:
            self.open_barrier()

    # ---- the rows that take part --------------------------------------------------------------------------

    def begin_at(self, warm: Point) -> None:
        """Keep the rows nearest to their kinks at the warm point."""
        coef = self.problem.expand(warm)
        self.u = np.array(coef, float)
        if self.free:
            self.u[-1] = float(warm.b)
        self.f = self.whole.project(self.u)
        self.keep_nearest()
        self.open_barrier()

    def draw_rows(self) -> None:
        """Solve a weighted sample of the rows first; its rough solution shows which rows are near their kinks."""
        problem, n = self.problem, self.problem.n
        drawn = np.sort(np.random.default_rng(0).choice(n, n // DRAWN_ROW_RATIO, replace=False))
        part = problem.loss.row(problem.y[drawn], problem.c[drawn] * (n / len(drawn)))
        block = RowBlock(
            self.whole.samples.take(drawn), None, self.whole.constant, self.whole.ridge, self.whole.base
        )  # fmt: skip
        self.rough, self.drawn = DRAWN_ROWS_GAP, drawn
        self.barrier = Barrier(block, part, self.scale)

    def keep_nearest(self) -> None:
        """Keep the rows whose scores are nearest to their kinks; the duals of the others stay at their bounds."""
        response = self.whole.oracle.respond(self.f)
        count = int(KEPT_ROW_SHARE * self.problem.n)
        limit = np.partition(response.slack, count)[count] if 0 < count < self.problem.n else np.inf
        self.near = response.slack <= limit
        self.a = response.a

    def open_barrier(self) -> None:
        """A barrier over the rows that take part, with the tangents of the others."""
        whole, kept = self.whole, np.flatnonzero(self.near)
        if len(kept) > 0.6 * self.problem.n:
            self.near[:], kept = True, np.arange(self.problem.n)
        settled = np.where(self.near, 0.0, self.a)
        base = whole.base + (whole.combine(settled) if settled.any() else 0.0)
        everything = len(kept) == self.problem.n
        samples = whole.samples if everything else whole.samples.take(kept)
        block = RowBlock(samples, None, whole.constant, whole.ridge, base)
        row = self.problem.row if everything else PiecewiseConjugate(*(part[kept] for part in self.problem.row))
        self.barrier, self.rough, self.steps = Barrier(block, row, self.scale), 0.0, 0
        self.counters["rounds"] += 1
        self.counters["near"] = max(self.counters["near"], len(kept))

    # ---- steps --------------------------------------------------------------------------------------------

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Barrier steps for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.n_iter < last:
            if self.barrier is None:
                self.open_barrier()
            try:
                self.barrier.step()
            except FloatingPointError:
                return Outcome.STALLED
            self.n_iter, self.steps = self.n_iter + 1, self.steps + 1
            if self.is_solved() or self.steps >= MAX_BARRIER_STEPS:
                outcome = self.close_barrier()
                if outcome is not Outcome.GOING:
                    return outcome
            if time.perf_counter() >= end:
                break
        return Outcome.GOING

    def is_solved(self) -> bool:
        """Whether the barrier is accurate enough for this round."""
        size = max(abs(self.primal), self.problem.floor)
        if self.rough:
            return self.barrier.gap <= self.rough * size
        return self.barrier.gap <= self.aim * self.tol * max(abs(self.primal), abs(self.dual))

    def close_barrier(self) -> Outcome:
        """Check all rows: compute P and D of the whole, and bring back the rows that have crossed their kinks."""
        barrier, whole = self.barrier, self.whole
        self.barrier = None
        f = whole.project(barrier.u)
        if self.rough:
            self.u, self.f = barrier.u, f
            self.keep_nearest()
            return Outcome.GOING
        moves, settled = np.abs(f - self.f), ~self.near
        self.u, self.f = barrier.u, f
        self.a = self.a.copy()
        self.a[self.near] = barrier.a.sum(axis=0)
        self.measure()
        response = whole.oracle.respond(f)
        crossed = settled & (response.a != self.a)
        if self.gap <= self.limit():
            return Outcome.DONE
        if not crossed.any():
            self.aim *= 0.1  # the rest of the gap comes from the barrier itself
            if self.aim < 1e-4:
                return Outcome.STALLED
        self.near |= crossed | (response.slack <= RETURN_MOVE_SHARE * moves)
        self.a[settled] = np.where(crossed, response.a, self.a)[settled]
        return Outcome.GOING

    def measure(self) -> None:
        """P at u and D at a."""
        problem, u = self.problem, self.u
        pulled = self.whole.combine(self.a)
        norm = float(pulled[:-1] @ pulled[:-1]) + (0.0 if self.free else pulled[-1] ** 2)
        own = float(u[:-1] @ u[:-1]) + self.whole.ridge * u[-1] ** 2
        self.primal = 0.5 * own + float(problem.terms.value(self.f).sum()) + problem.offset(u[-1] if self.free else 0.0)
        self.dual = -0.5 * norm - float(problem.terms.conjugate(self.a).sum())

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    def limit(self) -> float:
        """The gap that is small enough."""
        size = max(abs(self.primal), abs(self.dual), self.problem.floor)
        return 0.9 * self.tol * size

    # ---- what a trace asks --------------------------------------------------------------------------------

    def mark_step(self) -> Barrier | None:
        """The barrier that the step is taken on; None if it is yet to be opened."""
        return self.barrier

    def describe_step(self, before: Barrier | None) -> dict[str, Any]:
        """w and b, the mean complementarity mu, the residual of w = Z'a, and the rows that take part."""
        barrier = self.barrier if before is None else before
        if barrier is None:
            return {"step": "predictor and corrector"}
        return {
            "step": "predictor and corrector", "w": barrier.u.copy(), "barrier": barrier.mu,
            "residual": float(np.linalg.norm(barrier.residual())), "gap_seen": barrier.gap,
            "active": barrier.a.shape[1], "closed": self.barrier is not barrier,
        }  # fmt: skip

    # ---- the contract of a run ----------------------------------------------------------------------------

    def reached(self) -> bool:
        """Whether the gap is within tol."""
        return self.gap <= self.limit()

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.a))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, int(self.near.sum()))

    def point(self) -> Point:
        """The duals, the intercept, and w; those of the barrier if it is still running."""
        if self.barrier is not None:
            self.close_barrier()
        coef = self.u.copy()
        if self.free:
            coef[-1] = 0.0
        return Point(self.a, float(self.u[-1]) if self.free else 0.0, coef)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found a wider gap than the run did: aim at a smaller one."""
        self.tol *= 0.3

    def count(self) -> Counter:
        """Rounds, and the largest number of rows that took part."""
        return Counter(self.counters)
