"""Pairs of classes over samples that lie class by class: what each pair sees, and LIBSVM's table of their duals."""

from .compiler import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}


@njit(**OPTIONS)
def pose_pairs(pairs, ends, c, index, sign, cost):
    """Places, labels and costs of each pair, one after the other: the first class is +1, the second -1."""
    place = 0
    for k in range(pairs.shape[0]):
        for side in range(2):
            label = 1.0 - 2.0 * side
            for i in range(ends[pairs[k, side]], ends[pairs[k, side] + 1]):
                index[place], sign[place], cost[place] = i, label, c[i]
                place += 1


@njit(**OPTIONS)
def fill_table(pairs, ends, duals, table):
    """The coefficients of each pair (i, j): those of class i in row j - 1, those of class j in row i."""
    place = 0
    for k in range(pairs.shape[0]):
        first, second = pairs[k, 0], pairs[k, 1]
        for i in range(ends[first], ends[first + 1]):
            table[second - 1, i] = duals[place]
            place += 1
        for i in range(ends[second], ends[second + 1]):
            table[first, i] = duals[place]
            place += 1
