"""Cases of `minimize`: convex functions with a known minimum."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from exact_numbers import HALF, ZERO, cut_planes, exact, total

import maxmargin as mm
from claims.claim import Case, Claim
from claims.sampled_data import FIT_SECONDS, draw_power

METHODS = ["cutting-plane", "cutting-plane-line-search", "proximal-bundle", "trust-region-bundle", "level-bundle"]


@dataclass
class Bound:
    """What `minimize` claims, under the names of a certificate."""

    primal: float
    dual: float
    gap: float
    relative_gap: float
    rounding: float = 0.0
    floor: float = 1.0
    convex: bool = True


class Oracle:
    """max_k <g_k, x> + o_k or sum_j s_j |x_j - t_j|, each value rounded once; the largest value is kept."""

    def __init__(self, slopes: np.ndarray, offsets: np.ndarray, absolute: bool):
        self.slopes, self.offsets, self.absolute, self.largest_value = exact(slopes), exact(offsets), absolute, ZERO

    def evaluate(self, x: np.ndarray) -> tuple[Decimal, np.ndarray]:
        """The exact value and a subgradient."""
        if self.absolute:
            return total(self.slopes * abs(x - self.offsets)), np.where(x > self.offsets, self.slopes, -self.slopes)
        heights = self.slopes @ x + self.offsets
        best = max(range(len(heights)), key=lambda k: heights[k])
        return heights[best], self.slopes[best]

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and subgradient in float64, as `minimize` expects them."""
        value, slope = self.evaluate(exact(x))
        self.largest_value = max(self.largest_value, abs(value))
        return float(value), slope.astype(float)


def try_minimize(rng: np.random.Generator, case: Case) -> None:
    """minimize: a maximum of planes with a ridge, or weighted distances in a box, with minimum zero."""
    drawn, absolute, d = case.drawn, bool(rng.random() < 0.4), int(rng.integers(1, 4))
    method, tol = str(rng.choice(METHODS)), draw_power(rng, -10, -2)
    shape, size = (d,) if absolute else (int(rng.integers(2, 8)), d), draw_power(rng, -4, 4)
    slopes = size * (np.abs(rng.normal(size=shape)) if absolute else rng.normal(size=shape))
    offsets = rng.normal(size=d if absolute else len(slopes)) * draw_power(rng, -3, 3)
    ridge = 0.0 if absolute else draw_power(rng, -4, 4)
    reach = float(np.abs(offsets).max()) + 1.0
    oracle = Oracle(slopes, offsets, absolute)
    drawn.update(method=method, tol=tol, absolute=absolute, d=d, size=size, ridge=ridge)
    found = mm.minimize(
        oracle, rng.normal(size=d), method, ridge=ridge, tol=tol, max_seconds=FIT_SECONDS,
        bounds=(-reach, reach) if absolute else None,
    )  # fmt: skip
    x, weight = exact(found.x), Decimal(ridge)
    value = oracle.evaluate(x)[0] + HALF * weight * total(x * x)

    def least() -> Decimal:
        if absolute:
            return ZERO
        scaled = lambda v: tuple(part / weight for part in oracle.evaluate(v))  # noqa: E731
        return weight * cut_planes(scaled, [x], np.zeros(d, bool))[0]

    share = found.gap / max(1.0, abs(found.fun), abs(found.lower_bound)) if np.isfinite(found.gap) else np.inf
    bound = Bound(found.fun, found.lower_bound, found.gap, share)
    slack = (oracle.largest_value + abs(value)) * Decimal(2) ** -51  # no method can see what the rounded values hide
    case.claims.append(Claim(bound, {"x": value}, least, tol=tol, status=found.status, slack=slack))
