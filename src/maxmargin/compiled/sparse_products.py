"""Products of sparse rows with dense vectors, and their weighted squares.

Indices are taken as unsigned: a signed one may count from the end, and looking for that takes four times as long as
the product itself.
"""

import numpy as np

from .compiler import njit

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"},
}  # fmt: skip
U = np.uint64  # Numba turns a uint64 and an int64 into a float64


@njit(**OPTIONS)
def project(data, indices, indptr, w, out):
    """out_i = <x_i, w>."""
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(U(indptr[i]), U(indptr[i + 1])):
            total += data[k] * w[U(indices[k])]
        out[i] = total


@njit(**OPTIONS)
def combine(data, indices, indptr, coef, out):
    """out += sum_i coef_i x_i."""
    for i in range(coef.shape[0]):
        weight = coef[i]
        if weight != 0.0:
            for k in range(U(indptr[i]), U(indptr[i + 1])):
                out[U(indices[k])] += weight * data[k]


@njit(**OPTIONS)
def add_squares(data, indices, indptr, weight, out):
    """out += sum_i weight_i x_i x_i', its upper half; the indices of a row are sorted."""
    for i in range(weight.shape[0]):
        if weight[i] != 0.0:
            stop = U(indptr[i + 1])
            for k in range(U(indptr[i]), stop):
                value = weight[i] * data[k]
                row = out[U(indices[k])]
                for m in range(k, stop):
                    row[U(indices[m])] += value * data[m]


@njit(**OPTIONS)
def compress_rows(X, indptr, indices, data):
    """The entries of dense rows that are not zero, and their features, from indptr[0] on."""
    for i in range(X.shape[0]):
        place = indptr[i]
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:
                indices[place] = j
                data[place] = X[i, j]
                place += 1


@njit(**OPTIONS)
def sum_row_square(data, indptr, i):
    """|x_i|^2."""
    total = 0.0
    for k in range(U(indptr[i]), U(indptr[i + 1])):
        value = np.float64(data[k])
        total += value * value
    return total


@njit(**OPTIONS)
def sum_row_squares(data, indptr, out):
    """out_i = |x_i|^2."""
    for i in range(out.shape[0]):
        out[i] = sum_row_square(data, indptr, i)
