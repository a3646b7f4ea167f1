"""Newton's method for smooth losses of many rows for each feature: the matrix is that of some rows, drawn at random.

    u <- u + t step,     step = -B gradient

The rows that are drawn are solved first, which gives u and the factors of their matrix. For m rows of d features that
matrix is off by about sqrt(d/m), and secants of the steps on all rows mend it: B is the limited-memory matrix of
Broyden, Fletcher, Goldfarb and Shanno with the factored matrix in place of the identity (Nocedal and Wright 2006,
algorithm 7.4). A step is one pass over the rows; with their matrix it would take several times as long.
"""

import numpy as np

from .compiler import njit
from .fused_rows import CONJUGATES, LOSSES, pass_rows
from .small_newton import (
    CONVERGED,
    EXACT,
    GAP_SHARE,
    OPTIONS,
    ROWS,
    STEPS,
    absorb_imbalance,
    balance,
    measure_gap,
    measure_targets,
    minimise,
    respond,
)
from .small_systems import (
    add_multiple,
    add_squares,
    combine_rows,
    copy,
    factor_with_ridge,
    fill,
    form_gradient,
    project,
    project_rows,
    solve_factored,
)

SAMPLE_TOL = 1e-2  # relative gap to which the rows that were drawn are solved
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
def keep_secant(step, change, count):
    """The number of secants with this one, the last, if the gradient has changed along its step."""
    lengths = np.sqrt(dot(step, step) * dot(change, change))
    return count + 1 if dot(step, change) > LEAST_CURVATURE_SHARE * lengths else count


@njit(**OPTIONS)
def minimise_by_secants(kind, X, constant, free, p, d, e, lo, hi, tol, scale, L, u, a, told):
    """Full steps on all rows from u with the factors L until the gap is within tol; False where they are slow.

    A step is one pass over the rows. One that makes the gap wider is taken back.
    """
    size, ridge, no_matrix = X.shape[1] + 1, 0.0 if free else 1.0, np.empty((0, 0))
    pulled, gradient, before, step = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    steps, changes, shares, count = np.empty((SECANTS, size)), np.empty((SECANTS, size)), np.empty(SECANTS), 0
    sums, last_gap, moved, stepped = np.empty(3), np.inf, True, False
    pass_rows(kind, X, constant, u, p, d, e, lo, hi, False, a, sums, pulled, no_matrix)
    for _ in range(MAX_SECANT_STEPS):
        gap, values = measure_gap(u, ridge, pulled, sums[LOSSES], sums[CONJUGATES], told)
        if gap <= GAP_SHARE * tol * values:
            if not (free and moved):
                told[CONVERGED] = 1.0
                return True
            shift, sums[LOSSES], sums[CONJUGATES] = balance_at(kind, X, u, p, d, e, lo, hi, scale, a)
            u[size - 1] += shift
            steps[count % SECANTS, size - 1] += shift
            fill(pulled, 0.0)
            combine_rows(X, constant, a, pulled)
            moved = False
            continue
        if not gap <= SLOW_SHARE * last_gap:
            if stepped and not gap <= last_gap:
                add_multiple(-1.0, steps[count % SECANTS], u)
            return False
        last_gap = gap
        copy(gradient, before)
        copy(pulled, gradient)
        form_gradient(u, ridge, gradient)
        if stepped:
            k = count % SECANTS
            for j in range(size):
                changes[k, j] = gradient[j] - before[j]
            count = keep_secant(steps[k], changes[k], count)
        find_direction(gradient, L, steps, changes, count, shares, step)
        if not dot(gradient, step) < 0.0:
            return False
        told[STEPS] += 1.0
        add_multiple(1.0, step, u)
        copy(step, steps[count % SECANTS])
        pass_rows(kind, X, constant, u, p, d, e, lo, hi, False, a, sums, pulled, no_matrix)
        moved = stepped = True
    return False


