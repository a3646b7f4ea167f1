"""Cells of a search: the same samples at one value of C after the other, over one kernel matrix that all cells share.

Problem k has the places ends[k] to ends[k + 1] of the flat arrays, and `index` says which sample of the matrix lies at
each place. What belongs to the cells of a problem (duals, bounds, intercepts) has one more axis in front, its cells in
the order in which they are solved: each starts from the duals of the one before it.
"""

import numpy as np

from ..runtime.rounding import AT_BOUND, UNIT
from .compiler import njit
from .double_double import two_sum
from .free_duals import estimate_credit, maximise_over_free
from .lanes import view_rows
from .row_sums import bound_balancing_cost, enclose_rows
from .single_rows import gather_row
from .small_problems import (
    ABSOLUTE_SQUARE,
    DRIFT,
    DUAL_SIZE,
    EXACT_OPTIONS,
    LAYER_SUMS,
    LENGTH,
    MOVED,
    MOVING_COST,
    SCORE_ERROR,
    SQUARE,
    STRETCH_STEPS,
    TOTAL,
    absorb_imbalance,
    add_multiple,
    fill_slots,
    fill_to_balance,
    put,
    start_scores,
    sum_conjugates,
    take_columns,
)
from .smo import BUDGET, DUAL, GAP_CHECK_STEPS, HELD, OPTIONS, SECOND_ORDER, pair_steps, update_all_rates


