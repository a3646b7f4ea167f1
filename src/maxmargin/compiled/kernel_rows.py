"""Tiles of kernel values, in float32 or float64: products of sparse rows, distances, exponentials, sums over rows.

The profile that shaped this file (one core, AVX-512, nanoseconds an entry): BLAS products 0.5 at d = 8, 2.1 at d = 128;
sparse products 0.4 at 14 nonzeros a row, where BLAS on the same data made dense (d = 123) takes 2.3; the exponential
0.25 in float32 and 0.9 in float64, where numpy takes 1.6 and 5.5.
"""

import numpy as np

from .compiler import njit
from .lanes import (
    absolute,
    add,
    exp_nonpositive,
    load,
    load_some,
    multiply,
    multiply_add,
    spread,
    spread_like,
    store,
    store_some,
    subtract,
)

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy",
    "fastmath": {"contract", "nnan", "ninf", "nsz"},
}  # fmt: skip
U = np.uintp
VECTOR_BYTES = 64  # of a vector; see lanes.py
STRIP_COLUMNS = 1024  # columns whose sums stay in the first cache


@njit(**OPTIONS)
def rbf_from_dots(tile, row_norms, column_norms, gamma):
    """K_ij = exp(-gamma (|x_i|^2 + |z_j|^2 - 2 <x_i, z_j>)), written over the dot products."""
    flat, m, width = tile.reshape(-1), U(tile.shape[1]), U(VECTOR_BYTES // tile.itemsize)
    scale, two, zero = spread_like(flat, gamma), spread_like(flat, 2.0), spread_like(flat, 0.0)
    whole, rest = m - m % width, m % width
    for i in range(U(tile.shape[0])):
        norm, k = spread_like(flat, -row_norms[i]), i * m
        for j in range(U(0), whole, width):
            value = subtract(multiply_add(two, load(flat, k + j), norm), load(column_norms, j))
            store(flat, k + j, exp_nonpositive(multiply(scale, value)))
        if rest > U(0):
            value = multiply_add(two, load_some(flat, k + whole, rest, zero), norm)
            value = subtract(value, load_some(column_norms, whole, rest, zero))
            store_some(flat, k + whole, rest, exp_nonpositive(multiply(scale, value)))


@njit(**OPTIONS)
def exponentiate(tile, factor):
    """K_ij = exp(min(0, factor K_ij)), in place."""
    flat, width = tile.reshape(-1), U(VECTOR_BYTES // tile.itemsize)
    scale, zero, size = spread_like(flat, factor), spread_like(flat, 0.0), U(tile.size)
    whole, rest = size - size % width, size % width
    for j in range(U(0), whole, width):
        store(flat, j, exp_nonpositive(multiply(scale, load(flat, j))))
    if rest > U(0):
        value = multiply(scale, load_some(flat, whole, rest, zero))
        store_some(flat, whole, rest, exp_nonpositive(value))


@njit(**OPTIONS)
def pack_columns(packed, data, indices, indptr, first, last, value):
    """packed[k, j] <- x_jk for the sparse samples first..last, or `value` in their places if it is not None."""
    block = U(packed.shape[1])
    flat = packed.reshape(-1)
    for j in range(U(first), U(last)):
        for k in range(U(indptr[j]), U(indptr[j + U(1)])):
            flat[U(indices[k]) * block + j - U(first)] = data[k] if value is None else value


@njit(**OPTIONS)
def store_block(flat, place, count, width, left, right):
    """Two vectors to flat[place:], of which only the first `count` numbers are wanted."""
    if count >= width + width:
        store(flat, place, left)
        store(flat, place + width, right)
        return
    store_some(flat, place, min(count, width), left)
    if count > width:
        store_some(flat, place + width, count - width, right)


@njit(**OPTIONS)
def sparse_dots(tile, data, indices, indptr, z_data, z_indices, z_indptr, start, stop, packed):
    """tile_ij = <x_i, z_start+j> for CSR rows x and z.

    Two or four vectors' worth of samples z are unpacked at a time into `packed` (features x samples, all zero before
    and after), where each nonzero of a row x meets them in as many vector operations. Four are better while the table
    stays near the first cache.
    """
    width, flat, table = U(VECTOR_BYTES // tile.itemsize), tile.reshape(-1), packed.reshape(-1)
    block, m, zero = U(packed.shape[1]), U(tile.shape[1]), spread_like(flat, 0.0)
    two, three, wide = width + width, width + width + width, block > width + width
    for first in range(U(start), U(stop), block):
        last = min(first + block, U(stop))
        pack_columns(packed, z_data, z_indices, z_indptr, first, last, None)
        count = last - first
        for i in range(U(tile.shape[0])):
            a, b, c, d = zero, zero, zero, zero
            k, end, place = U(indptr[i]), U(indptr[i + U(1)]), i * m + first - U(start)
            if wide:
                while k < end:
                    x, p = spread(data[k]), U(indices[k]) * block
                    a, b = multiply_add(x, load(table, p), a), multiply_add(x, load(table, p + width), b)
                    c, d = multiply_add(x, load(table, p + two), c), multiply_add(x, load(table, p + three), d)
                    k += U(1)
                store_block(flat, place, count, width, a, b)
                if count > two:
                    store_block(flat, place + two, count - two, width, c, d)
                continue
            while k + U(2) <= end:
                x, p = spread(data[k]), U(indices[k]) * block
                a, b = multiply_add(x, load(table, p), a), multiply_add(x, load(table, p + width), b)
                x, p = spread(data[k + U(1)]), U(indices[k + U(1)]) * block
                c, d = multiply_add(x, load(table, p), c), multiply_add(x, load(table, p + width), d)
                k += U(2)
            if k < end:
                x, p = spread(data[k]), U(indices[k]) * block
                a, b = multiply_add(x, load(table, p), a), multiply_add(x, load(table, p + width), b)
            store_block(flat, place, count, width, add(a, c), add(b, d))
        pack_columns(packed, z_data, z_indices, z_indptr, first, last, z_data[0] - z_data[0])


@njit(**OPTIONS)
def sparse_distances(tile, data, indices, indptr, z_data, z_indices, z_indptr, z_norms, start, stop, packed):
    """tile_ij = |x_i - z_start+j|_1 for CSR rows: |z|_1 + the sum over the nonzeros of x of |x_k - z_k| - |z_k|."""
    width, flat, table = U(VECTOR_BYTES // tile.itemsize), tile.reshape(-1), packed.reshape(-1)
    block, m, zero = width + width, U(tile.shape[1]), spread_like(flat, 0.0)
    for first in range(U(start), U(stop), block):
        last = min(first + block, U(stop))
        pack_columns(packed, z_data, z_indices, z_indptr, first, last, None)
        place, count = first - U(start), last - first
        left = load_some(z_norms, first, min(count, width), zero)
        right = load_some(z_norms, first + width, count - min(count, width), zero)
        for i in range(U(tile.shape[0])):
            a, b = left, right
            for k in range(U(indptr[i]), U(indptr[i + U(1)])):
                x, p = spread(data[k]), U(indices[k]) * block
                z, v = load(table, p), load(table, p + width)
                a = add(a, subtract(absolute(subtract(x, z)), absolute(z)))
                b = add(b, subtract(absolute(subtract(x, v)), absolute(v)))
            store_block(flat, i * m + place, count, width, a, b)
        pack_columns(packed, z_data, z_indices, z_indptr, first, last, z_data[0] - z_data[0])


@njit(**OPTIONS)
def dense_differences(tile, X, Z, squares):
    """tile_ij = |x_i - z_j|^2 for dense rows, or |x_i - z_j|_1 where `squares` is None; from differences.

    That does not cancel, and costs more than BLAS. z is turned a block at a time so that its features lie side by side.
    """
    width, flat, rows = U(VECTOR_BYTES // tile.itemsize), tile.reshape(-1), X.reshape(-1)
    block, m, d, zero = width + width, U(tile.shape[1]), U(X.shape[1]), spread_like(flat, 0.0)
    table = np.zeros(d * block, X.dtype)
    for first in range(U(0), m, block):
        count = min(block, m - first)
        for j in range(count):
            for k in range(d):
                table[k * block + j] = Z[first + j, k]
        for i in range(U(tile.shape[0])):
            a, b = zero, zero
            for k in range(d):
                x, p = spread(rows[i * d + k]), k * block
                left, right = subtract(x, load(table, p)), subtract(x, load(table, p + width))
                if squares is None:
                    a, b = add(a, absolute(left)), add(b, absolute(right))
                else:
                    a, b = multiply_add(left, left, a), multiply_add(right, right, b)
            store_block(flat, i * m + first, count, width, a, b)


@njit(**OPTIONS)
def sparse_differences(tile, data, indices, indptr, features, values, starts, squares):
    """tile_ij = |x_i - z_j|^2 or |x_i - z_j|_1 for CSR rows x and groups of one vector of rows z, from differences.

    A group has the features that any of its rows has, in order; they are merged with those of x.
    """
    width, flat, m, none = U(VECTOR_BYTES // tile.itemsize), tile.reshape(-1), U(tile.shape[1]), values[0] - values[0]
    for g in range(U(starts.shape[0] - 1)):
        count, stop = min(width, m - g * width), U(starts[g + U(1)])
        for i in range(U(tile.shape[0])):
            k, end, p, total = U(indptr[i]), U(indptr[i + U(1)]), U(starts[g]), spread(none)
            while k < end or p < stop:
                x, z = spread(none), spread(none)
                mine = p >= stop or (k < end and indices[k] <= features[p])
                its = k >= end or (p < stop and features[p] <= indices[k])
                if mine:
                    x = spread(data[k])
                    k += U(1)
                if its:
                    z = load(values, p * width)
                    p += U(1)
                apart = subtract(x, z)
                total = multiply_add(apart, apart, total) if squares else add(total, absolute(apart))
            store_some(flat, i * m + g * width, count, total)


@njit(**OPTIONS)
def cut_row(row, columns):
    """row[: len(columns)] = row[columns], where it lies; the columns rise."""
    for j in range(U(columns.shape[0])):
        row[j] = row[U(columns[j])]


@njit(**OPTIONS)
def add_stored_rows(f, rows, slots, steps, start, stop):
    """f[start:stop] += steps' rows[slots, start:stop].

    Eight rows at a time over strips that stay in the first cache; the sums of a strip are formed in the precision of
    the rows and added to f in float64.
    """
    flat, n, width = rows.reshape(-1), U(rows.shape[1]), U(VECTOR_BYTES // rows.itemsize)
    sums, count = np.empty(STRIP_COLUMNS, rows.dtype), U(slots.shape[0])
    for left in range(U(start), U(stop), U(STRIP_COLUMNS)):
        m = min(U(STRIP_COLUMNS), U(stop) - left)
        sums[:m] = 0.0
        for r in range(U(0), count - count % U(8), U(8)):
            add_eight(sums, flat, slots, steps, r, n, left, m, width)
        for r in range(count - count % U(8), count):
            row = rows[slots[r]]
            for j in range(m):
                sums[j] += steps[r] * row[left + j]
        for j in range(m):
            f[left + j] += sums[j]


@njit(**OPTIONS)
def add_eight(sums, flat, slots, steps, r, n, left, m, width):
    """sums[:m] += steps[r : r + 8]' rows[slots[r : r + 8], left : left + m]."""
    p0, p1 = U(slots[r]) * n + left, U(slots[r + U(1)]) * n + left
    p2, p3 = U(slots[r + U(2)]) * n + left, U(slots[r + U(3)]) * n + left
    p4, p5 = U(slots[r + U(4)]) * n + left, U(slots[r + U(5)]) * n + left
    p6, p7 = U(slots[r + U(6)]) * n + left, U(slots[r + U(7)]) * n + left
    s0, s1 = spread_like(flat, steps[r]), spread_like(flat, steps[r + U(1)])
    s2, s3 = spread_like(flat, steps[r + U(2)]), spread_like(flat, steps[r + U(3)])
    s4, s5 = spread_like(flat, steps[r + U(4)]), spread_like(flat, steps[r + U(5)])
    s6, s7 = spread_like(flat, steps[r + U(6)]), spread_like(flat, steps[r + U(7)])
    zero = spread_like(flat, 0.0)
    for j in range(U(0), m - m % width, width):
        even = multiply_add(s0, load(flat, p0 + j), load(sums, j))
        odd = multiply_add(s1, load(flat, p1 + j), zero)
        even, odd = multiply_add(s2, load(flat, p2 + j), even), multiply_add(s3, load(flat, p3 + j), odd)
        even, odd = multiply_add(s4, load(flat, p4 + j), even), multiply_add(s5, load(flat, p5 + j), odd)
        even, odd = multiply_add(s6, load(flat, p6 + j), even), multiply_add(s7, load(flat, p7 + j), odd)
        store(sums, j, add(even, odd))
    for j in range(m - m % width, m):
        first = flat[p0 + j] * steps[r] + flat[p1 + j] * steps[r + U(1)]
        second = flat[p2 + j] * steps[r + U(2)] + flat[p3 + j] * steps[r + U(3)]
        third = flat[p4 + j] * steps[r + U(4)] + flat[p5 + j] * steps[r + U(5)]
        fourth = flat[p6 + j] * steps[r + U(6)] + flat[p7 + j] * steps[r + U(7)]
        sums[j] += first + second + third + fourth
