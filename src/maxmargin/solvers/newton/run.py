"""A run of Newton's method: steps on all rows while many are curved, then on the rows near their kinks."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

from ...contracts.solvers import Run
from ...model.problem import Point, Problem
from ..result import Outcome, Progress
from ..stalling import StallDetector
from .block import EXPONENTIAL_WALL_FACTOR, LINE_SEARCH_SLOPE_SHARE, RowBlock
from .oracle import RowOracle, make_term_oracle
from .system import DrawnRows

WIDTH_FACTOR = 0.2  # by which the width of the kinks falls once a width is solved
MIN_RELATIVE_WIDTH = 1e-14  # of the scale of the scores: narrower kinks are lost in rounding
SOLVED_GRADIENT_SHARE = 0.3  # of the gap: the largest part due to the gradient when a width counts as solved
NEAR_MOVE_FACTOR = 3.0  # times its last move: a row whose score is this near to its kink takes part
NEAR_ROWS_MAX_SHARE = 0.4  # share of the rows below which steps use only those near their kinks
MAX_NEAR_STEPS = 25  # Newton steps on the near rows before all rows are evaluated again
MAX_STRAYED_ROUNDS = 8  # rounds in which these did not suffice, before a hasty run gives up
# with at least so many rows, one row in 8, sampled at random, is solved first
COARSE_START_MIN_ROWS, COARSE_ROW_RATIO = 8_000, 8
COARSE_TOL = 2e-3  # relative gap to which the sampled rows are solved
# A Newton step that leaves a share s of the gap is followed by one with the same matrix that leaves about 4 s. It costs
# a pass over the rows, and is taken where one is expected to suffice.
KEPT_MATRIX_FACTOR, MAX_KEPT_SHARE = 4.0, 0.1
ROUNDS_WITHOUT_PROGRESS_LIMIT = 40  # rounds without a fall of the gap by a tenth before a run gives up


class NewtonRun(Run):
    """Newton's method for smooth losses; for kinked ones within the method of multipliers."""

    def __init__(self, solver, problem: Problem, tol: float, warm: Point | None, depth: int = 0):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.free = problem.balance is not None
        self.balance = float(problem.balance) if self.free else 0.0
        features = problem.features
        self.constant = 1.0 if self.free else features.scaling
        self.kinked = problem.kinked
        self.n_iter, self.stall_detector = 0, StallDetector(ROUNDS_WITHOUT_PROGRESS_LIMIT)
        self.counters = Counter(rounds=0, widths=0)
        self.moves: np.ndarray | None = None
        self.strayed, self.takes_full_steps = 0, False
        self.next_share = np.inf  # of the gap, that a step with the last matrix is expected to leave
        self.scale = problem.scale
        base = np.zeros(features.samples.d + 1)
        base[-1] = -self.balance if self.free else 0.0
        self.whole = RowBlock(features.samples, self.make_oracle(), self.constant, 0.0 if self.free else 1.0, base)
        self.coarse = None if warm is not None or depth > 3 else self.start_coarse(depth)
        if self.coarse is None:
            self.begin(warm)

    def make_oracle(self):
        """The rows, with proximal terms if they have kinks."""
        if self.problem.row is None:
            return make_term_oracle(self.problem.terms)
        width = 2.0 * self.scale if self.kinked else 0.0
        return RowOracle(self.problem.row, np.zeros(self.problem.n), width)

    # ---- where to start -----------------------------------------------------------------------------------

    def start_coarse(self, depth: int) -> NewtonRun | None:
        """A run on an eighth of the rows, with larger weights, if there are many rows per feature."""
        n, d = self.problem.n, self.whole.samples.d
        if n < COARSE_START_MIN_ROWS or n < 80 * COARSE_ROW_RATIO * d:
            return None
        kept = np.sort(np.random.default_rng(0).choice(n, n // COARSE_ROW_RATIO, replace=False))
        kept = kept[self.problem.c[kept] > 0]
        part = Problem(
            self.problem.features.subset(kept), self.problem.y[kept], self.problem.c[kept] * (n / len(kept)),
            self.problem.loss, self.problem.balance,
        )  # fmt: skip
        run = NewtonRun(self.solver, part, max(COARSE_TOL, self.tol), None, depth + 1)
        self.whole.drawn = DrawnRows(kept, run.whole.samples, n / len(kept))
        return run

    def begin(self, warm: Point | None) -> None:
        """Start at the warm point, or at zero with the intercept that suits w = 0."""
        u = np.zeros(self.whole.samples.d + 1)
        if warm is not None:
            u[:] = self.problem.expand_start(warm)
            if self.free:
                u[-1] = float(warm.b)
            if self.kinked:
                self.whole.oracle.a0 = np.array(self.problem.feasible(warm.a))
        elif self.free:
            u[-1] = self.problem.centre
        f = self.whole.project(u) if warm is not None else np.full(self.problem.n, self.constant * u[-1])
        self.whole.place(u, f)
        if warm is None and not self.kinked:
            self.balance_duals()
        if warm is not None and self.kinked:
            self.set_width_from_gap()

    def start_from(self, coarse: NewtonRun) -> None:
        """Go on from the solution of an eighth of the rows, with its width of the kinks."""
        u = coarse.whole.u
        if self.kinked:
            row, oracle = self.whole.oracle.row, self.whole.oracle
            oracle.a0 = 0.5 * (row[3] + row[4])
            oracle.width = coarse.whole.oracle.width
        self.n_iter += coarse.n_iter
        self.coarse = None
        self.whole.place(u, self.whole.project(u))

    def set_width_from_gap(self) -> None:
        """Kinks as wide as the gap of the warm start suggests: a gap grows with the square of the width."""
        relative = self.gap / max(abs(self.primal), 1e-300)
        self.whole.oracle.width = 2.0 * self.scale * float(np.clip(2.0 * np.sqrt(max(relative, 0.0)), 1e-6, 1.0))
        self.whole.place(self.whole.u, self.whole.f)

    # ---- steps --------------------------------------------------------------------------------------------

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Rounds for about `seconds`, at most `max_steps` Newton steps."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        if self.coarse is not None:
            outcome = self.coarse.advance(max_steps, seconds)
            if outcome is Outcome.GOING and self.coarse.n_iter < max_steps:
                return Outcome.GOING
            self.start_from(self.coarse)
        while True:
            if self.reached():
                self.balance_duals()
                if self.reached():
                    return Outcome.DONE
            if self.kinked and self.is_solved():
                self.reduce_width()
                continue
            if self.n_iter >= last or time.perf_counter() >= end:
                return Outcome.GOING
            self.take_round(last - self.n_iter)
            if self.is_stuck():
                return Outcome.STALLED
            if self.strayed >= MAX_STRAYED_ROUNDS and self.solver.hasty:
                return Outcome.STALLED

    def take_round(self, steps: int) -> None:
        """One Newton step on all rows, or several on those near their kinks; then all rows are evaluated again."""
        whole = self.whole
        near, kept, gap = self.choose_near(), self.can_keep_matrix(), self.gap
        self.counters["rounds"] += 1
        if near is None:
            step = whole.repeat_step() if kept else whole.find_step(self.damping(whole), self.accuracy())
            self.n_iter += 1
        else:
            step = self.solve_near(near, steps)
        self.move_along(step)
        self.next_share = (1.0 if kept else KEPT_MATRIX_FACTOR) * self.gap / gap if gap > 0.0 else np.inf

    def can_keep_matrix(self) -> bool:
        """Whether one more step with the matrix of the last one is expected to suffice."""
        share, limit = self.next_share, self.tol * abs(self.primal)
        if self.whole.factors is None or self.whole.response.slack is not None or not 0.0 < share <= MAX_KEPT_SHARE:
            return False
        return self.gap * share <= limit

    def move_along(self, step: np.ndarray) -> None:
        """To where a search along the step ends, if phi is no larger there."""
        whole = self.whole
        move = whole.project(step)
        before, origin = whole.value, (whole.u, whole.f)
        if self.takes_full_steps and self.take_full_step(step, move, before):
            return
        for steep in (LINE_SEARCH_SLOPE_SHARE, 1e-3 * LINE_SEARCH_SLOPE_SHARE):
            t = whole.search(step, move, steep)
            self.moves = np.abs(t * move)
            whole.place(origin[0] + t * step, origin[1] + t * move)
            fallen = whole.value <= before + 1e-9 * abs(before)
            if fallen:
                self.takes_full_steps = t == 1.0
                break
            whole.place(*origin)
        if not fallen:  # the step was so long that rounding errors dominate at its end
            self.moves = None
            self.stall_detector.count(progressed=False, looks=5)

    def take_full_step(self, step: np.ndarray, move: np.ndarray, before: float) -> bool:
        """Whether the step as it is ends where a search along it would: then the rows are evaluated once, not twice."""
        whole, slope, origin = self.whole, float(self.whole.gradient @ step), (self.whole.u, self.whole.f)
        whole.place(origin[0] + step, origin[1] + move)
        flat = abs(float(whole.gradient @ step)) <= LINE_SEARCH_SLOPE_SHARE * abs(slope)
        if flat and whole.value <= before + 1e-9 * abs(before):
            self.moves = np.abs(move)
            return True
        whole.place(*origin)
        return False

    def choose_near(self) -> np.ndarray | None:
        """The rows that are curved or may soon be, those within NEAR_MOVE_FACTOR moves of their kink; None for all."""
        slack = self.whole.response.slack
        if slack is None or self.moves is None:
            return None
        near = np.flatnonzero(slack <= NEAR_MOVE_FACTOR * self.moves)
        return near if len(near) < NEAR_ROWS_MAX_SHARE * len(slack) else None

    def solve_near(self, near: np.ndarray, steps: int) -> np.ndarray:
        """The total of several Newton steps on some rows, with the duals of all others fixed.

        A row whose dual is at a bound is linear there and convex everywhere. The other rows are replaced by their
        tangents, so the total is a descent direction for all rows too, and a line search along it cannot fail.
        """
        whole = self.whole
        oracle = whole.oracle.take(near)
        block = RowBlock(whole.samples.take(near), oracle, whole.constant, whole.ridge, whole.base)
        block.base = whole.base + whole.pulled - block.combine(whole.response.a[near])
        block.place(whole.u, whole.f[near])
        enough = 0.1 * SOLVED_GRADIENT_SHARE * max(self.gap, 0.1 * self.tol * abs(self.primal))
        for _ in range(min(MAX_NEAR_STEPS, steps)):
            step = block.find_step(self.damping(block), self.accuracy())
            move = block.project(step)
            t = block.search(step, move)
            block.place(block.u + t * step, block.f + t * move)
            self.n_iter += 1
            if self.gradient_gap(block) <= enough:
                return block.u - whole.u
        self.strayed += 1
        return block.u - whole.u

    def damping(self, block: RowBlock) -> float:
        """Added to the curvature of a free intercept, so that it moves by at most ten times the scale of the scores."""
        return abs(block.gradient[-1]) / (10.0 * self.scale) + 1e-14 if self.free else 0.0

    def accuracy(self) -> float:
        """The accuracy of conjugate gradients: higher as the gap closes."""
        return float(np.clip(0.1 * np.sqrt(abs(self.gap) / max(abs(self.primal), 1e-300)), 1e-3, 0.1))

    def reduce_width(self) -> None:
        """The method of multipliers: the duals found are the centres of narrower proximal terms."""
        oracle = self.whole.oracle
        oracle.a0, oracle.width = self.whole.response.a, oracle.width * WIDTH_FACTOR
        self.counters["widths"] += 1
        self.whole.place(self.whole.u, self.whole.f)

    def balance_duals(self) -> None:
        """Move the intercept until the duals sum to the balance: Newton's method in one variable."""
        if not self.free:
            return
        whole, ones = self.whole, np.ones(self.problem.n)
        if abs(whole.response.total - self.balance) <= 1e-13 * np.abs(whole.response.a).sum():
            return
        low, high, shift, last = -np.inf, np.inf, 0.0, np.inf
        wall = EXPONENTIAL_WALL_FACTOR * abs(whole.response.total - self.balance)
        for _ in range(100):
            total, second_derivative = whole.oracle.directional_derivative(whole.f, ones, shift)
            missing = total - self.balance
            if abs(missing) <= 1e-15 * np.abs(whole.response.a).sum():
                break
            low, high = (shift, high) if missing > 0 else (low, shift)
            shift = (
                shift + missing / second_derivative
                if 0 < second_derivative < np.inf
                else shift + np.sign(missing) * self.scale
            )
            # Down the wall of an exponential a Newton step has length one: halve the bracket there.
            crawling = (abs(missing) > 0.5 * last or abs(missing) > wall) and np.isfinite(high - low)
            if crawling or not low < shift < high:
                shift = 0.5 * (low + high)
            last = abs(missing) if np.isfinite(missing) else np.inf
        u = whole.u.copy()
        u[-1] += shift
        whole.place(u, whole.f + shift)

    # ---- distance from the optimum ------------------------------------------------------------------------

    @property
    def primal(self) -> float:
        """P at u."""
        u, ridge = self.whole.u, self.whole.ridge
        return 0.5 * float(u[:-1] @ u[:-1] + ridge * u[-1] ** 2) + self.whole.response.losses + self.balance * (
            u[-1] if self.free else 0.0
        )  # fmt: skip

    @property
    def dual(self) -> float:
        """D at the duals, with b fixed: b times the imbalance of the duals is subtracted."""
        pulled, response = self.whole.pulled, self.whole.response
        norm = float(pulled[:-1] @ pulled[:-1]) + (0.0 if self.free else pulled[-1] ** 2)
        price = self.whole.u[-1] * (response.total - self.balance) if self.free else 0.0
        return -0.5 * norm - response.conjugates - price

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    def gradient_gap(self, block: RowBlock) -> float:
        """What the gradient adds to the gap: |g|^2 / 2, that of a free intercept over its curvature."""
        slope, tail = block.gradient[:-1], float(block.gradient[-1])
        last = 1.0 if not self.free else max(float(block.response.second_derivative.sum()), 1e-12)
        return 0.5 * float(slope @ slope) + 0.5 * tail * tail / last

    def reached(self) -> bool:
        """Whether the gap and the intercept's part in it are within tol."""
        limit = self.tol * max(abs(self.primal), abs(self.dual), self.problem.floor)
        tail = abs(self.whole.gradient[-1]) * self.scale if self.free else 0.0
        return self.gap <= 0.9 * limit and tail <= 1e2 * limit

    def is_solved(self) -> bool:
        """Whether the gradient is a small part of the gap: what is left is the width of the kinks."""
        return (
            self.gradient_gap(self.whole) <= SOLVED_GRADIENT_SHARE * self.gap
            and self.whole.oracle.width > MIN_RELATIVE_WIDTH * self.scale
        )

    def is_stuck(self) -> bool:
        """Whether the gap has not fallen by a tenth for ROUNDS_WITHOUT_PROGRESS_LIMIT rounds."""
        return self.stall_detector.is_stalled(self.gap) or not np.isfinite(self.gap)

    # ---- what a trace asks --------------------------------------------------------------------------------

    def mark_step(self) -> np.ndarray | None:
        """w and b before the step; None while an eighth of the rows is solved."""
        return None if self.coarse is not None else self.whole.u.copy()

    def describe_step(self, before: np.ndarray | None) -> dict[str, Any]:
        """w and b, how far they moved, the gradient there, the rows with curvature, and the width of the kinks."""
        if self.coarse is not None:
            return {"step": "on some of the rows", "samples": self.coarse.problem.n}
        whole = self.whole
        moved = 0.0 if before is None else float(np.linalg.norm(whole.u - before))
        width = {"width": float(whole.oracle.width)} if self.kinked else {}
        return {
            "step": "newton", "w": whole.u.copy(), "moved_by": moved, "gradient": whole.gradient.copy(),
            "gradient_norm": float(np.linalg.norm(whole.gradient)), "curved": int(whole.response.curved), **width,
        }  # fmt: skip

    # ---- the contract of a run ----------------------------------------------------------------------------

    @property
    def a(self) -> np.ndarray:
        """The duals."""
        return np.zeros(self.problem.n) if self.coarse is not None else self.whole.response.a

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.a))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        run = self if self.coarse is None else self.coarse
        if run.coarse is not None:
            return run.progress(seconds)
        return Progress(run.n_iter, seconds, run.primal, run.dual, run.whole.response.curved)

    def point(self) -> Point:
        """The duals, the intercept, and w."""
        if self.coarse is not None:
            self.coarse.point()
            self.start_from(self.coarse)
        self.balance_duals()
        u = self.whole.u
        coef = u.copy()
        if self.free:
            coef[-1] = 0.0
        return Point(self.whole.response.a, float(u[-1]) if self.free else 0.0, coef)

    def refresh(self, scores: np.ndarray) -> None:
        """Take over the judge's exact scores."""
        shift = self.whole.u[-1] if self.free else 0.0
        self.whole.place(self.whole.u, scores + shift)

    def count(self) -> Counter:
        """Rounds over all rows, and widths."""
        return Counter(self.counters)
