"""The sums that the judge needs, in one pass over the rows of a problem."""

import numpy as np

from ..runtime.rounding import AT_BOUND, BALANCE_ROUNDINGS, BALANCE_TOLERANCE, UNIT
from .compiler import njit
from .double_double import two_sum
from .elementary import bits_of, number_of
from .piecewise import best_dual, best_dual_of_one

# What says nothing of fast arithmetic is compiled with that of its first caller.
OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": False}
ONE_ROW = {**OPTIONS, "forceinline": True}  # without branches, so that LLVM takes eight rows at a time
SUMS = {**OPTIONS, "fastmath": {"reassoc"}}
INFINITY_BITS = np.int64(0x7FF0000000000000)
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
            loss += evaluate_loss(push, best_dual_of_one(push, d[k], e[k], lo[k], hi[k]), d[k], e[k])
            conjugate += p[k] * dual + 0.5 * d[k] * dual * dual + e[k] * abs(dual)
        losses += loss
        conjugates += conjugate
    return losses, conjugates


@njit(**ONE_ROW)
def evaluate_loss(push, best, d, e):
    """c l(f) = max over a in [lo, hi] of a push - d a^2/2 - e |a|, with push = -(f + p), which `best` attains."""
    return 0.0 if best == 0.0 else abs(best) * (abs(push) - e - 0.5 * d * abs(best))


@njit(**ONE_ROW)
def measure_distance(push, dual, d, e, lo, hi, margin):
    """The distance of -f from the subdifferential of conj at the dual."""
    inner = 0.0 if abs(dual) <= margin else dual
    middle = push - d * inner
    below = (e if inner > 0.0 else -e) - middle
    above = middle - (e if inner >= 0.0 else -e)
    return max(max(below if inner > lo + margin else 0.0, above if inner < hi - margin else 0.0), 0.0)


@njit(**ONE_ROW)
def measure_remainder(push, best, dual, d, e):
    """c l(f) + conj(a) + a f >= 0, as a sum of nonnegative products, so that nothing cancels.

    It is g(t) - g(a), where g(a) = a push - d a^2/2 - e |a| is concave and largest at t. The interval from a to t is
    split at zero. On each part g rises by the length of the part times its slope at the midpoint: to the maximum t by
    (t - s) (slope - d t + d (t - s)/2), rounded upwards.
    """
    apart = best * dual < 0.0
    side = best if apart else best + dual
    kink = e if side > 0.0 else (-e if side < 0.0 else 0.0)
    back = abs(dual) * (abs(push) + e + 0.5 * d * abs(dual))
    start = 0.0 if apart else dual
    way = abs(best - start)
    longer = way + 4.0 * UNIT * (abs(best) + abs(start))
    length = longer if d > 0.0 else way
    rise = length * (abs(push - kink - d * best) + 0.5 * d * length)
    return (back if apart else 0.0) + (rise if way > 0.0 else 0.0)


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


@njit(**ONE_ROW)
def enclose_row(s, error, b, dual, p, d, e, lo, hi, margin):
    """Of one row at the score f = s + b, which is off by `error`: c l(f), and by how much it may be larger.

    Then the remainder and the larger of those at the two ends of the interval of f, conj(a) and the size of its terms,
    the slope, and the violation.
    """
    f, shift_error = two_sum(s, b)
    distance, push_error = two_sum(f, p)
    push, error = -distance, error + abs(shift_error) + abs(push_error)
    error = error + 4.0 * UNIT * (error + abs(push)) if error > 0.0 else 0.0
    left, right = push - error, push + error
    best, before, after = (
        best_dual(push, d, e, lo, hi), best_dual(left, d, e, lo, hi), best_dual(right, d, e, lo, hi)
    )  # fmt: skip
    value = evaluate_loss(push, best, d, e)
    rise = max(max(evaluate_loss(left, before, d, e), evaluate_loss(right, after, d, e)) - value, 0.0)
    # most rows of a loss with kinks: whatever the score is, the dual is the best one
    certain = (d == 0.0) & (dual == best) & (dual == before) & (dual == after)
    remainder = measure_remainder(push, best, dual, d, e)
    high = max(measure_remainder(left, before, dual, d, e), measure_remainder(right, after, dual, d, e))
    linear, square, kink = p * dual, 0.5 * d * dual * dual, e * abs(dual)
    slope = abs(push) + error + e + d * (abs(dual) + margin)
    return (
        value, abs(dual) * error if certain else rise, remainder, high, linear + square + kink,
        abs(linear) + square + kink, slope, measure_distance(push, dual, d, e, lo, hi, margin),
    )  # fmt: skip


