"""Passes of dual coordinate descent over dense or sparse rows (Hsieh et al. 2008, with the five numbers of any row).

State of a pass: `numbers` holds the intercept b, its pull tau (b = b0 + tau (sum a - balance), or the constant feature
squared), the largest violation of this pass, the one beyond which a row that wants to stay is left out, the gap as the
pass saw it, the gap at which passes stop for a look, b0, the sum of all violations of this pass and how many they were,
and how many times their mean is the limit of the next pass; `seed` the random numbers of the order. All numbers of a
row, its dual too, lie in one line of `table`, 64 bytes wide: rows come in random order, and seven arrays would be seven
cache misses. A pass shuffles the rows first: it then knows the next ones, and asks for those of a sparse matrix while
it is at work on one. A row of 14 entries takes 50 ns; with the functions below called instead of written out, and
signed indices, it took 130.
"""

import numpy as np

from .compiler import njit
from .lanes import prefetch
from .piecewise import best_dual, curved_dual

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"},
}  # fmt: skip
U = np.uint64  # Numba turns a uint64 and an int64 into a float64
INTERCEPT, TAU, MAX_VIOLATION, LIMIT, SEEN_GAP, STOP_GAP, CENTRE, VIOLATIONS, VIOLATORS, PATIENCE = range(10)
P, D, E, LO, HI, NORM, DUAL = range(7)  # columns of the table of rows
TABLE_WIDTH = 8  # numbers in a line of the table
# Steps go beyond the best dual by a quarter of their length (projected SOR, Cryer 1971): a tenth of the passes less.
OVER_RELAXATION = 1.25
# Rows ahead of the one at work whose entries are asked for: in random order the caches cannot guess them.
ROWS_AHEAD = 2


@njit(inline="always")
def random_below(seed, bound):
    """A number below `bound`, by Marsaglia's xorshift: the same on every machine."""
    state = seed[0]
    state ^= state << U(13)
    state ^= state >> U(7)
    state ^= state << U(17)
    seed[0] = state
    return np.int64(((state >> U(32)) * U(bound)) >> U(32))  # no division: the upper half times the bound


@njit(inline="always")
def minimise_coordinate(f, p, d, e, lo, hi, q, a):
    """The best dual while all others stand still, clip(soft(q a - f - p, e) / (q + d), lo, hi), q = |x|^2 + tau.

    And by how much the row violates its optimality; negative: by how much it wants to stay where it is.
    """
    slope = f + p + d * a
    fall = slope + (e if a > 0.0 else -e)
    rise = -(slope + (e if a >= 0.0 else -e))
    violation = max(fall if a > lo else -1e300, rise if a < hi else -1e300)
    best = a
    if violation > 0.0:
        best = lo if fall > 0.0 else hi
        if q + d > 0.0:
            best = curved_dual(q * a - f - p, q + d, e, lo, hi)
    return best, violation


@njit(inline="always")
def lengthen_step(best, e, lo, hi, a):
    """A dual beyond the best one, within its bounds; the best one itself where a tube has a kink at zero."""
    return best if e > 0.0 else min(max(a + OVER_RELAXATION * (best - a), lo), hi)


@njit(inline="always")
def measure_row_gap(f, p, d, e, lo, hi, a):
    """c l(f) + conj(a) + a f: summed over all rows it is the gap, if every score is that of w = X'a."""
    push = -(f + p)
    best = best_dual(push, d, e, lo, hi)
    return (best - a) * push - 0.5 * d * (best - a) * (best + a) - e * (abs(best) - abs(a))


@njit(inline="always")
def shuffle(order, count, seed):
    """The first `count` places of the order in random order."""
    for s in range(count - 1):
        j = s + random_below(seed, count - s)
        order[s], order[j] = order[j], order[s]


@njit(**OPTIONS)
def sparse_pass(data, indices, indptr, order, s, visits, active, w, table, numbers, seed):
    """A part of a pass over order[:active] in random order; rows that want to stay where they are go to the end.

    It begins at the s-th and ends after so many visits. Returns where the next part begins, and how many are left.
    """
    b, tau, limit = numbers[INTERCEPT], numbers[TAU], numbers[LIMIT]
    largest, gap = (numbers[MAX_VIOLATION], numbers[SEEN_GAP]) if s > 0 else (0.0, 0.0)
    violations, violators = (numbers[VIOLATIONS], numbers[VIOLATORS]) if s > 0 else (0.0, 0.0)
    if s == 0:
        shuffle(order, active, seed)
    numbers_of_rows = table.reshape(-1)
    while s < active and visits > 0:
        visits -= 1
        i = order[s]
        if s + ROWS_AHEAD + 1 < active:  # written out: as a function that takes arrays it costs more than it saves
            following = U(order[s + ROWS_AHEAD + 1])
            prefetch(indptr, following)
            prefetch(numbers_of_rows, U(TABLE_WIDTH) * following)
            place = U(indptr[U(order[s + ROWS_AHEAD])])
            prefetch(data, place)
            prefetch(data, place + U(8))
            prefetch(indices, place)
        row = table[i]
        start, stop = U(indptr[i]), U(indptr[i + 1])
        score = b
        for k in range(start, stop):
            score += data[k] * w[U(indices[k])]
        best, violation = minimise_coordinate(
            score, row[P], row[D], row[E], row[LO], row[HI], row[NORM] + tau, row[DUAL]
        )
        if violation < -limit:
            active -= 1
            order[s] = order[active]
            order[active] = i
            continue
        s += 1
        gap += measure_row_gap(score, row[P], row[D], row[E], row[LO], row[HI], row[DUAL])
        best = lengthen_step(best, row[E], row[LO], row[HI], row[DUAL])
        change = best - row[DUAL]
        largest = max(largest, violation)
        violations += max(violation, 0.0)
        violators += 1.0 if violation > 0.0 else 0.0
        if change != 0.0:
            row[DUAL] = best
            b += tau * change
            for k in range(start, stop):
                w[U(indices[k])] += change * data[k]
    numbers[MAX_VIOLATION], numbers[INTERCEPT], numbers[SEEN_GAP] = largest, b, gap
    numbers[VIOLATIONS], numbers[VIOLATORS] = violations, violators
    return s, active


