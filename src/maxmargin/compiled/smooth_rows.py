"""Rows of a smooth loss without five numbers (logistic, exponential, Poisson) responding to scores, in one pass.

The loops have no branches, and their exponentials and logarithms are those of `elementary`: LLVM makes vectors of them.
"""

import numpy as np

from ..runtime.rounding import UNIT
from .compiler import njit
from .elementary import bits_of, exponential, logarithm, logarithm_of_one_plus, number_of

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
}  # fmt: skip
EXACT = {**OPTIONS, "fastmath": False, "forceinline": True}  # of one row, as a part of a loop over rows
LOGISTIC, EXPONENTIAL, POISSON = 1, 2, 3  # kinds of losses: formulas of y and c
MINUS_LOG_UNIT = -np.log(UNIT)
CHUNK_ROWS = 256  # rows summed on their own before they join the total, so that rounding errors do not pile up


@njit(**EXACT)
def respond_logistic(f, y, c):
    """-c l'(f), c l''(f) and c l(f) of one row, l(f) = log(1 + exp(-y f))."""
    margin = y * f
    small = exponential(-abs(margin))
    inverse = 1.0 / (1.0 + small)
    share = (small if margin > 0.0 else 1.0) * inverse
    value = logarithm_of_one_plus(small) + (0.0 if margin > 0.0 else -margin)
    return c * y * share, c * small * inverse * inverse, c * value


@njit(**EXACT)
def respond_exponential(f, y, c):
    """The same for l(f) = exp(-y f)."""
    grown = c * exponential(-y * f)
    return y * grown, grown, grown


@njit(**EXACT)
def respond_poisson(f, y, c):
    """The same for l(f) = exp(f) - y f."""
    grown = exponential(f)
    return c * (y - grown), c * grown, c * (grown - y * f)


@njit(**EXACT)
def respond_by_formula(kind, f, y, c):
    """The same for any of the three."""
    if kind == LOGISTIC:
        return respond_logistic(f, y, c)
    return respond_exponential(f, y, c) if kind == EXPONENTIAL else respond_poisson(f, y, c)


@njit(**OPTIONS)
def respond_smoothly(kind, f, y, c, a, second_derivative):
    """a_i = -c_i l'(f_i) and c_i l''(f_i); returns sum c_i l(f_i), sum a_i f_i and sum a_i. Rows of weight 0 are 0."""
    losses = product = total = 0.0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        loss = dot = mass = 0.0
        for k in range(np.uintp(start), np.uintp(min(start + CHUNK_ROWS, f.shape[0]))):
            score = f[k] if c[k] > 0.0 else 0.0  # 0 times infinity would be no number
            dual, curve, value = respond_by_formula(kind, score, y[k], c[k])
            a[k] = dual
            second_derivative[k] = curve
            loss += value
            dot += dual * score
            mass += dual
        losses += loss
        product += dot
        total += mass
    return losses, product, total


@njit(**OPTIONS)
def differentiate_smoothly(kind, f, step, t, y, c):
    """sum_i a_i step_i and sum_i c_i l''_i step_i^2 at the scores f + t step: what a search along `step` looks at."""
    first = second = 0.0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        one = two = 0.0
        for k in range(np.uintp(start), np.uintp(min(start + CHUNK_ROWS, f.shape[0]))):
            score = f[k] + t * step[k] if c[k] > 0.0 else 0.0
            dual, curve, _ = respond_by_formula(kind, score, y[k], c[k])
            one += dual * step[k]
            two += curve * step[k] * step[k]
        first += one
        second += two
    return first, second


@njit(**EXACT)
def enclose_logistic(f, error, a, y, c, relative):
    """Of one row: c l(f), conj(a), what the two are off by at most, the slope of conj at a, and conj(0).

    As `model.losses.smooth.LogisticTerms` has them. The slope of the loss grows by no more than exp(error) on the way
    to the near end of the interval of f.
    """
    margin, t = y * f, a * y * (1.0 / c)
    small = exponential(-abs(margin))
    value = c * (logarithm_of_one_plus(small) + (0.0 if margin > 0.0 else -margin))
    share = (small if margin > 0.0 else 1.0) / (1.0 + small)
    steepest = share * (1.0 + error + error * error) if error <= 1.0 else 1.0
    value_error = c * steepest * error + relative * value
    log_t, log_rest = logarithm(t), logarithm_of_one_plus(-t)
    own = t * log_t if t > 0.0 else (0.0 if t == 0.0 else np.inf)
    other = (1.0 - t) * log_rest if t < 1.0 else (0.0 if t == 1.0 else np.inf)
    inner = 0.0 if t < 0.0 else (1.0 if t > 1.0 else t)
    near = -log_rest if t <= 1.0 - UNIT else MINUS_LOG_UNIT
    conjugate_error = relative * c * ((abs(own) if inner == t else 0.0) + inner + inner * near)
    slope = y * ((log_t if t > 0.0 else -np.inf) - (log_rest if t < 1.0 else -np.inf))
    return value, c * (own + other), value_error, conjugate_error, slope, 0.0


