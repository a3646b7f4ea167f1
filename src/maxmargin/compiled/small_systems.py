"""Equations of a few dozen features within compiled loops: sum_i weight_i z_i z_i', its factors, and their use."""

import numpy as np

from .compiler import njit

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
}  # fmt: skip
JITTERS = (0.0, 1e-14, 1e-11, 1e-8)  # of the diagonal, added in turn where rounding leaves a matrix without factors


@njit(**OPTIONS)
def fill(x, value):
    """x = value; an assignment to a slice would compile all that makes text of shapes."""
    for i in range(x.shape[0]):
        x[i] = value


@njit(**OPTIONS)
def copy(x, y):
    """y = x."""
    for i in range(x.shape[0]):
        y[i] = x[i]


@njit(**OPTIONS)
def add_multiple(t, x, y):
    """y += t x."""
    for i in range(x.shape[0]):
        y[i] += t * x[i]


@njit(**OPTIONS)
def form_gradient(u, ridge, pulled):
    """R u - pulled in place of pulled."""
    size = u.shape[0]
    for j in range(size):
        pulled[j] = (u[j] if j < size - 1 else ridge * u[j]) - pulled[j]


@njit(**OPTIONS)
def project(Z, u, f):
    """f = Z u."""
    for i in range(Z.shape[0]):
        total = 0.0
        for j in range(Z.shape[1]):
            total += Z[i, j] * u[j]
        f[i] = total


@njit(**OPTIONS)
def combine(a, Z, pulled):
    """pulled = Z'a, four rows at a time."""
    n, size = Z.shape
    fill(pulled, 0.0)
    whole = n - n % 4
    for i in range(0, whole, 4):
        one, two, three, four = a[i], a[i + 1], a[i + 2], a[i + 3]
        if one != 0.0 or two != 0.0 or three != 0.0 or four != 0.0:
            for j in range(size):
                pulled[j] += one * Z[i, j] + two * Z[i + 1, j] + three * Z[i + 2, j] + four * Z[i + 3, j]
    for i in range(whole, n):
        for j in range(size):
            pulled[j] += a[i] * Z[i, j]


@njit(**OPTIONS)
def add_squares(Z, weight, rows, count, M, buffer):
    """M += sum_i weight_i z_i z_i' over the first `count` of `rows`, its lower half; eight rows at a time.

    Eight products for each entry of M that is read and written keep the processor at work; `buffer` has eight rows.
    """
    size = Z.shape[1]
    factors = np.zeros(8)
    for start in range(0, count, 8):
        for k in range(8):
            factors[k] = weight[rows[start + k]] if start + k < count else 0.0
            i = rows[min(start + k, count - 1)]
            for j in range(size):
                buffer[k, j] = Z[i, j]
        for i in range(size):
            a, b = factors[0] * buffer[0, i], factors[1] * buffer[1, i]
            c, d = factors[2] * buffer[2, i], factors[3] * buffer[3, i]
            e, f = factors[4] * buffer[4, i], factors[5] * buffer[5, i]
            g, h = factors[6] * buffer[6, i], factors[7] * buffer[7, i]
            for j in range(i + 1):
                M[i, j] += (
                    (a * buffer[0, j] + b * buffer[1, j] + (c * buffer[2, j] + d * buffer[3, j]))
                    + (e * buffer[4, j] + f * buffer[5, j] + (g * buffer[6, j] + h * buffer[7, j]))
                )  # fmt: skip


@njit(**OPTIONS)
def factor(M, L):
    """L with L L' = M, from the lower half of M; whether there is one."""
    size = M.shape[0]
    for i in range(size):
        for j in range(i + 1):
            rest = M[i, j]
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = rest / L[j, j]
            elif rest > 1e-14 * M[i, i] and rest < np.inf:
                L[i, i] = np.sqrt(rest)
            else:
                return False
    return True


@njit(**OPTIONS)
def factor_with_ridge(M, ridge, last, L, scratch):
    """The factors of M + diag(ridge, .., ridge, last), with a little more on the diagonal where there are none."""
    size = M.shape[0]
    for jitter in JITTERS:
        for i in range(size):
            for j in range(i):
                scratch[i, j] = M[i, j]
            scratch[i, i] = M[i, i] + (ridge if i < size - 1 else last)
            scratch[i, i] += jitter * scratch[i, i]
        if scratch[size - 1, size - 1] <= 0.0:
            scratch[size - 1, size - 1] = 1.0
        if factor(scratch, L):
            return True
    return False


@njit(**OPTIONS)
def solve_factored(L, x):
    """x in place of (L L')^-1 x."""
    size = L.shape[0]
    for i in range(size):
        rest = x[i]
        for k in range(i):
            rest -= L[i, k] * x[k]
        x[i] = rest / L[i, i]
    for i in range(size - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= x[i] * L[i, k]
