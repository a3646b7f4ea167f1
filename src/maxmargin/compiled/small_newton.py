"""Newton's method for smooth losses of few rows and features: one compiled call for a problem, or for all classes.

    (R + Z' diag(l'') Z) step = -gradient,     u <- u + t step,     f = Z u

Z = (X, constant) has the intercept as its last feature, R is the identity but for a free intercept, whose entry is 0.
"""

import numpy as np

from ..runtime.rounding import BALANCE_TOLERANCE
from .compiler import njit
from .double_double import two_sum
from .small_systems import (
    OPTIONS,
    add_multiple,
    add_squares,
    combine,
    copy,
    factor_with_ridge,
    fill,
    form_gradient,
    project,
    solve_factored,
)
from .smooth_rows import respond_smoothly

EXACT = {**OPTIONS, "fastmath": False}
ROWS = 0  # the kind of losses with five numbers per row; the other kinds are those of `smooth_rows`
GAP_SHARE = 0.9  # of tol: the gap that the loop aims at, so that the judge agrees
SLOPE_SHARE = 0.1  # of the first slope: the largest slope at which a line search ends
WALL_FACTOR = 10.0  # times the first slope: a steeper line is on the wall of an exponential
STEPS, PRIMAL, DUAL, CONVERGED = range(4)  # what is told of each problem


@njit(**OPTIONS)
def respond(kind, f, p, d, e, lo, hi, a, curvature):
    """The duals a = -c l'(f) and c l''(f) of all rows; returns sum c l(f) and sum conj(a).

    For the formulas p holds y, and d holds c.
    """
    losses = conjugates = 0.0
    if kind == ROWS:
        for k in range(f.shape[0]):
            push = -(f[k] + p[k])
            soft = push - min(max(push, -e[k]), e[k])
            inverse = 1.0 / d[k]
            dual = min(max(soft * inverse, lo[k]), hi[k])
            inside = (lo[k] < dual) & (dual < hi[k]) & ((soft != 0.0) | (e[k] == 0.0))
            square = 0.5 * d[k] * dual * dual + e[k] * abs(dual)
            a[k], curvature[k] = dual, inverse if inside else 0.0
            losses += dual * push - square
            conjugates += p[k] * dual + square
        return losses, conjugates
    losses, product, _ = respond_smoothly(kind, f, p, d, a, curvature)
    return losses, -product - losses


@njit(**EXACT)
def balance(kind, free, f, p, d, e, lo, hi, scale, trial, a, curvature):
    """Move a free intercept until the duals sum to zero: Newton's method in one variable, kept within a bracket.

    Returns by how much, and the sums of losses and conjugates there; `trial`, `a` and `curvature` are those there.
    """
    low, high, shift, last, wall = -np.inf, np.inf, 0.0, np.inf, np.inf
    losses = conjugates = 0.0
    for _ in range(100):
        for k in range(f.shape[0]):
            trial[k] = f[k] + shift
        losses, conjugates = respond(kind, trial, p, d, e, lo, hi, a, curvature)
        if not free:
            break
        missing = size = second = 0.0
        for k in range(f.shape[0]):
            missing, size, second = missing + a[k], size + abs(a[k]), second + curvature[k]
        narrow = high - low < np.inf and high - low <= 4e-16 * (abs(low) + abs(high))
        if narrow or abs(missing) <= 1e-15 * size:
            break
        if missing > 0:
            low = shift
        else:
            high = shift
        wall = min(wall, WALL_FACTOR * abs(missing)) if last == np.inf else wall
        crawling = (abs(missing) > 0.5 * last or abs(missing) > wall) and high - low < np.inf
        last = abs(missing)
        ahead = shift + missing / second if 0.0 < second < np.inf else shift + (scale if missing > 0 else -scale)
        shift = 0.5 * (low + high) if crawling or not low < ahead < high else ahead
    return shift, losses, conjugates