@njit(**OPTIONS)
def dense_pass(X, order, s, visits, active, w, table, numbers, seed):
    """The same over dense rows."""
    b, tau, limit = numbers[INTERCEPT], numbers[TAU], numbers[LIMIT]
    largest, gap = (numbers[MAX_VIOLATION], numbers[SEEN_GAP]) if s > 0 else (0.0, 0.0)
    violations, violators = (numbers[VIOLATIONS], numbers[VIOLATORS]) if s > 0 else (0.0, 0.0)
    if s == 0:
        shuffle(order, active, seed)
    while s < active and visits > 0:
        visits -= 1
        i = order[s]
        row = table[i]
        x, score = X[i], b
        for k in range(w.shape[0]):
            score += x[k] * w[k]
        best, violation = minimise_coordinate(
            score, row[P], row[D], row[E], row[LO], row[HI], row[NORM] + tau, row[DUAL]
        )
        if violation < -limit:
            active -= 1
            order[s] = order[active]
            order[active] = i
            continue
        s += 1
        gap += measure_row_gap(score, row[P], row[D], row[E], row[LO], row[HI], row[DUAL])
        best = lengthen_step(best, row[E], row[LO], row[HI], row[DUAL])
        change = best - row[DUAL]
        largest = max(largest, violation)
        violations += max(violation, 0.0)
        violators += 1.0 if violation > 0.0 else 0.0
        if change != 0.0:
            row[DUAL] = best
            b += tau * change
            for k in range(w.shape[0]):
                w[k] += change * x[k]
    numbers[MAX_VIOLATION], numbers[INTERCEPT], numbers[SEEN_GAP] = largest, b, gap
    numbers[VIOLATIONS], numbers[VIOLATORS] = violations, violators
    return s, active


@njit(**OPTIONS)
def end_pass(numbers, shrinking, free):
    """After a pass: rows may be left out as far as it violated optimality, and b0 follows a free intercept.

    How far that is, the largest violation says, or the mean one: a few rows far from the others violate it long after
    nearly all are settled.

    With b = b0 + tau (sum a - balance), the same imbalance beside b0 = b is b + (b - b0). Returns whether it is time to
    look at the gap: the pass saw a small one, or nothing moved.
    """
    largest = numbers[MAX_VIOLATION]
    numbers[LIMIT] = np.inf
    if shrinking and largest > 0.0:
        numbers[LIMIT] = min(largest, numbers[PATIENCE] * (numbers[VIOLATIONS] / numbers[VIOLATORS]))
    if free:
        b = numbers[INTERCEPT]
        numbers[INTERCEPT], numbers[CENTRE] = b + (b - numbers[CENTRE]), b
    return numbers[SEEN_GAP] <= numbers[STOP_GAP] or largest == 0.0


@njit(**OPTIONS)
def sparse_passes(data, indices, indptr, order, visits, active, w, table, numbers, seed, passes, shrinking, free):
    """Whole passes, at most so many, until so many visits are made or it is time to look at the gap.

    Returns how many they were, the visits, and how many rows are left.
    """
    done, made, ends = 0, 0, False
    while done < passes and made + active <= visits and active > 0 and not ends:
        made += active
        s = 0
        while s < active:
            s, active = sparse_pass(data, indices, indptr, order, s, visits, active, w, table, numbers, seed)
        done += 1
        ends = end_pass(numbers, shrinking, free)
    return done, made, active


@njit(**OPTIONS)
def dense_passes(X, order, visits, active, w, table, numbers, seed, passes, shrinking, free):
    """The same over dense rows."""
    done, made, ends = 0, 0, False
    while done < passes and made + active <= visits and active > 0 and not ends:
        made += active
        s = 0
        while s < active:
            s, active = dense_pass(X, order, s, visits, active, w, table, numbers, seed)
        done += 1
        ends = end_pass(numbers, shrinking, free)
    return done, made, active
