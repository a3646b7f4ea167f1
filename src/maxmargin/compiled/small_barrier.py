"""Interior point for losses with kinks, of few rows and features: one compiled call for a problem, or for all classes.

The equations are those of `solvers.newton.barrier`: with z and v the multipliers of the bounds of the duals a,

    R u = Z'a,     f + p - z + v = 0,     (a - lo) z = mu,     (hi - a) v = mu

A row with e > 0 has two duals, one for each side of its flat part: two layers over the same rows. Loops over rows write
to one array each: of more than a few, LLVM does not see that they do not overlap, and takes one row at a time.
"""

import numpy as np

from .compiler import njit
from .last_digits_linear import FIT_COST, SHARE_OF_FIT, settle
from .small_newton import CONVERGED, DUAL, EXACT, GAP_SHARE, PRIMAL, STEPS, absorb_imbalance, measure_targets
from .small_systems import (
    OPTIONS,
    add_multiple,
    add_squares,
    combine,
    factor_with_ridge,
    fill,
    form_gradient,
    project,
    solve_factored,
)

FINITE = {**OPTIONS, "fastmath": {"reassoc", "contract", "nnan", "nsz"}}  # of functions that see finite numbers only
BOUNDARY_SHARE = 0.995  # largest share of the distance to the nearest bound that a step covers
CORRECTOR_LIMIT = 10.0  # times the target: the largest correction of one product (Gondzio 1996)
NEAR_FACTOR = 1000.0  # times tol: the gap of the barrier from which on its duals are tried
A, LOW, HIGH, Z_, V, PUSH = range(6)  # parts of the state: duals, distances from bounds, multipliers, p of each layer
# Where steps begin: duals at this share of the sum of their bounds, multipliers of so many times the scale of scores.
START_DUAL, START_MULTIPLIER = 0.15, 1.0
WORN_SHARE = 0.01  # of tol: a gap of the barrier from which on no dual is put at its bound, since others did not help
SNAP_SHARE = 0.3  # of the relative size of its multiplier: a dual so near to its bound is at the bound


@njit(**OPTIONS)
def count_layers(e):
    """2 where any row has a flat part, else 1."""
    for i in range(e.shape[0]):
        if e[i] > 0.0:
            return 2
    return 1


@njit(**OPTIONS)
def start_between_bounds(free, p, e, lo, hi, a, low, high, push):
    """Duals between their bounds, those of the heavier side made smaller until all balance.

    `low` and `high` receive their distances from the bounds, and `push` p of each layer.
    """
    layers, n = a.shape
    rise = fall = 0.0
    for layer in range(layers):
        for i in range(n):
            bottom, top = lo[i] if layer == layers - 1 else 0.0, hi[i] if layer == 0 else 0.0
            push[layer, i] = p[i] + (e[i] if layer == 0 else -e[i])
            a[layer, i] = START_DUAL * (bottom + top)
            rise, fall = rise + max(a[layer, i], 0.0), fall + max(-a[layer, i], 0.0)
    shrink_up = max(fall / rise, 0.05) if free and rise > fall else 1.0
    shrink_down = max(rise / fall, 0.05) if free and fall > rise else 1.0
    for layer in range(layers):
        for i in range(n):
            a[layer, i] *= shrink_up if a[layer, i] > 0.0 else shrink_down
            low[layer, i] = a[layer, i] - (lo[i] if layer == layers - 1 else 0.0)
            high[layer, i] = (hi[i] if layer == 0 else 0.0) - a[layer, i]


@njit(**OPTIONS)
def invert(x, inverse):
    """1 / x: a step divides by distances and multipliers many times, and a division takes as long as ten products."""
    for i in range(x.shape[0]):
        inverse[i] = 1.0 / x[i]


@njit(**OPTIONS)
def soften(z, v, per_low, per_high, theta, weight):
    """theta = 1 / (z / low + v / high), which is added to `weight`."""
    for i in range(theta.shape[0]):
        theta[i] = 1.0 / (z[i] * per_low[i] + v[i] * per_high[i])
    add_multiple(1.0, theta, weight)