@njit(**EXACT)
def enclose_poisson(f, error, a, y, c, relative):
    """The same as `model.losses.smooth.PoissonTerms` has them; exp(error) - 1 is at most error + error^2 up to 1."""
    grown, share = exponential(f), a * (1.0 / c)
    t, sizes = y - share, abs(y) + abs(share)
    growth = exponential(error)
    growth = error + error * error if error <= 1.0 else growth
    value_error = c * (grown * (growth + relative) + y * (error + relative * abs(f)))
    inner, least = t if t > 0.0 else 0.0, UNIT * sizes if UNIT * sizes > 1e-300 else 1e-300
    log_t, log_least, log_y = logarithm(inner), logarithm(least), logarithm(y)
    own = t * log_t if t > 0.0 else (0.0 if t == 0.0 else np.inf)
    lost = sizes * (1.0 + abs(log_t if inner >= least else log_least))
    conjugate_error = relative * c * ((abs(own) if t > 0.0 else 0.0) + inner + lost)
    at_zero = abs(c * ((y * log_y if y > 0.0 else (0.0 if y == 0.0 else np.inf)) - y))
    return c * (grown - y * f), c * (own - t), value_error, conjugate_error, -log_t, at_zero


@njit(**OPTIONS, forceinline=True)
def add_row(sums, row, f, error, a, c):
    """The ten sums with one more row; of one without weight, conj is 0 at 0 and infinite elsewhere."""
    value, conjugate, value_error, conjugate_error, _, at_zero = row
    live = 1.0 if c > 0.0 else 0.0
    off = np.inf if a != 0.0 and c <= 0.0 else 0.0
    return (
        sums[0] + value * live,
        sums[1] + (conjugate * live + off),
        sums[2] + a * f,
        sums[3] + abs(value) * live,
        sums[4] + (abs(conjugate) * live + off),
        sums[5] + abs(a * f),
        sums[6] + (live * value_error if value_error == value_error else np.inf),
        sums[7] + conjugate_error * live,
        sums[8] + abs(a) * error,
        sums[9] + at_zero * live,
    )


@njit(**OPTIONS, forceinline=True)
def raise_violation(largest, distance, c):
    """The bits of the larger of two distances, of rows that have a weight.

    The bits of numbers that are not negative are in the order of the numbers, and the largest of many integers is found
    in vectors.
    """
    bits = bits_of(abs(distance) if c > 0.0 else 0.0)
    return bits if bits > largest else largest


@njit(**OPTIONS)
def add_smooth_terms(kind, f, score_error, a, y, c, relative, sums):
    """sums += those of c l(f), conj(a) and a f; of their sizes; of what each is off by at most; and of |conj(0)|.

    Returns the largest violation. A row without weight is as good as one at the score 0 with the dual 0.
    """
    largest = np.int64(0)
    for start in range(0, f.shape[0], CHUNK_ROWS):
        part = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        first, last = np.uintp(start), np.uintp(min(start + CHUNK_ROWS, f.shape[0]))
        if kind == LOGISTIC:
            for k in range(first, last):
                counts = c[k] > 0.0
                score, error, dual = f[k] if counts else 0.0, score_error[k] if counts else 0.0, a[k] if counts else 0.0
                row = enclose_logistic(score, error, dual, y[k], c[k] if counts else 1.0, relative)
                part = add_row(part, row, f[k], score_error[k], a[k], c[k])
                largest = raise_violation(largest, score + row[4], c[k])
        else:
            for k in range(first, last):
                counts = c[k] > 0.0
                score, error, dual = f[k] if counts else 0.0, score_error[k] if counts else 0.0, a[k] if counts else 0.0
                row = enclose_poisson(score, error, dual, y[k], c[k] if counts else 1.0, relative)
                part = add_row(part, row, f[k], score_error[k], a[k], c[k])
                largest = raise_violation(largest, score + row[4], c[k])
        for j in range(10):
            sums[j] += part[j]
    return number_of(largest)