@njit(**EXACT)
def absorb_imbalance(a, lo, hi):
    """Let the dual furthest from its bounds take up what the sum of all misses of zero; whether it has room for it."""
    total = lost = size = room = 0.0
    widest = 0
    for k in range(a.shape[0]):
        total, rest = two_sum(total, a[k])
        lost += rest
        size += abs(a[k])
        own = min(min(a[k] - lo[k], hi[k] - a[k]), abs(a[k]))
        if own > room:
            room, widest = own, k
    missing = total + lost
    if abs(missing) > 1e-9 * size or abs(missing) >= room:
        return abs(missing) <= BALANCE_TOLERANCE * size
    a[widest] -= missing
    return True


@njit(**OPTIONS)
def search(kind, f, move, slope, pulled, curve, p, d, e, lo, hi, trial, a, curvature):
    """t > 0 where the slope along a step is near zero: Newton's method in one variable, kept within a bracket.

    `slope` is that at t = 0, `pulled` what the duals there add to it, `curve` that of the regulariser. Returns t and
    the sums of losses and conjugates there; `trial`, `a` and `curvature` are those at t.
    """
    low, high, t, last = 0.0, np.inf, 1.0, np.inf
    losses = conjugates = 0.0
    for look in range(60):
        for k in range(f.shape[0]):
            trial[k] = f[k] + t * move[k]
        losses, conjugates = respond(kind, trial, p, d, e, lo, hi, a, curvature)
        first = second = 0.0
        for k in range(f.shape[0]):
            first += a[k] * move[k]
            second += curvature[k] * move[k] * move[k]
        now = slope + pulled - first + t * curve
        if not abs(now) < np.inf:
            now = np.inf
        if abs(now) <= SLOPE_SHARE * abs(slope) or t == low:
            break
        if now < 0:
            low = t
        else:
            high = t
        crawling = (abs(now) > 0.5 * last or now > WALL_FACTOR * abs(slope)) and high < np.inf
        ahead = t - now / (curve + second) if now < np.inf and curve + second > 0 else np.inf
        if crawling or not low < ahead < high:
            ahead = 0.5 * (low + high) if high < np.inf else 4.0 * low
        narrow = look == 58 or high - low <= 1e-12 * min(high, 1e12)
        t, last = low if narrow else ahead, abs(now)
    return t, losses, conjugates


@njit(**OPTIONS)
def update_curvature(Z, curvature, held, M, rows, weight):
    """M = Z' diag(curvature) Z where it was that of `held`: by the rows that differ, or anew where these are many."""
    n = Z.shape[0]
    curved = changed = 0
    for k in range(n):
        curved += curvature[k] != 0.0
        changed += curvature[k] != held[k]
    if changed >= curved:
        for j in range(M.shape[0]):
            fill(M[j], 0.0)
        fill(held, 0.0)
    count = 0
    for k in range(n):
        weight[k] = curvature[k] - held[k]
        if weight[k] != 0.0:
            rows[count] = k
            count += 1
        held[k] = curvature[k]
    add_squares(Z, weight, rows, count, M)


@njit(**OPTIONS)
def measure_targets(real, free, p, c):
    """`Problem.centre` and `Problem.scale`: where scores begin, and how far they may have to go; 0 and 1 of labels."""
    if not real:
        return 0.0, 1.0
    weight = total = size = largest = 0.0
    for i in range(p.shape[0]):
        weight += c[i]
        total -= c[i] * p[i]
    centre = total / weight if free else 0.0
    for i in range(p.shape[0]):
        size += c[i] * abs(p[i] + centre)
        largest = max(largest, abs(p[i] + centre))
    scale = max(size / weight, 1e-12 * (largest + abs(centre)))
    return centre, scale if scale > 0.0 else 1.0


