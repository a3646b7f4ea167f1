"""Passes of dual coordinate descent for the multiclass hinge: the k duals of a sample at once (Keerthi et al. 2008)."""

import numpy as np

from .compiler import njit
from .coordinate import random_below

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"},
}  # fmt: skip


@njit(**OPTIONS)
def project_on_simplex(t, total, work):
    """The nearest point to t with t >= 0 and sum t = total, in place (Held, Wolfe and Crowder 1974)."""
    work[:] = np.sort(t)
    above, threshold = 0.0, 0.0
    for count in range(1, t.shape[0] + 1):
        above += work[t.shape[0] - count]
        level = (above - total) / count
        if count == t.shape[0] or work[t.shape[0] - count - 1] <= level:
            threshold = level
            break
    for k in range(t.shape[0]):
        t[k] = max(t[k] - threshold, 0.0)


@njit(**OPTIONS)
def class_pass(data, indices, indptr, order, active, W, a, y, c, norms, b, tau, limit, seed):
    """One pass over order[:active] in random order; W is (features, classes) and a is (samples, classes).

    With t = c e_y - a in c times the simplex, the best t while all others stand still is the projection of
    t + (f + 1 - e_y) / q, q = |x|^2 + tau. Samples without duals, and by more than `limit` right, go to the end.
    Returns how many are left and the largest violation.
    """
    n_classes = W.shape[1]
    f, t, work = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    largest = 0.0
    s = 0
    while s < active:
        j = s + random_below(seed, active - s)
        i = order[j]
        order[j] = order[s]
        order[s] = i
        for k in range(n_classes):
            f[k] = b[k] + (0.0 if k == y[i] else 1.0)
        for m in range(indptr[i], indptr[i + 1]):
            for k in range(n_classes):
                f[k] += data[m] * W[indices[m], k]
        top, bottom, rival = f[0], 1e300, -1e300
        for k in range(n_classes):
            t[k] = (c[i] if k == y[i] else 0.0) - a[i, k]
            top = max(top, f[k])
            if t[k] > 0.0:
                bottom = min(bottom, f[k])
            if k != y[i]:
                rival = max(rival, f[k])
        violation = top - bottom
        if violation <= 0.0 and f[y[i]] - rival > limit and a[i, y[i]] == 0.0:
            active -= 1
            order[s] = order[active]
            order[active] = i
            continue
        s += 1
        largest = max(largest, violation)
        q = norms[i] + tau
        if violation <= 0.0:
            continue
        for k in range(n_classes):  # what all classes have in common does not matter, and would cost digits
            t[k] = t[k] + (f[k] - top) / q if q > 0.0 else (0.0 if f[k] == top else -1e300)
        project_on_simplex(t, c[i], work)
        for k in range(n_classes):
            work[k] = (c[i] if k == y[i] else 0.0) - t[k] - a[i, k]
            a[i, k] += work[k]
            b[k] += tau * work[k]
        for m in range(indptr[i], indptr[i + 1]):
            for k in range(n_classes):
                W[indices[m], k] += data[m] * work[k]
    return active, largest
