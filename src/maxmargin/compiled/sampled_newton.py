"""Newton's method for smooth losses of many rows for each feature: the matrix is that of some rows, drawn at random.

    u <- u + t step,     step = -B gradient

The rows that are drawn are solved first, which gives u and the factors of their matrix. For m rows of d features that
matrix is off by about sqrt(d/m), and secants of the steps on all rows mend it: B is the limited-memory matrix of
Broyden, Fletcher, Goldfarb and Shanno with the factored matrix in place of the identity (Nocedal and Wright 2006,
algorithm 7.4). A step reads the rows three times; their matrix would take as long as twenty readings of 20 features.
"""

import numpy as np

from .compiler import njit
from .small_newton import CONVERGED, EXACT, GAP_SHARE, OPTIONS, STEPS, balance, measure_gap, minimise, respond, search
from .small_systems import (
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

SAMPLE_TOL = 1e-4  # relative gap to which the rows that were drawn are solved
MAX_SAMPLE_STEPS = 30
SECANTS = 8  # that are kept
MAX_SECANT_STEPS = 40
SLOW_SHARE = 0.5  # of the gap: where a step leaves more, the matrix of the sample is not that of all rows
LEAST_CURVATURE_SHARE = 1e-12  # of the lengths of a step and of the change of the gradient, for a secant to be kept


@njit(**OPTIONS)
def dot(x, y):
    """<x, y>."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@njit(**OPTIONS)
def find_direction(gradient, L, steps, changes, count, shares, step):
    """step = -B gradient by the last `count` secants (two loops, from the newest to the oldest and back)."""
    for j in range(gradient.shape[0]):
        step[j] = -gradient[j]
    kept = min(count, SECANTS)
    for i in range(count - 1, count - kept - 1, -1):
        k = i % SECANTS
        shares[k] = dot(steps[k], step) / dot(steps[k], changes[k])
        add_multiple(-shares[k], changes[k], step)
    solve_factored(L, step)
    for i in range(count - kept, count):
        k = i % SECANTS
        rest = shares[k] - dot(changes[k], step) / dot(steps[k], changes[k])
        add_multiple(rest, steps[k], step)


@njit(**OPTIONS)
def minimise_by_secants(kind, Z, free, y, c, tol, scale, L, u, a, told):
    """Steps on all rows from u with the factors L until the gap is within tol; False where they are slow."""
    n, size = Z.shape
    ridge = 0.0 if free else 1.0
    f, trial, move, curvature = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    pulled, gradient, before, step = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    steps, changes, shares, count = np.empty((SECANTS, size)), np.empty((SECANTS, size)), np.empty(SECANTS), 0
    project(Z, u, f)
    losses, conjugates = respond(kind, f, y, c, c, c, c, a, curvature)
    last_gap, moved, stepped = np.inf, True, False
    for _ in range(MAX_SECANT_STEPS):
        combine(a, Z, pulled)
        gap, values = measure_gap(u, ridge, pulled, losses, conjugates, told)
        if gap <= GAP_SHARE * tol * values:
            if not (free and moved):
                told[CONVERGED] = 1.0
                return True
            shift, losses, conjugates = balance(kind, free, f, y, c, c, c, c, scale, trial, a, curvature)
            u[size - 1] += shift
            steps[count % SECANTS, size - 1] += shift
            copy(trial, f)
            moved = False
            continue
        if not gap <= SLOW_SHARE * last_gap:
            return False
        last_gap = gap
        copy(gradient, before)
        copy(pulled, gradient)
        form_gradient(u, ridge, gradient)
        if stepped:
            k = count % SECANTS
            for j in range(size):
                changes[k, j] = gradient[j] - before[j]
            product = dot(steps[k], changes[k])
            lengths = np.sqrt(dot(steps[k], steps[k]) * dot(changes[k], changes[k]))
            count += 1 if product > LEAST_CURVATURE_SHARE * lengths else 0
        find_direction(gradient, L, steps, changes, count, shares, step)
        project(Z, step, move)
        slope, leant, curve = dot(gradient, step), dot(pulled, step), dot(step, step)
        curve -= (1.0 - ridge) * step[size - 1] * step[size - 1]
        if not slope < 0.0:
            return False
        t, losses, conjugates = search(kind, f, move, slope, leant, curve, y, c, c, c, c, trial, a, curvature)
        if not t > 0.0:
            return False
        told[STEPS] += 1.0
        add_multiple(t, step, u)
        copy(trial, f)
        for j in range(size):
            steps[count % SECANTS, j] = t * step[j]
        moved = stepped = True
    return False


@njit(**OPTIONS)
def solve_sample(kind, Z, free, y, c, max_steps, scale, u, L, told):
    """The problem of the rows that were drawn, from u, and the factors of its matrix there; whether there is both."""
    n, size = Z.shape
    a, curvature, f, rows = np.empty(n), np.zeros(n), np.empty(n), np.empty(n, np.int64)
    M, scratch = np.zeros((size, size)), np.empty((size, size))
    minimise(kind, Z, free, y, c, c, c, c, SAMPLE_TOL, max_steps, scale, False, u, a, curvature.copy(), M.copy(), told)
    if told[CONVERGED] == 0.0:
        return False
    told[CONVERGED] = 0.0
    project(Z, u, f)
    respond(kind, f, y, c, c, c, c, a, curvature)
    for i in range(n):
        rows[i] = i
    add_squares(Z, curvature, rows, n, M)
    return factor_with_ridge(M, 1.0, 1e-14 if free else 1.0, L, scratch)


@njit(**EXACT)
def minimise_all_sampled(
    start, stop, kind, Z, drawn, factors, free, y, c, tol, max_steps, u, a, told
):  # fmt: skip
    """The problems start to stop: those of the rows `drawn`, each of `factors` times its weight, then those of all.

    Where the sample does not stand for all rows, `minimise` goes on with the whole matrix.
    """
    size, m = Z.shape[1], drawn.shape[0]
    held, M, L = np.zeros(Z.shape[0]), np.zeros((size, size)), np.empty((size, size))
    part, part_y, part_c = np.empty((m, size)), np.empty(m), np.empty(m)
    for i in range(m):
        copy(Z[drawn[i]], part[i])
    for k in range(start, stop):
        for i in range(m):
            part_y[i], part_c[i] = y[k, drawn[i]], factors[i] * c[k, drawn[i]]
        fill(u[k], 0.0)
        begun = solve_sample(kind, part, free, part_y, part_c, MAX_SAMPLE_STEPS, 1.0, u[k], L, told[k])
        if begun and minimise_by_secants(kind, Z, free, y[k], c[k], tol, 1.0, L, u[k], a[k], told[k]):
            continue
        if not begun:
            fill(u[k], 0.0)
        limit = max_steps + int(told[k, STEPS])
        minimise(kind, Z, free, y[k], c[k], c[k], c[k], c[k], tol, limit, 1.0, begun, u[k], a[k], held, M, told[k])
