"""Interior point for losses with kinks, of few rows and features: one compiled call for a problem, or for all classes.

The equations are those of `solvers.newton.barrier`: with z and v the multipliers of the bounds of the duals a,

    R u = Z'a,     f + p - z + v = 0,     (a - lo) z = mu,     (hi - a) v = mu

A row with e > 0 has two duals, one for each side of its flat part: two layers over the same rows.
"""

import numpy as np

from .compiler import njit
from .small_newton import CONVERGED, DUAL, EXACT, GAP_SHARE, PRIMAL, STEPS, absorb_imbalance
from .small_systems import OPTIONS, add_squares, combine, factor_with_ridge, project, solve_factored

FINITE = {**OPTIONS, "fastmath": {"reassoc", "contract", "nnan", "nsz"}}  # of functions that see finite numbers only
MAX_STEPS = 60  # steps after which the problem is left to other means
BOUNDARY_SHARE = 0.995  # largest share of the distance to the nearest bound that a step covers
CORRECTOR_LIMIT = 10.0  # times the target: the largest correction of one product (Gondzio 1996)
NEAR_FACTOR = 8.0  # times tol: the gap of the barrier from which on its duals are tried
SNAP_SHARE = 0.1  # of the relative size of its multiplier: a dual so near to its bound is at the bound


@njit(**OPTIONS)
def count_layers(e):
    """2 where any row has a flat part, else 1."""
    for i in range(e.shape[0]):
        if e[i] > 0.0:
            return 2
    return 1


@njit(**OPTIONS)
def start_between_bounds(free, p, e, lo, hi, scale, a, low, high, z, v, push):
    """Duals between their bounds, those of the heavier side made smaller until all balance; multipliers of the scale.

    `push` receives p of each layer.
    """
    layers, n = a.shape
    rise = fall = 0.0
    for layer in range(layers):
        for i in range(n):
            bottom, top = lo[i] if layer == layers - 1 else 0.0, hi[i] if layer == 0 else 0.0
            push[layer, i] = p[i] + (e[i] if layer == 0 else -e[i])
            a[layer, i] = 0.5 * (bottom + top)
            rise, fall = rise + max(a[layer, i], 0.0), fall + max(-a[layer, i], 0.0)
    shrink_up = max(fall / rise, 0.05) if free and rise > fall else 1.0
    shrink_down = max(rise / fall, 0.05) if free and fall > rise else 1.0
    for layer in range(layers):
        for i in range(n):
            a[layer, i] *= shrink_up if a[layer, i] > 0.0 else shrink_down
            low[layer, i] = a[layer, i] - (lo[i] if layer == layers - 1 else 0.0)
            high[layer, i] = (hi[i] if layer == 0 else 0.0) - a[layer, i]
    z[:] = scale
    v[:] = scale


@njit(**FINITE)
def find_longest(low, high, z, v, da, dz, dv):
    """The longest step, at most 1 / BOUNDARY_SHARE, that keeps distances and multipliers positive."""
    rate = BOUNDARY_SHARE
    for layer in range(da.shape[0]):
        for i in range(da.shape[1]):
            near = max(-da[layer, i] / low[layer, i], da[layer, i] / high[layer, i])
            rate = max(rate, max(near, max(-dz[layer, i] / z[layer, i], -dv[layer, i] / v[layer, i])))
    return 1.0 / rate


@njit(**OPTIONS)
def find_move(Z, L, gradient, right, theta, rise, fall, low, high, z, v, summed, du, df, da, dz, dv):
    """Newton's step for the products (a - lo) z = rise and (hi - a) v = fall; whether it is finite."""
    layers, n = da.shape
    summed[:] = 0.0
    for layer in range(layers):
        for i in range(n):
            summed[i] += theta[layer, i] * right[layer, i]
    combine(summed, Z, du)
    for j in range(du.shape[0]):
        du[j] -= gradient[j]
    solve_factored(L, du)
    project(Z, du, df)
    total = 0.0
    for layer in range(layers):
        for i in range(n):
            da[layer, i] = theta[layer, i] * (right[layer, i] - df[i])
            dz[layer, i] = (rise[layer, i] - z[layer, i] * da[layer, i]) / low[layer, i] - z[layer, i]
            dv[layer, i] = (fall[layer, i] + v[layer, i] * da[layer, i]) / high[layer, i] - v[layer, i]
            total += abs(da[layer, i]) + abs(dz[layer, i]) + abs(dv[layer, i])
    return total < np.inf