@njit(**OPTIONS)
def push_rows(f, push, theta, rise, fall, per_low, per_high, right, summed):
    """right = -(f + push) + rise / low - fall / high, and theta times it added to `summed`."""
    for i in range(f.shape[0]):
        right[i] = rise[i] * per_low[i] - fall[i] * per_high[i] - push[i]
    for i in range(f.shape[0]):
        right[i] -= f[i]
    for i in range(f.shape[0]):
        summed[i] += theta[i] * right[i]


@njit(**OPTIONS)
def move_duals(theta, right, df, rise, fall, per_low, per_high, z, v, da, dz, dv):
    """How duals and multipliers move with the scores, for the products (a - lo) z = rise and (hi - a) v = fall."""
    for i in range(df.shape[0]):
        da[i] = theta[i] * (right[i] - df[i])
    for i in range(df.shape[0]):
        dz[i] = (rise[i] - z[i] * da[i]) * per_low[i] - z[i]
    for i in range(df.shape[0]):
        dv[i] = (fall[i] + v[i] * da[i]) * per_high[i] - v[i]


@njit(**FINITE)
def find_fastest(per_x, dx, per_y, dy, sign):
    """The largest rate at which any x falls, or any y does along sign dy, relative to its size."""
    rate = 0.0
    for i in range(per_x.shape[0]):
        rate = max(rate, max(-dx[i] * per_x[i], -sign * dy[i] * per_y[i]))
    return rate


@njit(**OPTIONS)
def find_longest(inverse, moves):
    """The longest step, at most 1 / BOUNDARY_SHARE, that keeps distances and multipliers positive."""
    rate = BOUNDARY_SHARE
    for k in range(inverse.shape[1]):
        da, dz, dv = moves[0, k], moves[1, k], moves[2, k]
        rate = max(rate, find_fastest(inverse[LOW, k], da, inverse[HIGH, k], da, -1.0))
        rate = max(rate, find_fastest(inverse[Z_, k], dz, inverse[V, k], dv, 1.0))
    return 1.0 / rate


@njit(**OPTIONS)
def take_step(t, moves, state):
    """Duals, their distances from the bounds and their multipliers after a step of length t."""
    for k in range(state.shape[1]):
        for part in range(A, V + 1):
            add_multiple(-t if part == HIGH else t, moves[max(part - HIGH, 0), k], state[part, k])


@njit(**FINITE)
def sum_products(low, high, da, z, dz, v, dv, t):
    """sum_i (low_i + t da_i) (z_i + t dz_i) + (high_i - t da_i) (v_i + t dv_i), with no multiplier below zero."""
    total = 0.0
    for i in range(z.shape[0]):
        step = t * da[i]
        total += (low[i] + step) * max(z[i] + t * dz[i], 0.0) + (high[i] - step) * max(v[i] + t * dv[i], 0.0)
    return total


@njit(**OPTIONS)
def sum_all_products(t, moves, state):
    """The products of all distances and multipliers after a step of length t."""
    total = 0.0
    for k in range(state.shape[1]):
        low, high, z, v = state[LOW, k], state[HIGH, k], state[Z_, k], state[V, k]
        total += sum_products(low, high, moves[0, k], z, moves[1, k], v, moves[2, k], t)
    return total


@njit(**FINITE)
def correct(target, sign, da, dz, rise):
    """What a product is to be: the target less Mehrotra's second-order term, within limits.

    The term misleads where it is many times the target itself (Gondzio 1996).
    """
    bound = CORRECTOR_LIMIT * target
    for i in range(da.shape[0]):
        rise[i] = min(max(target - sign * da[i] * dz[i], -bound), bound)


@njit(**OPTIONS)
def measure_room(a, lo, hi, e):
    """How far a dual may move without reaching a bound, or its kink at zero."""
    return min(min(a - lo, hi - a), abs(a) if e > 0.0 else np.inf)


