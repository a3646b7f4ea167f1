"""Rows of a problem responding to scores: the dual each row would choose, and how that choice moves.

A row with a kink is given a proximal term (width / span) (a - a0)^2 / 2 around the dual a0 it chose last, where
span = hi - lo: then its choice is unique, and moves over the whole of [lo, hi] while the score moves by `width`. A row
with curvature of its own (d > 0, unbounded) needs none, and its span is infinite.
"""

from .compiler import njit
from .piecewise import curved_dual, soft_threshold

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
SUM_OPTIONS = {**OPTIONS, "fastmath": {"reassoc", "contract"}}
CHUNK_ROWS = 256  # rows summed on their own before they join the total, so that rounding errors do not pile up


@njit(**OPTIONS)
def respond(f, a0, width, p, d, e, lo, hi, a, second_derivative, slack):
    """a_i = argmax over [lo, hi] of -a f - conj(a) - (width/span) (a - a0)^2 / 2, and -da_i/df_i.

    `slack` receives how far f_i may move before the row leaves the bound, or the flat part, where it sits: 0 inside.
    Returns sum_i of that maximum, sum c_i l(f_i), sum conj_i(a_i), sum a_i and how many rows are curved.
    """
    smooth = losses = conjugates = total = 0.0
    curved = 0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        part = loss = conjugate = mass = 0.0
        for k in range(start, min(start + CHUNK_ROWS, f.shape[0])):
            span = hi[k] - lo[k]
            sigma = width / span if span > 0.0 else 0.0
            curve = sigma + d[k]
            push = -(f[k] + p[k])
            pull = push + sigma * a0[k]
            soft = soft_threshold(pull, e[k])
            if span <= 0.0 or curve <= 0.0:
                dual, second_derivative[k], slack[k] = lo[k], 0.0, 1e300
            elif soft == 0.0 and e[k] > 0.0:
                dual, second_derivative[k], slack[k] = 0.0, 0.0, e[k] - abs(pull)
            elif soft >= curve * hi[k]:
                dual, second_derivative[k], slack[k] = hi[k], 0.0, soft - curve * hi[k]
            elif soft <= curve * lo[k]:
                dual, second_derivative[k], slack[k] = lo[k], 0.0, curve * lo[k] - soft
            else:
                dual, second_derivative[k], slack[k] = soft / curve, 1.0 / curve, 0.0
                curved += 1
            a[k] = dual
            mass += dual
            own = p[k] * dual + 0.5 * d[k] * dual * dual + e[k] * abs(dual)
            conjugate += own
            part -= dual * f[k] + own + 0.5 * sigma * (dual - a0[k]) * (dual - a0[k])
            if d[k] > 0:
                best = curved_dual(push, d[k], e[k], lo[k], hi[k])
                loss += best * push - 0.5 * d[k] * best * best - e[k] * abs(best)
            elif push > e[k]:
                loss += hi[k] * (push - e[k])
            elif push < -e[k]:
                loss += lo[k] * (push + e[k])
        smooth += part
        losses += loss
        conjugates += conjugate
        total += mass
    return smooth, losses, conjugates, total, curved


@njit(**SUM_OPTIONS)
def respond_curved(f, p, d, e, lo, hi, a, second_derivative, slack):
    """`respond` without a proximal term, for rows with d > 0: eight rows at a time, as no row takes a branch.

    Returns sum c_i l(f_i), sum conj_i(a_i), sum a_i and how many rows are curved.
    """
    losses = conjugates = total = 0.0
    curved = 0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, f.shape[0])
        for k in range(start, stop):  # duals and sums in loops of their own, as in loss_rows.py
            push, moves = -(f[k] + p[k]), hi[k] > lo[k]
            soft = soft_threshold(push, e[k])
            inverse = 1.0 / d[k]
            dual = min(max(soft * inverse, lo[k]), hi[k])
            flat = (soft == 0.0) & (e[k] > 0.0)
            inside = moves & (lo[k] < dual) & (dual < hi[k]) & (not flat)
            beyond = max(max(soft - d[k] * hi[k], d[k] * lo[k] - soft), 0.0)
            room = e[k] - abs(push) if flat else beyond
            a[k] = dual if moves else lo[k]
            second_derivative[k] = inverse if inside else 0.0
            slack[k] = (0.0 if inside else room) if moves else 1e300
        loss = conjugate = mass = 0.0
        count = 0
        for k in range(start, stop):
            dual, push = a[k], -(f[k] + p[k])
            own = 0.5 * d[k] * dual * dual + e[k] * abs(dual)
            loss += dual * push - own
            conjugate += p[k] * dual + own
            mass += dual
            count += 1 if second_derivative[k] > 0.0 else 0
        losses += loss
        conjugates += conjugate
        total += mass
        curved += count
    return losses, conjugates, total, curved


@njit(**OPTIONS)
def directional_derivative(f, step, t, a0, width, p, d, e, lo, hi):
    """sum_i a_i step_i and sum_i -da_i/df_i step_i^2 at the scores f + t step: what a search along `step` looks at."""
    first = second = 0.0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        one = two = 0.0
        for k in range(start, min(start + CHUNK_ROWS, f.shape[0])):
            span = hi[k] - lo[k]
            sigma = width / span if span > 0.0 else 0.0
            curve = sigma + d[k]
            pull = sigma * a0[k] - f[k] - t * step[k] - p[k]
            soft = soft_threshold(pull, e[k])
            if span <= 0.0 or curve <= 0.0:
                one += lo[k] * step[k]
            elif soft >= curve * hi[k]:
                one += hi[k] * step[k]
            elif soft <= curve * lo[k]:
                one += lo[k] * step[k]
            elif soft != 0.0 or e[k] == 0.0:
                one += soft / curve * step[k]
                two += step[k] * step[k] / curve
        first += one
        second += two
    return first, second
