"""Many small problems, one for each pair of classes, without Python between them.

The samples lie class by class, packed as `single_rows` wants them; the problem of a pair is two runs of them. What
belongs to the problems (duals, bounds, scores) lies one problem after the other in flat arrays: problem k has the
places ends[k] to ends[k + 1].
"""

import numpy as np

from .compiler import njit
from .row_sums import bound_balancing_cost, enclose_rows
from .smo import GAP_CHECK_STEPS, OPTIONS, SECOND_ORDER, pair_steps, update_all_rates


@njit(**OPTIONS)
def copy_as_row(values):
    """A copy of shape (1, n)."""
    return values.copy().reshape((1, values.shape[0]))


@njit(**OPTIONS)
def solve_pairs(
    start, stop, pairs, classes, blocks, ends, kernel, packed, norms, diagonal, buffer, a, p, d, e, lo, hi,
    tol, limits, numbers, counts, intercepts,
):  # fmt: skip
    """Pair steps for the problems start to stop, from a = 0, until the gap is within tol or `limits` are reached.

    `classes` and `blocks` are where each class begins among the samples and among the packed blocks.
    """
    for k in range(start, stop):
        i, j = pairs[k]
        first, second = slice(classes[i], classes[i + 1]), slice(classes[j], classes[j + 1])
        part, n = slice(ends[k], ends[k + 1]), ends[k + 1] - ends[k]
        source = (
            kernel[0], kernel[1], kernel[2], kernel[3], kernel[4], packed[blocks[i] : blocks[i + 1]], norms[first],
            packed[blocks[j] : blocks[j + 1]], norms[second],
        )  # fmt: skip
        capacity = min(n, buffer.shape[0] // n)
        rows = buffer[: capacity * n].reshape((capacity, n))
        slot, holder, stamp = np.full(n, -1), np.full(capacity, -1), np.full(capacity, -1)
        # Copies, since two threads that count references to the same arrays hold each other up.
        shift, curve, kink = copy_as_row(p[part]), copy_as_row(d[part]), copy_as_row(e[part])
        lower, upper, duals = copy_as_row(lo[part]), copy_as_row(hi[part]), np.zeros((1, n))
        curvature, up, low = np.empty((1, n)), np.empty((1, n)), np.empty((1, n))
        curvature[0, : classes[i + 1] - classes[i]] = diagonal[first]
        curvature[0, classes[i + 1] - classes[i] :] = diagonal[second]
        curvature += curve
        update_all_rates(duals, shift, curve, kink, lower, upper, up, low)
        counted, values, intercept = counts[k].copy(), numbers[k].copy(), np.zeros(1)
        pair_steps(
            rows, slot, holder, stamp, source, np.zeros(n), duals, shift, curve, kink, lower, upper, up, low, curvature,
            SECOND_ORDER, None, True, GAP_CHECK_STEPS, tol, 0.0, limits[k], values, counted, intercept,
        )  # fmt: skip
        a[part], intercepts[k], counts[k], numbers[k] = duals[0], intercept[0], counted, values


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, error_model="numpy")  # exact sums allow no fast mathematics
def enclose_pairs(ends, s, errors, b, a, p, d, e, lo, hi, margins, sums):
    """`enclose_rows` and `bound_balancing_cost` of every problem, one row of `sums` each.

    Each score is off by the error of its problem at most.
    """
    for k in range(len(ends) - 1):
        part = slice(ends[k], ends[k + 1])
        score_error = np.full(ends[k + 1] - ends[k], errors[k])
        found = enclose_rows(
            s[part], score_error, b[k], a[part], p[part], d[part], e[part], lo[part], hi[part], margins[k]
        )
        sums[k, 16], sums[k, 17] = bound_balancing_cost(found, True, 0.0, b[k], ends[k + 1] - ends[k], margins[k])
        for j in range(16):
            sums[k, j] = found[j]
