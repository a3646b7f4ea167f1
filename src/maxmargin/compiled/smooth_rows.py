"""Rows of a smooth loss without five numbers (logistic, exponential, Poisson) responding to scores, in one pass."""

import numpy as np

from ..runtime.rounding import UNIT
from .compiler import njit
from .small_newton import LOGISTIC, respond_by_formula

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
CHUNK_ROWS = 256  # rows summed on their own before they join the total, so that rounding errors do not pile up


@njit(**OPTIONS)
def respond_smoothly(kind, f, y, c, a, second_derivative):
    """a_i = -c_i l'(f_i) and c_i l''(f_i); returns sum c_i l(f_i), sum a_i f_i and sum a_i. Rows of weight 0 are 0."""
    losses = product = total = 0.0
    for start in range(0, f.shape[0], CHUNK_ROWS):
        loss = dot = mass = 0.0
        for k in range(start, min(start + CHUNK_ROWS, f.shape[0])):
            a[k] = second_derivative[k] = 0.0
            if c[k] > 0.0:
                a[k], second_derivative[k], value = respond_by_formula(kind, f[k], y[k], c[k])
                loss += value
                dot += a[k] * f[k]
                mass += a[k]
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
        for k in range(start, min(start + CHUNK_ROWS, f.shape[0])):
            if c[k] > 0.0:
                dual, curve, _ = respond_by_formula(kind, f[k] + t * step[k], y[k], c[k])
                one += dual * step[k]
                two += curve * step[k] * step[k]
        first += one
        second += two
    return first, second


@njit(inline="always")
def entropy(t):
    """t log t, with 0 log 0 = 0 and infinity for t < 0."""
    return t * np.log(t) if t > 0.0 else (0.0 if t == 0.0 else np.inf)


@njit(**OPTIONS)
def enclose_logistic(f, error, a, y, c, relative):
    """Of one row: c l(f), conj(a), what the two are off by at most, the slope of conj at a, and conj(0).

    As `model.losses.smooth.LogisticTerms` has them.
    """
    margin, t = y * f, a * y * (1.0 / c)
    value = c * (np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0))
    log_t = np.log(t) if t > 0.0 else -np.inf
    log_rest = np.log1p(-t) if t < 1.0 else -np.inf
    own = t * log_t if t > 0.0 else (0.0 if t == 0.0 else np.inf)
    other = (1.0 - t) * log_rest if t < 1.0 else (0.0 if t == 1.0 else np.inf)
    slope = y * (log_t - (np.log(1.0 - t) if t < 1.0 else -np.inf))
    value_error = c / (1.0 + np.exp(margin - error)) * error + relative * value
    inner = min(max(t, 0.0), 1.0)
    near = -log_rest if 0.0 <= t <= 1.0 - UNIT else -np.log1p(-min(inner, 1.0 - UNIT))
    conjugate_error = relative * c * ((abs(own) if inner == t else 0.0) + inner + inner * near)
    return value, c * (own + other), value_error, conjugate_error, slope, 0.0


@njit(**OPTIONS)
def enclose_poisson(f, error, a, y, c, relative):
    """The same as `model.losses.smooth.PoissonTerms` has them."""
    grown, share = np.exp(f), a * (1.0 / c)
    t, sizes = y - share, abs(y) + abs(share)
    value_error = c * (grown * (np.expm1(error) + relative) + y * (error + relative * abs(f)))
    log_t = np.log(t) if t > 0.0 else -np.inf
    own = t * log_t if t > 0.0 else (0.0 if t == 0.0 else np.inf)
    inner, least = max(t, 0.0), max(UNIT * sizes, 1e-300)
    lost = sizes * (1.0 + abs(log_t if inner >= least else np.log(least)))
    conjugate_error = relative * c * ((abs(own) if t > 0.0 else 0.0) + inner + lost)
    at_zero = abs(c * (entropy(y) - y))
    return c * (grown - y * f), c * (own - t), value_error, conjugate_error, -log_t, at_zero


@njit(**OPTIONS)
def add_smooth_terms(kind, f, score_error, a, y, c, relative, sums):
    """sums += those of c l(f), conj(a) and a f; of their sizes; of what each is off by at most; and of |conj(0)|.

    Returns the largest violation. Of a row without weight, conj is 0 at 0 and infinite elsewhere.
    """
    violation = 0.0
    part = np.zeros(10)
    for start in range(0, f.shape[0], CHUNK_ROWS):
        for j in range(10):
            part[j] = 0.0
        for k in range(start, min(start + CHUNK_ROWS, f.shape[0])):
            product = a[k] * f[k]
            part[2] += product
            part[5] += abs(product)
            part[8] += abs(a[k]) * score_error[k]
            if c[k] <= 0.0:
                off = 0.0 if a[k] == 0.0 else np.inf
                part[1] += off
                part[4] += off
                continue
            if kind == LOGISTIC:
                row = enclose_logistic(f[k], score_error[k], a[k], y[k], c[k], relative)
            else:
                row = enclose_poisson(f[k], score_error[k], a[k], y[k], c[k], relative)
            value, conjugate, value_error, conjugate_error, slope, at_zero = row
            part[0] += value
            part[1] += conjugate
            part[3] += abs(value)
            part[4] += abs(conjugate)
            part[6] += value_error if value_error == value_error else np.inf
            part[7] += conjugate_error
            part[9] += at_zero
            violation = max(violation, abs(f[k] + slope))
        for j in range(10):
            sums[j] += part[j]
    return violation
