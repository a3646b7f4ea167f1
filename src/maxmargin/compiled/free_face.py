"""Conjugate gradients over the duals that are free: those between their bounds, while all others stand still.

Where coordinate descent has found which duals are free, what is left of the problem is a system of linear equations,
(Q + D) step = -gradient over the free rows, which passes solve by Gauss and Seidel's method: in hundreds of passes
where rows lie close to each other. Conjugate gradients take the root of that, and a projected search keeps the duals
within their bounds (Moré and Toraldo 1991). Each iteration is a product with the free rows and one with their
transpose, half the work of a pass over them.

Sums over rows of the matrix may be reordered. Loops that write are not, so that no sum depends on where arrays lie.
"""

import numpy as np

from .compiler import njit
from .coordinate import DUAL, HI, INTERCEPT, LO, NORM, TAU, D, E, P, U
from .sparse_products import OPTIONS

ORDERED = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
MAX_ITERATIONS = 400  # of conjugate gradients in a step
# of the best rise of D in an iteration: when one brings no more, steps end, unless the face seems to be settled, since
# nearly all rows that still take part are free
LEAST_RISE_SHARE, SETTLED_FREE_SHARE = 0.05, 0.98
# of the gap to reach, and of their own gap before: steps end when the free rows are left with no more
TARGET_SHARE, GAP_SHARE = 0.3, 0.05
MAX_HOLDS = 5  # times that rows which would cross a bound are held there, and the others are solved anew
MAX_HALVINGS = 6  # of a step before it is given up
RISE_SHARE = 0.1  # of the rise that the slope promises: what a step must bring (Armijo)


@njit(**OPTIONS)
def combine_rows(data, indices, indptr, rows, weight, out):
    """out = sum_t weight_t x_(rows_t); returns the sum of the weights."""
    total = 0.0
    for j in range(out.shape[0]):
        out[j] = 0.0
    for t in range(rows.shape[0]):
        each = weight[t]
        total += each
        for k in range(U(indptr[rows[t]]), U(indptr[rows[t] + 1])):
            out[U(indices[k])] += each * data[k]
    return total


@njit(**OPTIONS)
def project_rows(data, indices, indptr, rows, w, out):
    """out_t = <x_(rows_t), w>."""
    for t in range(rows.shape[0]):
        total = 0.0
        for k in range(U(indptr[rows[t]]), U(indptr[rows[t] + 1])):
            total += data[k] * w[U(indices[k])]
        out[t] = total


