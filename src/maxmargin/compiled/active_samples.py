"""Pair steps over the samples that may still move, in phases, with rows in float32 and scores in float64.

Of thousands of samples most stay at their bounds: a step that passes over the others only is shorter, and so are its
rows. A phase takes the samples that some violating pair may contain (Joachims 1999, section 11.4; Fan et al. 2005,
section 4), counts their scores from where they are, in float32, and takes pair steps. Then the duals that have moved
are added to the scores of all samples in float64, so that what float32 loses in a phase does not outlive it.
"""

import numpy as np

from .compiler import njit
from .lanes import cut_rows, view_rows
from .single_rows import find_runs
from .small_problems import sum_conjugates
from .small_systems import fill
from .smo import (
    CONVERGED,
    DUAL,
    GAP,
    GAP_CHECK_STEPS,
    ITERATIONS,
    OPTIONS,
    SECOND_ORDER,
    STALLED,
    estimate_gap,
    is_gap_within,
    largest,
    pair_steps,
    scale_to_margin,
    smallest,
    update_all_rates,
)

WHOLE_SHARE = 0.7  # of the samples: where more may move, a phase has all of them, and rows that are held stay
STEPS_PER_ACTIVE_SAMPLE = 4  # pair steps of a phase over a part
STEPS_PER_SAMPLE = 1  # of a phase over all samples
MIN_PHASE_STEPS = 64
GAP_CHECK_SAMPLES = 16  # for each step between two looks at the gap, which takes as long as some steps
U = np.uintp
AT_INFINITY = 1e299  # rates of duals that cannot move lie beyond


@njit(**OPTIONS)
def find_active(up, low, f, m, M, active):
    """The samples i with up_i - f_i > M or low_i - f_i < m, which may be one of a violating pair; how many."""
    count = 0
    for i in range(f.shape[0]):
        if (up[i] > -AT_INFINITY and up[i] - f[i] > M) or (low[i] < AT_INFINITY and low[i] - f[i] < m):
            active[count] = i
            count += 1
    return count


@njit(**OPTIONS)
def add_four_rows(t, first, u, second, v, third, w, fourth, own, runs, f):
    """f_j += t first_own_j + u second_own_j + v third_own_j + w fourth_own_j."""
    if runs.shape[0] == 0:
        for j in range(U(f.shape[0])):
            at = U(own[j])
            f[j] += (t * first[at] + u * second[at]) + (v * third[at] + w * fourth[at])
    for r in range(runs.shape[0] - 1):
        shift = U(own[runs[r]]) - U(runs[r])
        for j in range(U(runs[r]), U(runs[r + 1])):
            at = j + shift
            f[j] += (t * first[at] + u * second[at]) + (v * third[at] + w * fourth[at])


@njit(**OPTIONS)
def add_matrix_rows(part, now, before, matrix, own, runs, f):
    """f_j += sum_r (now_r - before_r) K[own_part_r, own_j]; whether any of them has moved.

    Four rows at a time: they are far apart in memory, and to wait for four takes no longer than for one.
    """
    moved, n = np.empty(part.shape[0], np.int64), U(f.shape[0])
    count = 0
    for r in range(part.shape[0]):
        if now[r] != before[r]:
            moved[count] = r
            count += 1
    whole = count - count % 4
    for k in range(0, whole, 4):
        one, two, three, four = moved[k], moved[k + 1], moved[k + 2], moved[k + 3]
        t, u, v, w = (
            now[one] - before[one],
            now[two] - before[two],
            now[three] - before[three],
            now[four] - before[four],
        )
        first, second, third, fourth = (
            matrix[own[part[one]]], matrix[own[part[two]]], matrix[own[part[three]]], matrix[own[part[four]]]
        )  # fmt: skip
        add_four_rows(t, first, u, second, v, third, w, fourth, own, runs, f)
    for k in range(whole, count):
        r = moved[k]
        t, row = now[r] - before[r], matrix[own[part[r]]]
        for j in range(n):
            f[j] += t * row[U(own[j])]
    return count > 0


