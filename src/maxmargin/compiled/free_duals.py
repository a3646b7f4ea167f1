"""Newton's method over the free duals of a small problem, between stretches of pair steps.

Pair steps soon know which duals are at their bounds, and then take hundreds of steps to move the few others to where D
is largest. With the bounds left aside that is one system of equations in as many unknowns as there are free duals:

    maximise  g't - 1/2 t'Mt   over t with sum_i t_i = 0,   M = K + diag(d) over the free duals, g = up - f
"""

import numpy as np

from .compiler import njit
from .lanes import cut_rows
from .small_systems import factor, solve_factored
from .smo import BLOCKED, DUAL, OPTIONS, update_rates

SHARE_OF_STEPS = 0.5  # of the time of pair steps that may go into systems of equations
STEP_COST, STEP_COST_PER_SAMPLE = 1000, 6  # of a pair step, in multiplications
MAX_ROUNDS = 4  # in a row: each but the last has moved a dual to its bound
RIDGE = 1e-10  # of the largest diagonal entry, added to all of them: samples may be there twice


@njit(**OPTIONS)
def find_free(up, low, slot, free):
    """The duals strictly between their bounds, and how many; -1 where a row of one of them is not at hand."""
    count = 0
    for i in range(slot.shape[0]):
        if up[i] == low[i]:
            if slot[i] < 0:
                return -1
            free[count] = i
            count += 1
    return count


@njit(**OPTIONS)
def find_direction(free, rows, slot, f, up, curvature, t, ones, L):
    """What the direction t gains per unit, g't; 0 where M has no factors."""
    count, largest = t.shape[0], 0.0
    for r in range(count):
        largest = max(largest, curvature[free[r]])
    for r in range(count):
        row = rows[slot[free[r]]]
        for s in range(r):
            L[r, s] = row[free[s]] + largest
        L[r, r] = curvature[free[r]] + (1.0 + RIDGE) * largest
        t[r], ones[r] = up[free[r]] - f[free[r]], 1.0
    if not factor(L, L):
        return 0.0
    solve_factored(L, t)
    solve_factored(L, ones)
    weight = gain = 0.0
    for r in range(count):
        weight += ones[r]
    for _ in range(2):  # what rounding leaves of the sum the first time is a multiple of the largest t
        total = 0.0
        for r in range(count):
            total += t[r]
        for r in range(count):
            t[r] -= total / weight * ones[r]
    for r in range(count):
        gain += t[r] * (up[free[r]] - f[free[r]])
    return gain


@njit(**OPTIONS)
def find_share(free, t, a, e, lo, hi):
    """The largest share of t, at most 1, that keeps every dual within its bounds and on its side of a kink."""
    share = 1.0
    for r in range(t.shape[0]):
        i = free[r]
        end = hi[i] if t[r] > 0.0 else lo[i]
        if e[i] > 0.0 and (a[i] > 0.0) != (t[r] > 0.0):
            end = 0.0
        if abs(end) < BLOCKED and t[r] != 0.0:
            share = min(share, (end - a[i]) / t[r])
    return max(share, 0.0)


@njit(**OPTIONS)
def estimate_credit(steps, n):
    """The multiplications that equations may take after so many pair steps."""
    return SHARE_OF_STEPS * steps * (STEP_COST + STEP_COST_PER_SAMPLE * n)


@njit(**OPTIONS)
def move_free(free, vectors, L, rows, slot, f, a, p, d, e, lo, hi, up, low, curvature, numbers):
    """Move the free duals in the direction t, and return how far; -1 where nothing is to be gained."""
    count = L.shape[0]
    t, ones = cut_rows(vectors, 0, count), cut_rows(vectors, count, 2 * count)
    gain = find_direction(free, rows, slot, f, up, curvature, t, ones, L)
    if not gain > 0.0:
        return -1.0
    share = find_share(free, t, a, e, lo, hi)
    numbers[DUAL] += share * (1.0 - 0.5 * share) * gain
    for r in range(count):
        i, row = free[r], rows[slot[free[r]]]
        before = a[i]
        a[i] = min(max(before + share * t[r], lo[i]), hi[i])
        if e[i] > 0.0 and a[i] * before < 0.0:
            a[i] = 0.0
        for j in range(f.shape[0]):
            f[j] += (a[i] - before) * row[j]
        update_rates(i, a, p, d, e, lo, hi, up, low)
    return share


@njit(**OPTIONS)
def maximise_over_free(credit, rows, slot, f, a, p, d, e, lo, hi, up, low, curvature, numbers):
    """Move the free duals of one layer to where D is largest, or until the first of them meets its bound, and again.

    Left undone where rows of free duals are not at hand, or where the equations would take more multiplications than
    `credit`; returns what is left of that.
    """
    n = f.shape[0]
    free = np.empty(n, np.int64)
    for _ in range(MAX_ROUNDS):
        count = find_free(up, low, slot, free)
        cost = count * (count * count / 3.0 + 2 * n)
        if count < 2 or cost > credit:
            return credit
        credit -= cost
        share = move_free(
            free, np.empty(2 * count), np.empty((count, count)), rows, slot, f, a, p, d, e, lo, hi, up, low, curvature,
            numbers,
        )  # fmt: skip
        if not 0.0 <= share < 1.0:
            return credit
    return credit
