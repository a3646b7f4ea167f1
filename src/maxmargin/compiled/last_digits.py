"""The last digits of a small problem: Newton's method over all free duals, once the gap is within tol.

A gap of 1e-5 leaves half as many digits of f. Two fits of the same problem, from dense and from sparse rows, from
weights and from repeated samples, then differ in the others. Once pair steps know which duals are at their bounds, the
free ones are the solution of one system of equations, with all the digits that float64 holds:

    maximise  g't - 1/2 t'Mt   over t with sum t = 0 in each layer,   M = K + diag(d) over the free duals, g = up - f

A few pair steps between two such systems free the duals that should not be at their bounds. All of it stops where it
would take more than a tenth of the time of the fit.
"""

import numpy as np

from .compiler import njit
from .free_duals import RIDGE, STEP_COST, STEP_COST_PER_SAMPLE, find_share
from .lanes import cut_rows
from .single_rows import admit_row
from .small_systems import factor, solve_factored
from .smo import (
    CLOCK,
    DUAL,
    GAP_CHECK_STEPS,
    ITERATIONS,
    MISSES,
    OPTIONS,
    SECOND_ORDER,
    pair_steps,
    select_layer,
    update_rates,
)  # fmt: skip

SHARE_OF_FIT = 0.1  # of the multiplications of a fit that its last digits may take
FIT_COST = 400_000  # of a fit besides its pair steps, in multiplications
MAX_ROUNDS = 16
STEPS_PER_ROUND = 8  # pair steps that free duals between two systems of equations
SETTLED_VIOLATION = 1e-13  # of the largest score, the violation m - M that counts as rounding


@njit(**OPTIONS)
def list_free(up, low, free):
    """The places layer n + i of the free duals, and how many there are."""
    layers, n = up.shape
    count = 0
    for layer in range(layers):
        for i in range(n):
            if up[layer, i] == low[layer, i]:
                free[count] = layer * n + i
                count += 1
    return count


@njit(**OPTIONS)
def hold_rows(free, count, n, rows, slot, holder, stamp, source, counts):
    """Evaluate the rows of the free duals that are not held; whether all are then."""
    for r in range(count):
        i = free[r] % n
        if slot[i] >= 0:
            stamp[slot[i]] = counts[CLOCK]
    for r in range(count):
        i = free[r] % n
        if slot[i] < 0:
            admit_row(i, source, rows, slot, holder, stamp, counts[CLOCK])
            counts[MISSES] += 1
    missing = 0
    for r in range(count):
        missing += slot[free[r] % n] < 0
    return missing == 0


@njit(**OPTIONS)
def project_on_balance(free, n, t, ones, layers):
    """t minus the multiples of M^-1 1_layer with which it sums to zero in each layer; two layers at most."""
    count = t.shape[0]
    s00 = s01 = s10 = s11 = t0 = t1 = 0.0
    for r in range(count):
        if free[r] < n:
            t0 += t[r]
            s00 += ones[0, r]
            s01 += ones[layers - 1, r]
        else:
            t1 += t[r]
            s10 += ones[0, r]
            s11 += ones[layers - 1, r]
    if layers == 1 or s11 <= 0.0:
        first, second = t0 / s00, 0.0
    elif s00 <= 0.0:
        first, second = 0.0, t1 / s11
    else:
        determinant = s00 * s11 - s01 * s10
        if determinant <= 1e-14 * s00 * s11:
            return False
        first, second = (t0 * s11 - s01 * t1) / determinant, (s00 * t1 - s10 * t0) / determinant
    for r in range(count):
        t[r] -= first * ones[0, r]
        if layers > 1:
            t[r] -= second * ones[layers - 1, r]
    return True