@njit(**OPTIONS)
def take_phase(
    part, whole, middle, matrix, own, runs, buffer, places, f, a, p, d, e, lo, hi, curvature, tol, steps, numbers,
    counts, intercepts,
):  # fmt: skip
    """Pair steps over the samples `part`, and what they change of a and f; whether any dual has moved.

    `places` says which rows are in the buffer: of all samples, from the last phase over the `whole`, if its first
    number is not 0, and else none.
    """
    count, n = part.shape[0], f.shape[0]
    capacity = min(count, buffer.shape[0] // count)
    rows, slot = view_rows(buffer, capacity, count), cut_rows(places, 1, 1 + count)
    holder, stamp = cut_rows(places, 1 + n, 1 + n + capacity), cut_rows(places, 1 + 2 * n, 1 + 2 * n + capacity)
    if places[0] == 0 or not whole:
        fill(slot, -1)
        fill(holder, -1)
    fill(stamp, -1)  # the clock of another cell starts at 0: rows it stamped later would never make room
    places[0] = 1 if whole else 0
    mine, before = np.empty((6, 1, count)), np.empty(count)
    near, index = np.empty((5, 1, count), np.float32), np.empty(count, np.int64)
    for r in range(count):
        i = part[r]
        index[r], before[r] = own[i], a[i]
        mine[0, 0, r], mine[1, 0, r], mine[2, 0, r] = a[i], p[i] + f[i] + middle, d[i]
        mine[3, 0, r], mine[4, 0, r], mine[5, 0, r] = e[i], lo[i], hi[i]
        near[0, 0, r], near[1, 0, r] = 0.0, curvature[i]
    update_all_rates(mine[0], mine[1], mine[2], mine[3], mine[4], mine[5], near[2], near[3])
    source = (matrix, index, runs if whole else find_runs(index))
    pair_steps(
        rows, slot, holder, stamp, source, near[0, 0], mine[0], mine[1], mine[2], mine[3], mine[4], mine[5], near[2],
        near[3], near[1], near[4, 0], SECOND_ORDER, None, True, max(GAP_CHECK_STEPS, count // GAP_CHECK_SAMPLES), tol,
        0.0, steps, numbers, counts, intercepts,
    )  # fmt: skip
    now = mine[0, 0]
    for r in range(count):
        a[part[r]] = now[r]
    return add_matrix_rows(part, now, before, matrix, own, runs, f)


@njit(**OPTIONS)
def take_phases(
    matrix, own, runs, buffer, places, f, a, p, d, e, lo, hi, up, low, curvature, scratch, tol, steps, numbers, counts,
    intercepts,
):  # fmt: skip
    """Phases until the gap is within tol: CONVERGED, or STALLED where float32 or the number of steps is not enough."""
    n, last = f.shape[0], counts[ITERATIONS] + steps
    active, every = np.empty(n, np.int64), np.arange(n)
    while True:
        square = 0.0
        for i in range(n):
            square += a[0, i] * f[i]
        numbers[DUAL] = -0.5 * square - sum_conjugates(a, p, d, e)
        update_all_rates(a, p, d, e, lo, hi, up, low)
        numbers[GAP] = estimate_gap(f, a, p, d, e, lo, hi, up, low, True, intercepts)
        if is_gap_within(numbers[GAP], tol, numbers):
            return CONVERGED
        if scale_to_margin(f, a, p, d, e, lo, hi, up, low, tol, numbers, intercepts):
            return CONVERGED
        m, _ = largest(up[0], f, scratch)
        M, _ = smallest(low[0], f, scratch)
        if m <= M or counts[ITERATIONS] >= last:
            return STALLED
        count = find_active(up[0], low[0], f, m, M, active)
        whole = count > WHOLE_SHARE * n
        part = every if whole else cut_rows(active, 0, count)
        most = STEPS_PER_SAMPLE * n if whole else STEPS_PER_ACTIVE_SAMPLE * count
        moved = take_phase(
            part, whole, 0.5 * (m + M), matrix, own, runs, buffer, places, f, a[0], p[0], d[0], e[0], lo[0], hi[0],
            curvature[0], tol, max(min(most, last - counts[ITERATIONS]), MIN_PHASE_STEPS), numbers, counts, intercepts,
        )  # fmt: skip
        if not moved:
            return STALLED
