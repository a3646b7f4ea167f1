"""Many small problems, without Python between them: pair steps for each, and the sums that the judge needs.

The samples lie segment by segment, packed as `single_rows` wants them. A problem is over one or two of the segments:
those of a pair of classes, or all samples and an empty one. What belongs to the problems (duals, bounds, scores) lies
one problem after the other in flat arrays of shape (layers, places): problem k has the places ends[k] to ends[k + 1].
"""

import numpy as np

from ..runtime.rounding import AT_BOUND, BALANCE_TOLERANCE, UNIT
from .certificate_numbers import combine_numbers
from .compiler import njit
from .double_double import two_sum
from .free_duals import estimate_credit, maximise_over_free
from .lanes import cut_rows, view_rows
from .last_digits import find_last_digits
from .row_sums import bound_balancing_cost, enclose_rows
from .single_rows import admit_row, evaluate_row
from .small_systems import fill
from .smo import (
    BUDGET,
    CLOCK,
    CONVERGED,
    DUAL,
    GAP_CHECK_STEPS,
    HELD,
    MISSES,
    OPTIONS,
    SECOND_ORDER,
    STALLED,
    estimate_gap,
    is_gap_within,
    pair_steps,
    update_all_rates,
)  # fmt: skip

FEW_FREE = 4  # duals, up to which an intercept is found to its last digits
STRETCH_STEPS = 32  # pair steps before Newton's method is tried over the free duals
EXACT_OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
# what is found of a layer: the sums of its rows, and what balancing its duals moves and costs
LAYER_SUMS, MOVED, MOVING_COST = 18, 16, 17
CERTIFICATE_NUMBERS, SQUARE = 9, 8  # what is told of a problem: `combine_numbers`, and |w|^2


@njit(**EXACT_OPTIONS)
def pack_segments(X, ends, blocks, packed, norms):
    """The rows ends[k] to ends[k + 1] of X in the blocks from blocks[k] on, feature by feature, and their |x|^2."""
    width = packed.shape[2]
    for k in range(ends.shape[0] - 1):
        for i in range(ends[k], ends[k + 1]):
            block, lane, square = blocks[k] + (i - ends[k]) // width, (i - ends[k]) % width, 0.0
            for j in range(X.shape[1]):
                packed[block, j, lane] = X[i, j]
                square += X[i, j] * X[i, j]
            norms[i] = square


@njit(**OPTIONS)
def take_columns(values, start, own):
    """own = values[:, start : start + n]."""
    for layer in range(own.shape[0]):
        for i in range(own.shape[1]):
            own[layer, i] = values[layer, start + i]


@njit(**OPTIONS)
def put(own, values, start):
    """values[start : start + n] = own, for vectors.

    In a loop: where NumPy would say that shapes differ, Numba compiles all that makes text of a shape, for seconds.
    """
    for i in range(own.shape[0]):
        values[start + i] = own[i]


@njit(**OPTIONS)
def fill_to_balance(a, lo, hi, balance):
    """Raise or lower duals from zero, in their order, until they sum to the balance."""
    left = abs(balance)
    for i in range(a.shape[0]):
        step = min(left, hi[i] if balance > 0 else -lo[i])
        a[i] = step if balance > 0 else -step
        left -= step
        if left <= 0.0:
            return


@njit(**OPTIONS)
def start_scores(a, source, rows, slot, holder, stamp, counts, coef, f):
    """f = K a, and a'Ka; the rows that this needs stay, as far as there is room, for the steps that follow."""
    square = 0.0
    fill(coef, 0.0)
    for layer in range(a.shape[0]):
        for i in range(f.shape[0]):
            coef[i] += a[layer, i]
    for i in range(f.shape[0]):
        if coef[i] != 0.0:
            admit_row(i, source, rows, slot, holder, stamp, counts[CLOCK])
            counts[CLOCK] += 1
            counts[MISSES] += 1
            add_multiple(coef[i], rows[slot[i]], f)
    for i in range(f.shape[0]):
        square += coef[i] * f[i]
    return square


