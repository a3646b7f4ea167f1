"""Primal-dual interior point on a block of rows: Mehrotra's predictor and corrector through the d + 1 normal equations.

    R u = base + Z'a,     f + p + d a - z + v = 0,     (a - lo) z = mu,     (hi - a) v = mu

with f = Z u, z and v the multipliers of the two bounds. Eliminating a, z and v leaves

    (R + Z' diag(theta) Z) du = -(R u - base - Z'a) + Z' diag(theta) r        theta = 1 / (d + z/(a - lo) + v/(hi - a))
    da = theta (r - Z du),    r = -(f + p + d a) + mu/(a - lo) - mu/(hi - a)

A row with e > 0 has two duals, one for each side of its flat part: two layers over the same samples, whose thetas add.
"""

from __future__ import annotations

import numpy as np

from ...model.losses import PiecewiseConjugate
from ...model.normal_equations import factor_matrix, form_normal_matrix
from ...runtime.scipy_functions import LinAlgError, cho_solve

CORRECTOR_LIMIT_FACTOR = 10.0  # times the target: the largest correction of one product
BOUNDARY_STEP_SHARE = 0.995  # largest share of the distance to the nearest bound that a step covers


class Barrier:
    """A point strictly between all bounds, and steps towards the optimum."""

    def __init__(self, block, row: PiecewiseConjugate, scale: float):
        self.block, self.scale = block, scale
        self.p, self.d, self.lo, self.hi = split_layers(row)
        self.moving = self.hi > self.lo
        self.below, self.above = np.isfinite(self.lo) & self.moving, np.isfinite(self.hi) & self.moving
        self.bounded = int(self.below.sum() + self.above.sum())
        self.start_between_bounds()

    def start_between_bounds(self) -> None:
        """Balanced duals between their bounds, R u = base, and multipliers of the scale of the scores.

        Not R u = base + Z'a: features of 1e3 would begin with scores of 1e6 C, far from every multiplier. The
        residual is linear, and a full step removes it.
        """
        with np.errstate(over="ignore"):
            reach = 0.5 * np.minimum(self.hi - self.lo, self.scale / np.maximum(self.d, 1e-300))
        start = np.where(self.below, self.lo + reach, np.where(self.above, self.hi - reach, 0.0))
        self.a = np.where(self.moving, start, self.lo)
        if not self.block.ridge:
            self.a = scale_to_balance(self.a, -self.block.base[-1] / self.block.constant)
        # A missing bound counts as a constant distance of one with a multiplier of zero.
        with np.errstate(invalid="ignore"):
            self.low = np.where(self.below, self.a - self.lo, 1.0)
            self.high = np.where(self.above, self.hi - self.a, 1.0)
        self.z, self.v = self.scale * self.below, self.scale * self.above
        self.u = self.block.base.astype(float)
        self.u[-1] *= self.block.ridge
        self.f = self.block.project(self.u)

    @property
    def mu(self) -> float:
        """The mean complementarity."""
        return self.complementarity(self.low, self.high, self.z, self.v) / max(self.bounded, 1)

    @property
    def gap(self) -> float:
        """What is left of the gap: the complementarities and the residual of R u = base + Z'a."""
        gradient = self.residual()
        last = 1.0 if self.block.ridge else 1.0 / max(float(np.sum(self.theta)), 1e-12)
        return self.mu * self.bounded + 0.5 * float(gradient[:-1] @ gradient[:-1]) + 0.5 * last * gradient[-1] ** 2

    def complementarity(self, low, high, z, v) -> float:
        """sum of (a - lo) z + (hi - a) v over bounds that are finite."""
        return float(np.sum(low * z) + np.sum(high * v))

    def residual(self) -> np.ndarray:
        """R u - base - Z'a."""
        gradient = self.u - self.block.base - self.block.combine(self.a.sum(axis=0))
        gradient[-1] += (self.block.ridge - 1.0) * self.u[-1]
        return gradient

    def step(self) -> None:
        """One predictor-corrector step; if it overflows, the run notices that the gap is not a number."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.predict_and_correct()

    def predict_and_correct(self) -> None:
        """Mehrotra's two solves with one factor."""
        stiff = self.d + self.z / self.low + self.v / self.high
        theta = np.where(self.moving, 1.0 / np.maximum(stiff, 1e-300), 0.0)
        self.theta = theta
        solve = self.factor(theta.sum(axis=0))
        gradient = self.residual()
        still = -(self.f + self.p + self.d * self.a)

        def move(right: np.ndarray, rise: np.ndarray, fall: np.ndarray) -> tuple:
            pushed = theta * right
            du = solve(self.block.combine(pushed.sum(axis=0)) - gradient)
            df = self.block.project(du)
            da = theta * (right - df)
            return du, df, da, (rise - self.z * da) / self.low - self.z, (fall + self.v * da) / self.high - self.v

        mu = self.mu
        _, _, da, dz, dv = move(still, 0.0, 0.0)
        t = self.longest(da, dz, dv)
        ahead = self.complementarity(
            self.low + t * da * self.below,
            self.high - t * da * self.above,
            np.maximum(self.z + t * dz, 0.0),
            np.maximum(self.v + t * dv, 0.0),
        )
        target = (ahead / max(self.bounded, 1) / mu) ** 3 * mu if mu > 0 else 0.0
        rise, fall = np.where(self.below, target - da * dz, 0.0), np.where(self.above, target + da * dv, 0.0)
        # Mehrotra's second-order term misleads where it is many times the target itself (Gondzio 1996).
        rise, fall = (
            np.clip(rise, -CORRECTOR_LIMIT_FACTOR * target, CORRECTOR_LIMIT_FACTOR * target),
            np.clip(fall, -CORRECTOR_LIMIT_FACTOR * target, CORRECTOR_LIMIT_FACTOR * target),
        )
        du, df, da, dz, dv = move(still + rise / self.low - fall / self.high, rise, fall)
        t = min(1.0, BOUNDARY_STEP_SHARE * self.longest(da, dz, dv))
        self.u, self.f, self.a = self.u + t * du, self.f + t * df, self.a + t * da
        self.low, self.high = self.low + t * da * self.below, self.high - t * da * self.above
        self.z, self.v = self.z + t * dz, self.v + t * dv

    def longest(self, da: np.ndarray, dz: np.ndarray, dv: np.ndarray) -> float:
        """The longest step, at most 1 / BOUNDARY_STEP_SHARE, that keeps all four positive."""
        pairs = ((self.low, da * self.below), (self.high, -da * self.above), (self.z, dz), (self.v, dv))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rate = max(float(np.max(np.where(x > 0, -dx / x, 0.0), initial=0.0)) for x, dx in pairs)
        return 1.0 / max(rate, BOUNDARY_STEP_SHARE)

    def factor(self, theta: np.ndarray):
        """A function that solves with R + Z' diag(theta) Z, by Cholesky."""
        matrix = form_normal_matrix(self.block.samples, theta, self.block.constant)
        size = len(matrix)
        matrix[np.arange(size - 1), np.arange(size - 1)] += 1.0
        matrix[-1, -1] += self.block.ridge
        if matrix[-1, -1] <= 0.0:
            matrix[-1, -1] = 1.0
        for jitter in (0.0, 1e-14, 1e-11, 1e-8):
            try:
                bumped = matrix + np.diag(jitter * np.diag(matrix)) if jitter else matrix
                factor = factor_matrix(bumped, overwrite=False)
                return lambda right: cho_solve(factor, right, check_finite=False)
            except LinAlgError:
                continue
        raise FloatingPointError("The normal equations are singular.")


def scale_to_balance(a: np.ndarray, balance: float) -> np.ndarray:
    """The duals, with the heavier side scaled down so that they balance."""
    rise, fall = float(a[a > 0].sum()), -float(a[a < 0].sum())
    excess = rise - fall - balance
    side, size = (a > 0, rise) if excess > 0 else (a < 0, fall)
    return np.where(side, a * max(1.0 - abs(excess) / size, 0.05), a) if size > 0 else a


def split_layers(row: PiecewiseConjugate) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """p, d, lo, hi with one layer, or two where e > 0: above and below the flat part, with p + e and p - e."""
    if not np.any(row.e):
        return tuple(np.atleast_2d(part) for part in (row.p, row.d, row.lo, row.hi))
    lo, hi = np.minimum(row.lo, 0.0), np.maximum(row.hi, 0.0)
    zero = np.zeros_like(lo)
    return (
        np.stack([row.p + row.e, row.p - row.e]),
        np.stack([row.d, row.d]),
        np.stack([zero, lo]),
        np.stack([hi, zero]),
    )
