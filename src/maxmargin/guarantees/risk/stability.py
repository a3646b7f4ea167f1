"""How far the score of a row moves when the row is left out: the lemma behind the leave-one-out bounds.

Let (w, b, a) be optimal, and (w', b', a') optimal without row t, a'_t = 0. Both meet the optimality conditions, so that
(a_i - a'_i)(f_i - f'_i) <= 0 for i != t: duals fall where scores rise. Both sum to the same balance, hence

    |w - w'|^2 = sum_i (a_i - a'_i)(f_i - f'_i) <= a_t (f_t - f'_t).                                       (1)

So f'_t lies on the side of f_t from which a_t had pulled it. Without a free intercept f_t - f'_t = <w - w', phi_t>,
and by Cauchy and Schwarz (1) gives |f_t - f'_t| <= |a_t| K_tt. With a free one, lower a_t to zero little by little.
Wherever some dual j is free, f_t moves by at most |phi_t - phi_j|^2 + d_j for a unit of a_t. Where none is free, the
intercept may jump; if all duals have the bounds 0 and +-C, that is at the ends of the way only. See docs/risk.md.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ...certificates.term_sums import snap_to_bounds
from ...model.problem import Problem
from ...runtime.interrupt import Interrupt

TILE_ENTRIES = 1 << 22  # kernel values looked at together
INTERCEPT_TOL = 1e-9  # of the scale of the scores: intercepts as near as this are one


class ScoreShiftBound(NamedTuple):
    """What one unit of a dual moves the score of its row at most: |f_t - f'_t| <= size_t |a_t|.

    `certain` if that holds in every case; else where the intercept of the refit is determined, unless there is a doubt.
    """

    size: np.ndarray
    certain: bool
    caveat: str = ""


def bound_score_shift(problem: Problem, a: np.ndarray, spread: float) -> ScoreShiftBound:
    """K_tt without a free intercept, else 2 R^2 + max_j d_j, with the `spread` R^2 = max 1/2 |phi_i - phi_j|^2."""
    if problem.balance is None:
        return ScoreShiftBound(problem.features.diagonal, certain=True)
    counted = problem.c > 0
    size = np.full(problem.n, 2.0 * spread + float(problem.row.d[counted].max(initial=0.0)))
    bounds = np.abs(np.concatenate([problem.row.lo[counted], problem.row.hi[counted]]))
    finite = bounds[(bounds > 0) & (bounds < np.inf)]
    if not len(finite):
        return ScoreShiftBound(size, certain=True)
    if np.isinf(bounds).any() or float(np.ptp(finite)) > 1e-12 * float(finite.max()):
        caveat = "The duals have different bounds, and a free intercept may jump: xi-alpha is an estimate."
    elif not fixes_intercept(problem, a):
        caveat = "No dual is free, so the intercept is not unique: xi-alpha is an estimate."
    else:
        caveat = ""
    return ScoreShiftBound(size, certain=False, caveat=caveat)


def fixes_intercept(problem: Problem, a: np.ndarray) -> bool:
    """Whether some dual is free, between its bounds and off the kink at zero: else the intercept is not unique."""
    if problem.balance is None:
        return True
    row, a = problem.row, snap_to_bounds(a, problem.row)
    return bool(((a > row.lo) & (a < row.hi) & ((a != 0) | (row.e == 0)) & (problem.c > 0)).any())


def find_intercepts(problem: Problem, a: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """The least and the largest b with -scores_i - b between the slopes of conj_i at a_i for all i."""
    left, right = problem.row.slopes(snap_to_bounds(a, problem.row))
    counted = problem.c > 0
    low = float((-right - scores).max(initial=-np.inf, where=counted))
    return low, float((-left - scores).min(initial=np.inf, where=counted))


def has_several_intercepts(problem: Problem, a: np.ndarray, scores: np.ndarray) -> bool:
    """Whether more than one intercept is optimal; where no dual is free, a single one may be left even so."""
    if fixes_intercept(problem, a):
        return False
    low, high = find_intercepts(problem, a, scores)
    return not high - low <= INTERCEPT_TOL * problem.scale


def centre_intercept(problem: Problem, a: np.ndarray, scores: np.ndarray) -> float:
    """The middle of the optimal intercepts; or the one end."""
    low, high = find_intercepts(problem, a, scores)
    if np.isinf(low) or np.isinf(high):
        return low if np.isfinite(low) else high if np.isfinite(high) else 0.0
    return 0.5 * (low + high)


def measure_spread(problem: Problem, a: np.ndarray, end: float, interrupt: Interrupt) -> float | None:
    """R^2 = max 1/2 |phi_i - phi_j|^2 over the pairs of which one has a dual; None if it cannot wait for the end.

    Joachims takes max k(x, x) - k(x, z), which is the same where k(x, x) is constant and never less; his proof needs
    no more than this, which does not depend on where the origin is.
    """
    counted = problem.c > 0
    rows, others = np.flatnonzero(counted & (a != 0)), slice(None) if counted.all() else np.flatnonzero(counted)
    half, largest = 0.5 * problem.features.diagonal, 0.0
    step = max(1, TILE_ENTRIES // problem.n)
    for start in range(0, len(rows), step):
        if start and (interrupt or time.perf_counter() > end):
            return None
        tile = rows[start : start + step]
        farthest = (half[others] - problem.features.block(tile)[:, others]).max(axis=1)
        largest = max(largest, float((half[tile] + farthest).max()))
    return largest
