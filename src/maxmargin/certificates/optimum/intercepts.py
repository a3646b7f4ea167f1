"""Bounds on the scores of the samples of a problem, from the judge's alone: those of b* follow as |w* - y| is bounded.

The optimal b solves sum_i a_i(<w*, phi_i> + b) = balance, where the dual a_i(f) falls from hi_i to lo_i at f = -p_i for
a loss with one kink. The sum falls with b and with every score. So b* is at most the largest solution at scores that
are lower, <y, phi_i> - r |phi_i|, and at least the smallest one at <y, phi_i> + r |phi_i|.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...runtime.rounding import BOUND_INFLATION, UNIT, Enclosed, bound_sum
from .bounds import Interval

if TYPE_CHECKING:
    from ...model.losses import PiecewiseConjugate
    from ...model.problem import Problem


def has_one_kink(problem: Problem) -> bool:
    """Whether duals jump from one bound to the other at one score, as those of the hinge loss, and b is free."""
    row = problem.row
    if row is None or problem.balance is None or problem.y.ndim > 1 or problem.features.signed:
        return False
    return not (row.d.any() or row.e.any()) and bool(np.isfinite(row.lo).all() and np.isfinite(row.hi).all())


def bound_own_scores(problem: Problem, judged: Enclosed, gap: float, moved: float) -> Interval:
    """lower <= f*_i <= upper for the samples of a problem whose duals have one kink each.

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
    sizes = problem.features.sizes
    if not np.isfinite(gap + moved):
        return Interval(np.full(len(sizes), -np.inf), np.full(len(sizes), np.inf))
    radius = np.sqrt(max(gap, 0.0)) + 0.5 * moved * float(sizes.max())
    rounded = 8.0 * UNIT * (np.abs(judged.value) + np.abs(problem.row.p))
    width = (radius * sizes + judged.error + rounded) * BOUND_INFLATION
    low, high = bound_intercept(problem.row, judged.value, width, float(problem.balance or 0.0))
    return Interval(judged.value - width + low, judged.value + width + high)


def bound_intercept(row: PiecewiseConjugate, scores: np.ndarray, width: np.ndarray, balance: float) -> Interval:
    """All b with sum_i a_i(f_i + b) = balance for some scores within a width of those given."""
    falls, ends = row.hi - row.lo, []
    slack = bound_sum(len(falls) + 16) * float((np.abs(row.hi) + np.abs(row.lo)).sum() + abs(balance))
    whole = float(row.hi.sum()) - balance  # by which the sum has to fall
    for side in (-1.0, 1.0):
        kinks = side * width - row.p - scores
        order = np.argsort(kinks)
        place = int(np.searchsorted(np.cumsum(falls[order]), whole + side * slack, "left" if side < 0.0 else "right"))
        none = whole <= slack if side < 0.0 else place == len(kinks)
        ends.append(side * np.inf if none else float(kinks[order[place]]))
    return Interval(*ends)