@njit(**OPTIONS)
def add_multiple(t, row, f):
    """f += t row."""
    for j in range(f.shape[0]):
        f[j] += t * row[j]


@njit(**OPTIONS)
def sum_conjugates(a, p, d, e):
    """sum_i p_i a_i + d_i a_i^2/2 + e_i |a_i|."""
    total = 0.0
    for layer in range(a.shape[0]):
        for i in range(a.shape[1]):
            dual = a[layer, i]
            total += p[layer, i] * dual + 0.5 * d[layer, i] * dual * dual + e[layer, i] * abs(dual)
    return total


@njit(**EXACT_OPTIONS)
def absorb_imbalance(a, lo, hi, balance):
    """Let a dual far from its bounds and from zero take up what rounding has left of the sum of the duals.

    Where none has room for it, those within their bounds share it. One at a bound or at zero would look free then, and
    its sample a violator: such duals move only where the sum is off by more than rounding.
    """
    total = error = size = 0.0
    inner, room = 0, -1.0
    for i in range(a.shape[0]):
        total, lost = two_sum(total, a[i])
        error += lost
        size += abs(a[i])
        slack = min(min(a[i] - lo[i], hi[i] - a[i]), abs(a[i]))
        if slack > room:
            inner, room = i, slack
    missing = (balance - total) - error
    if abs(missing) < room:
        a[inner] += missing
        return
    for pinned in range(2):
        for i in range(a.shape[0]):
            if pinned == 0 and (a[i] == 0.0 or a[i] == lo[i] or a[i] == hi[i]):
                continue
            step = min(missing, hi[i] - a[i]) if missing > 0.0 else max(missing, lo[i] - a[i])
            a[i] += step
            missing -= step
        if abs(missing) <= BALANCE_TOLERANCE * size:
            return


@njit(**OPTIONS)
def add_diagonal(diagonal, start, stop, curvature, place):
    """curvature_place+i += K_ii of the samples start to stop, in every layer."""
    for layer in range(curvature.shape[0]):
        for i in range(stop - start):
            curvature[layer, place + i] += diagonal[start + i]


@njit(**OPTIONS)
def count_free(up, low):
    """How many duals are free."""
    count = 0
    for layer in range(up.shape[0]):
        for i in range(up.shape[1]):
            count += up[layer, i] == low[layer, i]
    return count


@njit(**OPTIONS)
def take_stretches(
    rows, slot, holder, stamp, source, f, a, p, d, e, lo, hi, up, low, curvature, scratch, length, exact, tol, steps,
    numbers, counts, intercepts,
):  # fmt: skip
    """Stretches of pair steps, with Newton's method over the free duals between them, until the gap is within tol.

    A stretch has `length` steps. If `exact`, or few duals are free, then the last digits; should these have opened the
    gap again, steps go on. Where no dual is free at the optimum, one that is left free has a say in the intercept that
    no gap limits.
    """
    code, left, credit, finished = BUDGET, steps, 0.0, False
    while code == BUDGET and left > 0:
        stretch = min(left, length)
        code = pair_steps(
            rows, slot, holder, stamp, source, f, a, p, d, e, lo, hi, up, low, curvature, scratch, SECOND_ORDER, None,
            True, GAP_CHECK_STEPS, tol, 0.0, stretch, numbers, counts, intercepts,
        )  # fmt: skip
        left -= stretch
        if code == BUDGET and a.shape[0] == 1:
            credit = maximise_over_free(
                credit + estimate_credit(stretch, f.shape[0]), rows, slot, f, a[0], p[0], d[0], e[0], lo[0], hi[0],
                up[0], low[0], curvature[0], numbers,
            )  # fmt: skip
        if code == STALLED and is_gap_within(
            estimate_gap(f, a, p, d, e, lo, hi, up, low, True, intercepts), tol, numbers
        ):
            code = CONVERGED  # steps that end at the optimum itself have no more effect, and look at no gap
        if code == CONVERGED and not finished:
            finished = True
            if not exact and count_free(up, low) > FEW_FREE:
                break
            find_last_digits(
                rows, slot, holder, stamp, source, f, a, p, d, e, lo, hi, up, low, curvature, scratch, numbers, counts,
                intercepts,
            )  # fmt: skip
            gap = estimate_gap(f, a, p, d, e, lo, hi, up, low, True, intercepts)
            if not is_gap_within(gap, tol, numbers):
                code, left = BUDGET, max(left, length)


