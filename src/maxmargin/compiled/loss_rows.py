"""The dual with which each row of a loss responds to its score, and sums of them: what the cut of a risk is made of.

A row whose loss has a kink responds with the end of its range that the score calls for, and with the dual nearest to
zero on the kink itself.
"""

from .compiler import njit
from .piecewise import best_dual, kinked_dual

# Sums may be reordered within a chunk, so that eight rows are taken at a time: about 2 ns per row for the sums, and 4
# with the duals.
OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"},
}  # fmt: skip
CHUNK_ROWS = 256  # rows summed on their own before they join the total, so that rounding errors do not pile up


@njit(**OPTIONS)
def respond_rows(f, b, p, d, e, lo, hi, a):
    """a_i at the scores f_i + b; returns sum c_i l(f_i + b), sum a_i and sum a_i (f_i + b)."""
    losses = total = product = 0.0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        # Duals and sums in loops of their own: whether a loop that writes is taken eight rows at a time depends on
        # where its arrays lie, and sums would be rounded one way or the other.
        stop = min(start + CHUNK_ROWS, f.shape[0])
        for k in range(start, stop):
            a[k] = best_dual(-(f[k] + b + p[k]), d[k], e[k], lo[k], hi[k])
        loss = mass = dot = 0.0
        for k in range(start, stop):
            dual, score = a[k], f[k] + b
            loss -= dual * (score + p[k]) + 0.5 * d[k] * dual * dual + e[k] * abs(dual)
            mass += dual
            dot += dual * score
        losses += loss
        total += mass
        product += dot
    return losses, total, product


@njit(**OPTIONS)
def differentiate_rows(f, step, t, b, kinked, p, d, e, lo, hi):
    """sum_i a_i step_i at the scores f_i + t step_i + b: the slope of the risk along `step`, with its sign turned."""
    total = 0.0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        part, stop = 0.0, min(start + CHUNK_ROWS, f.shape[0])
        if kinked:
            for k in range(start, stop):
                part += kinked_dual(-(f[k] + t * step[k] + b + p[k]), e[k], lo[k], hi[k]) * step[k]
        else:
            for k in range(start, stop):
                part += best_dual(-(f[k] + t * step[k] + b + p[k]), d[k], e[k], lo[k], hi[k]) * step[k]
        total += part
    return total


@njit(**OPTIONS)
def sum_row_duals(f, b, kinked, p, d, e, lo, hi):
    """sum_i a_i at the scores f_i + b."""
    total = 0.0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        part, stop = 0.0, min(start + CHUNK_ROWS, f.shape[0])
        if kinked:
            for k in range(start, stop):
                part += kinked_dual(-(f[k] + b + p[k]), e[k], lo[k], hi[k])
        else:
            for k in range(start, stop):
                part += best_dual(-(f[k] + b + p[k]), d[k], e[k], lo[k], hi[k])
        total += part
    return total


@njit(**OPTIONS)
def encode_rows(a, lo, hi, codes):
    """1 where a_i is at hi, -1 where it is at lo, 0 elsewhere: all that a kinked row can respond with, in a byte."""
    for k in range(a.shape[0]):
        codes[k] = 0 if a[k] == 0.0 else 1 if a[k] == hi[k] else -1


@njit(**OPTIONS)
def add_codes(codes, weight, lo, hi, total):
    """total += weight a, from the codes of a."""
    for k in range(codes.shape[0]):
        if codes[k] > 0:
            total[k] += weight * hi[k]
        elif codes[k] < 0:
            total[k] += weight * lo[k]
