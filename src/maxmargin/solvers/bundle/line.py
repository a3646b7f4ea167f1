"""The minimum of a convex function on a half-line, from its slopes alone."""

from __future__ import annotations

from collections.abc import Callable

MAX_STEP_FACTOR = 1e6  # times the way to the goal


def search_line(
    slope: Callable[[float], float],
    first: float,
    enough: float = 0.05,
    looks: int = 12,
    longest: float = MAX_STEP_FACTOR,
) -> float:
    """t > 0 with slope(t) near 0, where slope rises and slope(0) = first < 0; 0 where it is not.

    Doubling until the slope is positive, then false position as in Illinois, until |slope| <= enough |first|: the
    slope may jump over zero, and then either side of the jump will do.
    """
    if not first < 0.0:
        return 0.0
    low, at_low, high, at_high = 0.0, first, None, None
    t = 1.0
    for _ in range(looks):
        now = slope(t)
        now = now if now == now else float("inf")  # beyond what numbers can hold is too far
        if abs(now) <= -enough * first:
            return t
        if now < 0.0:
            low, at_low = t, now
            at_high = None if at_high is None else 0.5 * at_high
        else:
            high, at_high, at_low = t, now, at_low if high is None else 0.5 * at_low
        if high is None:
            if t >= longest:
                return t
            t *= 2.0
            continue
        if high - low <= 1e-6 * high:
            break
        share = at_low / (at_low - at_high) if at_high < float("inf") else 0.1
        t = low + (high - low) * share
        t = min(max(t, low + 0.01 * (high - low)), high - 0.01 * (high - low))
    return low if low > 0.0 else high if high is not None else t
