"""The judge's sums for several problems over the same sparse rows."""

import numpy as np

from .compiler import njit
from .row_sums import OPTIONS
from .small_designs import UNDERFLOW_ALLOWANCE, sum_design
from .sparse_products import combine, project, sum_row_square


@njit(**OPTIONS)
def bound_sparse_lengths(data, indptr, scaling, relative, sizes):
    """|(x_i, scaling)|, or a little more; returns the largest. As in `bound_lengths`."""
    largest = 0.0
    for i in range(sizes.shape[0]):
        square = scaling * scaling + (indptr[i + 1] - indptr[i] + 1) * UNDERFLOW_ALLOWANCE
        sizes[i] = np.sqrt(square + sum_row_square(data, indptr, i)) * (1.0 + relative)
        largest = max(largest, sizes[i])
    return largest


@njit(**OPTIONS)
def judge_sparse_designs(data, indices, indptr, scaling, relative, u, a, p, d, e, lo, hi, scores, found):
    """As `judge_designs`, over the rows (x_i, scaling): the intercept is the weight of a constant, or is not there."""
    n, width = scores.shape[1], u.shape[1] - 1
    errors, sizes, pulled = np.empty(n), np.empty(n), np.empty(width + 1)
    largest = bound_sparse_lengths(data, indptr, scaling, 2.0 * relative, sizes)
    for k in range(u.shape[0]):
        coef = u[k]
        project(data, indices, indptr, coef, scores[k])
        total = 0.0
        for i in range(n):
            scores[k, i] += scaling * coef[width]
        for i in range(n):
            total += a[k, i]
        for j in range(width):
            pulled[j] = 0.0
        combine(data, indices, indptr, a[k], pulled)
        pulled[width] = scaling * total
        sum_design(
            scores[k], pulled, coef, 0.0, sizes, errors, relative, 0.0, False, a[k], p[k], d[k], e[k], lo[k], hi[k],
            found[k],
        )  # fmt: skip
        found[k, 21] = largest
