"""Sums of Gaussian kernel values in float32 whose error is known: what the judge looks at before it looks closely."""

import numpy as np

from .compiler import njit
from .kernel_rows import OPTIONS, VECTOR_BYTES, U
from .lanes import (
    add,
    exp_nonpositive,
    load,
    load_some,
    multiply,
    multiply_add,
    spread,
    spread_like,
    store_some,
    subtract,
)

ROUGH_ROWS = 16  # terms that are added in float32, before their sum is added to one in float64


@njit(**OPTIONS)
def add_value(flat, place, count, row_norms, norms, gain, weights, i, total):
    """total + w_i exp(-gamma t_i) for a vector of the tile, of which `count` numbers are there."""
    value = load(flat, place) if count == U(VECTOR_BYTES // flat.itemsize) else load_some(flat, place, count, total)
    if row_norms is not None:
        value = subtract(multiply_add(spread_like(flat, 2.0), value, spread(-row_norms[i])), norms)
    return multiply_add(spread(weights[i]), exp_nonpositive(multiply(gain, value)), total)


@njit(**OPTIONS)
def add_exponentials(tile, gamma, row_norms, column_norms, weights, slacks, sums, spreads):
    """sums_j += sum_i w_i K_ij and spreads_j += sum_i w_i s K_ij, with s the largest slack of ROUGH_ROWS rows.

    K_ij = exp(-gamma t_ij), where the tile holds squared distances t; or, if norms are given, the products of which
    t_ij = |x_i|^2 + |z_j|^2 - 2 <x_i, z_j> is made. Weights are nonnegative, so no sum cancels.
    """
    flat, m, width = tile.reshape(-1), U(tile.shape[1]), U(VECTOR_BYTES // tile.itemsize)
    zero, part = spread_like(flat, 0.0), np.empty(tile.shape[1], tile.dtype)
    gain = spread_like(flat, -gamma if row_norms is None else gamma)
    for first in range(U(0), U(tile.shape[0]), U(ROUGH_ROWS)):
        last = min(first + U(ROUGH_ROWS), U(tile.shape[0]))
        slack = 0.0
        for i in range(first, last):
            slack = max(slack, slacks[i])
        for j in range(U(0), m, width):
            count, norms, i = min(width, m - j), zero, first
            if row_norms is not None:
                norms = load_some(column_norms, j, count, zero)
            a, b, c, d = zero, zero, zero, zero
            while i + U(4) <= last:
                p, q = i * m + j, (i + U(2)) * m + j
                a = add_value(flat, p, count, row_norms, norms, gain, weights, i, a)
                b = add_value(flat, p + m, count, row_norms, norms, gain, weights, i + U(1), b)
                c = add_value(flat, q, count, row_norms, norms, gain, weights, i + U(2), c)
                d = add_value(flat, q + m, count, row_norms, norms, gain, weights, i + U(3), d)
                i += U(4)
            while i < last:
                a = add_value(flat, i * m + j, count, row_norms, norms, gain, weights, i, a)
                i += U(1)
            store_some(part, j, count, add(add(a, b), add(c, d)))
        for j in range(m):
            value = np.float64(part[j])
            sums[j] += value
            spreads[j] += slack * value
