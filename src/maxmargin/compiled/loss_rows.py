"""The dual each row of a loss answers to its score with, and sums of them: what the cut of a risk is made of.

A row whose loss has a kink answers with the end of its range that the score calls for, and with the dual nearest to
zero on the kink itself, as the lecture's c_i = [y_i f_i < 1] does.
"""

from .compiler import njit

# Sums may be reordered within a chunk, and choices are written without branches, since where a row answers is as good
# as random to the processor: so eight rows are taken at a time, about 2 ns a row for the sums and 4 with the answers.
OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"},
}  # fmt: skip
CHUNK_ROWS = 256  # rows summed on their own before they join the total, so that rounding errors do not pile up


@njit(inline="always")
def best_bound(push, e, lo, hi):
    """argmax over a in [lo, hi] of a push - e |a|, where lo <= 0 <= hi."""
    return (hi if push > e else 0.0) + (lo if push < -e else 0.0)


@njit(inline="always")
def best_dual(push, d, e, lo, hi):
    """argmax over a in [lo, hi] of a push - d a^2/2 - e |a|, where lo <= 0 <= hi."""
    inner = min(max((push - min(max(push, -e), e)) / (d if d > 0.0 else 1.0), lo), hi)
    return inner if d > 0.0 else best_bound(push, e, lo, hi)


@njit(**OPTIONS)
def respond_rows(f, b, p, d, e, lo, hi, a):
    """a_i at the scores f_i + b; returns sum c_i l(f_i + b), sum a_i and sum a_i (f_i + b)."""
    losses = total = product = 0.0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        # Answers and sums in loops of their own: whether a loop that writes is taken eight rows at a time depends on
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
                part += best_bound(-(f[k] + t * step[k] + b + p[k]), e[k], lo[k], hi[k]) * step[k]
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
                part += best_bound(-(f[k] + b + p[k]), e[k], lo[k], hi[k])
        else:
            for k in range(start, stop):
                part += best_dual(-(f[k] + b + p[k]), d[k], e[k], lo[k], hi[k])
        total += part
    return total


@njit(**OPTIONS)
def encode_rows(a, lo, hi, codes):
    """1 where a_i is at hi, -1 where it is at lo, 0 elsewhere: all that a kinked row can answer, in a byte."""
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
