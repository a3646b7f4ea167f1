"""Rows of a smooth loss without five numbers (logistic, exponential, Poisson) responding to scores, in one pass."""

from .compiler import njit
from .small_newton import respond_by_formula

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