@njit(**OPTIONS)
def balance_at(kind, X, u, p, d, e, lo, hi, scale, a):
    """`balance` at the scores of u: by how much the intercept moves, the sums there, and the duals in a."""
    n = X.shape[0]
    f, trial, curvature = np.empty(n), np.empty(n), np.empty(n)
    project_rows(X, u, 1.0, f)
    return balance(kind, True, f, p, d, e, lo, hi, scale, trial, a, curvature)


@njit(**OPTIONS)
def solve_sample(kind, Z, free, p, d, e, lo, hi, max_steps, scale, u, L, told):
    """The problem of the rows that were drawn, from u, and the factors of its matrix there; whether there is both."""
    n, size = Z.shape
    a, curvature, f, rows = np.empty(n), np.zeros(n), np.empty(n), np.empty(n, np.int64)
    M, scratch = np.zeros((size, size)), np.empty((size, size))
    minimise(
        kind, Z, free, p, d, e, lo, hi, SAMPLE_TOL, max_steps, scale, False, u, a, curvature.copy(), M.copy(), told
    )  # fmt: skip
    if told[CONVERGED] == 0.0:
        return False
    told[CONVERGED] = 0.0
    project(Z, u, f)
    respond(kind, f, p, d, e, lo, hi, a, curvature)
    for i in range(n):
        rows[i] = i
    add_squares(Z, curvature, rows, n, M)
    return factor_with_ridge(M, 1.0, 1e-14 if free else 1.0, L, scratch)


@njit(**OPTIONS)
def join_constant(X, constant, rows):
    """(x_i, constant) for the numbers of some rows, as one array."""
    d = X.shape[1]
    Z = np.empty((rows.shape[0], d + 1))
    for i in range(rows.shape[0]):
        copy(X[rows[i]], Z[i, :d])
        Z[i, d] = constant
    return Z


@njit(**OPTIONS)
def weigh_drawn(kind, drawn, factors, p, d, e, lo, hi, part):
    """The five numbers of the rows `drawn`, each of `factors` times its weight, into the rows of `part`."""
    for i in range(drawn.shape[0]):
        k, factor = drawn[i], factors[i]
        part[0, i], part[2, i] = p[k], e[k]
        part[1, i] = d[k] / factor if kind == ROWS else d[k] * factor
        part[3, i], part[4, i] = factor * lo[k], factor * hi[k]


@njit(**EXACT)
def minimise_all_sampled(
    start, stop, kind, X, constant, drawn, factors, free, real, c, p, d, e, lo, hi, tol, max_steps, u, a, told
):  # fmt: skip
    """The problems start to stop: those of the rows `drawn`, each of `factors` times its weight, then those of all.

    Where the sample does not stand for all rows, `minimise` goes on with the whole matrix, over the rows with their
    constant in one array; duals that must balance do, as in `minimise_all`.
    """
    n, size, m = X.shape[0], X.shape[1] + 1, drawn.shape[0]
    L, part, row = np.empty((size, size)), join_constant(X, constant, drawn), np.empty((5, m))
    for k in range(start, stop):
        centre, scale = measure_targets(real, free, p[k], c[k])
        weigh_drawn(kind, drawn, factors, p[k], d[k], e[k], lo[k], hi[k], row)
        fill(u[k], 0.0)
        u[k, size - 1] = centre if free else 0.0
        begun = solve_sample(
            kind, part, free, row[0], row[1], row[2], row[3], row[4], MAX_SAMPLE_STEPS, scale, u[k], L, told[k]
        )  # fmt: skip
        if not begun:
            fill(u[k], 0.0)
            u[k, size - 1] = centre if free else 0.0
        if not begun or not minimise_by_secants(
            kind, X, constant, free, p[k], d[k], e[k], lo[k], hi[k], tol, scale, L, u[k], a[k], told[k]
        ):  # fmt: skip
            limit = max_steps + int(told[k, STEPS])
            Z, held, M = join_constant(X, constant, np.arange(n)), np.zeros(n), np.zeros((size, size))
            minimise(
                kind, Z, free, p[k], d[k], e[k], lo[k], hi[k], tol, limit, scale, begun, u[k], a[k], held, M, told[k]
            )  # fmt: skip
        if free and kind == ROWS:
            absorb_imbalance(a[k], lo[k], hi[k])
