"""The last digits of a small linear problem with kinks: an active-set method over its free duals.

Interior point ends at a gap of tol, which leaves half as many digits of w. From there on the duals strictly between
their bounds are found as the solution of one system of equations, in as many unknowns as there are of them:

    maximise  g't - 1/2 |Z't|^2   over t, with sum t = 0 where the intercept is free,   g = -p - e sign(a) - f

A dual that meets its bound stays there; then the one at its bound that violates its condition most is freed (Nocedal
and Wright 2006, section 16.5). D rises in every step. All of it stops where it would take more than a tenth of the fit.
"""

import numpy as np

from .compiler import njit
from .small_systems import OPTIONS, combine, factor, project, solve_factored

SHARE_OF_FIT = 0.1  # of the multiplications of a fit that its last digits may take
FIT_COST = 1_200_000  # of a fit besides its steps, in multiplications
COST_FACTOR = 1.2  # of a multiplication of these loops, beside those of the steps
MAX_ROUNDS, FEWEST_ROUNDS = 40, 1
RIDGE = 1e-12  # of the largest diagonal entry, added to all of them: rows may be there twice
SETTLED_VIOLATION = 1e-13  # of the largest score, the violation that counts as rounding


@njit(**OPTIONS)
def find_rate(i, up, a, p, e):
    """The rate -p - e sign(a) at which D rises where a_i does (`up`), or falls where it does, without f."""
    positive = a[i] >= 0.0 if up else a[i] > 0.0
    return -p[i] - (e[i] if positive else -e[i])


@njit(**OPTIONS)
def list_free(a, e, lo, hi, extra, free):
    """The duals strictly between their bounds and off their kinks, with one more; and how many there are."""
    count = 0
    for i in range(a.shape[0]):
        if i == extra or (lo[i] < a[i] < hi[i] and (e[i] == 0.0 or a[i] != 0.0)):
            free[count] = i
            count += 1
    return count


@njit(**OPTIONS)
def find_direction(Z, balanced, rises, extra, free, f, a, p, e, t, ones, L):
    """What the direction t gains per unit, g't; 0 where there is none."""
    count, width, largest = t.shape[0], Z.shape[1] - (1 if balanced else 0), 0.0
    rows = np.empty((count, width))
    for r in range(count):
        for j in range(width):
            rows[r, j] = Z[free[r], j]
    for r in range(count):
        for s in range(r + 1):
            total = 0.0
            for j in range(width):
                total += rows[r, j] * rows[s, j]
            L[r, s] = total
        largest = max(largest, L[r, r])
    tied = largest if balanced else 0.0  # times the square of the sum of t, which is zero: M is less singular with it
    for r in range(count):
        for s in range(r + 1):
            L[r, s] += tied
        L[r, r] += RIDGE * largest
        t[r] = find_rate(free[r], rises or free[r] != extra, a, p, e) - f[free[r]]
        ones[r] = 1.0
    if not factor(L, L):
        return 0.0
    solve_factored(L, t)
    total = weight = gain = 0.0
    if balanced:
        solve_factored(L, ones)
        for r in range(count):
            total += t[r]
            weight += ones[r]
    for r in range(count):
        if balanced:
            t[r] -= total / weight * ones[r]
        gain += t[r] * (find_rate(free[r], rises or free[r] != extra, a, p, e) - f[free[r]])
    return gain


@njit(**OPTIONS)
def move_duals(Z, free, t, a, e, lo, hi, v):
    """Move the free duals along t, to its end or until the first of them meets a bound or a kink, and v; how far."""
    share, blocked, edge = 1.0, -1, 0.0
    for r in range(t.shape[0]):
        i = free[r]
        end = hi[i] if t[r] > 0.0 else lo[i]
        if e[i] > 0.0 and a[i] * t[r] < 0.0:
            end = 0.0
        if t[r] != 0.0 and (end - a[i]) / t[r] < share:
            share, blocked, edge = max((end - a[i]) / t[r], 0.0), r, end
    for r in range(t.shape[0]):
        i = free[r]
        before = a[i]
        a[i] = edge if r == blocked else min(max(before + share * t[r], lo[i]), hi[i])
        for j in range(v.shape[0]):
            v[j] += (a[i] - before) * Z[i, j]
    return share


@njit(**OPTIONS)
def project_some(Z, rows, count, v, f):
    """f = Z v for some of the rows."""
    for r in range(count):
        total = 0.0
        for j in range(v.shape[0]):
            total += Z[rows[r], j] * v[j]
        f[rows[r]] = total


@njit(**OPTIONS)
def average_intercept(free, count, f, a, p, e):
    """b at which the free duals have no rate, on average."""
    total = 0.0
    for r in range(count):
        total += find_rate(free[r], True, a, p, e) - f[free[r]]
    return total / count


@njit(**OPTIONS)
def find_violator(b, f, a, p, e, lo, hi):
    """The dual that violates its condition most, whether it wants to rise, and by how much."""
    worst, rises, most = -1, True, 0.0
    for i in range(f.shape[0]):
        if a[i] < hi[i]:
            rate = find_rate(i, True, a, p, e) - f[i] - b
            if rate > most:
                worst, rises, most = i, True, rate
        if a[i] > lo[i]:
            rate = f[i] + b - find_rate(i, False, a, p, e)
            if rate > most:
                worst, rises, most = i, False, rate
    return worst, rises, most


@njit(**OPTIONS)
def settle(Z, balanced, p, e, lo, hi, credit, a, v, f):
    """Active-set steps from the duals a until none violates its condition; the intercept.

    v = Z'a and f = Z v are kept, without the constant column where the intercept is free (`balanced`).
    """
    n, size = Z.shape
    free, b, extra, rises = np.empty(n, np.int64), 0.0, -1, True
    for done in range(MAX_ROUNDS):
        count = list_free(a, e, lo, hi, extra, free)
        cost = COST_FACTOR * count * (count * (count / 3.0 + 0.5 * size) + 3.0 * size)
        credit -= cost
        rest = FEWEST_ROUNDS + max(count - size, 0) if done == 0 else 0  # each round puts one dual at its bound
        if credit < rest * (cost + COST_FACTOR * n * size) or count == 0:
            return b
        t = np.empty(count)
        gain = find_direction(Z, balanced, rises, extra, free, f, a, p, e, t, np.empty(count), np.empty((count, count)))
        share = move_duals(Z, free, t, a, e, lo, hi, v) if gain > 0.0 else 1.0
        if balanced:
            v[size - 1] = 0.0
        if share == 0.0 and extra >= 0:
            return b
        extra = -1
        if share < 1.0:
            project_some(Z, free, count, v, f)
            continue  # a dual has met its bound
        credit -= COST_FACTOR * n * size
        combine(a, Z, v)
        if balanced:
            v[size - 1] = 0.0
        project(Z, v, f)
        if balanced:
            count = list_free(a, e, lo, hi, -1, free)
            if count == 0:
                return b
            b = average_intercept(free, count, f, a, p, e)
        extra, rises, most = find_violator(b, f, a, p, e, lo, hi)
        largest = abs(b)
        for i in range(n):
            largest = max(largest, abs(f[i]))
        if most <= SETTLED_VIOLATION * largest:
            return b
    return b