@njit(**OPTIONS)
def solve_problem(
    k, pairs, segments, blocks, kernel, packed, norms, diagonal, begin, buffer, capacity, work, vectors, places, a, p,
    d, e, lo, hi, balance, tol, limits, numbers, counts, intercepts,
):  # fmt: skip
    """`solve_problems` for one of them, in memory that is given: numbers, and places in a cache of rows.

    It allocates nothing itself, so that nothing in it counts references to arrays; see `passes.py`.
    """
    layers, n = work.shape[1], work.shape[2]
    source = (
        kernel[0], kernel[1], kernel[2], kernel[3], kernel[4],
        cut_rows(packed, blocks[pairs[k, 0]], blocks[pairs[k, 0] + 1]),
        cut_rows(norms, segments[pairs[k, 0]], segments[pairs[k, 0] + 1]),
        cut_rows(packed, blocks[pairs[k, 1]], blocks[pairs[k, 1] + 1]),
        cut_rows(norms, segments[pairs[k, 1]], segments[pairs[k, 1] + 1]),
    )  # fmt: skip
    rows, slot, holder = view_rows(buffer, capacity, n), cut_rows(places, 0, n), cut_rows(places, n, n + capacity)
    stamp = cut_rows(places, n + capacity, n + 2 * capacity)
    counted = cut_rows(places, n + 2 * capacity, n + 2 * capacity + counts.shape[1])
    f, scratch = cut_rows(vectors, 0, n), cut_rows(vectors, n, 2 * n)
    intercept = cut_rows(vectors, 2 * n, 2 * n + layers)
    values = cut_rows(vectors, 2 * n + layers, 2 * n + layers + numbers.shape[1])
    shift, curve, kink, lower, upper = work[0], work[1], work[2], work[3], work[4]
    duals, curvature, up, low = work[5], work[6], work[7], work[8]
    fill(places, -1)
    fill(vectors, 0.0)
    put(counts[k], counted, 0)
    put(numbers[k], values, 0)
    take_columns(p, begin, shift)
    take_columns(d, begin, curve)
    take_columns(e, begin, kink)
    take_columns(lo, begin, lower)
    take_columns(hi, begin, upper)
    take_columns(d, begin, curvature)
    i, j = pairs[k, 0], pairs[k, 1]
    add_diagonal(diagonal, segments[i], segments[i + 1], curvature, 0)
    add_diagonal(diagonal, segments[j], segments[j + 1], curvature, segments[i + 1] - segments[i])
    for layer in range(layers):
        fill(duals[layer], 0.0)
    if balance is not None:
        for layer in range(layers):
            fill_to_balance(duals[layer], lower[layer], upper[layer], balance[k, layer])
        square = start_scores(duals, source, rows, slot, holder, stamp, counted, scratch, f)
        values[DUAL], values[HELD] = -0.5 * square - sum_conjugates(duals, shift, curve, kink), 1.0
    update_all_rates(duals, shift, curve, kink, lower, upper, up, low)
    take_stretches(
        rows, slot, holder, stamp, source, f, duals, shift, curve, kink, lower, upper, up, low, curvature, scratch,
        STRETCH_STEPS, True, tol, np.int64(max(limits[0] * n, limits[1] / n)), values, counted, intercept,
    )  # fmt: skip
    for layer in range(layers):
        sum_of_duals = 0.0
        if balance is not None:
            sum_of_duals = balance[k, layer]
        absorb_imbalance(duals[layer], lower[layer], upper[layer], sum_of_duals)
        put(duals[layer], a[layer], begin)
    put(intercept, intercepts[k], 0)
    put(counted, counts[k], 0)
    put(values, numbers[k], 0)


