"""Points next to that of a solver which lose nothing to rounding, tried where the solver gets no further.

Separable classes: where C is large, P = 1/2 |w|^2 + sum of c_i hinges is mostly what rounding leaves of the hinges:
C = 1e8 times a margin that misses 1 by 1e-15. A w that is longer by this amount has no loss at all, and its P is known
to all digits. Targets that can all be met: if b is a mean of equal numbers, it misses them by a rounding error, and one
of these numbers itself does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..certificates.in_memory import enclose_machine
from ..model.problem import Point, Problem
from ..runtime.rounding import UNIT

# margin that every sample must have for w to be stretched: with less, the classes are far from separated
MIN_MARGIN_TO_SCALE = 0.5


def find_neighbours(problem: Problem, point: Point) -> Iterator[Point]:
    """The points that are worth judging; none where data are not in memory, or the loss is not piecewise."""
    if problem.traits.form == "memory" and problem.row is not None and problem.y.ndim == 1:
        candidates = (make(problem, point) for make in (scale_to_margin, snap_intercept, set_weights_to_zero))
        yield from (candidate for candidate in candidates if candidate is not None)


def set_weights_to_zero(problem: Problem, point: Point) -> Point | None:
    """w = 0 and b at a target: the optimum where all targets are equal, lie within one tube, or do not depend on X."""
    if np.any(problem.balance):
        return None
    zero = Point(np.zeros(problem.shape), point.b)
    return snap_intercept(problem, zero) or zero


def snap_intercept(problem: Problem, point: Point) -> Point | None:
    """(w, b) with the nearest b that meets a target exactly; None where b is not free, or already meets one."""
    if problem.balance is None or problem.loss.target != "real":
        return None
    kinks = -(problem.enclose_scores(point).value + problem.row.p)
    b = float(kinks[np.argmin(np.abs(kinks - point.b))])
    return None if b == point.b else point._replace(b=b)


def scale_to_margin(problem: Problem, point: Point) -> Point | None:
    """(t w, t b) with the least t for which no hinge has a loss, and s a with the s for which D is largest.

    D(s a) = s sum_i a_i y_i - s^2 |v|^2 / 2 is largest at s = sum_i a_i y_i / |v|^2. None where the loss is not a
    hinge, or where the margin of some sample is not above MIN_MARGIN_TO_SCALE.
    """
    if not consists_of_hinges(problem):
        return None
    coef, target = problem.expand(point), -problem.row.p
    scores = enclose_machine(problem, point, coef, problem.enclose_scores(point))[0]
    counted = problem.row.hi > problem.row.lo
    margins = problem.shift(scores.value, point.b)[counted] / target[counted]
    if not len(margins) or not margins.min() > MIN_MARGIN_TO_SCALE:
        return None
    spare = 1.0 + 2.0 * scores.error[counted] / np.abs(target[counted]) + 16.0 * UNIT * (1.0 + abs(point.b))
    t = max(1.0, float((spare / margins).max()))
    w = None if point.w is None else t * point.w
    return Point(scale_duals(problem, point.a), t * point.b, t * coef, w=w)


def consists_of_hinges(problem: Problem) -> bool:
    """Whether every term is c max(0, |p| - y f), and the intercept has no cost of its own."""
    if np.any(problem.balance):
        return False
    p, d, e, lo, hi = problem.row
    sided = np.where(p < 0, lo >= 0, hi <= 0) & (p != 0)
    return not d.any() and not e.any() and bool(sided.all()) and problem.traits.penalty == "l2"


def scale_duals(problem: Problem, a: np.ndarray) -> np.ndarray:
    """s a with the s for which D(s a) is largest, within the bounds."""
    features, row = problem.features, problem.row
    pulled = features.combine(a)
    square = features.square_norm(pulled, features.scores(pulled))
    linear, nonzero = -float(a @ row.p), a != 0
    if not (linear > 0 and square > 0):
        return a
    room = np.where(a > 0, row.hi, row.lo)[nonzero] / a[nonzero]
    return min(linear / square, float(room.min())) * a