@njit(**SUMS)
def sum_chunk(s, errors, b, a, p, d, e, lo, hi, margin, first, last, mildest, steepest, widest, outside):
    """Ten sums over the rows of a chunk, which vectors of rows add in another order, and four extremes so far.

    Sums alone may be reordered: products of a tiny weight and a huge one would underflow. Of
    numbers that are not negative, the bits are in the order of the numbers, and the largest of many integers is found
    in vectors.
    """
    losses = rises = conjugates = sizes_of_conjugates = remainders = highest = levers = sizes = up = down = 0.0
    for k in range(first, last):
        dual = a[k]
        value, rise, remainder, high, conjugate, size_of_conjugate, slope, distance = enclose_row(
            s[k], errors[k], b, dual, p[k], d[k], e[k], lo[k], hi[k], margin
        )
        losses += value
        rises += rise
        remainders += remainder
        highest += high
        conjugates += conjugate
        sizes_of_conjugates += size_of_conjugate
        levers += abs(dual) * slope
        sizes += abs(dual)
        up += hi[k] - dual
        down += dual - lo[k]
        bits, free = bits_of(slope), (lo[k] + margin < dual) & (dual < hi[k] - margin)
        mildest = min(mildest, bits if free else INFINITY_BITS)
        steepest = max(steepest, bits if lo[k] < hi[k] else np.int64(0))
        widest = max(widest, bits_of(abs(distance)))
        outside += 0 if (lo[k] <= dual) & (dual <= hi[k]) else 1
    return (
        (losses, rises, conjugates, sizes_of_conjugates, remainders, highest, levers, sizes, up, down),
        mildest, steepest, widest, outside,
    )  # fmt: skip


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
    n = s.shape[0]
    losses = loss_rises = conjugates = conjugate_sizes = remainders = most = size = leverage = up = down = 0.0
    mildest, steepest, widest, outside = INFINITY_BITS, np.int64(0), np.int64(0), 0
    for start in range(0, n, CHUNK_ROWS):
        sums, mildest, steepest, widest, outside = sum_chunk(
            s, errors, b, a, p, d, e, lo, hi, margin, np.uintp(start), np.uintp(min(start + CHUNK_ROWS, n)), mildest,
            steepest, widest, outside,
        )  # fmt: skip
        losses, loss_rises = losses + sums[0], loss_rises + sums[1]
        conjugates, conjugate_sizes = conjugates + sums[2], conjugate_sizes + sums[3]
        remainders, most = remainders + sums[4], most + sums[5]
        leverage, size, up, down = leverage + sums[6], size + sums[7], up + sums[8], down + sums[9]
    total = total_error = 0.0
    for k in range(n):
        total, lost = two_sum(total, a[k])
        total_error += lost
    most += 4.0 * UNIT * (losses + leverage)  # c = C times weight is a product of rounded numbers
    slack = (TERM_ROUNDINGS + min(CHUNK_ROWS, n) + n / CHUNK_ROWS) * UNIT
    return (
        losses, loss_rises * (1.0 + slack) + slack * losses, conjugates, slack * conjugate_sizes, remainders,
        most * (1.0 + slack), total, total_error, size * (1.0 + slack), number_of(mildest), number_of(steepest),
        leverage * (1.0 + slack), up, down, number_of(widest), 1.0 if outside == 0 else 0.0,
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
