"""Dual coordinate descent over sparse rows from its start to a gap, without a return to Python between passes.

A pass over a small text takes a tenth of a millisecond, and the Python around it as much. `told` and `counts` hold what
the next call goes on with: a call ends after so many visits of rows, for a look at the clock.
"""

import numpy as np

from .compiler import njit
from .coordinate import (
    DUAL,
    HI,
    INTERCEPT,
    LIMIT,
    LO,
    MAX_VIOLATION,
    SEEN_GAP,
    TAU,
    D,
    E,
    P,
    end_pass,
    measure_row_gap,
    sparse_pass,
)  # fmt: skip
from .free_face import ORDERED, step_on_face, sum_squares
from .sparse_products import OPTIONS, project, sum_row_square

ACTIVE, PASSES, VISITS, LOOKS, NEXT_FACE, INTERVAL, IS_SETTLED, FAILURES = range(8)  # of `counts`
# of `told`: D, the gap below which D is evaluated anew, the gap that is worth a look, the gap that the last pass saw,
# how fast it falls in a pass (the logarithm), what was seen before the last step on the face, and how many visits of
# rows that took
DUAL_VALUE, STALE_GAP, ENOUGH, LAST_SEEN, FALL, BEFORE_FACE, FACE_VISITS = range(7)
GOING, REACHED, SETTLED = range(3)  # what a call returns
FIRST_PASSES = 3  # before D is evaluated for the first time
D_IS_KNOWN_GAP, D_IS_OLD_FALL = 0.05, 0.125  # relative gap below which D is known; fall of a larger one that moves D
REACHED_SHARE = 0.9  # of tol, below which a gap counts as reached: the judge adds what rounding may hide
LEAST_RATE = 0.3  # of the fall of the gap in a pass, that is counted on in the next one
MISSED_ROWS_GAP_FACTOR = 2.5  # times the gap that a pass saw: a larger one means that rows were left out in error
FALL_MEMORY = 0.75  # of how fast the gap fell so far, beside how fast it fell in the last pass
FACE_MIN_PASSES = 40.0  # passes to go, as far as can be told, from which on a step on the face of free duals is tried
MAX_INTERVAL = 8  # passes from one step on the face to the next, where they bring little


@njit(**ORDERED)
def fill_table(data, indptr, p, d, e, lo, hi, table):
    """The five numbers of each row, |x|^2 and a dual of zero."""
    for i in range(table.shape[0]):
        row, square = table[i], sum_row_square(data, indptr, i)
        row[0], row[1], row[2], row[3], row[4], row[5], row[6] = p[i], d[i], e[i], lo[i], hi[i], square, 0.0


@njit(**ORDERED)
def evaluate_dual(w, table, numbers):
    """D = -1/2 (|w|^2 + tau (sum a)^2) - sum conj(a) at w = X'a."""
    total = conjugates = 0.0
    for i in range(table.shape[0]):
        row = table[i]
        dual = row[DUAL]
        total += dual
        conjugates += dual * (row[P] + 0.5 * row[D] * dual) + row[E] * abs(dual)
    return -0.5 * (sum_squares(w) + numbers[TAU] * total * total) - conjugates


@njit(**OPTIONS)
def measure_gap(scores, b, table):
    """P - D at w = X'a, from the scores without the intercept."""
    gap = 0.0
    for i in range(table.shape[0]):
        row = table[i]
        gap += measure_row_gap(scores[i] + b, row[P], row[D], row[E], row[LO], row[HI], row[DUAL])
    return gap


@njit(**ORDERED)
def note_pass(counts, told, seen, target):
    """How fast the gap falls, and whether a step on the face is due: many passes to go, and the last one paid."""
    fall = np.log(told[LAST_SEEN] / seen) if told[LAST_SEEN] > 0.0 and seen > 0.0 else 0.0
    told[LAST_SEEN] = seen
    if told[BEFORE_FACE] > 0.0:  # the first pass after such a step: did the gap fall as fast as by passes?
        gained = np.log(told[BEFORE_FACE] / seen) if seen > 0.0 else np.inf
        paid = gained * counts[ACTIVE] >= max(told[FALL], 0.0) * told[FACE_VISITS]
        counts[INTERVAL] = 1 if paid else min(2 * counts[INTERVAL], MAX_INTERVAL)
        counts[FAILURES] += counts[IS_SETTLED] and not paid
        counts[NEXT_FACE] = counts[PASSES] + (0 if paid else counts[INTERVAL])
        told[BEFORE_FACE] = 0.0
    else:
        told[FALL] = FALL_MEMORY * told[FALL] + (1.0 - FALL_MEMORY) * fall if np.isfinite(told[FALL]) else fall
    to_go = np.log(seen / target) if seen > target > 0.0 else 0.0
    return counts[PASSES] >= counts[NEXT_FACE] and to_go > FACE_MIN_PASSES * max(told[FALL], 0.0)


@njit(**ORDERED)
def descend(data, indices, indptr, order, w, table, numbers, seed, scores, pulled, tol, floor, visits, counts, told):
    """Passes until the gap is within tol, nothing moves any more, or so many visits are made."""
    n = table.shape[0]
    while visits > 0:
        active, s = counts[ACTIVE], 0
        visits -= active
        counts[VISITS] += active
        while s < active:
            s, active = sparse_pass(data, indices, indptr, order, s, active, active, w, table, numbers, seed)
        end_pass(numbers, True, False)
        counts[ACTIVE] = active
        counts[PASSES] += 1
        seen, still = numbers[SEEN_GAP], numbers[MAX_VIOLATION] == 0.0
        if counts[PASSES] < FIRST_PASSES and not still:
            continue
        if seen <= told[STALE_GAP]:
            told[DUAL_VALUE] = evaluate_dual(w, table, numbers)
            known = seen <= D_IS_KNOWN_GAP * abs(told[DUAL_VALUE])
            told[STALE_GAP] = -1.0 if known else D_IS_OLD_FALL * seen
            told[ENOUGH] = tol * max(abs(told[DUAL_VALUE]), floor)
        target, rate = tol * max(abs(told[DUAL_VALUE]), floor), min(max(seen / told[LAST_SEEN], LEAST_RATE), 1.0)
        due = note_pass(counts, told, seen, target)
        if active == 0 or still or seen * rate <= told[ENOUGH]:
            counts[LOOKS] += 1
            visits -= n // 2
            project(data, indices, indptr, w, scores)
            gap = measure_gap(scores, numbers[INTERCEPT], table)
            told[DUAL_VALUE] = evaluate_dual(w, table, numbers)
            limit = REACHED_SHARE * tol * max(abs(told[DUAL_VALUE]), abs(told[DUAL_VALUE] + gap), floor)
            if gap <= limit:
                return REACHED
            if still and active == n:
                return SETTLED
            if active == 0 or still or gap > MISSED_ROWS_GAP_FACTOR * seen:
                counts[ACTIVE], numbers[LIMIT], told[LAST_SEEN] = n, np.inf, gap
                told[ENOUGH] = target
            else:  # the next look comes where the gap has fallen by as much as this one is too large
                told[ENOUGH] = min(0.8, limit / gap) * seen * rate
        elif due:
            patient = counts[FAILURES] == 0  # of steps that solved for all free duals, and did not help
            made, settled = step_on_face(
                data, indices, indptr, order, active, w, table, numbers, target, patient, pulled
            )
            counts[IS_SETTLED] = settled
            told[BEFORE_FACE], told[FACE_VISITS] = seen, made
            visits -= made
            counts[VISITS] += made
    return GOING
