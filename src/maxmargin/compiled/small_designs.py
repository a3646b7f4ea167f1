"""The judge's sums for several problems over the same few rows of few features."""

import numpy as np

from ..runtime.rounding import UNIT
from .compiler import njit
from .row_sums import OPTIONS, SUMS, judge_rows
from .small_systems import combine, combine_rows, fill, project, project_rows
from .smooth_rows import LOGISTIC, add_smooth_terms

UNDERFLOW_ALLOWANCE = 2.0**-1000  # more than all that a square loses where it is too small for float64


@njit(**SUMS)
def bound_lengths(X, width, constant, relative, sizes):
    """|(x_i, constant)| of the first `width` features, or a little more; returns the largest.

    `relative` bounds what rounding takes away, and no square that underflows is lost.
    """
    largest, least = 0.0, constant * constant + (width + 1) * UNDERFLOW_ALLOWANCE
    for i in range(X.shape[0]):
        square = 0.0
        for j in range(width):
            square += X[i, j] * X[i, j]
        sizes[i] = np.sqrt(square + least) * (1.0 + relative)
        largest = max(largest, sizes[i])
    return largest


@njit(**SUMS)
def compare_weights(coef, pulled, b, sizes, relative, away, a, errors):
    """|coef|^2, |coef - Z'a| and sum_i |a_i| |z_i|, from Z'a in `pulled`; what each score is off by, into `errors`."""
    square = apart = weight = 0.0
    for j in range(coef.shape[0]):
        square += coef[j] * coef[j]
        apart += (coef[j] - pulled[j]) * (coef[j] - pulled[j])
    length = np.sqrt(square)
    public = 2.0 * UNIT * (abs(b) + length * away) if away > 0.0 else 0.0
    for i in range(a.shape[0]):
        errors[i] = relative * length * sizes[i] + public
        weight += abs(a[i]) * sizes[i]
    return square, np.sqrt(apart), weight


@njit(**OPTIONS)
def sum_design(scores, pulled, coef, b, sizes, errors, relative, away, free, a, p, d, e, lo, hi, found):
    """What `judge_rows` finds of one problem, and six numbers more: one row of what `judge_designs` returns.

    From its scores without the intercept, Z'a in `pulled`, and the |z_i| in `sizes`; `errors` is where theirs are put.
    """
    square, apart, weight = compare_weights(coef, pulled, b, sizes, relative, away, a, errors)
    sums, moved, cost = judge_rows(scores, errors, b, a, p, d, e, lo, hi, free, 0.0)
    for j in range(16):
        found[j] = sums[j]
    found[16], found[17], found[18], found[19], found[20] = moved, cost, square, apart, weight


@njit(**OPTIONS)
def project_both(Z, free, coef, a, scores, pulled):
    """Scores Z coef and Z'a without a free intercept, which is taken out of coef and returned."""
    last, b = coef.shape[0] - 1, 0.0
    if free:
        b, coef[last] = coef[last], 0.0
    project(Z, coef, scores)
    combine(a, Z, pulled)
    if free:
        pulled[last] = 0.0
    return b


@njit(**OPTIONS)
def judge_designs(Z, relative, away, free, u, a, p, d, e, lo, hi, scores, found):
    """What `judge_rows` finds of each problem, one row of `found` each, and its scores Z coef without the intercept.

    Each score is off by `relative` |coef| |z_i|, and by what the rounding of an intercept does to it where samples were
    moved by `away`. After the sixteen sums: the amount that must be shifted between duals, its cost, |coef|^2,
    |coef - Z'a|, sum_i |a_i| |z_i| and the largest |z_i|. A free intercept is no part of z_i.
    """
    n, size = Z.shape
    errors, sizes, pulled = np.empty(n), np.empty(n), np.empty(size)
    largest = bound_lengths(Z, size - 1 if free else size, 0.0, 2.0 * relative, sizes)
    for k in range(u.shape[0]):
        coef = u[k].copy()
        b = project_both(Z, free, coef, a[k], scores[k], pulled)
        sum_design(
            scores[k], pulled, coef, b, sizes, errors, relative, away, free, a[k], p[k], d[k], e[k], lo[k], hi[k],
            found[k],
        )  # fmt: skip
        found[k, 21] = largest


@njit(**OPTIONS)
def judge_formulas(kind, X, constant, relative, away, free, u, a, y, c, term_relative, scores, found):
    """The same for losses without five numbers: the ten sums of `add_smooth_terms` and the largest violation of each.

    After these eleven: sum_i a_i, sum_i |a_i|, the largest error of a score, the number of the dual with most room,
    |coef|^2, |coef - Z'a|, sum_i |a_i| |z_i| and the largest |z_i|. The duals are within their domain.
    """
    n, last = X.shape
    errors, sizes, pulled, f = np.empty(n), np.empty(n), np.empty(last + 1), np.empty(n)
    own = 0.0 if free else constant
    largest = bound_lengths(X, last, own, 2.0 * relative, sizes)
    for k in range(u.shape[0]):
        coef, b = u[k].copy(), 0.0
        if free:
            b, coef[last] = coef[last], 0.0
        project_rows(X, coef, own, scores[k])
        fill(pulled, 0.0)
        combine_rows(X, own, a[k], pulled)
        square, apart, weight = compare_weights(coef, pulled, b, sizes, relative, away, a[k], errors)
        total = sizes_of_duals = widest = 0.0
        for i in range(n):
            f[i] = scores[k, i] + b
            errors[i] += UNIT * abs(f[i])
            total += a[k, i]
            sizes_of_duals += abs(a[k, i])
            widest = max(widest, errors[i])
        for j in range(10):
            found[k, j] = 0.0
        found[k, 10] = add_smooth_terms(kind, f, errors, a[k], y[k], c[k], term_relative, found[k])
        found[k, 11], found[k, 12], found[k, 13] = total, sizes_of_duals, widest
        found[k, 14] = find_room(kind, a[k], y[k], c[k])
        found[k, 15], found[k, 16], found[k, 17], found[k, 18] = square, apart, weight, largest


@njit(**OPTIONS)
def find_room(kind, a, y, c):
    """The number of the dual that is furthest from the ends of its domain: 0 to y c, or any number below y c."""
    room, best = -1.0, 0
    for i in range(a.shape[0]):
        own = min(a[i] * y[i], c[i] - a[i] * y[i]) if kind == LOGISTIC else c[i] * y[i] - a[i]
        if own > room:
            room, best = own, i
    return best