@njit(**OPTIONS)
def solve_problems(
    start, stop, buffer, pairs, segments, blocks, kernel, packed, norms, diagonal, ends, a, p, d, e, lo, hi, balance,
    tol, limits, numbers, counts, intercepts,
):  # fmt: skip
    """Pair steps for the problems start to stop until the gap is within tol or the `limits` are reached.

    These are steps per sample, and updates of scores if that allows more steps. The duals begin at a = 0, or where
    they balance. `segments` and `blocks` are where each segment begins among the samples and among the packed blocks.
    Where `balance` is None all duals sum to zero, and what starts elsewhere is not compiled, which the first fit would
    wait for.
    """
    layers = a.shape[0]
    for k in range(start, stop):
        n = ends[k + 1] - ends[k]
        capacity = min(n, buffer.shape[0] // n)
        places = np.empty(n + 2 * capacity + counts.shape[1], np.int64)
        solve_problem(
            k, pairs, segments, blocks, kernel, packed, norms, diagonal, ends[k], buffer, capacity,
            np.empty((9, layers, n)), np.empty(2 * n + layers + numbers.shape[1]), places, a, p, d, e, lo, hi, balance,
            tol, limits, numbers, counts, intercepts,
        )  # fmt: skip


@njit(**OPTIONS)
def add_weighted_rows(coef, source, row, f):
    """f = K coef, row by row of those that count."""
    for i in range(f.shape[0]):
        f[i] = 0.0
    for i in range(f.shape[0]):
        if coef[i] != 0.0:
            evaluate_row(i, source, row)
            add_multiple(coef[i], row, f)


@njit(**OPTIONS)
def project(coef, source, f):
    """f = X w for w = X'coef."""
    first, second = source[5], source[7]
    w, n, width = np.zeros(first.shape[1]), source[6].shape[0], first.shape[2]
    for part in range(2):
        packed, start, count = (first, 0, n) if part == 0 else (second, n, f.shape[0] - n)
        for i in range(count):
            if coef[start + i] != 0.0:
                for j in range(w.shape[0]):
                    w[j] += coef[start + i] * packed[i // width, j, i % width]
    for part in range(2):
        packed, start, count = (first, 0, n) if part == 0 else (second, n, f.shape[0] - n)
        for i in range(count):
            score = 0.0
            for j in range(w.shape[0]):
                score += packed[i // width, j, i % width] * w[j]
            f[start + i] = score


@njit(**EXACT_OPTIONS)
def certify_scores(
    scores, errors, coef, found, duals, shift, curve, kink, lower, upper, balance, b, bounds, least_size, floor, numbers
):  # fmt: skip
    """The numbers of the certificate of a problem from its scores f = K coef, and |w|^2.

    `bounds` says how large rounding errors are, see `SmallProblems.error_rates`, and `errors` by how much each score is
    off beyond that, to which the rest is added. `found` is memory for the sums of each layer.
    """
    per_dual, per_length, per_intercept, reach, away, summed = bounds
    layers, n = duals.shape
    total = imbalance = lost = size = largest_intercept = square = absolute = beyond = 0.0
    for layer in range(layers):
        largest_intercept = max(largest_intercept, abs(b[layer]))
        for i in range(n):
            size += abs(duals[layer, i])
    for i in range(n):
        total += abs(coef[i])
        imbalance, part_lost = two_sum(imbalance, coef[i])
        lost += part_lost
        square += coef[i] * scores[i]
        absolute += abs(coef[i] * scores[i])
        beyond += abs(coef[i]) * errors[i]
    drift = away * (abs(imbalance + lost) * (1.0 + 2.0 * UNIT) + summed * summed * total)
    error = per_dual * total
    doubt = total * error + beyond + summed * absolute  # of |w|^2
    length = np.sqrt(max(square, 0.0) + doubt)
    public = per_length * (length + drift) + drift * reach + per_intercept * largest_intercept
    for i in range(n):
        errors[i] += error + public
    for layer in range(layers):
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(duals[layer, i]))
        sums = enclose_rows(
            scores, errors, b[layer], duals[layer], shift[layer], curve[layer], kink[layer], lower[layer], upper[layer],
            AT_BOUND * largest,
        )  # fmt: skip
        moved, cost = bound_balancing_cost(sums, True, balance[layer], b[layer], n, AT_BOUND * largest)
        found[layer, MOVED], found[layer, MOVING_COST] = moved, cost
        for j in range(MOVED):
            found[layer, j] = sums[j]
    halves = 0.5 * square, 0.5 * doubt + drift * (length + drift)
    combine_numbers(found, layers, b, balance, halves, drift, reach, max(size, least_size), floor, numbers)
    numbers[SQUARE] = square


@njit(**EXACT_OPTIONS)
def judge_problem(
    k, pairs, segments, blocks, kernel, packed, norms, begin, work, vectors, found, f, a, p, d, e, lo, hi, balance, b,
    bounds, least_sizes, floors, numbers, linear,
):  # fmt: skip
    """`judge_problems` for one of them, in memory that is given."""
    layers, n = work.shape[1], work.shape[2]
    source = (
        kernel[0], kernel[1], kernel[2], kernel[3], kernel[4],
        cut_rows(packed, blocks[pairs[k, 0]], blocks[pairs[k, 0] + 1]),
        cut_rows(norms, segments[pairs[k, 0]], segments[pairs[k, 0] + 1]),
        cut_rows(packed, blocks[pairs[k, 1]], blocks[pairs[k, 1] + 1]),
        cut_rows(norms, segments[pairs[k, 1]], segments[pairs[k, 1] + 1]),
    )  # fmt: skip
    duals, shift, curve, kink, lower, upper = work[0], work[1], work[2], work[3], work[4], work[5]
    scores, coef, errors, row = vectors[0], vectors[1], vectors[2], vectors[3]
    take_columns(a, begin, duals)
    take_columns(p, begin, shift)
    take_columns(d, begin, curve)
    take_columns(e, begin, kink)
    take_columns(lo, begin, lower)
    take_columns(hi, begin, upper)
    fill(coef, 0.0)
    fill(errors, 0.0)
    for layer in range(layers):
        for i in range(n):
            coef[i] += duals[layer, i]
    if linear is not None:
        project(coef, source, scores)
    else:
        add_weighted_rows(coef, source, row, scores)
    certify_scores(
        scores, errors, coef, found, duals, shift, curve, kink, lower, upper, balance[k], b[k], bounds, least_sizes[k],
        floors[k], numbers[k],
    )  # fmt: skip
    put(scores, f, begin)


@njit(**EXACT_OPTIONS)
def judge_problems(
    start, stop, pairs, segments, blocks, kernel, packed, norms, ends, f, a, p, d, e, lo, hi, balance, b, bounds,
    least_sizes, floors, numbers, linear,
):  # fmt: skip
    """Scores f = K a and the numbers of the certificates of the problems start to stop.

    `bounds` says how large rounding errors are; see `SmallProblems.error_rates`. `numbers` has one row for each
    problem: what `combine_numbers` finds, and |w|^2. Scores are those of w = X'coef unless `linear` is None.
    """
    layers = a.shape[0]
    for k in range(start, stop):
        n = ends[k + 1] - ends[k]
        judge_problem(
            k, pairs, segments, blocks, kernel, packed, norms, ends[k], np.empty((6, layers, n)), np.empty((4, n)),
            np.empty((layers, LAYER_SUMS)), f, a, p, d, e, lo, hi, balance, b, bounds, least_sizes, floors, numbers,
            linear,
        )  # fmt: skip
