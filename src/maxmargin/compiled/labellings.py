"""The worst labelling of a list of scores, over the numbers of true and of false positives."""

import numpy as np

from .compiler import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}


@njit(**OPTIONS)
def worst_f_labelling(positive, negative, square):
    """argmax over h, m of n Delta(h, m) - (sum of the positive scores but the h largest) + (sum of the m largest
    negative ones), with Delta(h, m) = 1 - (1 + square) h / (h + m + square n_plus), square = beta^2.

    Both lists are in descending order. Algorithm 3 of Joachims (2005) tries all n_plus n_minus pairs. Here, what
    m + 1 has over m,

        rise(h, m) = n (1 + square) h / ((h + s) (h + s + 1)) + negative[m],    s = m + square n_plus,

    falls in m, so the best m of an h is the number of m with rise(h, m) > 0. And as a function of h it rises while
    h^2 < s (s + 1) and falls after that, so each m is passed at most once upward and once downward while h grows: the
    walk has at most 2 n_minus + n_plus steps.

    Returns h, m and the number of steps.
    """
    n_plus, n_minus = positive.shape[0], negative.shape[0]
    gain, prior = (n_plus + n_minus) * (1.0 + square), square * n_plus
    raised = np.zeros(n_minus + 1)
    for m in range(n_minus):
        raised[m + 1] = raised[m] + negative[m]
    kept, m, steps = 0.0, 0, 0
    best, best_h, best_m = -np.inf, 0, 0
    for h in range(n_plus + 1):
        if h > 0:
            kept += positive[h - 1]
        while m < n_minus and gain * h / ((h + m + prior) * (h + m + prior + 1.0)) + negative[m] > 0.0:
            m += 1
            steps += 1
        while m > 0 and gain * h / ((h + m - 1 + prior) * (h + m + prior)) + negative[m - 1] <= 0.0:
            m -= 1
            steps += 1
        height = kept + raised[m] - gain * h / (h + m + prior)
        if height > best:
            best, best_h, best_m = height, h, m
    return best_h, best_m, steps
