"""Pairs of samples of one query that are not in their order by a margin, counted in O(n log n).

A Fenwick tree holds the weights of levels: tree[k] is the sum of the k & -k levels up to the k-th.
"""

import numpy as np

from .compiler import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}


@njit(**OPTIONS)
def sort_by_group(order, group, starts):
    """The samples in the given order, group after group."""
    place, dealt = starts[:-1].copy(), np.empty_like(order)
    for i in order:
        dealt[place[group[i]]] = i
        place[group[i]] += 1
    return dealt


@njit(**OPTIONS)
def add_weight(tree, size, level, weight):
    """Put a weight at a level."""
    k = level + 1
    while k <= size:
        tree[k] += weight
        k += k & -k


@njit(**OPTIONS)
def sum_below(tree, level):
    """The weights of all lower levels."""
    total, k = 0.0, level
    while k > 0:
        total += tree[k]
        k &= k - 1
    return total


@njit(**OPTIONS)
def count_pairs(f, margin, starts, level, n_levels, weight):
    """up_p = sum of weight_q over level_q < level_p, f_p - margin < f_q; down_q = sum of weight_p over the same pairs.

    Samples lie group after group, in ascending order of f within each; levels are numbered from 0 in every group. The
    first sweep goes down the scores, and has passed every sample that another fails to exceed by the margin. The second
    goes up, and counts levels from above. Both ask f_p - margin < f_q in the same words, and so see the same pairs.
    """
    up, down = np.zeros_like(f), np.zeros_like(f)
    tree = np.zeros(n_levels.max() + 1)
    for g in range(n_levels.shape[0]):
        start, stop, size = starts[g], starts[g + 1], n_levels[g]
        if size < 2:
            continue
        tree[: size + 1] = 0.0
        q = stop - 1
        for p in range(stop - 1, start - 1, -1):
            while q >= start and f[p] - margin < f[q]:
                add_weight(tree, size, level[q], weight[q])
                q -= 1
            up[p] = sum_below(tree, level[p])
        tree[: size + 1] = 0.0
        p = start
        for q in range(start, stop):
            while p < stop and f[p] - margin < f[q]:
                add_weight(tree, size, size - 1 - level[p], weight[p])
                p += 1
            down[q] = sum_below(tree, size - 1 - level[q])
    return up, down
