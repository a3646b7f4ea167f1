"""Passes of dual coordinate descent over dense or sparse rows (Hsieh et al. 2008, with the five numbers of any row).

State of a pass: `numbers` holds the intercept b, its pull tau (b = b0 + tau (sum a - balance), or the constant feature
squared), the largest violation of this pass and that of the one before; `seed` the random numbers of the order.
"""

from numba import njit

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"},
}  # fmt: skip
INTERCEPT, PULL, LARGEST, LIMIT = 0, 1, 2, 3


@njit(**OPTIONS)
def draw(seed, bound):
    """A number below `bound`, by Marsaglia's xorshift: the same on every machine."""
    state = seed[0]
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    seed[0] = state
    return (state >> 11) % bound


@njit(**OPTIONS)
def improve(i, score, a, p, d, e, lo, hi, norms, numbers):
    """The best a_i while all others stand still, and whether the row wants to stay where it is by more than LIMIT.

    clip(soft(q a - f - p, e) / (q + d), lo, hi) with q = |x_i|^2 + tau.
    """
    f = score + numbers[INTERCEPT]
    slope = f + p[i] + d[i] * a[i]
    left = slope + (e[i] if a[i] > 0.0 else -e[i])
    right = slope + (e[i] if a[i] >= 0.0 else -e[i])
    fall = left if a[i] > lo[i] else -1e300
    rise = -right if a[i] < hi[i] else -1e300
    violation = max(fall, rise)
    if violation <= 0.0:
        return a[i], violation < -numbers[LIMIT]
    numbers[LARGEST] = max(numbers[LARGEST], violation)
    q = norms[i] + numbers[PULL]
    pull = q * a[i] - f - p[i]
    soft = pull - min(max(pull, -e[i]), e[i])
    if q + d[i] > 0.0:
        return min(max(soft / (q + d[i]), lo[i]), hi[i]), False
    return lo[i] if left > 0.0 else hi[i], False


@njit(**OPTIONS)
def sparse_pass(data, indices, indptr, order, active, w, a, p, d, e, lo, hi, norms, numbers, seed):
    """One pass over order[:active] in random order; rows that want to stay where they are go to the end.

    Returns how many are left.
    """
    numbers[LARGEST] = 0.0
    s = 0
    while s < active:
        j = s + draw(seed, active - s)
        i = order[j]
        order[j] = order[s]
        order[s] = i
        score = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            score += data[k] * w[indices[k]]
        best, settled = improve(i, score, a, p, d, e, lo, hi, norms, numbers)
        if settled:
            active -= 1
            order[s] = order[active]
            order[active] = i
            continue
        change = best - a[i]
        if change != 0.0:
            a[i] = best
            numbers[INTERCEPT] += numbers[PULL] * change
            for k in range(indptr[i], indptr[i + 1]):
                w[indices[k]] += change * data[k]
        s += 1
    return active


@njit(**OPTIONS)
def dense_pass(X, order, active, w, a, p, d, e, lo, hi, norms, numbers, seed):
    """The same over dense rows."""
    numbers[LARGEST] = 0.0
    s = 0
    while s < active:
        j = s + draw(seed, active - s)
        i = order[j]
        order[j] = order[s]
        order[s] = i
        x = X[i]
        score = 0.0
        for k in range(w.shape[0]):
            score += x[k] * w[k]
        best, settled = improve(i, score, a, p, d, e, lo, hi, norms, numbers)
        if settled:
            active -= 1
            order[s] = order[active]
            order[active] = i
            continue
        change = best - a[i]
        if change != 0.0:
            a[i] = best
            numbers[INTERCEPT] += numbers[PULL] * change
            for k in range(w.shape[0]):
                w[k] += change * x[k]
        s += 1
    return active
