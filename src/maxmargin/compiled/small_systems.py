"""Equations of a few dozen features within compiled loops: sum_i weight_i z_i z_i', its factors, and their use."""

import numpy as np

from .compiler import njit
from .lanes import load, multiply_add, spread, store

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
}  # fmt: skip
U = np.uint64  # of indices that are not tested for being negative
PACKED_ROWS = 32  # of up to a hundred features they stay in the first cache
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
def project_rows(X, u, constant, f):
    """f = Z u for Z = (X, constant)."""
    d = X.shape[1]
    offset = constant * u[d]
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(d):
            total += X[i, j] * u[j]
        f[i] = total + offset


@njit(**OPTIONS)
def combine_rows(X, constant, a, pulled):
    """pulled += Z'a for Z = (X, constant), four rows at a time."""
    n, d = X.shape
    whole, total = n - n % 4, 0.0
    for i in range(0, whole, 4):
        one, two, three, four = a[i], a[i + 1], a[i + 2], a[i + 3]
        if one != 0.0 or two != 0.0 or three != 0.0 or four != 0.0:
            for j in range(d):
                pulled[j] += one * X[i, j] + two * X[i + 1, j] + three * X[i + 2, j] + four * X[i + 3, j]
    for i in range(whole, n):
        for j in range(d):
            pulled[j] += a[i] * X[i, j]
    for i in range(n):
        total += a[i]
    pulled[d] += constant * total


@njit(**OPTIONS)
def add_squares(Z, weight, rows, count, M):
    """M += sum_i weight_i z_i z_i' over the first `count` of `rows`, its lower half.

    Rows are packed PACKED_ROWS at a time. Of their sum, four rows of eight entries are in registers at once: each entry
    of Z that is read is multiplied four times.
    """
    size = Z.shape[1]
    width = U(-(-size // 8) * 8)
    plain, scaled = np.zeros(PACKED_ROWS * width), np.zeros(PACKED_ROWS * width)
    total = np.zeros(U(-(-size // 4) * 4) * width)
    for start in range(0, count, PACKED_ROWS):
        for k in range(PACKED_ROWS):
            own = weight[rows[start + k]] if start + k < count else 0.0
            row, first = Z[rows[min(start + k, count - 1)]], U(k) * width
            for j in range(U(size)):
                plain[first + j] = row[j]
            for j in range(U(size)):
                scaled[first + j] = own * row[j]
        for i in range(0, size, 4):
            for j in range(0, i + 4, 8):
                add_tile(plain, scaled, width, U(i), U(j), total)
    for i in range(size):
        for j in range(i + 1):
            M[i, j] += total[U(i) * width + U(j)]


@njit(**OPTIONS)
def add_tile(plain, scaled, width, i, j, total):
    """total[i : i + 4, j : j + 8] += the products of the columns of packed rows."""
    one, two = i * width + j, (i + U(1)) * width + j
    three, four = (i + U(2)) * width + j, (i + U(3)) * width + j
    a, b, c, d = load(total, one), load(total, two), load(total, three), load(total, four)
    for _ in range(PACKED_ROWS):
        x = load(plain, j)
        a = multiply_add(spread(scaled[i]), x, a)
        b = multiply_add(spread(scaled[i + U(1)]), x, b)
        c = multiply_add(spread(scaled[i + U(2)]), x, c)
        d = multiply_add(spread(scaled[i + U(3)]), x, d)
        i, j = i + width, j + width
    store(total, one, a)
    store(total, two, b)
    store(total, three, c)
    store(total, four, d)


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