@njit(**OPTIONS)
def measure_gap(u, ridge, pulled, losses, conjugates, told):
    """P - D and the larger of |P| and |D|; both are told.

    In D, b times the imbalance of the duals is subtracted where the intercept is free.
    """
    size = u.shape[0]
    own = norm = 0.0
    for j in range(size - 1):
        own, norm = own + u[j] * u[j], norm + pulled[j] * pulled[j]
    last, tail = u[size - 1], pulled[size - 1]
    primal = 0.5 * (own + ridge * last * last) + losses
    dual = -0.5 * (norm + ridge * tail * tail) - conjugates - (1.0 - ridge) * last * tail
    told[PRIMAL], told[DUAL] = primal, dual
    return primal - dual, max(abs(primal), abs(dual))


@njit(**OPTIONS)
def minimise(kind, Z, free, p, d, e, lo, hi, tol, max_steps, scale, begun, u, a, first_held, first_M, told):
    """Newton steps on one problem from u until its gap is within tol; w = 0 there, unless steps have begun already.

    The duals are brought to balance at the start, and once the gap is within tol but for their balance.
    `first_held` and `first_M` are the curvature of an earlier problem at its start and the matrix of it: at w = 0 most
    losses have the same curvature for every class.
    """
    n, size = Z.shape
    held, M = first_held.copy(), first_M.copy()
    ridge = 0.0 if free else 1.0
    f, trial, move, curvature = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    rows, weight = np.empty(n, np.int64), np.empty(n)
    L, scratch = np.empty((size, size)), np.empty((size, size))
    pulled, gradient, step = np.empty(size), np.empty(size), np.empty(size)
    if begun:
        project(Z, u, f)
    else:
        fill(f, u[size - 1] if free else 0.0)
    due, moved, losses, conjugates, steps = True, False, 0.0, 0.0, int(told[STEPS])
    while True:
        if due:
            shift, losses, conjugates = balance(kind, free, f, p, d, e, lo, hi, scale, trial, a, curvature)
            u[size - 1] += shift
            copy(trial, f)
        combine(a, Z, pulled)
        gap, values = measure_gap(u, ridge, pulled, losses, conjugates, told)
        told[STEPS] = steps
        if not abs(gap) < np.inf:
            return
        if gap <= GAP_SHARE * tol * values:
            if not (free and moved):
                told[CONVERGED] = 1.0
                return
            due, moved = True, False
            continue
        if steps == max_steps:
            return
        steps += 1
        update_curvature(Z, curvature, held, M, rows, weight)
        if steps == 1 and not begun:
            copy(held, first_held)
            for j in range(size):
                copy(M[j], first_M[j])
        copy(pulled, gradient)
        form_gradient(u, ridge, gradient)
        damping = abs(pulled[size - 1]) / (10.0 * scale) + 1e-14 if free else 1.0
        if not factor_with_ridge(M, 1.0, damping, L, scratch):
            return
        for j in range(size):
            step[j] = -gradient[j]
        solve_factored(L, step)
        project(Z, step, move)
        slope = leant = curve = 0.0
        for j in range(size):
            slope += gradient[j] * step[j]
            leant += pulled[j] * step[j]
            curve += (1.0 if j < size - 1 else ridge) * step[j] * step[j]
        t, losses, conjugates = search(kind, f, move, slope, leant, curve, p, d, e, lo, hi, trial, a, curvature)
        if not t > 0.0:
            return
        add_multiple(t, step, u)
        copy(trial, f)
        due, moved = False, True


@njit(**EXACT)
def minimise_all(
    start, stop, kind, Z, free, real, c, p, d, e, lo, hi, tol, max_steps, first_held, first_M, u, a, told
):  # fmt: skip
    """`minimise` for the problems start to stop, whose rows are those of p to hi; duals that must balance do."""
    held, M, last = first_held.copy(), first_M.copy(), Z.shape[1] - 1
    for k in range(start, stop):
        centre, scale = measure_targets(real and free, free, p[k], c[k])
        fill(u[k], 0.0)
        u[k, last] = centre if free else 0.0
        minimise(
            kind, Z, free, p[k], d[k], e[k], lo[k], hi[k], tol, max_steps, scale, False, u[k], a[k], held, M, told[k]
        )
        if free and kind == ROWS:
            absorb_imbalance(a[k], lo[k], hi[k])
