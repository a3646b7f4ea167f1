"""Fused kernel transforms: dot products in, kernel values out, in one pass over the tile."""

import numpy as np
from numba import njit


@njit(inline="always")
def exp_nonpositive(x):
    """exp(x) for x <= 0 to 1 ulp, branch-free so that LLVM vectorises it (Cody and Waite reduction)."""
    x = max(x, -708.0)
    k = np.rint(x * 1.4426950408889634)
    r = x - k * 0.693145751953125 - k * 1.42860682030941723212e-6
    # Even and odd halves of the Taylor series side by side: half the latency of one Horner chain.
    r2 = r * r
    even = 2.08767569878681e-09
    odd = 1.6059043836821613e-10
    even = even * r2 + 2.755731922398589e-07
    odd = odd * r2 + 2.505210838544172e-08
    even = even * r2 + 2.48015873015873e-05
    odd = odd * r2 + 2.755731922398589e-06
    even = even * r2 + 1.388888888888889e-03
    odd = odd * r2 + 1.984126984126984e-04
    even = even * r2 + 4.1666666666666664e-02
    odd = odd * r2 + 8.333333333333333e-03
    even = even * r2 + 0.5
    odd = odd * r2 + 1.6666666666666666e-01
    power = np.int64((np.int64(k) + 1023) << 52).view(np.float64)
    return (1.0 + (r + r2 * (even + r * odd))) * power


@njit(fastmath={"contract", "nnan", "ninf", "nsz"}, cache=True, nogil=True, error_model="numpy")
def rbf_from_dots(dots, row_norms, column_norms, gamma):
    """K_ij = exp(-gamma (|x_i|^2 + |z_j|^2 - 2 <x_i, z_j>)), written over the dot products."""
    for i in range(dots.shape[0]):
        norm = row_norms[i]
        row = dots[i]
        for j in range(row.shape[0]):
            row[j] = exp_nonpositive(min(0.0, gamma * (2.0 * row[j] - norm - column_norms[j])))


@njit(inline="always")
def exp_nonpositive32(x):
    """exp(x) for x <= 0 in float32, 1e-7 relative."""
    x = max(x, np.float32(-87.0))
    k = np.rint(x * np.float32(1.44269504))
    r = x - k * np.float32(0.693359375) - k * np.float32(-2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    power = np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)
    return (p * r * r + r + np.float32(1.0)) * power


@njit(fastmath={"contract", "nnan", "ninf", "nsz"}, cache=True, nogil=True, error_model="numpy")
def rbf_from_dots32(dots, row_norms, column_norms, gamma):
    """K_ij = exp(-gamma (|x_i|^2 + |z_j|^2 - 2 <x_i, z_j>)) in float32, written over the dot products."""
    for i in range(dots.shape[0]):
        norm = row_norms[i]
        row = dots[i]
        for j in range(row.shape[0]):
            x = gamma * (np.float32(2.0) * row[j] - norm - column_norms[j])
            row[j] = exp_nonpositive32(min(np.float32(0.0), x))


@njit(fastmath={"contract", "nnan", "ninf", "nsz"}, cache=True, nogil=True)
def add_stored_rows(f, rows, slots, steps, start, stop):
    """f[start:stop] += steps' rows[slots, start:stop], four rows at a time in strips that stay in the first cache."""
    count = slots.shape[0]
    fours = count - count % 4
    for left in range(start, stop, 1024):
        right = min(left + 1024, stop)
        for r in range(0, fours, 4):
            row_a, row_b, row_c, row_d = rows[slots[r]], rows[slots[r + 1]], rows[slots[r + 2]], rows[slots[r + 3]]
            a, b, c, d = steps[r], steps[r + 1], steps[r + 2], steps[r + 3]
            for j in range(left, right):
                f[j] += a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]
        for r in range(fours, count):
            row_a, a = rows[slots[r]], steps[r]
            for j in range(left, right):
                f[j] += a * row_a[j]