@njit(**OPTIONS)
def measure_room(a, lo, hi, e):
    """How far a dual may move without reaching a bound, or its kink at zero."""
    return min(min(a - lo, hi - a), abs(a) if e > 0.0 else np.inf)


@njit(**EXACT)
def settle_duals(free, e, lo, hi, scale, low, high, z, v, a):
    """The duals of the rows, those near a bound of large multiplier put there, and balanced; whether they can be."""
    layers, n = low.shape
    missing = room = 0.0
    for i in range(n):
        dual = 0.0
        for layer in range(layers):
            bottom, top = lo[i] if layer == layers - 1 else 0.0, hi[i] if layer == 0 else 0.0
            share = SNAP_SHARE * (top - bottom) / scale
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
    if abs(missing) > 0.5 * room:
        return missing == 0.0
    share = missing / room if room > 0.0 else 0.0
    for i in range(n):
        a[i] += share * measure_room(a[i], lo[i], hi[i], e[i])
    return absorb_imbalance(a, lo, hi)


@njit(**OPTIONS)
def measure_primal(ridge, u, f, p, e, lo, hi):
    """P at u, where the scores are f, for rows without curvature."""
    primal, size = 0.0, u.shape[0]
    for i in range(f.shape[0]):
        push = -(f[i] + p[i])
        primal += hi[i] * max(push - e[i], 0.0) + lo[i] * min(push + e[i], 0.0)
    for j in range(size):
        primal += 0.5 * (1.0 if j < size - 1 else ridge) * u[j] * u[j]
    return primal


@njit(**OPTIONS)
def measure_dual(Z, ridge, p, e, a, pulled):
    """D at a, for rows without curvature."""
    size, dual = Z.shape[1], 0.0
    combine(a, Z, pulled)
    for i in range(a.shape[0]):
        dual -= p[i] * a[i] + e[i] * abs(a[i])
    for j in range(size):
        dual -= 0.5 * (1.0 if j < size - 1 else ridge) * pulled[j] * pulled[j]
    return dual


@njit(**OPTIONS)
def choose_target(low, high, z, v, da, dz, dv, t, products, still, rise, fall, right):
    """Mehrotra's target for the products after a predictor of length t, and the corrections of his second solve.

    His second-order term misleads where it is many times the target itself (Gondzio 1996).
    """
    layers, n = da.shape
    ahead = 0.0
    for layer in range(layers):
        for i in range(n):
            ahead += (low[layer, i] + t * da[layer, i]) * max(z[layer, i] + t * dz[layer, i], 0.0)
            ahead += (high[layer, i] - t * da[layer, i]) * max(v[layer, i] + t * dv[layer, i], 0.0)
    target = (ahead / products) ** 3 * products / (2 * layers * n)
    bound = CORRECTOR_LIMIT * target
    for layer in range(layers):
        for i in range(n):
            rise[layer, i] = min(max(target - da[layer, i] * dz[layer, i], -bound), bound)
            fall[layer, i] = min(max(target + da[layer, i] * dv[layer, i], -bound), bound)
            pushed = rise[layer, i] / low[layer, i] - fall[layer, i] / high[layer, i]
            right[layer, i] = still[layer, i] + pushed


