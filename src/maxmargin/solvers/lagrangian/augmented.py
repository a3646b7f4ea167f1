"""The proximal method of multipliers on the Lagrangian dual, with semismooth Newton steps."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from ...model.normal_equations import factor_matrix
from ...model.problem import Point, Problem
from ...runtime.scipy_functions import LinAlgError, cho_solve
from ..quadratic_program import form_kernel, restore_balance
from ..stalling import StallDetector
from .run import LagrangianRun

PENALTY_GROWTH, MAX_PENALTY = 3.0, 1e6  # growth of the penalty per round; its maximum, in units of the curvature
PROXIMAL_DECAY, MIN_PROXIMAL_WEIGHT = 0.3, 1e-12  # decay of the proximal weight per round; its minimum
MAX_NEWTON_STEPS = 60  # Newton steps per round
ROUNDS_WITHOUT_PROGRESS_LIMIT = 30  # rounds without a fall of the gap by a tenth before a run gives up
JITTER_GROWTH = 100.0  # times the proximal weight, if rounding leaves the matrix indefinite


class AugmentedRun(LagrangianRun):
    """min over a of the augmented Lagrangian, then new multipliers from its slopes, round by round.

    The two sides of a sample are taken together again: its dual a_i has the cost p a + d a^2/2 + e |a| on [lo, hi],
    and two constraints are relaxed: that a equals its copy z, which carries the kink and the bounds, with multiplier l
    (above - below of the side in use, and e with its sign); and the balance, with multiplier b = -mu. A round minimises
    over a

        1/2 a'Ka + p'a + 1/2 a'diag(d)a + sum_i min over z in [lo, hi] of (e |z| + l (a - z) + r/2 (a - z)^2)
            + b (sum a - balance) + s/2 (sum a - balance)^2 + t/2 |a - a0|^2

    with a0 the duals of the last round. The term in a0 makes the minimum unique even if K is singular; the squares are
    those of Rockafellar's proximal method of multipliers (1976), which converges for every r and t, the faster the
    larger r and the smaller t. Both are scaled per sample: with one unit, a dual that is off by the width of its box
    moves its multiplier by the scale of the scores. They begin at one unit, so that a step passes many bounds at once;
    with a large penalty at the start, a step would stop at the first bound.

    The minimum over z is at z = clip(soft(a + l/r, e/r), lo, hi), so the function is convex and piecewise quadratic.
    Newton's matrix is

        K + diag(d + t + r [z does not move with a]) + s 1 1'

    and an exact search along its step, from breakpoint to breakpoint, makes it converge in finitely many steps.
    Then l = r (a + l/r - z) and b = b + s (sum a - balance): the minimum is stationary in them, and z, which satisfies
    the bounds exactly, is the point.
    """

    def __init__(self, solver, problem: Problem, tol: float, warm: Point | None):
        super().__init__(solver, problem, tol)
        self.rows = np.flatnonzero(problem.row.hi > problem.row.lo)
        self.p, self.d, self.e, self.lo, self.hi = (part[self.rows] for part in problem.row)
        self.K, self.free = form_kernel(problem, self.rows), problem.balance is not None
        self.balance = float(problem.balance) if self.free else 0.0
        self.unit = self.d + problem.scale / (self.hi - self.lo)
        self.curvature = self.K.diagonal() + self.unit
        self.penalty_scale, self.proximal_scale, self.steps, self.stall_detector = (
            1.0,
            1.0,
            0,
            StallDetector(ROUNDS_WITHOUT_PROGRESS_LIMIT),
        )
        self.begin(warm)

    def begin(self, warm: Point | None) -> None:
        """At zero, or at a point with the multipliers that make it stationary."""
        # A dual is stored as its nearest anchor (a bound or zero) and its distance from there: the penalty multiplies
        # the distance by up to 1e6 K_ii, which would blow up the rounding error of a itself.
        self.anchor, self.shift, self.multiplier = (np.zeros(len(self.rows)) for _ in range(3))
        self.b = self.problem.centre if self.free else 0.0
        if warm is not None:
            self.shift = np.clip(warm.a[self.rows], self.lo, self.hi)
            self.b = float(warm.b) if self.free else 0.0
            self.multiplier = -(self.K @ self.shift + self.p + self.d * self.shift + self.b)
            self.reanchor()
        self.last_a, self.last_b = self.anchor + self.shift, self.b
        self.z = np.clip(self.last_a, self.lo, self.hi)
        self.best = self.here()
        self.primal, self.dual = self.evaluate(self.best)

    # ---- rounds and steps ---------------------------------------------------------------------------------

    def take_step(self) -> None:
        """One Newton step; after the last of a round, a gap check and new multipliers."""
        done = self.take_newton_step()
        self.steps += 1
        if done or self.steps >= MAX_NEWTON_STEPS:
            self.check_gap()
            self.begin_round()

    def check_gap(self) -> None:
        """Keep the point if its gap is the smallest so far."""
        point = self.here()
        primal, dual = self.evaluate(point)
        if abs(primal - dual) <= abs(self.gap):
            self.best, self.primal, self.dual = point, primal, dual
        self.ended |= self.stall_detector.is_stalled(primal - dual)

    def begin_round(self) -> None:
        """Set the multipliers that make the last minimum stationary, a larger penalty and a smaller proximal weight."""
        self.multiplier = self.respond(self.shift)[1]
        self.last_a, self.last_b = self.anchor + self.shift, self.b
        self.penalty_scale, self.proximal_scale = (
            PENALTY_GROWTH * self.penalty_scale,
            PROXIMAL_DECAY * self.proximal_scale,
        )
        self.steps = 0
        self.counters["rounds"] += 1

    def take_newton_step(self) -> bool:
        """Move a and b to the minimum along Newton's step; True if that is the minimum of the round."""
        a = self.anchor + self.shift
        _, multiplier, moving = self.respond(self.shift)
        gradient = self.K @ a + self.p + self.d * a + multiplier + self.b + self.proximal_weights * (a - self.last_a)
        step = self.solve_newton(gradient, moving, a)
        if step is None:
            self.ended = True
            return True
        da, db = step
        share = self.search(da, db, gradient, multiplier)
        self.shift, self.b = self.shift + share * da, self.b + share * db
        self.z, _, still = self.respond(self.shift)
        self.reanchor()
        return share == 1.0 and np.array_equal(still, moving)

    def solve_newton(self, gradient: np.ndarray, moving: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, float] | None:
        """(H + s 1 1') da = -gradient and db = s sum da, through H da + 1 db = -gradient, sum da - db/s = missing.

        In that form s may be large without harm, and b is never computed as s times a rounding error of sum a.
        """
        diagonal = self.d + self.proximal_weights + np.where(moving, 0.0, self.penalty_weights)
        factor = self.factorise(diagonal)
        if factor is None:
            return None
        if not self.free:
            return -cho_solve(factor, gradient, check_finite=False), 0.0
        right = np.column_stack([-gradient, np.ones(len(a))])
        plain, tilt = cho_solve(factor, right, check_finite=False).T
        give = 1.0 / float(self.penalty_weights.mean())
        excess = float(a.sum()) - self.balance - give * (self.b - self.last_b)
        db = (float(plain.sum()) + excess) / (give + float(tilt.sum()))
        return plain - db * tilt, db

    def factorise(self, diagonal: np.ndarray):
        """Cholesky factors of K + diag(diagonal); with a larger diagonal if rounding makes that indefinite."""
        extra = 0.0
        for _ in range(6):
            H = np.array(self.K.T)  # K itself, in the order that LAPACK expects
            H[np.diag_indices(len(H))] += diagonal + extra
            try:
                return factor_matrix(H, lower=True)
            except LinAlgError:
                extra = JITTER_GROWTH * np.maximum(extra, self.proximal_weights)
        return None

    @property
    def penalty_weights(self) -> np.ndarray:
        """r of each sample."""
        return np.minimum(self.penalty_scale * self.unit, MAX_PENALTY * self.curvature)

    @property
    def proximal_weights(self) -> np.ndarray:
        """t of each sample."""
        return np.maximum(self.proximal_scale * self.unit, MIN_PROXIMAL_WEIGHT * self.curvature)

    # ---- bounds and kinks ---------------------------------------------------------------------------------

    def respond(self, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z = clip(soft(a + l/r, e/r), lo, hi), the new l = r (a + l/r - z), and where z moves with a."""
        r = self.penalty_weights
        kink = self.e / r
        shift = shift + self.multiplier / r
        x = self.anchor + shift
        over, under = (self.anchor - self.hi) + shift - kink, (self.anchor - self.lo) + shift + kink
        z = np.where(over >= 0, self.hi, np.where(under <= 0, self.lo, x - np.clip(x, -kink, kink)))
        inner = np.clip(r * x, -self.e, self.e)
        multiplier = np.where(over >= 0, self.e + r * over, np.where(under <= 0, r * under - self.e, inner))
        return z, multiplier, (over < 0) & (under > 0) & ((self.e == 0) | (np.abs(x) > kink))

    def reanchor(self) -> None:
        """Measure every dual from the bound it is nearest to, or from zero."""
        a = self.anchor + self.shift
        near = np.where(np.abs(a - self.lo) < np.abs(a), self.lo, 0.0)
        near = np.where(np.abs(a - self.hi) < np.abs(a), self.hi, near)
        self.shift, self.anchor = (self.anchor - near) + self.shift, near

    def search(self, da: np.ndarray, db: float, gradient: np.ndarray, multiplier: np.ndarray) -> float:
        """The share of the step at which the slope along it, piecewise linear and increasing, passes zero."""
        start = float(da @ (gradient - multiplier))
        second_derivative = (
            float(da @ (self.K @ da)) + float((self.d + self.proximal_weights) @ (da * da)) + db * float(da.sum())
        )

        def slope(share: float) -> float:
            return start + share * second_derivative + float(da @ self.respond(self.shift + share * da)[1])

        if slope(1.0) <= 1e-8 * abs(float(da @ gradient)):
            return 1.0
        r = self.penalty_weights
        ahead = self.shift + self.multiplier / r
        edges = (self.lo - self.e / r, -self.e / r, self.e / r, self.hi + self.e / r)
        with np.errstate(divide="ignore", invalid="ignore"):
            breaks = np.concatenate([((edge - self.anchor) - ahead) / da for edge in edges])
        breaks = np.concatenate([[0.0], np.sort(breaks[(breaks > 0) & (breaks < 1)]), [1.0]])
        after = bisect_left(breaks, 0.0, lo=1, hi=len(breaks) - 1, key=slope)
        left, right = float(breaks[after - 1]), float(breaks[after])
        low, high = slope(left), slope(right)
        return left - (right - left) * low / (high - low) if high > low else right

    # ---- the point ----------------------------------------------------------------------------------------

    def here(self) -> Point:
        """z, which satisfies the bounds, corrected to balance, and b."""
        a = np.zeros(self.problem.n)
        a[self.rows] = self.z
        return Point(restore_balance(self.problem, a), self.b)

    def point(self) -> Point:
        """The best point at the end of a round so far."""
        return self.best

    def mark_step(self) -> int:
        """Rounds so far."""
        return int(self.counters["rounds"])

    def describe_step(self, before: int) -> dict[str, Any]:
        """The multipliers, the scales of penalty and proximal term, and how far a is from z and from its balance."""
        a = self.anchor + self.shift
        return {
            "step": "newton" if self.counters["rounds"] == before else "newton, then new multipliers",
            "mu": -self.b, "multipliers": self.multiplier, "penalty": self.penalty_scale,
            "proximity": self.proximal_scale, "residual": float(np.abs(a - self.z).max(initial=0.0)),
            "imbalance": self.balance - float(a.sum()) if self.free else 0.0,
        }  # fmt: skip
