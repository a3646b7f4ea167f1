"""Primal-dual interior point in the duals of a kernel machine: one Cholesky factor of K + 1/theta per step.

    f = K a + b,     f + p + d a - z + v = 0,     (a - lo) z = mu,     (hi - a) v = mu,     sum_i a_i = balance

Eliminating z and v leaves, with theta = 1 / (d + z/(a - lo) + v/(hi - a)),

    (K + 1/theta) da + db = r,     sum_i da_i = balance - sum_i a_i,     r = -(f + p + d a) + mu/(a - lo) - mu/(hi - a)

SMO moves two duals at a time, and needs millions of steps where kernel values are large and features have unequal
scales. Interior point takes some dozens of steps for any kernel, at n^3/3 multiplications each. A row with e > 0 has
two duals, one for each side of its flat part: two layers over the same samples, whose thetas add (Fine and Scheinberg
2001).
"""

from __future__ import annotations

import numpy as np

from ...model.normal_equations import factor_matrix
from ...model.problem import Problem
from ...runtime.scipy_functions import LinAlgError, cho_solve
from .barrier import BOUNDARY_STEP_SHARE, CORRECTOR_LIMIT_FACTOR, Barrier, scale_to_balance, split_layers

RELATIVE_JITTERS = (0.0, 1e-14, 1e-12, 1e-10)  # of the diagonal, added where rounding has left the matrix indefinite
MAX_FREE_DUALS = 600  # largest number of free duals for which a separate linear system is solved
MAX_CORRECTIONS = 4  # of the free duals, once the others are at their bounds


