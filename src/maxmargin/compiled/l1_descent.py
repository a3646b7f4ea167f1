"""Coordinate descent on a quadratic with an absolute value for each variable."""

from .compiler import njit
from .piecewise import soft_threshold

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(**OPTIONS)
def descend_l1_quadratic(H, g, u, weight, delta, slope, passes, accuracy):
    """min over delta of g'delta + delta'H delta / 2 + sum_j weight_j |u_j + delta_j|, one variable at a time.

    `delta` and slope = H delta are updated in place. Ends after `passes`, or when no variable moved by more than
    `accuracy` in units of the root of its curvature; returns the largest such move of the last pass.
    """
    largest = 0.0
    for _ in range(passes):
        largest = 0.0
        for j in range(g.shape[0]):
            curve = H[j, j]
            if curve <= 0.0:
                continue
            at = u[j] + delta[j]
            pull = curve * at - (g[j] + slope[j])
            soft = soft_threshold(pull, weight[j])
            move = soft / curve - at
            if move != 0.0:
                delta[j] += move
                for k in range(g.shape[0]):
                    slope[k] += move * H[j, k]
                largest = max(largest, abs(move) * curve**0.5)
        if largest <= accuracy:
            break
    return largest