@njit(**OPTIONS)
def scale_duals(duals, f, p, d, e, lo, hi):
    """Multiply duals and scores by the t within the bounds for which D(t a) is largest.

    D(t a) = -t^2/2 (a'Ka + sum d a^2) - t (sum p a + sum e |a|): a parabola, whose top is cut off where a dual meets
    its bound. Larger C, larger bounds: of hinges with all duals at C, the duals at the next C are all at that.
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
    for layer in range(duals.shape[0]):
        for i in range(f.shape[0]):
            duals[layer, i] = min(max(t * duals[layer, i], lo[layer, i]), hi[layer, i])
    for i in range(f.shape[0]):
        f[i] *= t


@njit(**OPTIONS)
def solve_cells(
    start, stop, first_cell, last_cell, warm, matrix, diagonal, index, ends, buffer, a, p, d, e, lo, hi, balance,
    balanced, tol, limits, numbers, counts, intercepts,
):  # fmt: skip
    """Pair steps for the cells first_cell to last_cell of the problems start to stop, to gaps within tol.

    The first cell starts from its own duals if `warm`, else from those of the cell before it, if there is one. Where
    duals are `balanced`, they sum to something else than zero, and each cell starts anew.
    """
    for k in range(start, stop):
        begin, end, layers = ends[k], ends[k + 1], a.shape[1]
        n = end - begin
        own = index[begin:end].copy()
        source = (matrix, own)
        capacity = min(n, buffer.shape[0] // n)
        rows = view_rows(buffer, capacity, n)
        slot, holder, stamp = fill_slots(n), fill_slots(capacity), fill_slots(capacity)
        duals, f = np.zeros((layers, n)), np.zeros(n)
        up, low, curvature, intercept = (
            np.empty((layers, n)),
            np.empty((layers, n)),
            np.empty((layers, n)),
            np.zeros(layers),
        )
        counted = counts[first_cell, k].copy()
        begun = False
        for cell in range(first_cell, last_cell):
            p_c, d_c, e_c = (
                take_columns(p[cell], begin, end),
                take_columns(d[cell], begin, end),
                take_columns(e[cell], begin, end),
            )
            lo_c, hi_c = take_columns(lo[cell], begin, end), take_columns(hi[cell], begin, end)
            for layer in range(layers):
                for i in range(n):
                    curvature[layer, i] = d_c[layer, i] + diagonal[own[i]]
            values = numbers[cell, k].copy()
            if balanced or not begun:
                for i in range(n):
                    f[i] = 0.0
                source_cell = cell if warm else cell - 1
                if balanced and not warm:
                    for layer in range(layers):
                        for i in range(n):
                            duals[layer, i] = 0.0
                        fill_to_balance(duals[layer], lo_c[layer], hi_c[layer], balance[cell, k, layer])
                elif source_cell >= 0:
                    for layer in range(layers):
                        for i in range(n):
                            duals[layer, i] = a[source_cell, layer, begin + i]
                start_scores(duals, source, rows, slot, holder, stamp, counted, f)
            if not balanced and not (warm and cell == first_cell):
                scale_duals(duals, f, p_c, d_c, e_c, lo_c, hi_c)
            begun = True
            square = 0.0
            for layer in range(layers):
                for i in range(n):
                    square += duals[layer, i] * f[i]
            values[DUAL] = -0.5 * square - sum_conjugates(duals, p_c, d_c, e_c)
            if balanced:
                values[HELD] = 1.0
            update_all_rates(duals, p_c, d_c, e_c, lo_c, hi_c, up, low)
            code, left, credit = BUDGET, limits[k], 0.0
            while code == BUDGET and left > 0:
                stretch = min(left, STRETCH_STEPS)
                code = pair_steps(
                    rows, slot, holder, stamp, source, f, duals, p_c, d_c, e_c, lo_c, hi_c, up, low, curvature,
                    SECOND_ORDER, None, True, GAP_CHECK_STEPS, tol, 0.0, stretch, values, counted, intercept,
                )  # fmt: skip
                left -= stretch
                if code == BUDGET and layers == 1:
                    credit = maximise_over_free(
                        credit + estimate_credit(stretch, n), rows, slot, f, duals[0], p_c[0], d_c[0], e_c[0],
                        lo_c[0], hi_c[0], up[0], low[0], curvature[0], values,
                    )  # fmt: skip
            for layer in range(layers):
                put(duals[layer], a[cell, layer], begin)
            put(intercept, intercepts[cell, k], 0)
            put(counted, counts[cell, k], 0)
            put(values, numbers[cell, k], 0)


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
def judge_cells(start, stop, matrix, relative, index, ends, a, p, d, e, lo, hi, balance, b, bounds, sums, used):
    """Scores f = K a and the sums of `enclose_rows` for all cells of the problems start to stop.

    As `judge_problems` has them; a row of the matrix is gathered once for all cells. `used` says which cells are to be
    judged. An entry of the matrix is off by `relative` of itself beyond the rounding of the kernel, where it was stored
    in less precision: score i then by relative sum_j |coef_j K_ij| more.
    """
    per_dual, per_length, per_intercept, reach, away, summed = bounds
    cells, layers = a.shape[0], a.shape[1]
    for k in range(start, stop):
        begin, end = ends[k], ends[k + 1]
        n = end - begin
        own = index[begin:end].copy()
        source, row = (matrix, own), np.empty(n)
        coef, scores, sizes = np.zeros((cells, n)), np.zeros((cells, n)), np.zeros((cells, n))
        for cell in range(cells):
            for layer in range(layers):
                for i in range(n):
                    coef[cell, i] += a[cell, layer, begin + i]
        for i in range(n):
            gathered = False
            for cell in range(cells):
                if used[cell] and coef[cell, i] != 0.0:
                    if not gathered:
                        gather_row(i, source, row)
                        gathered = True
                    add_multiple(coef[cell, i], row, scores[cell])
                    if relative > 0.0:
                        add_sizes(abs(coef[cell, i]), row, sizes[cell])
        for cell in range(cells):
            if not used[cell]:
                continue
            total = imbalance = lost = size = largest_intercept = square = absolute = 0.0
            for layer in range(layers):
                largest_intercept = max(largest_intercept, abs(b[cell, k, layer]))
                for i in range(n):
                    size += abs(a[cell, layer, begin + i])
            for i in range(n):
                total += abs(coef[cell, i])
                imbalance, part_lost = two_sum(imbalance, coef[cell, i])
                lost += part_lost
                square += coef[cell, i] * scores[cell, i]
                absolute += abs(coef[cell, i] * scores[cell, i])
            drift = away * (abs(imbalance + lost) * (1.0 + 2.0 * UNIT) + summed * summed * total)
            error, stored = per_dual * total, 0.0
            for i in range(n):
                sizes[cell, i] *= relative
                stored += abs(coef[cell, i]) * sizes[cell, i]
            if total > 0.0:
                error += stored / total  # so that total error bounds sum_i |coef_i| error_i
            length = np.sqrt(max(square, 0.0) + total * error + summed * absolute)
            public = per_length * (length + drift) + drift * reach + per_intercept * largest_intercept
            errors = np.empty(n)
            for i in range(n):
                errors[i] = per_dual * total + sizes[cell, i] + public
            for layer in range(layers):
                largest, first = 0.0, layer * LAYER_SUMS
                duals = a[cell, layer, begin:end].copy()
                for i in range(n):
                    largest = max(largest, abs(duals[i]))
                p_c, d_c, e_c = (
                    p[cell, layer, begin:end].copy(), d[cell, layer, begin:end].copy(), e[cell, layer, begin:end].copy()
                )  # fmt: skip
                lo_c, hi_c = lo[cell, layer, begin:end].copy(), hi[cell, layer, begin:end].copy()
                found = enclose_rows(
                    scores[cell], errors, b[cell, k, layer], duals, p_c, d_c, e_c, lo_c, hi_c, AT_BOUND * largest
                )
                moved, cost = bound_balancing_cost(
                    found, True, balance[cell, k, layer], b[cell, k, layer], n, AT_BOUND * largest
                )
                sums[cell, k, first + MOVED], sums[cell, k, first + MOVING_COST] = moved, cost
                for j in range(MOVED):
                    sums[cell, k, first + j] = found[j]
            at = layers * LAYER_SUMS
            sums[cell, k, at + TOTAL], sums[cell, k, at + SQUARE] = total, square
            sums[cell, k, at + ABSOLUTE_SQUARE], sums[cell, k, at + DRIFT] = absolute, drift
            sums[cell, k, at + SCORE_ERROR], sums[cell, k, at + DUAL_SIZE] = error, size
            sums[cell, k, at + LENGTH] = length
