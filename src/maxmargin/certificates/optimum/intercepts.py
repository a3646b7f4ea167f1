"""Bounds on the scores of the samples of a problem, from the judge's alone: those of b* follow as |w* - y| is bounded.

The optimal b solves sum_i a_i(<w*, phi_i> + b) = balance, where the dual a_i(f) falls from hi_i to lo_i at f = -p_i for
a loss with one kink. The sum falls with b and with every score. So b* is at most the largest solution at scores that
are lower, <y, phi_i> - r |phi_i|, and at least the smallest one at <y, phi_i> + r |phi_i|.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...model.losses import PiecewiseConjugate
from ...model.problem import Problem
from ...runtime.rounding import BOUND_INFLATION, UNIT, Enclosed, bound_sum
from .bounds import Interval

ROUNDINGS = 8.0  # of a score, a target and an intercept in the sums here, and a few more


class OwnScores(NamedTuple):
    """What the scores of a problem say of its optimum.

    Attributes
    ----------
    radius : float
        |w* - y| is no larger.
    intercept : Interval
        b*.
    scores : Interval
        f*_i = <w*, phi_i> + b* of the samples of the problem.
    """

    radius: float
    intercept: Interval
    scores: Interval

    def bound(self, scores: Enclosed, sizes: np.ndarray) -> Interval:
        """The same of other samples, from <y, phi(x)> and |phi(x)|."""
        return shift(scores, measure_widths(scores, self.radius, sizes, 0.0), self.intercept)


def has_one_kink(problem: Problem) -> bool:
    """Whether b is free and duals jump from one bound to the other at one score, as those of the hinge loss do."""
    row = problem.row
    if row is None or problem.balance is None or problem.y.ndim > 1 or problem.features.signed:
        return False
    return not (row.d.any() or row.e.any()) and bool(np.isfinite(row.lo).all() and np.isfinite(row.hi).all())


def bound_own_scores(problem: Problem, judged: Enclosed, gap: float, moved: float) -> OwnScores:
    """What is proven of a problem whose duals have one kink each, without any kernel value.

    Parameters
    ----------
    problem : Problem
    judged : Enclosed
        <y, phi_i> of its samples.
    gap : float
        r^2.
    moved : float
        By how much the duals may have to change to balance exactly, in all.
    """
    sizes, everything = problem.features.sizes, Interval(-np.inf, np.inf)
    if not np.isfinite(gap + moved):
        return OwnScores(np.inf, everything, Interval(*(np.full(len(sizes), end) for end in everything)))
    radius = float(np.sqrt(max(gap, 0.0)) + 0.5 * moved * sizes.max()) * BOUND_INFLATION
    widths = measure_widths(judged, radius, sizes, np.abs(problem.row.p))
    intercept = bound_intercept(problem.row, judged.value, widths, float(problem.balance or 0.0))
    return OwnScores(radius, intercept, shift(judged, widths, intercept))


def bound_scores_of_weights(problem: Problem, scores: np.ndarray, w: np.ndarray, gap: float) -> OwnScores:
    """The same of a linear machine without a free intercept, from the judge's scores of w: 1/2 |w - w*|^2 <= gap."""
    sizes = problem.features.sizes
    errors = bound_sum(len(w) + 16) * float(np.linalg.norm(w)) * sizes
    radius, none = float(np.sqrt(2.0 * max(gap, 0.0))) * BOUND_INFLATION, Interval(0.0, 0.0)
    judged = Enclosed(scores, errors * BOUND_INFLATION)
    return OwnScores(radius, none, shift(judged, measure_widths(judged, radius, sizes, 0.0), none))


def measure_widths(scores: Enclosed, radius: float, sizes: np.ndarray, targets: np.ndarray | float) -> np.ndarray:
    """By how much <w*, phi> may differ from <y, phi>, and from what is made of both by a few roundings."""
    rounded = ROUNDINGS * UNIT * (np.abs(scores.value) + targets)
    return (radius * sizes + scores.error + rounded) * BOUND_INFLATION


def shift(scores: Enclosed, widths: np.ndarray, intercept: Interval) -> Interval:
    """<y, phi> -+ width + b*, with its rounding."""
    low, high = scores.value - widths + intercept.lower, scores.value + widths + intercept.upper
    return Interval(low - ROUNDINGS * UNIT * np.abs(low), high + ROUNDINGS * UNIT * np.abs(high))


def bound_intercept(row: PiecewiseConjugate, scores: np.ndarray, widths: np.ndarray, balance: float) -> Interval:
    """All b with sum_i a_i(f_i + b) = balance for some scores within their widths of those given."""
    falls, ends = row.hi - row.lo, []
    slack = bound_sum(2 * len(falls) + 32) * float((np.abs(row.hi) + np.abs(row.lo)).sum() + abs(balance))
    whole = float(row.hi.sum()) - balance  # by how much the sum has to fall
    for side in (-1.0, 1.0):
        kinks = side * widths - row.p - scores
        order = np.argsort(kinks)
        fallen = np.cumsum(falls[order])
        # the smallest b for which it may have fallen so far, and the one by which it has fallen further
        place = int(np.searchsorted(fallen, whole + side * slack, "left" if side < 0.0 else "right"))
        is_open = whole <= slack if side < 0.0 else place == len(kinks)
        ends.append(side * np.inf if is_open else float(kinks[order[place]]))
    low, high = ends
    return Interval(low - ROUNDINGS * UNIT * abs(low), high + ROUNDINGS * UNIT * abs(high))
