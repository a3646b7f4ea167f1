"""The judge's sums for several problems over the same few rows of few features."""

import numpy as np

from ..runtime.rounding import UNIT
from .compiler import njit
from .row_sums import OPTIONS, judge_rows
from .small_systems import combine, project

UNDERFLOW_ALLOWANCE = 2.0**-1000  # more than all that a square loses where it is too small for float64


@njit(**OPTIONS)
def bound_lengths(Z, width, relative, sizes):
    """|z_i| of the first `width` features, or a little more; returns the largest.

    `relative` bounds what rounding takes away, and no square that underflows is lost.
    """
    largest = 0.0
    for i in range(Z.shape[0]):
        square = width * UNDERFLOW_ALLOWANCE
        for j in range(width):
            square += Z[i, j] * Z[i, j]
        sizes[i] = np.sqrt(square) * (1.0 + relative)
        largest = max(largest, sizes[i])
    return largest


@njit(**OPTIONS)
def sum_design(scores, pulled, coef, b, sizes, errors, relative, away, free, a, p, d, e, lo, hi, found):
    """What `judge_rows` finds of one problem, and six numbers more: one row of what `judge_designs` returns.

    From its scores without the intercept, Z'a in `pulled`, and the |z_i| in `sizes`; `errors` is where theirs are put.
    """
    square = apart = weight = 0.0
    for j in range(coef.shape[0]):
        square += coef[j] * coef[j]
        apart += (coef[j] - pulled[j]) * (coef[j] - pulled[j])
    length = np.sqrt(square)
    public = 2.0 * UNIT * (abs(b) + length * away) if away > 0.0 else 0.0
    for i in range(a.shape[0]):
        errors[i] = relative * length * sizes[i] + public
        weight += abs(a[i]) * sizes[i]
    sums, moved, cost = judge_rows(scores, errors, b, a, p, d, e, lo, hi, free, 0.0)
    for j in range(16):
        found[j] = sums[j]
    found[16], found[17], found[18], found[19], found[20] = moved, cost, square, np.sqrt(apart), weight


@njit(**OPTIONS)
def judge_designs(Z, relative, away, free, u, a, p, d, e, lo, hi, scores, found):
    """What `judge_rows` finds of each problem, one row of `found` each, and its scores Z coef without the intercept.

    Each score is off by `relative` |coef| |z_i|, and by what the rounding of an intercept does to it where samples were
    moved by `away`. After the sixteen sums: the amount that must be shifted between duals, its cost, |coef|^2,
    |coef - Z'a|, sum_i |a_i| |z_i| and the largest |z_i|. A free intercept is no part of z_i.
    """
    n, size = Z.shape
    errors, sizes, pulled = np.empty(n), np.empty(n), np.empty(size)
    largest = bound_lengths(Z, size - 1 if free else size, 2.0 * relative, sizes)
    for k in range(u.shape[0]):
        coef, b = u[k].copy(), 0.0
        if free:
            b, coef[size - 1] = coef[size - 1], 0.0
        project(Z, coef, scores[k])
        combine(a[k], Z, pulled)
        if free:
            pulled[size - 1] = 0.0
        sum_design(
            scores[k], pulled, coef, b, sizes, errors, relative, away, free, a[k], p[k], d[k], e[k], lo[k], hi[k],
            found[k],
        )  # fmt: skip
        found[k, 21] = largest