@njit(**EXACT)
def settle_duals(snap, free, e, lo, hi, scale, low, high, z, v, a):
    """The duals of the rows, those near a bound of large multiplier put there, and balanced; whether they can be.

    Near is less than `snap` of the relative size of the multiplier.
    """
    layers, n = low.shape
    missing = room = 0.0
    for i in range(n):
        dual = 0.0
        for layer in range(layers):
            bottom, top = lo[i] if layer == layers - 1 else 0.0, hi[i] if layer == 0 else 0.0
            share = snap * (top - bottom) / scale
            below, above = low[layer, i], high[layer, i]
            if below < share * z[layer, i] and below < above:
                dual += bottom
            else:
                dual += top if above < share * v[layer, i] else bottom + below
        a[i] = min(max(dual, lo[i]), hi[i])
        missing -= a[i]
        room += measure_room(a[i], lo[i], hi[i], e[i])
    if not free:
        return True
    if abs(missing) <= 0.5 * room:
        share = missing / room if room > 0.0 else 0.0
        for i in range(n):
            a[i] += share * measure_room(a[i], lo[i], hi[i], e[i])
    return absorb_imbalance(a, lo, hi)


@njit(**FINITE)
def sum_losses(f, p, e, lo, hi):
    """sum_i c_i l(f_i), for rows without curvature."""
    total = 0.0
    for i in range(f.shape[0]):
        push = -(f[i] + p[i])
        total += hi[i] * max(push - e[i], 0.0) + lo[i] * min(push + e[i], 0.0)
    return total


@njit(**OPTIONS)
def sum_conjugates(p, e, a):
    """sum_i conj_i(a_i), for rows without curvature."""
    total = 0.0
    for i in range(a.shape[0]):
        total += p[i] * a[i] + e[i] * abs(a[i])
    return total


@njit(**OPTIONS)
def halve_square(u, ridge):
    """u'R u / 2."""
    total, size = 0.0, u.shape[0]
    for j in range(size - 1):
        total += u[j] * u[j]
    return 0.5 * (total + ridge * u[size - 1] * u[size - 1])


@njit(**OPTIONS)
def solve_for_move(Z, L, gradient, f, theta, rise, fall, state, inverse, right, summed, du, df, moves):
    """Newton's step for given products of distances and multipliers; whether it is finite."""
    per_low, per_high, z, v, push = inverse[LOW], inverse[HIGH], state[Z_], state[V], state[PUSH]
    fill(summed, 0.0)
    for k in range(theta.shape[0]):
        push_rows(f, push[k], theta[k], rise[k], fall[k], per_low[k], per_high[k], right[k], summed)
    combine(summed, Z, du)
    add_multiple(-1.0, gradient, du)
    solve_factored(L, du)
    project(Z, du, df)
    da, dz, dv = moves[0], moves[1], moves[2]
    for k in range(theta.shape[0]):
        move_duals(theta[k], right[k], df, rise[k], fall[k], per_low[k], per_high[k], z[k], v[k], da[k], dz[k], dv[k])
    total = 0.0
    for j in range(du.shape[0]):
        total += abs(du[j])
    return total < np.inf


