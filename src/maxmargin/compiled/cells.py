"""Cells of a search: the same samples at one value of C after the other, over one kernel matrix that all cells share.

Problem k has the places ends[k] to ends[k + 1] of the flat arrays, and `index` says which sample of the matrix lies at
each place. What belongs to the cells of a problem (duals, bounds, intercepts) has one more axis in front, its cells in
the order in which they are solved: each starts from the duals of the one before it.
"""

import numpy as np

from .active_samples import take_phases
from .compiler import njit
from .lanes import view_rows
from .single_rows import find_runs, gather_row
from .small_problems import (
    EXACT_OPTIONS,
    LAYER_SUMS,
    absorb_imbalance,
    add_multiple,
    certify_scores,
    fill_to_balance,
    put,
    start_scores,
    sum_conjugates,
    take_columns,
    take_stretches,
)
from .small_systems import fill
from .smo import CONVERGED, DUAL, HELD, OPTIONS, STALLED, update_all_rates

CELL_STRETCH_STEPS = 64  # pair steps before Newton's method: cells start close to the end, and need it less often
BOUNDED_SHARE = 0.5  # of the duals: where t lets go of more than that, a cell starts from nothing


@njit(**OPTIONS)
def is_mostly_bounded(duals, lo, hi, most):
    """Whether most duals other than zero would be at their bounds if all were multiplied by `most`."""
    bounded = nonzero = 0
    for layer in range(duals.shape[0]):
        for i in range(duals.shape[1]):
            a = duals[layer, i]
            if a != 0.0:
                nonzero += 1
                bounded += (hi[layer, i] if a > 0.0 else lo[layer, i]) / a <= (1.0 + 1e-6) * most
    return bounded > BOUNDED_SHARE * nonzero


@njit(**OPTIONS)
def scale_duals(duals, f, p, d, e, lo, hi):
    """Multiply duals and scores by the t within the bounds for which D(t a) is largest.

    D(t a) = -t^2/2 (a'Ka + sum d a^2) - t (sum p a + sum e |a|): a parabola, whose top is cut off where a dual meets
    its bound. Larger C, larger bounds: of hinges with all duals at C, the duals at the next C are all at that.

    Where t is less, duals that were at their bounds come off them, and most go back to one, or to zero, step by step.
    If these are most of all, fewer steps lead there from a = 0, though D is less there.
    """
    square = linear = 0.0
    most = 1e30
    for layer in range(duals.shape[0]):
        for i in range(f.shape[0]):
            a = duals[layer, i]
            if a != 0.0:
                square += a * f[i] + d[layer, i] * a * a
                linear -= p[layer, i] * a + e[layer, i] * abs(a)
                most = min(most, (hi[layer, i] if a > 0.0 else lo[layer, i]) / a)
    if not square > 0.0:
        return
    t = max(min(linear / square, most), 0.0)
    if t < most and is_mostly_bounded(duals, lo, hi, most):
        t = 0.0
    for layer in range(duals.shape[0]):
        for i in range(f.shape[0]):
            duals[layer, i] = min(max(t * duals[layer, i], lo[layer, i]), hi[layer, i])
    for i in range(f.shape[0]):
        f[i] *= t


@njit(**OPTIONS)
def take_steps_of_cell(
    rows, slot, holder, stamp, source, f, a, p, d, e, lo, hi, up, low, curvature, scratch, balanced, exact, tol, steps,
    numbers, counts, intercepts,
):  # fmt: skip
    """Pair steps over all samples in float64, from duals and scores as they are; if `exact`, then the last digits."""
    square = 0.0
    for layer in range(a.shape[0]):
        for i in range(f.shape[0]):
            square += a[layer, i] * f[i]
    numbers[DUAL] = -0.5 * square - sum_conjugates(a, p, d, e)
    numbers[HELD] = 1.0 if balanced else 0.0
    update_all_rates(a, p, d, e, lo, hi, up, low)
    take_stretches(
        rows, slot, holder, stamp, source, f, a, p, d, e, lo, hi, up, low, curvature, scratch, CELL_STRETCH_STEPS,
        exact, tol, steps, numbers, counts, intercepts,
    )  # fmt: skip


