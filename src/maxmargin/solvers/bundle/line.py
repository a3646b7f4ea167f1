"""The minimum of a convex function on a half-line: about where its slope is zero, or exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

MAX_STEP_FACTOR = 1e6  # times the way to the goal
MAX_EXACT_LOOKS = 80  # of an exact search
SHORTEST_BRACKET = 1e-15  # relative: no number lies between such ends


class Look(NamedTuple):
    """A convex function of t at one t: its value, and a slope there."""

    t: float
    value: float
    slope: float

    def reach(self, t: float) -> float:
        """The height of the tangent at another t."""
        return self.value + self.slope * (t - self.t)


class LineMinimum(NamedTuple):
    """The lowest look, and the ends of the last bracket: where the function falls, and where it rises."""

    lowest: Look
    falling: Look
    rising: Look

    def touch(self, tol: float) -> Look:
        """The look whose tangent touches the minimum, to `tol`, and is highest at t = 1."""
        t, value = self.lowest.t, self.lowest.value
        touching = [each for each in (self.falling, self.rising) if each.reach(t) >= value - tol]
        return max((self.lowest, *touching), key=lambda each: each.reach(1.0))


def minimise_on_line(look: Callable[[float], Look], first: Look, tol: float, longest: float) -> LineMinimum:
    """t = argmin over 0 <= t <= longest of a convex function, to `tol` in its value.

    The tangents at both ends of a bracket meet at or below the minimum. The next look is where they meet, the minimum
    of a function of two pieces, then where the slope between them is zero, the minimum of a parabola, then the middle.
    """
    falling, lowest, rising = first, first, None
    if not first.slope < 0.0:
        return LineMinimum(first, first, first)
    t = min(1.0, longest)
    for count in range(MAX_EXACT_LOOKS):
        now = look(t)
        lowest = now if now.value < lowest.value else lowest
        if now.slope < 0.0:
            falling = now
        else:
            rising = now
        if rising is None:
            if t >= longest:
                break
            t = min(2.0 * t, longest)
            continue
        width = rising.t - falling.t
        if rising.value == float("inf") or rising.slope == float("inf"):
            t = falling.t + 0.1 * width
            continue
        meeting = rising.t - (rising.value - falling.reach(rising.t)) / (rising.slope - falling.slope)
        if lowest.value - falling.reach(meeting) <= tol or width <= SHORTEST_BRACKET * rising.t:
            break
        flat = falling.t + width * falling.slope / (falling.slope - rising.slope)
        t = (meeting, flat, 0.0)[count % 3]
        t = t if falling.t < t < rising.t else falling.t + 0.5 * width
    return LineMinimum(lowest, falling, lowest if rising is None else rising)


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