@njit(**OPTIONS)
def take_interior_steps(Z, free, p, e, lo, hi, tol, max_steps, scale, centre, u, duals, told):
    """Mehrotra's predictor and corrector from duals between their bounds until the gap is within tol."""
    n, size = Z.shape
    layers, ridge = count_layers(e), 0.0 if free else 1.0
    state, moves, sides = np.empty((6, layers, n)), np.zeros((3, layers, n)), np.empty((4, layers, n))
    a, low, high, z, v = state[A], state[LOW], state[HIGH], state[Z_], state[V]
    inverse = np.empty((V + 1, layers, n))
    theta, right, rise, fall = sides[0], sides[1], sides[2], sides[3]
    vectors, rows = np.zeros((4, n)), np.empty(n, np.int64)
    f, df, summed, weight = vectors[0], vectors[1], vectors[2], vectors[3]
    matrices, du, gradient = np.empty((3, size, size)), np.empty(size), np.empty(size)
    M, L, scratch = matrices[0], matrices[1], matrices[2]
    fill(u, 0.0)
    if free:
        u[size - 1] = centre
        fill(f, centre)
    start_between_bounds(free, p, e, lo, hi, a, low, high, state[PUSH])
    for k in range(layers):
        fill(z[k], START_MULTIPLIER * scale)
        fill(v[k], START_MULTIPLIER * scale)
    for i in range(n):
        rows[i] = i
    for steps in range(max_steps + 1):
        products = sum_all_products(0.0, moves, state)
        fill(summed, 0.0)
        for k in range(layers):
            add_multiple(1.0, a[k], summed)
        combine(summed, Z, gradient)
        form_gradient(u, ridge, gradient)
        primal, apart = halve_square(u, ridge) + sum_losses(f, p, e, lo, hi), halve_square(gradient, ridge)
        told[STEPS], told[PRIMAL] = steps, primal
        if not products + apart + primal < np.inf:
            return
        if products + apart <= NEAR_FACTOR * tol * primal or primal == 0.0:
            snap = SNAP_SHARE if products + apart > WORN_SHARE * tol * primal else 0.0
            settled = settle_duals(snap, free, e, lo, hi, scale, low, high, z, v, duals)
            combine(duals, Z, du)
            told[DUAL] = -halve_square(du, ridge) - sum_conjugates(p, e, duals)
            if settled and primal - told[DUAL] <= GAP_SHARE * tol * max(primal, abs(told[DUAL])):
                told[CONVERGED] = 1.0
                return
        if steps == max_steps or products + apart <= 1e-3 * WORN_SHARE * tol * primal:
            return
        fill(weight, 0.0)
        for k in range(layers):
            for part in range(LOW, V + 1):
                invert(state[part, k], inverse[part, k])
            soften(z[k], v[k], inverse[LOW, k], inverse[HIGH, k], theta[k], weight)
        for j in range(size):
            fill(M[j], 0.0)
        add_squares(Z, weight, rows, n, M)
        if not factor_with_ridge(M, 1.0, ridge, L, scratch):
            return
        target = t = 0.0
        for phase in range(2):  # the predictor, and the corrector with Mehrotra's target
            if phase == 1:
                target = (sum_all_products(t, moves, state) / products) ** 3 * products / (2 * layers * n)
            for k in range(layers):
                correct(target, 1.0, moves[0, k], moves[1, k], rise[k])
                correct(target, -1.0, moves[0, k], moves[2, k], fall[k])
            if not solve_for_move(Z, L, gradient, f, theta, rise, fall, state, inverse, right, summed, du, df, moves):
                return
            t = find_longest(inverse, moves)
        t = min(1.0, BOUNDARY_SHARE * t)
        take_step(t, moves, state)
        add_multiple(t, df, f)
        add_multiple(t, du, u)


@njit(**EXACT)
def find_last_digits(Z, free, p, e, lo, hi, share, u, duals, told):
    """The optimum itself in place of a point within tol, where that is soon found and the gap is less for it."""
    n, size = Z.shape
    ridge = 0.0 if free else 1.0
    credit = SHARE_OF_FIT * (share * FIT_COST + told[STEPS] * n * size * size)
    a, v, f = np.empty(n), np.empty(size), np.empty(n)
    for i in range(n):
        a[i] = duals[i]
    combine(a, Z, v)
    if free:
        v[size - 1] = 0.0
    project(Z, v, f)
    b = settle(Z, free, p, e, lo, hi, credit, a, v, f)
    if free:
        if not absorb_imbalance(a, lo, hi):
            return
        for i in range(n):
            f[i] += b
        v[size - 1] = b
    primal = halve_square(v, ridge) + sum_losses(f, p, e, lo, hi)
    dual = -halve_square(v, ridge) - sum_conjugates(p, e, a)
    if not primal - dual < told[PRIMAL] - told[DUAL]:
        return
    told[PRIMAL], told[DUAL] = primal, dual
    for i in range(n):
        duals[i] = a[i]
    for j in range(size):
        u[j] = v[j]


@njit(**EXACT)
def minimise_all_kinked(start, stop, Z, free, real, c, p, e, lo, hi, tol, max_steps, u, a, told):
    """`take_interior_steps` for the problems start to stop, whose rows are those of p to hi."""
    for k in range(start, stop):
        centre, scale = measure_targets(real, free, p[k], c[k])
        take_interior_steps(Z, free, p[k], e[k], lo[k], hi[k], tol, max_steps, scale, centre, u[k], a[k], told[k])
        if told[k, CONVERGED] > 0.0:
            find_last_digits(Z, free, p[k], e[k], lo[k], hi[k], 1.0 / p.shape[0], u[k], a[k], told[k])
