"""The best intercept of given scores, and duals that balance: b minimised out of the risk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .loss_oracle import LossResponse

INTERCEPT_TOLERANCE_SHARE = 2e-2  # of the tolerance may be lost where the intercept is not at its very best
MAX_FALSE_POSITION_STEPS = 100  # of false position


class InterceptMinimum(NamedTuple):
    """The risk at some scores, the best intercept, the duals, the offset of the cut, and what is kept of the duals."""

    value: float
    b: float
    a: np.ndarray
    offset: float
    kept: list


class Intercept:
    """argmin over b of sum_i c_i l(f_i + b) + balance b.

    Its slope is balance - sum_i a_i(f + b), which rises with b and may jump over zero. Then the answers on both sides
    of the jump, mixed so that they balance, are a subgradient of the minimum over b.
    """

    def __init__(self, loss_oracle, balance: float, scale: float):
        self.loss_oracle, self.balance, self.scale = loss_oracle, balance, scale
        self.last, self.width, self.risk = 0.0, 1.0, scale  # the last b, how far it moved, and the risk there

    def minimise_intercept(self, f: np.ndarray, near: float, tol: float) -> InterceptMinimum:
        """The best intercept, the risk there, and duals that balance."""
        low, high = self.bracket(f, near, tol)
        places = (low, high) if low < high else (low,)
        ends = [self.loss_oracle.loss_response(f, b) for b in places]
        values = [loss_response.value + self.balance * b for loss_response, b in zip(ends, places, strict=True)]
        if not np.isfinite([*values, *(loss_response.product for loss_response in ends)]).all():
            return InterceptMinimum(np.inf, low, ends[0].a, np.inf, [])
        best = int(np.argmin(values))
        self.risk, self.last = abs(values[best]), places[best]
        shares = self.balancing_weights(ends)
        return InterceptMinimum(
            values[best],
            self.last,
            sum(share * loss_response.a for share, loss_response in zip(shares, ends, strict=True)),
            sum(
                share * (loss_response.value + loss_response.product)
                for share, loss_response in zip(shares, ends, strict=True)
            ),
            [(s, self.loss_oracle.keep(each, f, b)) for s, each, b in zip(shares, ends, places, strict=True) if s > 0],
        )

    def balancing_weights(self, ends: list[LossResponse]) -> list[float]:
        """The shares of two answers whose duals sum to the balance."""
        if len(ends) == 1:
            return [1.0]
        above, below = ends[0].total - self.balance, self.balance - ends[1].total
        if not above + below > 0.0:  # scores so large that both sums round to the same number
            return [1.0, 0.0]
        return [below / (above + below), above / (above + below)]

    def dual_surplus(self, f: np.ndarray, b: float) -> float:
        """sum_i a_i(f + b) - balance, which falls as b grows; cut off, since an exponential overflows."""
        return float(np.clip(self.loss_oracle.sum_duals(f, b) - self.balance, -1e200, 1e200))

    def bracket(self, f: np.ndarray, near: float, tol: float) -> tuple[float, float]:
        """Two intercepts with the best one between them, as near to each other as the tolerance asks; or the best one.

        Steps that grow fourfold until the surplus changes its sign, then false position as in Illinois.
        """
        low, high = self.enclose(f, near)
        if low[0] == high[0]:
            return low[0], low[0]
        enough = INTERCEPT_TOLERANCE_SHARE * tol * max(min(self.scale, self.risk), 1e-12 * self.scale, 1e-300)
        weights = [low[1], high[1]]
        for _ in range(MAX_FALSE_POSITION_STEPS):
            span = high[0] - low[0]
            lost = span * low[1] * -high[1] / (low[1] - high[1])
            if lost <= enough or span <= 1e-15 * (abs(low[0]) + abs(high[0])):
                break
            share = weights[0] / (weights[0] - weights[1])
            b = low[0] + span * min(max(share, 0.02), 0.98)
            now = self.dual_surplus(f, b)
            if now == 0.0:
                return b, b
            low, high = ((b, now), high) if now > 0 else (low, (b, now))
            weights = [now, 0.5 * weights[1]] if now > 0 else [0.5 * weights[0], now]
        self.width = max(4.0 * abs(0.5 * (low[0] + high[0]) - near), 4.0 * (high[0] - low[0]), 1e-9)
        return low[0], high[0]

    def enclose(self, f: np.ndarray, near: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """An intercept with a surplus and one without; twice the same where there is none to be found."""
        low = high = None
        b, width = near, max(self.width, 1e-9 * (1.0 + abs(near)))
        while low is None or high is None:
            now = self.dual_surplus(f, b)
            if now == 0.0 or now != now:
                return (b, now), (b, now)
            low, high = ((b, now), high) if now > 0 else (low, (b, now))
            b = b + width if now > 0 else b - width
            width *= 4.0
            if not abs(b) <= 1e100:
                return (near, now), (near, now)
        return low, high


def find_median_intercept(
    f: np.ndarray, p: np.ndarray, e: np.ndarray, lo: np.ndarray, hi: np.ndarray, balance: float
) -> float:
    """argmin over b of sum_i c_i l(f_i + b) + balance b for rows with d = 0: a weighted median.

    The sum is piecewise linear in b. Sample i adds -hi_i to its slope up to b = -(f_i + p_i) - e_i, nothing up to
    -(f_i + p_i) + e_i, and -lo_i beyond; so the slope rises by hi_i and by -lo_i at these two kinks, and the best b is
    the kink at which it passes zero. Where the slope is zero from one kink to the next, it is the middle of the two.
    """
    kinks, rises = np.concatenate([-(f + p) - e, -(f + p) + e]), np.concatenate([hi, -lo])
    kinks, rises = kinks[rises > 0.0], rises[rises > 0.0]
    order = np.argsort(kinks, kind="stable")
    slopes = balance - float(hi.sum()) + np.cumsum(rises[order])
    rounding = 1e-14 * float(rises.sum())  # of the sums, which are compared with zero
    first, last = (int(np.searchsorted(slopes, side * rounding)) for side in (-1.0, 1.0))
    sorted_kinks = kinks[order]
    return 0.5 * float(sorted_kinks[min(first, len(kinks) - 1)] + sorted_kinks[min(last, len(kinks) - 1)])
