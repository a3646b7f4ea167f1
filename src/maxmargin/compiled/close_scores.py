"""f_i = sum_j coef_j k(x_i, s_j) in twice the precision, with a bound on its error.

Support vectors come in groups that fill one vector: values[place, lane], where the places run in order over all
features that occur in the group. Each sample is merged with them, so that differences are those of the numbers as
given, however sparse they are. All errors are bounds. The constants in front of u^2 are generous, and the error terms
that are left out here are added where the sums are read.
"""

import numpy as np

from .compiler import njit
from .double_double import (
    EXP_ERROR,
    OPTIONS,
    TANH_ERROR,
    exp_double,
    fused_lanes,
    multiply_doubles,
    root,
    scale_double,
    select_where_less,
    tanh_double,
    two_differences,
    two_product,
    two_products,
    two_sum,
    two_sums,
    with_sign_of,
)
from .lanes import absolute, add, load, load_some, multiply, spread, store
from .single_rows import LAPLACIAN, LINEAR, RBF, SIGMOID

U = np.uintp
LANES = U(8)
SQUARE_UNDERFLOW_BOUND = 2.0**-1040  # more than a sum of squares loses to underflow
UNDERFLOW_BOUND = 2.0**-1000  # more than everything that is lost to underflow, and more than twice exp(-700)


@njit(**OPTIONS)
def close_dots(data, indices, k, end, features, values, p, stop):
    """<x, s_j> for a group of vectors s: the sum of exact products (Dot2)."""
    high, low = spread(0.0), spread(0.0)
    while k < end and p < stop:
        if indices[k] == features[p]:
            h, e = two_products(spread(data[k]), load(values, p * LANES))
            high, rest = two_sums(high, h)
            low = add(low, add(rest, e))
            k += U(1)
            p += U(1)
        elif indices[k] < features[p]:
            k += U(1)
        else:
            p += U(1)
    return two_sums(high, low)


@njit(**OPTIONS)
def close_distances(data, indices, k, end, features, values, p, stop, squares):
    """|x - s_j|^2 or |x - s_j|_1 for a group of vectors s, from exact differences."""
    high, low = spread(0.0), spread(0.0)
    while k < end or p < stop:
        x, z = spread(0.0), spread(0.0)
        mine = p >= stop or (k < end and indices[k] <= features[p])
        its = k >= end or (p < stop and features[p] <= indices[k])
        if mine:
            x = spread(data[k])
            k += U(1)
        if its:
            z = load(values, p * LANES)
            p += U(1)
        a, b = two_differences(x, z)
        if squares:
            h, e = two_products(a, a)
            e = fused_lanes(add(a, a), b, e)
        else:
            h, e = absolute(a), multiply(with_sign_of(spread(1.0), a), b)
        high, rest = two_sums(high, h)
        low = add(low, add(rest, e))
    return two_sums(high, low)


@njit(**OPTIONS)
def close_power(formula, high, low, error):
    """(gamma t + coef0)^degree or tanh(gamma t + coef0), and its error."""
    kind, gamma, coef0, degree, _ = formula
    high, low = scale_double(spread(gamma), high, low)
    high, rest = two_sums(high, spread(coef0))
    high, low = two_sums(high, add(rest, low))
    if kind == SIGMOID:
        value, rest = tanh_double(high, low)
        return value, rest, fused_lanes(absolute(value), spread(TANH_ERROR), error)
    value, rest, slope = spread(1.0), spread(0.0), spread(float(degree))
    size = add(absolute(high), error)
    for step in range(degree):
        value, rest = multiply_doubles(value, rest, high, low)
        if step > 0:
            slope = multiply(slope, size)
    error = fused_lanes(size, spread(2.0**-102), error)  # 16 u^2 per product
    return value, rest, fused_lanes(slope, error, spread(UNDERFLOW_BOUND)) if degree > 0 else spread(0.0)


@njit(**OPTIONS)
def close_exp(gamma, high, low, relative, moved):
    """exp(-gamma t) and its error, for an exponent with relative error `relative` plus the error |gamma| `moved`."""
    size = spread(abs(gamma))
    high, low = scale_double(spread(-gamma), high, low)
    error = fused_lanes(absolute(high), spread(relative), multiply(size, moved))
    value, rest = exp_double(high, low)
    one = spread(1.0)
    off = multiply(value, fused_lanes(error, add(one, error), spread(EXP_ERROR)))  # expm1(t) <= t + t^2 for t <= 1
    off = select_where_less(error, one, off, spread(1.01 if gamma >= 0.0 else np.inf))
    # below exp(-700) computed and exact value are below UNDERFLOW_BOUND
    off = select_where_less(add(high, error), spread(-700.0), spread(0.0), off)
    off = select_where_less(high, spread(700.0), off, spread(np.inf))
    return value, rest, add(off, spread(UNDERFLOW_BOUND))


@njit(**OPTIONS)
def close_values(formula, row, i, group, g):
    """k(x_i, s_j) for the vectors s of a group, as sums of two numbers, and their errors."""
    kind, gamma, coef0, _, relative = formula
    data, indices, indptr, sizes, slacks = row
    features, values, starts, z_sizes, z_slacks = group
    k, end, p, stop = U(indptr[i]), U(indptr[i + U(1)]), U(starts[g]), U(starts[g + U(1)])
    z_size, z_slack = load(z_sizes, g * LANES), load(z_slacks, g * LANES)
    size, slack = spread(sizes[i]), spread(slacks[i])
    if kind == RBF:
        high, low = close_distances(data, indices, k, end, features, values, p, stop, True)
        moved = add(slack, z_slack)
        moved = fused_lanes(moved, fused_lanes(spread(2.00001), root(high), moved), spread(SQUARE_UNDERFLOW_BOUND))
        return close_exp(gamma, high, low, relative, moved)
    if kind == LAPLACIAN:
        high, low = close_distances(data, indices, k, end, features, values, p, stop, False)
        return close_exp(gamma, high, low, relative, add(slack, z_slack))
    high, low = close_dots(data, indices, k, end, features, values, p, stop)
    moved = fused_lanes(add(size, slack), z_slack, multiply(slack, z_size))
    product = multiply(size, z_size)
    if kind == LINEAR:
        return high, low, add(fused_lanes(spread(relative), product, moved), spread(UNDERFLOW_BOUND))
    least = spread(UNDERFLOW_BOUND * (1.0 + abs(gamma)))
    error = fused_lanes(spread(abs(gamma)), fused_lanes(spread(relative), product, moved), least)
    return close_power(formula, high, low, add(error, spread(relative * abs(coef0))))


