"""The sums that the judge needs, in one pass over the rows of a problem."""

import numpy as np

from ..runtime.rounding import AT_BOUND, BALANCE_ROUNDINGS, BALANCE_TOLERANCE, UNIT
from .compiler import njit
from .double_double import two_sum
from .piecewise import best_dual_of_one

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
CHUNK_ROWS = 256  # rows are summed in chunks before they are added to the total, so that rounding errors stay small
TERM_ROUNDINGS = 16.0  # rounding errors of a term, each below UNIT of its size


@njit(**OPTIONS)
def sum_rows(f, a, p, d, e, lo, hi):
    """sum_i c_i l(f_i) and sum_i conj_i(a_i) for conj_i(a) = p a + d a^2/2 + e |a| on [lo, hi]."""
    losses = conjugates = 0.0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        loss = conjugate = 0.0
        for k in range(start, min(start + CHUNK_ROWS, f.shape[0])):
            push, dual = -(f[k] + p[k]), a[k]
            loss += evaluate_loss(push, d[k], e[k], lo[k], hi[k])
            conjugate += p[k] * dual + 0.5 * d[k] * dual * dual + e[k] * abs(dual)
        losses += loss
        conjugates += conjugate
    return losses, conjugates


@njit(**OPTIONS)
def certain_best_dual(push, score_error, e, lo, hi):
    """The best dual for d = 0 if it is the same for every push within `score_error`; otherwise NaN."""
    if push - score_error > e:
        return hi
    if push + score_error < -e:
        return lo
    return 0.0 if abs(push) + score_error < e else np.nan


@njit(**OPTIONS)
def evaluate_loss(push, d, e, lo, hi):
    """c l(f) = max over a in [lo, hi] of a push - d a^2/2 - e |a|, with push = -(f + p)."""
    best = best_dual_of_one(push, d, e, lo, hi)
    return 0.0 if best == 0.0 else abs(best) * (abs(push) - e - 0.5 * d * abs(best))


@njit(**OPTIONS)
def measure_distance(push, dual, d, e, lo, hi, margin):
    """The distance of -f from the subdifferential of conj at the dual."""
    dual = 0.0 if abs(dual) <= margin else dual
    middle, distance = push - d * dual, 0.0
    if dual > lo + margin:
        distance = (e if dual > 0 else -e) - middle
    if dual < hi - margin:
        distance = max(distance, middle - (e if dual >= 0 else -e))
    return max(distance, 0.0)


@njit(**OPTIONS)
def measure_remainder(push, dual, d, e, lo, hi):
    """c l(f) + conj(a) + a f >= 0, as a sum of nonnegative products, so that nothing cancels.

    It is g(t) - g(a), where g(a) = a push - d a^2/2 - e |a| is concave and largest at t. The interval from a to t is
    split at zero. On each part g rises by the length of the part times its slope at the midpoint.
    """
    best = best_dual_of_one(push, d, e, lo, hi)
    if best * dual >= 0.0:
        side = best + dual
        kink = e if side > 0 else (-e if side < 0 else 0.0)
        return rise_to_maximum(best, dual, push - kink, d)
    back = abs(dual) * (abs(push) + e + 0.5 * d * abs(dual))
    return back + rise_to_maximum(best, 0.0, push - (e if best > 0 else -e), d)


@njit(**OPTIONS)
def rise_to_maximum(best, start, slope, d):
    """(t - s) (slope - d t + d (t - s)/2): how much g rises from s to its maximum t, rounded upwards."""
    way = abs(best - start)
    if d > 0 and way > 0:
        way += 4.0 * UNIT * (abs(best) + abs(start))
    return way * (abs(slope - d * best) + 0.5 * d * way) if way > 0 else 0.0


@njit(**OPTIONS)
def bound_balancing_cost(sums, free, balance, b, n, margin):
    """The amount that must be shifted between duals before they balance exactly, and what that costs at most.

    The duals sum to their balance up to a rounding error d. In exact arithmetic one free dual can absorb it: that moves
    w by d phi(x) and adds |d| times the slope of its remainder. Where no dual is free, several share it. What all of
    them together have no room for counts as an error of the balance itself, which is a product of rounded numbers.
    `sums` is what `enclose_rows` returns.
    """
    if not free:
        return 0.0, 0.0
    _, _, _, _, _, _, total, total_error, size, min_free_slope, max_slope, _, up, down, _, _ = sums
    missing = (total - balance) + total_error
    moved = abs(missing) * (1.0 + 2.0 * UNIT) + 2.0 * ((n * UNIT) * (n * UNIT)) * size
    moved += BALANCE_ROUNDINGS * UNIT * abs(balance)
    left = max(moved - max(down if missing > 0 else up, 0.0), 0.0)
    if left > BALANCE_TOLERANCE * (size + abs(balance)):
        return moved, np.inf
    slope = min(min_free_slope, max_slope) if moved <= 0.5 * margin else max_slope
    return moved, moved * slope + left * abs(b)