@njit(**OPTIONS)
def find_joint_direction(free, n, rows, slot, f, up, curvature, t, ones, L):
    """What the direction t gains per unit, g't; 0 where there is none.

    Samples that are free in both layers, or there twice, make M singular. The square of the sum of t in each layer is
    added to it, which is zero where the duals balance: the equations of the balance then have all their digits.
    """
    count, layers, largest = t.shape[0], up.shape[0], 0.0
    for r in range(count):
        largest = max(largest, curvature[free[r] // n, free[r] % n])
    for r in range(count):
        layer, i = free[r] // n, free[r] % n
        row = rows[slot[i]]
        for s in range(r):
            L[r, s] = row[free[s] % n] + (largest if free[s] // n == layer else 0.0)
        L[r, r] = curvature[layer, i] + (1.0 + RIDGE) * largest
        t[r] = up[layer, i] - f[i]
        for other in range(layers):
            ones[other, r] = 1.0 if other == layer else 0.0
    if not factor(L, L):
        return 0.0
    solve_factored(L, t)
    for layer in range(layers):
        solve_factored(L, ones[layer])
    if not project_on_balance(free, n, t, ones, layers):
        return 0.0
    gain = 0.0
    for r in range(count):
        gain += t[r] * (up[free[r] // n, free[r] % n] - f[free[r] % n])
    return gain


@njit(**OPTIONS)
def find_joint_share(free, n, t, a, e, lo, hi):
    """The largest share of t, at most 1, that keeps every dual within its bounds and on its side of a kink."""
    share = 1.0
    for layer in range(a.shape[0]):
        first = 0
        while first < t.shape[0] and free[first] < layer * n:
            first += 1
        last = first
        while last < t.shape[0] and free[last] < (layer + 1) * n:
            free[last] -= layer * n
            last += 1
        own = find_share(
            cut_rows(free, first, last), cut_rows(t, first, last), a[layer], e[layer], lo[layer], hi[layer]
        )
        share = min(share, own)
        for r in range(first, last):
            free[r] += layer * n
    return share


@njit(**OPTIONS)
def move_all_free(free, vectors, ones, L, rows, slot, f, a, p, d, e, lo, hi, up, low, curvature, numbers):
    """Move all free duals in the direction t, and return how far; -1 where nothing is to be gained."""
    count, n = L.shape[0], f.shape[0]
    t = cut_rows(vectors, 0, count)
    gain = find_joint_direction(free, n, rows, slot, f, up, curvature, t, ones, L)
    if not gain > 0.0:
        return -1.0
    share = find_joint_share(free, n, t, a, e, lo, hi)
    numbers[DUAL] += share * (1.0 - 0.5 * share) * gain
    for r in range(count):
        layer, i = free[r] // n, free[r] % n
        own, row = a[layer], rows[slot[i]]
        before = own[i]
        own[i] = min(max(before + share * t[r], lo[layer, i]), hi[layer, i])
        if e[layer, i] > 0.0 and own[i] * before < 0.0:
            own[i] = 0.0
        for j in range(n):
            f[j] += (own[i] - before) * row[j]
        update_rates(i, own, p[layer], d[layer], e[layer], lo[layer], hi[layer], up[layer], low[layer])
    return share


@njit(**OPTIONS)
def find_last_digits(
    rows, slot, holder, stamp, source, f, a, p, d, e, lo, hi, up, low, curvature, scratch, numbers, counts, intercepts
):  # fmt: skip
    """Newton's method over the free duals, and pair steps that free others, until no pair violates its conditions.

    Left undone where it would take more than SHARE_OF_FIT of the multiplications of the fit so far.
    """
    layers, n = a.shape
    step_cost = STEP_COST + STEP_COST_PER_SAMPLE * n
    credit = SHARE_OF_FIT * (FIT_COST + counts[ITERATIONS] * step_cost)
    free = np.empty(layers * n, np.int64)
    for _ in range(MAX_ROUNDS):
        count = list_free(up, low, free)
        credit -= count * (count * count / 3.0 + 2 * n)
        if credit < 0.0 or min(count, n) > holder.shape[0]:
            return
        share = -1.0
        if count > 1:
            if not hold_rows(free, count, n, rows, slot, holder, stamp, source, counts):
                return
            share = move_all_free(
                free, np.empty(count), np.empty((layers, count)), np.empty((count, count)), rows, slot, f, a, p, d, e,
                lo, hi, up, low, curvature, numbers,
            )  # fmt: skip
        if 0.0 <= share < 1.0:
            continue  # a dual has met its bound
        _, m, _, M, _ = select_layer(up, low, f, scratch)
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(f[i]))
        credit -= STEPS_PER_ROUND * step_cost
        if m - M <= SETTLED_VIOLATION * max(largest, 1e-300) or credit < 0.0:
            return
        pair_steps(
            rows, slot, holder, stamp, source, f, a, p, d, e, lo, hi, up, low, curvature, scratch, SECOND_ORDER, None,
            True, GAP_CHECK_STEPS, 0.0, 0.0, STEPS_PER_ROUND, numbers, counts, intercepts,
        )  # fmt: skip
