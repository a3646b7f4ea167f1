"""Products of dense rows, in the widest vectors that the processor has.

A matrix product for tiles of kernel rows, six rows of x beside one or two vectors of samples z. BLAS libraries are
built for what most matrices need: they copy both sides first, which takes longer than the product itself where rows are
short, and some do not know the widest vectors of a newer processor.
"""

import numpy as np
from llvmlite import binding

from .compiler import njit
from .kernel_rows import OPTIONS, VECTOR_BYTES, U
from .lanes import load, multiply_add, spread, spread_like, store, store_some

GROUP = 6  # rows of x whose sums are held in registers
PACKED_FEATURES = 16  # of a sample that are copied before those of the next one: their lines stay in the first cache
# Whether two vectors of z stand beside them: they fill 12 of 32 registers of 64 bytes. Where registers have 32 bytes,
# BLAS takes as long (emulated by leaving out the wider instructions: 0.9 to 1.3 of its time with one vector).
WIDE = True if binding.get_host_cpu_features().get("avx512f", False) else None


@njit(**OPTIONS)
def store_sums(tile, place, count, width, left, right, wide):
    """One or two vectors of sums to tile[place:], of which only the first `count` numbers are wanted."""
    if count >= width:
        store(tile, place, left)
        if wide is not None:
            if count >= width + width:
                store(tile, place + width, right)
            elif count > width:
                store_some(tile, place + width, count - width, right)
    else:
        store_some(tile, place, count, left)


@njit(**OPTIONS)
def multiply_group(tile, rows, panel, first, d, m, column, count, wide):
    """tile[first : first + 6, column : column + count] = products of six rows of x with a panel of samples z."""
    width = U(VECTOR_BYTES // tile.itemsize)
    zero = spread_like(tile, 0.0)
    a, b, c, e, f, g = zero, zero, zero, zero, zero, zero
    h, i, j, k, n, o = zero, zero, zero, zero, zero, zero
    p, step = first * d, width if wide is None else width + width
    for q in range(d):
        z = load(panel, q * step)
        s, t, u = spread(rows[p + q]), spread(rows[p + d + q]), spread(rows[p + U(2) * d + q])
        v, w, x = spread(rows[p + U(3) * d + q]), spread(rows[p + U(4) * d + q]), spread(rows[p + U(5) * d + q])
        a, b, c = multiply_add(s, z, a), multiply_add(t, z, b), multiply_add(u, z, c)
        e, f, g = multiply_add(v, z, e), multiply_add(w, z, f), multiply_add(x, z, g)
        if wide is not None:
            z = load(panel, q * step + width)
            h, i, j = multiply_add(s, z, h), multiply_add(t, z, i), multiply_add(u, z, j)
            k, n, o = multiply_add(v, z, k), multiply_add(w, z, n), multiply_add(x, z, o)
    place = first * m + column
    store_sums(tile, place, count, width, a, h, wide)
    store_sums(tile, place + m, count, width, b, i, wide)
    store_sums(tile, place + U(2) * m, count, width, c, j, wide)
    store_sums(tile, place + U(3) * m, count, width, e, k, wide)
    store_sums(tile, place + U(4) * m, count, width, f, n, wide)
    store_sums(tile, place + U(5) * m, count, width, g, o, wide)


@njit(**OPTIONS)
def dense_dots(tile, X, Z, wide):
    """tile_ij = <x_i, z_j> for dense rows, six of them at least; each a sum in the order of the features."""
    flat, rows, columns = tile.reshape(-1), X.reshape(-1), Z.reshape(-1)
    m, d, count = U(tile.shape[1]), U(X.shape[1]), U(tile.shape[0])
    block = U(VECTOR_BYTES // tile.itemsize) * (U(1) if wide is None else U(2))
    panel = np.zeros(d * block, X.dtype)
    for column in range(U(0), m, block):
        wanted = min(block, m - column)
        for part in range(U(0), d, U(PACKED_FEATURES)):
            stop = min(part + U(PACKED_FEATURES), d)
            for j in range(wanted):
                place = (column + j) * d
                for q in range(part, stop):
                    panel[q * block + j] = columns[place + q]
        for first in range(U(0), count - count % U(GROUP), U(GROUP)):
            multiply_group(flat, rows, panel, first, d, m, column, wanted, wide)
        if count % U(GROUP):
            multiply_group(flat, rows, panel, count - U(GROUP), d, m, column, wanted, wide)