@njit(**OPTIONS)
def enclose_rows(s, errors, b, a, p, d, e, lo, hi, margin):
    """The sums of `sum_rows` at the scores f = s + b, where each s_i has an error of up to `errors`, and error bounds.

    Returns (losses, a bound on their error, conjugates, a bound on their error, sum of remainders, an upper bound on
    it, sum of duals, the rounding error of that sum, sum of their sizes, mildest slope, steepest slope, leverage, room
    upwards, room downwards, violation, inside). A remainder is c l(f) + conj(a) + a f. It is convex in f, so the larger
    of its values at the two ends of the interval of f bounds it. A slope is the cost of moving a dual by one unit: the
    mildest is taken over the duals that are free to move by `margin`, the steepest over all. The leverage is
    sum_i |a_i| slope_i.
    """
    losses = loss_rises = conjugates = conjugate_sizes = remainders = most = size = leverage = 0.0
    total = total_error = up = down = violation = max_slope = 0.0
    min_free_slope, inside = np.inf, True
    for start in range(0, s.shape[0], CHUNK_ROWS):
        loss = rise = conjugate = conjugate_size = remainder = high = sizes = lever = 0.0
        for k in range(start, min(start + CHUNK_ROWS, s.shape[0])):
            dual = a[k]
            f, shift_error = two_sum(s[k], b)
            distance, push_error = two_sum(f, p[k])
            push = -distance
            score_error = errors[k] + abs(shift_error) + abs(push_error)
            if score_error > 0:
                score_error += 4.0 * UNIT * (score_error + abs(push))
            if d[k] == 0.0 and dual == certain_best_dual(
                push, score_error, e[k], lo[k], hi[k]
            ):  # most rows: no remainder
                loss += 0.0 if dual == 0.0 else abs(dual) * (abs(push) - e[k])
                rise += abs(dual) * score_error
            else:
                value = evaluate_loss(push, d[k], e[k], lo[k], hi[k])
                left = evaluate_loss(push - score_error, d[k], e[k], lo[k], hi[k])
                right = evaluate_loss(push + score_error, d[k], e[k], lo[k], hi[k])
                loss += value
                rise += max(max(left, right) - value, 0.0)
                remainder += measure_remainder(push, dual, d[k], e[k], lo[k], hi[k])
                below = measure_remainder(push - score_error, dual, d[k], e[k], lo[k], hi[k])
                high += max(below, measure_remainder(push + score_error, dual, d[k], e[k], lo[k], hi[k]))
            linear, square, kink = p[k] * dual, 0.5 * d[k] * dual * dual, e[k] * abs(dual)
            conjugate += linear + square + kink
            conjugate_size += abs(linear) + square + kink
            slope = abs(push) + score_error + e[k] + d[k] * (abs(dual) + margin)
            if lo[k] + margin < dual < hi[k] - margin:
                min_free_slope = min(min_free_slope, slope)
            if lo[k] < hi[k]:
                max_slope = max(max_slope, slope)
            lever += abs(dual) * slope
            sizes += abs(dual)
            up, down = up + (hi[k] - dual), down + (dual - lo[k])
            total, lost = two_sum(total, dual)
            total_error += lost
            inside = inside and lo[k] <= dual <= hi[k]
            violation = max(violation, measure_distance(push, dual, d[k], e[k], lo[k], hi[k], margin))
        losses, loss_rises = losses + loss, loss_rises + rise
        conjugates, conjugate_sizes = conjugates + conjugate, conjugate_sizes + conjugate_size
        remainders, most = remainders + remainder, most + high
        size, leverage = size + sizes, leverage + lever
    most += 4.0 * UNIT * (losses + leverage)  # c = C times weight is a product of rounded numbers
    slack = (TERM_ROUNDINGS + min(CHUNK_ROWS, s.shape[0]) + s.shape[0] / CHUNK_ROWS) * UNIT
    return (
        losses, loss_rises * (1.0 + slack) + slack * losses, conjugates, slack * conjugate_sizes, remainders,
        most * (1.0 + slack), total, total_error, size * (1.0 + slack), min_free_slope, max_slope,
        leverage * (1.0 + slack),
        up, down, violation, 1.0 if inside else 0.0,
    )  # fmt: skip


@njit(**OPTIONS)
def judge_rows(s, errors, b, a, p, d, e, lo, hi, free, balance):
    """`enclose_rows`, and `bound_balancing_cost` of what it returns; the margin is AT_BOUND of the largest dual."""
    largest = 0.0
    for k in range(a.shape[0]):
        largest = max(largest, abs(a[k]))
    margin = AT_BOUND * largest
    sums = enclose_rows(s, errors, b, a, p, d, e, lo, hi, margin)
    moved, cost = bound_balancing_cost(sums, free, balance, b, a.shape[0], margin)
    return sums, moved, cost


@njit(**OPTIONS)
def add_exponents(rows, columns, weight, limit, more):
    """sum_j weight_j (t_i + t_j + more) with t_i from `rows` and t_j from `columns`, without those above `limit`."""
    total = other = 0.0
    for j in range(weight.shape[0]):
        total += weight[j]
        other += weight[j] * columns[j] if columns[j] <= limit else 0.0
    errors = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        errors[i] = (rows[i] * total if rows[i] <= limit else 0.0) + other + total * more
    return errors
