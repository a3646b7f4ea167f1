"""argmax over a in [lo, hi] of -a f - conj(a) for the five numbers of a row: what every loop over rows asks.

With push = -(f + p) it is the argmax of a push - d a^2/2 - e |a|, where lo <= 0 <= hi. These functions are written out
in the loops that call them, and without branches: which end of its range a row answers with is as good as random to the
processor, so that loops over rows can be taken several at a time.
"""

from .compiler import njit


@njit(inline="always")
def soft_threshold(x, e):
    """sign(x) max(|x| - e, 0)."""
    return x - min(max(x, -e), e)


@njit(inline="always")
def curved_dual(push, d, e, lo, hi):
    """The argmax of a row with d > 0: the soft threshold of its push, clipped to its range."""
    return min(max(soft_threshold(push, e) / d, lo), hi)


@njit(inline="always")
def kinked_dual(push, e, lo, hi):
    """The argmax of a row with d = 0: an end of its range, and on the kink itself the dual nearest to zero."""
    return (hi if push > e else 0.0) + (lo if push < -e else 0.0)


@njit(inline="always")
def best_dual(push, d, e, lo, hi):
    """The argmax of any row."""
    inner = curved_dual(push, d if d > 0.0 else 1.0, e, lo, hi)
    return inner if d > 0.0 else kinked_dual(push, e, lo, hi)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, error_model="numpy")
def best_dual_of_one(push, d, e, lo, hi):
    """The argmax of any row, for loops that take one row at a time: a branch spares them the division where d = 0."""
    if d > 0:
        return curved_dual(push, d, e, lo, hi)
    if push > e:
        return hi
    return lo if push < -e else 0.0