@njit(**OPTIONS)
def solve_cells(
    start, stop, first_cell, last_cell, warm, matrix, diagonal, index, ends, buffer, places, before, a, f, p, d, e, lo,
    hi, balance, balanced, exact, tol, limits, numbers, counts, intercepts,
):  # fmt: skip
    """Pair steps for the cells first_cell to last_cell of the problems start to stop, to gaps within tol.

    A cell starts from its own duals if `warm`, and counts their scores anew; else from the duals and the scores of the
    cell before it. Those before the first one are in `before`: the duals layer by layer, and the scores. Where duals
    are `balanced`, they sum to something else than zero, and each cell starts anew. If `exact`, a problem without
    phases is solved to the last digits that its time allows, `last_digits.py`. With `places` for rows in float32, a
    problem takes its steps in phases; what they say of its rows must be that of the call before.
    """
    layers = a.shape[1]
    for k in range(start, stop):
        begin, n = ends[k], ends[k + 1] - ends[k]
        own = index[begin : ends[k + 1]].copy()
        source = (matrix, own, find_runs(own))
        capacity = min(n, buffer.shape[0] // n)
        rows = view_rows(buffer, capacity, n)
        slot, holder, stamp = np.empty(n, np.int64), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
        fill(slot, -1)
        fill(holder, -1)
        fill(stamp, -1)
        work, scores, scratch, intercept = np.zeros((9, layers, n)), np.zeros(n), np.empty(n), np.zeros(layers)
        p_c, d_c, e_c, lo_c, hi_c = work[0], work[1], work[2], work[3], work[4]
        duals, up, low, curvature = work[5], work[6], work[7], work[8]
        counted = counts[first_cell, k].copy()
        for cell in range(first_cell, last_cell):
            take_columns(p[cell], begin, p_c)
            take_columns(d[cell], begin, d_c)
            take_columns(e[cell], begin, e_c)
            take_columns(lo[cell], begin, lo_c)
            take_columns(hi[cell], begin, hi_c)
            for layer in range(layers):
                for i in range(n):
                    curvature[layer, i] = d_c[layer, i] + diagonal[own[i]]
            values = numbers[cell, k].copy()
            if balanced and not warm:
                for layer in range(layers):
                    fill(duals[layer], 0.0)
                    fill_to_balance(duals[layer], lo_c[layer], hi_c[layer], balance[cell, k, layer])
            elif warm or cell > 0:
                take_columns(a[cell if warm else cell - 1], begin, duals)
            else:
                take_columns(before, begin, duals)
            if balanced or warm:
                fill(scores, 0.0)
                start_scores(duals, source, rows, slot, holder, stamp, counted, scratch, scores)
            else:
                source_of_scores = f[cell - 1] if cell > 0 else before[layers]
                for i in range(n):
                    scores[i] = source_of_scores[begin + i]
            if not balanced and not warm:
                scale_duals(duals, scores, p_c, d_c, e_c, lo_c, hi_c)
            code = STALLED
            if places.shape[0] > 0:
                code = take_phases(
                    matrix, own, source[2], buffer.view(np.float32), places, scores, duals, p_c, d_c, e_c, lo_c, hi_c,
                    up, low, curvature, scratch, tol, limits[k], values, counted, intercept,
                )  # fmt: skip
                if code != CONVERGED:  # rows in float64 take the place of those in float32
                    places[0] = 0
                    fill(slot, -1)
                    fill(holder, -1)
                    fill(stamp, -1)
            if code != CONVERGED:
                take_steps_of_cell(
                    rows, slot, holder, stamp, source, scores, duals, p_c, d_c, e_c, lo_c, hi_c, up, low, curvature,
                    scratch, balanced, exact, tol, limits[k], values, counted, intercept,
                )  # fmt: skip
            for layer in range(layers):
                put(duals[layer], a[cell, layer], begin)
            put(scores, f[cell], begin)
            put(intercept, intercepts[cell, k], 0)
            put(counted, counts[cell, k], 0)


@njit(**EXACT_OPTIONS)
def balance_cells(start, stop, first_cell, last_cell, ends, a, lo, hi, balance):
    """Let the duals of the cells sum to what they should, to the last digit."""
    for k in range(start, stop):
        for cell in range(first_cell, last_cell):
            for layer in range(a.shape[1]):
                own = a[cell, layer, ends[k] : ends[k + 1]]
                lower, upper = lo[cell, layer, ends[k] : ends[k + 1]], hi[cell, layer, ends[k] : ends[k + 1]]
                absorb_imbalance(own, lower, upper, balance[cell, k, layer])


@njit(**EXACT_OPTIONS)
def add_sizes(t, row, sizes):
    """sizes += t |row|."""
    for j in range(sizes.shape[0]):
        sizes[j] += t * abs(row[j])


@njit(**EXACT_OPTIONS)
def judge_cells(
    start, stop, matrix, relative, index, ends, a, p, d, e, lo, hi, balance, b, bounds, least_sizes, floors, numbers,
    used, known, given, given_errors,
):  # fmt: skip
    """Scores f = K a and the numbers of the certificates of all cells of the problems start to stop.

    Where the scores of a problem are `known` they are `given`, cell by cell, with the errors that follow.

    As `judge_problems` has them; a row of the matrix is gathered once for all cells. `used` says which cells are to be
    judged. An entry of the matrix is off by `relative` of itself beyond the rounding of the kernel, where it was stored
    in less precision: score i then by relative sum_j |coef_j K_ij| more.
    """
    cells, layers = a.shape[0], a.shape[1]
    for k in range(start, stop):
        begin, n = ends[k], ends[k + 1] - ends[k]
        own = index[begin : ends[k + 1]].copy()
        source = (matrix, own, find_runs(own))
        row, work, found = np.empty(n), np.empty((6, layers, n)), np.empty((layers, LAYER_SUMS))
        coef, scores, errors = np.zeros((cells, n)), np.zeros((cells, n)), np.zeros((cells, n))
        for cell in range(cells):
            for layer in range(layers):
                for i in range(n):
                    coef[cell, i] += a[cell, layer, begin + i]
        if known[k]:
            for cell in range(cells):
                for i in range(n):
                    scores[cell, i] = given[cell, begin + i]
                    if relative > 0.0:
                        errors[cell, i] = given_errors[cell, begin + i]
        for i in range(0 if known[k] else n):
            gathered = False
            for cell in range(cells):
                if used[cell] and coef[cell, i] != 0.0:
                    if not gathered:
                        gather_row(i, source, row)
                        gathered = True
                    add_multiple(coef[cell, i], row, scores[cell])
                    if relative > 0.0:
                        add_sizes(relative * abs(coef[cell, i]), row, errors[cell])
        for cell in range(cells):
            if used[cell]:
                take_columns(a[cell], begin, work[0])
                take_columns(p[cell], begin, work[1])
                take_columns(d[cell], begin, work[2])
                take_columns(e[cell], begin, work[3])
                take_columns(lo[cell], begin, work[4])
                take_columns(hi[cell], begin, work[5])
                certify_scores(
                    scores[cell], errors[cell], coef[cell], found, work[0], work[1], work[2], work[3], work[4], work[5],
                    balance[cell, k], b[cell, k], bounds, least_sizes[cell, k], floors[cell, k], numbers[cell, k],
                )  # fmt: skip


@njit(**EXACT_OPTIONS)
def certify_cell(
    start, stop, scores, ends, a, p, d, e, lo, hi, balance, b, bounds, least_sizes, floors, numbers
):  # fmt: skip
    """The numbers of the certificates of one cell of the problems start to stop, from given scores f = K a.

    The scores may have been summed in any order, over the samples of the problem and others without a dual.
    """
    layers = a.shape[0]
    for k in range(start, stop):
        begin, n = ends[k], ends[k + 1] - ends[k]
        work, found = np.empty((6, layers, n)), np.empty((layers, LAYER_SUMS))
        coef, errors = np.zeros(n), np.zeros(n)
        take_columns(a, begin, work[0])
        take_columns(p, begin, work[1])
        take_columns(d, begin, work[2])
        take_columns(e, begin, work[3])
        take_columns(lo, begin, work[4])
        take_columns(hi, begin, work[5])
        for layer in range(layers):
            for i in range(n):
                coef[i] += work[0, layer, i]
        certify_scores(
            scores[begin : begin + n], errors, coef, found, work[0], work[1], work[2], work[3], work[4], work[5],
            balance[k], b[k], bounds, least_sizes[k], floors[k], numbers[k],
        )  # fmt: skip


@njit(**OPTIONS)
def score_rows(start, stop, matrix, index, ends, coef, rows, places, scores):
    """sum_j coef_j K_ij of the problems start to stop at rows of the matrix, places[k] to places[k + 1] for each."""
    for k in range(start, stop):
        used, weights, count = np.empty(ends[k + 1] - ends[k], np.int64), np.empty(ends[k + 1] - ends[k]), 0
        for i in range(ends[k], ends[k + 1]):
            if coef[i] != 0.0:
                used[count], weights[count] = index[i], coef[i]
                count += 1
        for i in range(places[k], places[k + 1]):
            row, total = matrix[rows[i]], 0.0
            for j in range(count):
                total += weights[j] * row[used[j]]
            scores[i] = total
