"""Functions translated without counts and tests that they do not need, beside the same functions in Python."""

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from maxmargin.compiled.compiler import njit
from maxmargin.compiled.lanes import cut_rows
from maxmargin.compiled.lowering import NEVER_RAISING

rng = np.random.default_rng(0)


def assert_same_compiled(function, *arguments):
    """A function compiled as a part of a caller has the value it has in Python, and changes its arguments alike."""
    part = njit(error_model="numpy")(function)
    caller = njit(error_model="numpy")(lambda *given: part(*given))
    copies = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    np.testing.assert_array_equal(caller(*arguments), function(*copies))
    for mine, theirs in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("start", [-3, 0, 4])
@pytest.mark.parametrize("stop", [-4, 0, 3, 9])
def test_ranges(start, stop):
    """Of one, two and three numbers; empty ones too."""

    def add(start, stop):
        total = 0
        for i in range(stop):
            total += i
        for i in range(start, stop):
            total += 100 * i
        for i in range(stop, start, -2):
            total += 10_000 * i
        for i in range(np.uintp(2), np.uintp(7)):
            total += np.int64(i)
        return total

    assert_same_compiled(add, start, stop)


def test_indices_of_loops_are_known_not_to_be_negative():
    """Rows are loaded as vectors: none by an address of its own, chosen by whether its index counts from the end."""
    part = njit(error_model="numpy", fastmath={"reassoc"})(clip_rows)
    caller = njit(error_model="numpy")(lambda *given: part(*given) + part(*given))
    given = [rng.normal(size=40) for _ in range(5)]
    np.testing.assert_allclose(caller(*given), 2.0 * clip_rows(*given), rtol=1e-12)
    assert "gather" not in "".join(caller.inspect_llvm().values())


def clip_rows(f, d, lo, hi, a):
    """As solvers respond to scores: by numbers that are chosen, and written."""
    total = 0.0
    for k in range(f.shape[0]):
        dual = min(max(f[k] / d[k], lo[k]), hi[k])
        a[k] = dual if lo[k] < dual < hi[k] else 0.0
        total += dual * f[k]
    return total


@pytest.mark.parametrize("order", [lambda X: X, lambda X: X[:, ::2], lambda X: X.T, lambda X: np.asfortranarray(X)])
def test_items_and_rows(order):
    """Read and written, by indices from both ends, signed and unsigned, in arrays of any layout."""

    def change(X, k):
        total = 0.0
        for i in range(X.shape[0]):
            row = X[i]
            row[-1] += k
            X[i, 0] = 2 * X[np.uintp(i), -2] - row[k]
            total += row[row.shape[0] - 1] * X[-1, -1]
        return total + X[k, k] + X[-k][-k]

    assert_same_compiled(change, order(rng.normal(size=(6, 6))), 2)


def test_blocks_of_three_dimensions():
    """A row of it is a table, and a row of that a vector."""

    def add(X):
        total = 0.0
        for i in range(X.shape[0]):
            table = X[i]
            total += table[1, 2] + table[-1][0] + X[i, 1][3] + table.shape[1]
        return total

    assert_same_compiled(add, rng.normal(size=(3, 4, 5)))


def test_other_kinds_of_items():
    """Whole numbers, truth values and single precision are converted as Python does."""

    def change(whole, truths, single):
        for i in range(whole.shape[0]):
            whole[i] = 3 * whole[i] + truths[i]
            truths[i] = whole[i] > 4
            single[i] += whole[i]
        return whole[0] + single[1]

    assert_same_compiled(
        change, np.arange(5), np.array([True, False, True, True, False]), np.arange(5, dtype=np.float32)
    )


@pytest.mark.parametrize("pair", [(1, 2), (2.5, -1.0), (3, 2.5), (-0.0, 0.0), (np.nan, 1.0), (1.0, np.nan)])
def test_smaller_and_larger(pair):
    """As Python has them, where one is not a number and for zeros of both signs too."""

    def both(a, b):
        return np.array([min(a, b), max(a, b), min(b, a, 1.5), max(b, a, 1.5)])

    assert_same_compiled(both, *pair)


def test_variables_that_loops_change():
    """Values from several blocks, and from before a loop."""

    def search(x, limit):
        best, place, previous = -1.0, -1, 0.0
        scale = 2.0 if limit > 0.5 else 3.0
        for i in range(x.shape[0]):
            value = scale * x[i]
            if value > best and previous < limit:
                best, place = value, i
            elif value < -limit:
                continue
            previous = value
        while place > 0 and x[place - 1] < best:
            place -= 1
        return best + place + previous

    for limit in (0.1, 0.9, 2.0):
        assert_same_compiled(search, rng.normal(size=40), limit)


@njit(error_model="numpy")
def step(x, by):
    """A function that raises where `by` is zero."""
    total = 0.0
    for i in range(0, x.shape[0], by):
        total += x[i]
    return total


@njit(error_model="numpy")
def double_step(x, by):
    """A caller of it."""
    return 2.0 * step(x, by)


def test_errors_arrive_through_callers():
    """A function that may raise is tested for it, and so is what calls it."""
    outer = njit(error_model="numpy")(lambda x, by: double_step(x, by) + 1.0)
    assert outer(np.ones(6), 2) == 7.0
    with pytest.raises(ValueError, match="must not be zero"):
        outer(np.ones(6), 0)
    assert not any("double_step" in name for name in NEVER_RAISING)


@njit(error_model="numpy")
def add_up(x):
    """A function that borrows its argument."""
    part, total = cut_rows(x, 1, 4), 0.0
    for i in range(part.shape[0]):
        total += part[i]
    return total


@njit(error_model="numpy")
def make(n):
    """A function that allocates, and returns what it has allocated."""
    x = np.empty(n)
    for i in range(n):
        x[i] = i
    return x


def test_what_is_allocated_is_given_up():
    """In a loop, through a function that returns it and one that borrows it."""
    outer = njit(error_model="numpy")(lambda n: sum_parts(n))
    outer(5)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        assert outer(50) == 50 * 6.0
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.mi_alloc - before.mi_alloc == 50
    assert after.mi_free - before.mi_free == 50
    assert any("add_up" in name for name in NEVER_RAISING)


@njit(error_model="numpy")
def sum_parts(n):
    """Allocates once in each turn of a loop."""
    total = 0.0
    for _ in range(n):
        x = make(6)
        total += add_up(x)
    return total
