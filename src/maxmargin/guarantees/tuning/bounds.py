"""Bounds on the scores of the optimum, for every C between two anchors.

    P_C(w, b) = 1/2 |w|^2 + C L(w, b),   L = sum_i s_i l(f_i; y_i),   C = (1-t) C_0 + t C_1

For any machine (w, b) and any duals a within their bounds at C that sum to tau > 0, if the intercept is free,

    tau f*(x) >= N = -C L(w, b) - sum_i conj_i(a_i) - |(w + sum_i a_i phi(x_i) - tau phi(x)) / 2|^2.              (1)

*Proof.* Fenchel and Young, c_i l(f_i) >= -a_i f_i - conj_i(a_i), summed over i at the optimum (w*, b*), give with
v = sum_i a_i phi(x_i) - tau phi(x)

    P_C(w*, b*) + tau f*(x) >= 1/2 |w*|^2 - <w*, v> - sum_i conj_i(a_i)
                             = 1/2 |w* - v|^2 - 1/2 |v|^2 - sum_i conj_i(a_i),

where b* has dropped out. P_C less 1/2 |w|^2 is convex, so P_C(w*, b*) <= P_C(w, b) - 1/2 |w* - w|^2. Subtract it, and
use 1/2 |w* - v|^2 + 1/2 |w* - w|^2 >= 1/4 |w - v|^2. What is left is (1), as 1/4 |w - v|^2 - 1/2 |v|^2 - 1/2 |w|^2 is
-1/4 |w + v|^2. With -f(x) in place of f(x), and duals that sum to -tau, the same proof bounds the score from above.

**Between two anchors** take w, b and a on the straight lines. L is convex, and conj_i(a) = C s_i l*(-a / (C s_i)) is
convex in a and C together, so that with y = (w + sum_i a_i phi(x_i)) / 2 at each of both

    N(t) >= (1-t) N_0 + t N_1 - t (1-t) B,   B = (C_1 - C_0)(L_0 - L_1) - |y_1 - y_0|^2,                          (2)

if tau is the same at both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...runtime.rounding import BOUND_INFLATION, UNIT, bound_sum
from .anchors import TERM_ROUNDINGS, Anchor
from .tilts import Tilt


class ScoreFloor(NamedTuple):
    """side f*(x) >= (1-t) start + t stop - t (1-t) sag at C = (1-t) C_0 + t C_1, for each held-out row."""

    start: np.ndarray
    stop: np.ndarray
    sag: float | np.ndarray

    def evaluate(self, t: float) -> np.ndarray:
        """The bound at t."""
        return (1.0 - t) * self.start + t * self.stop - t * (1.0 - t) * self.sag


def bound_scores(first: Anchor, second: Anchor, total: float) -> ScoreFloor:
    """A bound from below on f*(x), if total > 0, or on -f*(x), between two anchors; `total` is about tau.

    The duals at both anchors sum to tau and to nearly the same. Where they do not, the line between both sums changes
    N by at most what `mismatch` allows.
    """
    low = first.find_tilt(total)
    high = low if second is first else second.find_tilt(total)
    tau, other = abs(low.total), abs(high.total)
    if not (low.total * total > 0 and high.total * total > 0):
        nothing = np.full(len(first.scores), -np.inf)
        return ScoreFloor(nothing, nothing, 0.0)
    squares = first.fold.held_out_squares
    start, stop = bound_tilted(low, squares), bound_tilted(high, squares)
    apart = np.abs(low.centre.held_out.value) + np.abs(high.centre.held_out.value)
    sag = bound_sag(first, second, low, high) + abs(other - tau) * float(apart.max(initial=0.0))
    mismatch = abs(other - tau) / min(tau, other) + 8.0 * UNIT
    lost = mismatch * (np.maximum(np.abs(start), np.abs(stop)) + sag)
    return ScoreFloor((start - lost) / tau, (stop - lost) / tau, sag / tau * BOUND_INFLATION)


def bound_tilted(tilt: Tilt, squares: np.ndarray) -> np.ndarray:
    """N of the held-out rows, from below."""
    tau, scores = abs(tilt.total), tilt.centre.held_out
    linear, curved = tilt.total * scores.value, 0.25 * tau * tau * squares
    margin = tau * scores.error + TERM_ROUNDINGS * UNIT * (tilt.size + np.abs(linear) + curved)
    return tilt.value + linear - curved - BOUND_INFLATION * margin


def bound_sag(first: Anchor, second: Anchor, low: Tilt, high: Tilt) -> float:
    """B = (C_1 - C_0)(L_0 - L_1) - |y_1 - y_0|^2, from above, and no less than zero."""
    width, losses = second.C - first.C, (first.risk / first.C, second.risk / second.C)
    rounded = TERM_ROUNDINGS * UNIT * abs(width) * (losses[0] + losses[1])
    return max(width * (losses[0] - losses[1]) + rounded - bound_square_distance(first, low, high), 0.0)


def bound_square_distance(anchor: Anchor, low: Tilt, high: Tilt) -> float:
    """|y_1 - y_0|^2, from below."""
    apart = high.centre.coef - low.centre.coef
    slack = bound_sum(len(apart) + TERM_ROUNDINGS)
    lengths = sum(float(np.sqrt(max(each.centre.square.high, 0.0))) for each in (low, high))
    lost = (2.0 * (low.centre.error + high.centre.error) + TERM_ROUNDINGS * UNIT * lengths) * lengths
    if anchor.fold.features.linear:
        square = float(apart @ apart)
        return max(square - BOUND_INFLATION * (lost + slack * square), 0.0)
    before, after = low.centre.train, high.centre.train
    weight, sizes = np.abs(apart), np.abs(before.value) + np.abs(after.value)
    lost += float(weight @ (before.error + after.error)) + slack * float(weight @ sizes)
    lost += 4.0 * UNIT * float((np.abs(low.centre.coef) + np.abs(high.centre.coef)) @ sizes)
    return max(float(apart @ (after.value - before.value)) - BOUND_INFLATION * lost, 0.0)


def find_positive_part(floor: ScoreFloor) -> tuple[np.ndarray, np.ndarray]:
    """Where a bound is not negative: on [0, start] and on [stop, 1] for each row; start = -1 or stop = 2 for nowhere.

    The bounds have a margin for rounding, so that the scores are positive also where they are zero.
    """
    start, stop, sag = floor
    return find_first_root(start, stop, sag), 1.0 - find_first_root(stop, start, sag)


def find_first_root(start: np.ndarray, stop: np.ndarray, sag: Any) -> np.ndarray:
    """The least t in [0, 1] with (1-t) start + t stop - t (1-t) sag = 0; 1 if there is none, -1 if start < 0."""
    slope = stop - start - sag
    with np.errstate(invalid="ignore", over="ignore"):
        discriminant = slope * slope - 4.0 * start * sag
        crosses = (slope < 0.0) & (discriminant >= 0.0)
        root = 2.0 * start / np.where(crosses, np.sqrt(np.where(crosses, discriminant, 0.0)) - slope, 1.0)
    return np.where(start > 0.0, np.where(crosses, np.minimum(root, 1.0), 1.0), -1.0)
