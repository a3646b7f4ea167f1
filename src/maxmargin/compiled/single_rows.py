"""Kernel rows one at a time, from samples packed for it, within a compiled loop.

Small problems need few rows, each as soon as it is known which. A row of 1,000 samples with 16 features takes two
microseconds here; to leave the loop, call BLAS and come back takes forty.

Samples are packed in blocks of one vector: packed[block, feature, lane]. A problem over two classes has two such
segments, so that the pairs of a one-vs-one machine share what was packed once.
"""

import math

import numpy as np
from numba import types
from numba.extending import overload

from .compiler import njit
from .lanes import (
    absolute,
    exp_nonpositive,
    load,
    load_some,
    multiply,
    multiply_add,
    spread,
    spread_like,
    store,
    store_some,
    subtract,
)

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy",
    "fastmath": {"contract", "nnan", "ninf", "nsz"},
}  # fmt: skip
U = np.uintp
MIN_RUN_SAMPLES = 8  # on average, from which on columns of a matrix are read run by run
LINEAR, POLYNOMIAL, RBF, SIGMOID, LAPLACIAN = 0, 1, 2, 3, 4
RBF_FROM_DIFFERENCES = 5  # the Gaussian kernel from differences, where norms and products would cancel


@njit(**OPTIONS)
def evaluate_row(i, source, row):
    """row_j = k(x_i, x_j) + offset for all samples x of the source."""
    kind, gamma, coef0, degree, offset, first, first_norms, second, second_norms = source
    d, width, n = U(first.shape[1]), U(first.shape[2]), first_norms.shape[0]
    own, norms, place = (first, first_norms, i) if i < n else (second, second_norms, i - n)
    block, lane, minus = place // width, place % width, spread_like(row, -norms[place])
    zero, two, scale = spread_like(row, 0.0), spread_like(row, 2.0), spread_like(row, gamma)
    start = U(0)
    for part in range(2):
        blocks, norms = (first, first_norms) if part == 0 else (second, second_norms)
        last = U(norms.shape[0])
        four = U(0) if kind >= LAPLACIAN else last - last % (U(4) * width)
        for j in range(U(0), four, U(4) * width):  # four blocks at once: a product waits for the one before it
            one, other, third, fourth, stride = zero, zero, zero, zero, d * width
            for k in range(d):
                place, each = j * d + k * width, spread(own[block, k, lane])
                one = multiply_add(each, load(blocks, place), one)
                other = multiply_add(each, load(blocks, place + stride), other)
                third = multiply_add(each, load(blocks, place + U(2) * stride), third)
                fourth = multiply_add(each, load(blocks, place + U(3) * stride), fourth)
            if kind == RBF:
                one = subtract(multiply_add(two, one, minus), load(norms, j))
                other = subtract(multiply_add(two, other, minus), load(norms, j + width))
                third = subtract(multiply_add(two, third, minus), load(norms, j + U(2) * width))
                fourth = subtract(multiply_add(two, fourth, minus), load(norms, j + U(3) * width))
                one, other = exp_nonpositive(multiply(scale, one)), exp_nonpositive(multiply(scale, other))
                third, fourth = exp_nonpositive(multiply(scale, third)), exp_nonpositive(multiply(scale, fourth))
            store(row, start + j, one)
            store(row, start + j + width, other)
            store(row, start + j + U(2) * width, third)
            store(row, start + j + U(3) * width, fourth)
        for j in range(four, last, width):
            value, count = zero, min(width, U(norms.shape[0]) - j)
            if kind == LAPLACIAN:
                for k in range(d):
                    value = subtract(
                        value, absolute(subtract(spread(own[block, k, lane]), load(blocks, j * d + k * width)))
                    )
            elif kind == RBF_FROM_DIFFERENCES:
                for k in range(d):
                    apart = subtract(spread(own[block, k, lane]), load(blocks, j * d + k * width))
                    value = subtract(value, multiply(apart, apart))
            else:
                for k in range(d):
                    value = multiply_add(spread(own[block, k, lane]), load(blocks, j * d + k * width), value)
            if kind == RBF:
                value = subtract(multiply_add(two, value, minus), load_some(norms, j, count, zero))
            if kind == RBF or kind >= LAPLACIAN:
                value = exp_nonpositive(multiply(scale, value))
            store_some(row, start + j, count, value)
        start += U(norms.shape[0])
    if kind == POLYNOMIAL or kind == SIGMOID or offset != 0.0:
        for j in range(row.shape[0]):
            base = gamma * row[j] + coef0
            if kind == POLYNOMIAL:
                row[j] = 1.0
                for _ in range(degree):
                    row[j] *= base
            elif kind == SIGMOID:
                row[j] = math.tanh(base)
            row[j] += offset


@njit(**OPTIONS)
def find_runs(index):
    """The places where runs of consecutive samples begin, and the end of the last one.

    Samples that are sorted by class have few: their columns are read as they lie, in a fifth of the time that it takes
    to gather them. Where runs are short there is none.
    """
    n, count = index.shape[0], 1
    for j in range(1, n):
        count += index[j] != index[j - 1] + 1
    if MIN_RUN_SAMPLES * count > n:
        return np.empty(0, np.int64)
    runs = np.empty(count + 1, np.int64)
    runs[0], runs[count], count = 0, n, 1
    for j in range(1, n):
        if index[j] != index[j - 1] + 1:
            runs[count] = j
            count += 1
    return runs


@njit(**OPTIONS)
def gather_row(i, source, row):
    """row_j = K[index_i, index_j], of a matrix that is there already; `source` has the `find_runs` of the index too."""
    matrix, index, runs = source
    own = matrix[index[i]]
    if runs.shape[0] == 0:
        for j in range(row.shape[0]):
            row[j] = own[U(index[j])]
    for r in range(runs.shape[0] - 1):
        shift = U(index[runs[r]]) - U(runs[r])
        for j in range(U(runs[r]), U(runs[r + 1])):
            row[j] = own[j + shift]


def fill_row(i, source, row):
    """Row i of a source: of packed samples it is evaluated, of a matrix and an index it is gathered."""
    (gather_row if len(source) == 3 else evaluate_row)(i, source, row)


@overload(fill_row)
def _compile_fill_row(i, source, row):
    if isinstance(source, types.BaseTuple) and len(source) == 3:
        return lambda i, source, row: gather_row(i, source, row)
    return lambda i, source, row: evaluate_row(i, source, row)


@njit(**OPTIONS)
def find_room(holder, stamp):
    """A place for a row: one that is empty, or that of the row longest unused.

    Places are filled from the first to the last, so that an empty one is found by bisection; whatever the order, what
    it finds is empty.
    """
    last = holder.shape[0] - 1
    if holder[last] < 0:
        first = 0
        while first < last:
            middle = (first + last) // 2
            if holder[middle] < 0:
                last = middle
            else:
                first = middle + 1
        return last
    oldest = stamp[0]
    for k in range(stamp.shape[0]):  # a minimum without its place is found eight at a time
        oldest = min(oldest, stamp[k])
    for k in range(stamp.shape[0]):
        if stamp[k] == oldest:
            return k
    return last


@njit(**OPTIONS)
def admit_row(i, source, rows, slot, holder, stamp, clock):
    """Evaluate row i into an empty place, or into that of the row longest unused."""
    s = find_room(holder, stamp)
    if holder[s] >= 0:
        slot[holder[s]] = -1
    holder[s], slot[i], stamp[s] = i, s, clock
    fill_row(i, source, rows[s])
