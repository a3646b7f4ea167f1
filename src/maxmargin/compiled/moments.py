"""Moments of a small matrix in one pass or two: NumPy takes ten calls, each longer than the sums."""

from .compiler import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}


@njit(**OPTIONS)
def measure_moments(X, mean):
    """The mean of (x - m)^2 and that of x - m over all entries, m their mean as rounded; |mean row|^2, mean |x_i|^2.

    The mean row is written to `mean`.
    """
    n, d = X.shape
    total = square_norms = 0.0
    mean[:] = 0.0
    for i in range(n):
        for j in range(d):
            value = float(X[i, j])
            mean[j] += value
            square_norms += value * value
    far = 0.0
    for j in range(d):
        total += mean[j]
        mean[j] /= n
        far += mean[j] * mean[j]
    centre = total / (n * d)
    square = away = 0.0
    for i in range(n):
        for j in range(d):
            apart = X[i, j] - centre
            square += apart * apart
            away += apart
    return square / (n * d), away / (n * d), far, square_norms / n