@njit(**OPTIONS)
def form_gradient(Z, ridge, u, a, summed, gradient):
    """R u - Z'a; returns half its square."""
    layers, n = a.shape
    size, square = u.shape[0], 0.0
    summed[:] = 0.0
    for layer in range(layers):
        for i in range(n):
            summed[i] += a[layer, i]
    combine(summed, Z, gradient)
    for j in range(size):
        gradient[j] = (u[j] if j < size - 1 else ridge * u[j]) - gradient[j]
        square += gradient[j] * gradient[j] if j < size - 1 or ridge > 0.0 else 0.0
    return 0.5 * square


@njit(**OPTIONS)
def take_interior_steps(Z, free, p, e, lo, hi, tol, scale, u, duals, told):
    """Mehrotra's predictor and corrector from duals between their bounds until the gap is within tol."""
    n, size = Z.shape
    shape, ridge = (count_layers(e), n), 0.0 if free else 1.0
    a, low, high, z, v = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    push, theta, still, right = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    da, dz, dv, rise, fall = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    f, df, summed, weight, rows = np.zeros(n), np.empty(n), np.empty(n), np.empty(n), np.arange(n)
    M, L, scratch, buffer = np.empty((size, size)), np.empty((size, size)), np.empty((size, size)), np.empty((8, size))
    du, gradient = np.empty(size), np.empty(size)
    u[:] = 0.0
    start_between_bounds(free, p, e, lo, hi, scale, a, low, high, z, v, push)
    for steps in range(MAX_STEPS + 1):
        apart, products = form_gradient(Z, ridge, u, a, summed, gradient), 0.0
        for layer in range(shape[0]):
            for i in range(n):
                products += low[layer, i] * z[layer, i] + high[layer, i] * v[layer, i]
        primal = measure_primal(ridge, u, f, p, e, lo, hi)
        told[STEPS], told[PRIMAL] = steps, primal
        if not products + apart + primal < np.inf:
            return
        if products + apart <= NEAR_FACTOR * tol * primal or steps == 0:
            settled = settle_duals(free, e, lo, hi, scale, low, high, z, v, duals)
            told[DUAL] = measure_dual(Z, ridge, p, e, duals, du)
            if settled and primal - told[DUAL] <= GAP_SHARE * tol * max(primal, abs(told[DUAL])):
                told[CONVERGED] = 1.0
                return
        if steps == MAX_STEPS:
            return
        weight[:] = 0.0
        for layer in range(shape[0]):
            for i in range(n):
                theta[layer, i] = 1.0 / (z[layer, i] / low[layer, i] + v[layer, i] / high[layer, i])
                still[layer, i] = -(f[i] + push[layer, i])
                weight[i] += theta[layer, i]
        M[:] = 0.0
        rise[:] = 0.0
        fall[:] = 0.0
        add_squares(Z, weight, rows, n, M, buffer)
        if not (
            factor_with_ridge(M, 1.0, ridge, L, scratch)
            and find_move(Z, L, gradient, still, theta, rise, fall, low, high, z, v, summed, du, df, da, dz, dv)
        ):
            return
        t = find_longest(low, high, z, v, da, dz, dv)
        choose_target(low, high, z, v, da, dz, dv, t, products, still, rise, fall, right)
        if not find_move(Z, L, gradient, right, theta, rise, fall, low, high, z, v, summed, du, df, da, dz, dv):
            return
        t = min(1.0, BOUNDARY_SHARE * find_longest(low, high, z, v, da, dz, dv))
        for layer in range(shape[0]):
            for i in range(n):
                a[layer, i] += t * da[layer, i]
                low[layer, i] += t * da[layer, i]
                high[layer, i] -= t * da[layer, i]
                z[layer, i] += t * dz[layer, i]
                v[layer, i] += t * dv[layer, i]
        for i in range(n):
            f[i] += t * df[i]
        for j in range(size):
            u[j] += t * du[j]


@njit(**EXACT)
def minimise_all_kinked(start, stop, Z, free, p, e, lo, hi, tol, scale, u, a, told):
    """`take_interior_steps` for the problems start to stop, whose rows are those of p to hi."""
    for k in range(start, stop):
        take_interior_steps(Z, free, p[k], e[k], lo[k], hi[k], tol, scale[k], u[k], a[k], told[k])