@njit(**OPTIONS)
def sum_squares(x):
    """|x|^2."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * x[j]
    return total


@njit(**ORDERED)
def list_free_rows(order, active, table):
    """The rows among order[:active] whose duals are between their bounds, and not on the kink of a tube."""
    rows, count = np.empty(active, np.int64), 0
    for s in range(active):
        row = table[order[s]]
        if row[LO] < row[DUAL] < row[HI] and (row[E] == 0.0 or row[DUAL] != 0.0):
            rows[count] = order[s]
            count += 1
    return rows[:count]


@njit(**ORDERED)
def start_residual(rows, table, numbers, residual):
    """-(f + p + d a + e sign(a)) in place of <x, w>."""
    for t in range(rows.shape[0]):
        row = table[rows[t]]
        kink = row[E] if row[DUAL] > 0.0 else -row[E]
        residual[t] = -(residual[t] + numbers[INTERCEPT] + row[P] + row[D] * row[DUAL] + kink)


@njit(**ORDERED)
def estimate_gap(rows, table, held, residual):
    """What free rows add to the gap, unless they are held: r^2 / 2d, or |r| (hi - lo), for a slope of r."""
    gap = 0.0
    for t in range(rows.shape[0]):
        row, size = table[rows[t]], 0.0 if held[t] else abs(residual[t])
        gap += size * (0.5 * size / row[D] if row[D] > 0.0 else row[HI] - row[LO])
    return gap


@njit(**ORDERED)
def take_conjugate_steps(data, indices, indptr, rows, table, tau, held, share, enough, step, residual, pulled):
    """The step over the free rows by conjugate gradients with the diagonal in front, and how many there were.

    Rows that are held stand still. It ends where an iteration brings less than a share of the best one, or the free
    rows add no more than enough to the gap.
    """
    m = rows.shape[0]
    toward, image, divisor = np.empty(m), np.empty(m), np.empty(m)
    left = 0.0
    for t in range(m):
        row = table[rows[t]]
        divisor[t] = row[NORM] + tau + row[D]
        toward[t] = 0.0 if held[t] else residual[t] / divisor[t]
        left += residual[t] * toward[t]
    best, iterations = 0.0, 0
    while iterations < MAX_ITERATIONS and left > 0.0:
        iterations += 1
        total = tau * combine_rows(data, indices, indptr, rows, toward, pulled)
        project_rows(data, indices, indptr, rows, pulled, image)
        curvature = 0.0
        for t in range(m):
            image[t] += total + table[rows[t], D] * toward[t]
            curvature += image[t] * toward[t]
        if not curvature > 0.0:
            break
        length, before, left = left / curvature, left, 0.0
        for t in range(m):
            step[t] += length * toward[t]
            residual[t] -= length * image[t]
            left += 0.0 if held[t] else residual[t] * (residual[t] / divisor[t])
        for t in range(m):
            toward[t] = 0.0 if held[t] else residual[t] / divisor[t] + (left / before) * toward[t]
        rise = 0.5 * length * before
        best = max(best, rise)
        if rise <= share * best or estimate_gap(rows, table, held, residual) <= enough:
            break
    return iterations


@njit(**ORDERED)
def hold_at_bounds(rows, table, step, held):
    """Steps beyond a bound end there, and their rows are held; returns how many."""
    count = 0
    for t in range(rows.shape[0]):
        row = table[rows[t]]
        lo, hi = row[LO], row[HI]
        if row[E] > 0.0:
            lo, hi = (0.0, hi) if row[DUAL] > 0.0 else (lo, 0.0)
        inside = min(max(step[t], lo - row[DUAL]), hi - row[DUAL])
        if inside != step[t]:
            step[t], held[t] = inside, True
            count += 1
    return count


@njit(**ORDERED)
def follow_step(data, indices, indptr, rows, table, tau, slope, step, residual, pulled):
    """residual = -(slope + (Q + D) step)."""
    total = tau * combine_rows(data, indices, indptr, rows, step, pulled)
    project_rows(data, indices, indptr, rows, pulled, residual)
    for t in range(rows.shape[0]):
        residual[t] = -(slope[t] + residual[t] + total + table[rows[t], D] * step[t])


@njit(**ORDERED)
def clip_step(rows, table, step, length, slope, change):
    """change = clip(a + length step) - a within the bounds, and on its side of a kink.

    Returns what the terms of each row alone add to the objective: <slope, change> and d change^2 / 2.
    """
    linear = square = 0.0
    for t in range(rows.shape[0]):
        row = table[rows[t]]
        lo, hi = row[LO], row[HI]
        if row[E] > 0.0:
            lo, hi = (0.0, hi) if row[DUAL] > 0.0 else (lo, 0.0)
        change[t] = min(max(row[DUAL] + length * step[t], lo), hi) - row[DUAL]
        linear += slope[t] * change[t]
        square += 0.5 * row[D] * change[t] * change[t]
    return linear, square


@njit(**ORDERED)
def step_on_face(data, indices, indptr, order, active, w, table, numbers, target, patient, pulled):
    """Free duals to where D is largest while all others stand still, as far as their bounds allow; w and b follow.

    `target` is the gap that is to be reached in the end; only a `patient` step solves a settled face. Returns how many
    products with all free rows it took, times their number, and whether the face seems to be settled.
    """
    rows, tau = list_free_rows(order, active, table), numbers[TAU]
    m = rows.shape[0]
    residual, slope, change = np.empty(m), np.empty(m), np.empty(m)
    project_rows(data, indices, indptr, rows, w, residual)
    start_residual(rows, table, numbers, residual)
    for t in range(m):
        slope[t] = -residual[t]
    settled = patient and m >= SETTLED_FREE_SHARE * active
    share = 0.0 if settled else LEAST_RISE_SHARE
    step, held, products, length = np.zeros(m), np.zeros(m, np.bool_), 0, 1.0
    enough = max(TARGET_SHARE * target, GAP_SHARE * estimate_gap(rows, table, held, residual))
    for _ in range(MAX_HOLDS):
        products += take_conjugate_steps(
            data, indices, indptr, rows, table, tau, held, share, enough, step, residual, pulled
        )
        if hold_at_bounds(rows, table, step, held) == 0:
            break
        follow_step(data, indices, indptr, rows, table, tau, slope, step, residual, pulled)
        products += 1
    for _ in range(MAX_HALVINGS):
        linear, square = clip_step(rows, table, step, length, slope, change)
        total = combine_rows(data, indices, indptr, rows, change, pulled)
        products += 1
        if linear < 0.0 and linear + square + 0.5 * (tau * total * total + sum_squares(pulled)) <= RISE_SHARE * linear:
            for t in range(m):
                row = table[rows[t]]
                row[DUAL] = min(max(row[DUAL] + change[t], row[LO]), row[HI])
            for j in range(w.shape[0]):
                w[j] += pulled[j]
            numbers[INTERCEPT] += tau * total
            break
        length *= 0.5
    return products * m, settled