class KernelBarrier:
    """Duals strictly between all bounds, and steps towards the optimum.

    Arrays of duals have one row for each side of a loss; `owner` says to which intercept a row belongs. The nu machines
    have two intercepts, each with its own balance.
    """

    def __init__(self, problem: Problem, K: np.ndarray):
        self.K, self.diagonal, self.free = K, np.diag(K).copy(), problem.balance is not None
        self.layers = len(np.atleast_2d(problem.y))
        self.balance = np.zeros(self.layers) + (problem.balance if self.free else 0.0)
        self.p, self.d, self.lo, self.hi = split_layers(problem.row)
        self.owner = np.arange(len(self.p)) % self.layers if self.layers > 1 else np.zeros(len(self.p), int)
        self.moving = self.hi > self.lo
        self.shared = self.moving.sum(axis=0) > 1
        self.below, self.above = np.isfinite(self.lo) & self.moving, np.isfinite(self.hi) & self.moving
        self.bounded = max(int(self.below.sum() + self.above.sum()), 1)
        self.b, self.scale = np.full(self.layers, problem.centre if self.free else 0.0), problem.scale
        self.start()

    def start(self) -> None:
        """Balanced duals between their bounds, scaled to maximise D; multipliers of the scale of the scores."""
        with np.errstate(over="ignore"):
            reach = 0.5 * np.minimum(self.hi - self.lo, self.scale / np.maximum(self.d, 1e-300))
        a = np.where(self.below, self.lo + reach, np.where(self.above, self.hi - reach, 0.0))
        a = np.where(self.moving, a, self.lo)
        if self.free:
            for layer, balance in enumerate(self.balance):
                a[self.owner == layer] = scale_to_balance(a[self.owner == layer], balance)
        if not self.balance.any():
            total = a.sum(axis=0)
            gain, cost = -float(np.sum(self.p * a)), float(total @ self.K @ total + np.sum(self.d * a * a))
            a = a * (min(1.0, gain / cost) if gain > 0 and cost > 0 else 1.0)
        self.z, self.v = self.scale * self.below, self.scale * self.above
        self.place(a)

    def place(self, a: np.ndarray) -> None:
        """Move to the duals `a`, and compute their distances from the bounds and their scores."""
        self.a = a
        # A missing bound counts as a constant distance of one with a multiplier of zero.
        with np.errstate(invalid="ignore"):
            self.low = np.where(self.below, a - self.lo, 1.0)
            self.high = np.where(self.above, self.hi - a, 1.0)
        self.scores = self.K @ a.sum(axis=0)

    def collect(self, values: np.ndarray) -> np.ndarray:
        """The sums of the rows that belong to each intercept."""
        return np.stack([values[self.owner == layer].sum(axis=0) for layer in range(self.layers)])

    @property
    def missing(self) -> np.ndarray:
        """balance - sum_i a_i of each intercept."""
        return self.balance - self.collect(self.a).sum(axis=1)

    # ---- a step -------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Mehrotra's predictor and corrector with one factor."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            stiff = self.d + self.z / self.low + self.v / self.high
            self.theta = np.where(self.moving, 1.0 / np.maximum(stiff, 1e-300), 0.0)
            self.factor()
            mu = self.complementarity(0.0, 0.0, 0.0, 0.0)
            still = -(self.scores + self.b[self.owner][:, None] + self.p + self.d * self.a)
            _, da, dz, dv = self.move(still, 0.0, 0.0)
            ahead = self.complementarity(self.longest(da, dz, dv), da, dz, dv)
            target = (ahead / mu) ** 3 * mu if mu > 0 else 0.0
            # Mehrotra's second-order term misleads where it is many times the target itself (Gondzio 1996).
            rise = np.where(
                self.below,
                np.clip(target - da * dz, -CORRECTOR_LIMIT_FACTOR * target, CORRECTOR_LIMIT_FACTOR * target),
                0.0,
            )
            fall = np.where(
                self.above,
                np.clip(target + da * dv, -CORRECTOR_LIMIT_FACTOR * target, CORRECTOR_LIMIT_FACTOR * target),
                0.0,
            )
            db, da, dz, dv = self.move(still + rise / self.low - fall / self.high, rise, fall)
            t = min(1.0, BOUNDARY_STEP_SHARE * self.longest(da, dz, dv))
        self.b, self.z, self.v = self.b + t * db, self.z + t * dz, self.v + t * dv
        low, high = self.low + t * da * self.below, self.high - t * da * self.above
        self.place(self.a + t * da)
        self.low, self.high = low, high  # recomputed from a, rounding could make them zero

    def move(self, right: np.ndarray, rise, fall) -> tuple:
        """The step of b, a, z and v for the right-hand sides of the three equations."""
        pushed = (self.theta * right).sum(axis=0) / self.total
        da = self.spread(self.solve(pushed), right - pushed)
        db = np.zeros(self.layers)
        if self.free:
            db = np.linalg.lstsq(self.schur_complement, self.missing - self.collect(da).sum(axis=1), rcond=None)[0]
            da = da - self.spread(db @ self.pulled, db[self.owner][:, None] - db @ self.own / self.total)
        return db, da, (rise - self.z * da) / self.low - self.z, (fall + self.v * da) / self.high - self.v

    def spread(self, total: np.ndarray, beside: np.ndarray) -> np.ndarray:
        """Steps of the duals of each sample, from the step of their sum and the differences of their own conditions.

        If only one dual of a sample moves, the difference is zero, and must not become a rounding error times theta.
        """
        return self.theta / self.total * total + np.where(self.shared, self.theta * beside, 0.0)

    def factor(self) -> None:
        """The factors of K + 1/theta, and the Schur complement of the intercepts."""
        self.total = np.maximum(self.theta.sum(axis=0), 1e-300)
        for jitter in RELATIVE_JITTERS:
            matrix = self.K.copy()
            np.fill_diagonal(matrix, (self.diagonal + 1.0 / self.total) * (1.0 + jitter))
            try:
                self.factors = factor_matrix(matrix.T)  # in Fortran order, which saves a copy
                break
            except LinAlgError:
                continue
        else:
            raise FloatingPointError("The kernel matrix is not positive semidefinite.")
        if self.free:
            self.own = self.collect(self.theta)
            self.pulled = np.stack([self.solve(own / self.total) for own in self.own])
            # sum_i of theta_g (theta_h / theta - [g = h]), without cancellation, and of -theta_g pulled_h / theta
            between = (self.own / self.total) @ self.own.T
            np.fill_diagonal(between, -np.sum(self.own * (self.total - self.own) / self.total, axis=1))
            self.schur_complement = between - (self.own / self.total) @ self.pulled.T
            if not np.isfinite(self.schur_complement).all():
                raise FloatingPointError("The equations of the intercepts have overflowed.")

    def solve(self, right: np.ndarray) -> np.ndarray:
        """(K + 1/theta)^-1 right."""
        return cho_solve(self.factors, right, check_finite=False)

    def complementarity(self, t: float, da, dz, dv) -> float:
        """The mean of (a - lo) z + (hi - a) v after a step of length t."""
        low, high = self.low + t * da * self.below, self.high - t * da * self.above
        z, v = np.maximum(self.z + t * dz, 0.0), np.maximum(self.v + t * dv, 0.0)
        return float(np.sum(low * z) + np.sum(high * v)) / self.bounded

    longest = Barrier.longest

    # ---- duals at their bounds ----------------------------------------------------------------------------

    def cross_over(self) -> tuple[np.ndarray, np.ndarray]:
        """Duals and intercepts with every dual at a bound whose multiplier outweighs its distance from it.

        In units of the score: K_ii (a_i - lo_i) < z_i. The others are free, and must satisfy
        f_i + p_i + d_i a_i = 0, a linear system in them.
        """
        unit = 1.0 / np.maximum(self.diagonal, 1e-300)
        a = np.where(self.below & (self.low < unit * self.z), self.lo, self.a)
        a, b = np.where(self.above & (self.high < unit * self.v), self.hi, a), self.b
        for _ in range(MAX_CORRECTIONS):
            layer, free = np.nonzero((a > self.lo) & (a < self.hi))
            if not 0 < len(free) <= MAX_FREE_DUALS or len(np.unique(free)) < len(free):
                return self.collect(self.a), self.b  # too many free duals, or two of one sample
            p, d, lo, hi, own = (part[layer, free] for part in (self.p, self.d, self.lo, self.hi, a))
            rates = -(self.K[free] @ a.sum(axis=0) + b[self.owner[layer]] + p + d * own)
            ties = np.eye(self.layers)[self.owner[layer]] if self.free else np.zeros((len(free), 0))
            missing = self.balance - self.collect(a).sum(axis=1)
            try:
                step, db = solve_free(self.K[np.ix_(free, free)] + np.diag(d), rates, ties, missing)
            except np.linalg.LinAlgError:
                return self.collect(self.a), self.b
            a[layer, free], b = np.clip(own + step, lo, hi), b + db
        return self.collect(a), b


def solve_free(K: np.ndarray, rates: np.ndarray, ties: np.ndarray, missing: np.ndarray) -> tuple:
    """delta and db with K delta + ties db = rates and ties' delta = missing; db = 0 if `ties` is empty."""
    root, (n, m) = np.sqrt(np.maximum(np.diag(K), 1e-300)), ties.shape
    system = np.zeros((n + m, n + m))
    system[:n, :n] = K / (root[:, None] * root)  # scaled to unit diagonal, so that rows of unequal scale count alike
    system[np.arange(n), np.arange(n)] = 1.0 + RELATIVE_JITTERS[1]
    system[:n, n:] = ties / root[:, None]
    system[n:, :n] = system[:n, n:].T
    step = np.linalg.solve(system, np.append(rates / root, missing[:m]))
    return step[:n] / root, step[n:] if m else np.zeros(len(missing))
