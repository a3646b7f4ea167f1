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