@njit(**OPTIONS)
def accumulate_products(coef, value, rest, high, low, sizes):
    """high + low + coef (value + rest), and sizes + |coef value|."""
    h, e = two_products(coef, value)
    high, more = two_sums(high, h)
    return high, add(low, add(more, fused_lanes(coef, rest, e))), add(sizes, absolute(h))


@njit(**OPTIONS)
def add_lanes(sums, i, high, low, error, sizes, scratch):
    """Add the lanes of a row to sums[i]: the sum as two numbers, errors of values, and sizes of terms."""
    store(scratch, U(0), high)
    store(scratch, LANES, low)
    store(scratch, LANES * U(2), error)
    store(scratch, LANES * U(3), sizes)
    for k in range(LANES):
        sums[i, 0], rest = two_sum(sums[i, 0], scratch[k])
        sums[i, 1] += rest + scratch[LANES + k]
        sums[i, 2] += scratch[LANES * U(2) + k]
        sums[i, 3] += scratch[LANES * U(3) + k]


@njit(**OPTIONS)
def add_close_scores(formula, row, group, coef, sums):
    """sums[i] += coef_j k(x_i, s_j) over all groups: two numbers, errors of values, sizes of terms."""
    scratch = np.empty(32)
    for i in range(U(sums.shape[0])):
        high, low, error, sizes = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
        for g in range(U(coef.shape[0]) // LANES):
            value, rest, off = close_values(formula, row, i, group, g)
            weight = load(coef, g * LANES)
            high, low, sizes = accumulate_products(weight, value, rest, high, low, sizes)
            error = add(
                error, select_where_less(spread(0.0), absolute(weight), multiply(absolute(weight), off), spread(0.0))
            )
        add_lanes(sums, i, high, low, error, sizes, scratch)


@njit(**OPTIONS)
def add_given_values(tile, coef, sums):
    """sums[i] += sum_j coef_j K_ij for values K that count as exact."""
    flat, m, scratch, zero = tile.reshape(-1), U(tile.shape[1]), np.empty(32), spread(0.0)
    for i in range(U(tile.shape[0])):
        high, low, sizes = zero, zero, zero
        for j in range(U(0), m, LANES):
            count = min(LANES, m - j)
            weight, value = load_some(coef, j, count, zero), load_some(flat, i * m + j, count, zero)
            high, low, sizes = accumulate_products(weight, value, zero, high, low, sizes)
        add_lanes(sums, i, high, low, zero, sizes, scratch)


@njit(inline="always")
def add_product(high, low, k, weight, x):
    """high_k + low_k += weight x."""
    h, e = two_product(weight, x)
    high[k], rest = two_sum(high[k], h)
    low[k] += rest + e


@njit(**OPTIONS)
def add_dense_rows(X, coef, high, low):
    """high + low += sum_i coef_i x_i."""
    for i in range(X.shape[0]):
        weight = coef[i]
        if weight != 0.0:
            for k in range(X.shape[1]):
                add_product(high, low, k, weight, X[i, k])


@njit(**OPTIONS)
def add_sparse_rows(data, indices, indptr, coef, high, low):
    """high + low += sum_i coef_i x_i for rows of a CSR matrix."""
    for i in range(coef.shape[0]):
        weight = coef[i]
        if weight != 0.0:
            for m in range(indptr[i], indptr[i + 1]):
                add_product(high, low, indices[m], weight, data[m])


@njit(**OPTIONS)
def project_dense_rows(X, w_high, w_low, out):
    """out_i0 + out_i1 = <x_i, w_high + w_low>, with features side by side in the lanes."""
    flat, d, scratch, zero = X.reshape(-1), U(X.shape[1]), np.empty((1, 4)), spread(0.0)
    lanes = np.empty(32)
    for i in range(U(X.shape[0])):
        one, other, sizes = zero, zero, zero
        for k in range(U(0), d, LANES):
            count = min(LANES, d - k)
            x = load_some(flat, i * d + k, count, zero)
            w, rest = load_some(w_high, k, count, zero), load_some(w_low, k, count, zero)
            one, other, sizes = accumulate_products(x, w, rest, one, other, sizes)
        scratch[:] = 0.0
        add_lanes(scratch, U(0), one, other, zero, zero, lanes)
        out[i, 0], out[i, 1] = two_sum(scratch[0, 0], scratch[0, 1])


@njit(**OPTIONS)
def project_sparse_rows(data, indices, indptr, w_high, w_low, out):
    """out_i0 + out_i1 = <x_i, w_high + w_low> for rows of a CSR matrix."""
    for i in range(out.shape[0]):
        one, other = 0.0, 0.0
        for m in range(indptr[i], indptr[i + 1]):
            k = indices[m]
            h, e = two_product(data[m], w_high[k])
            one, rest = two_sum(one, h)
            other += rest + (e + data[m] * w_low[k])
        out[i, 0], out[i, 1] = two_sum(one, other)
