"""Numbers of LIBSVM text: the nearest floats, and the shortest decimals."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from numba import njit
from text_files import EXTREME, RNG

from maxmargin.compiled.decimals import BROKEN, DOWN, MIN_POWER_OF_TEN, SURE, UP, read_number
from maxmargin.compiled.shortest_decimals import write_number

SEVENTEEN = RNG.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)


@njit
def read_all(text, starts, values, verdicts, stops):
    """Every number that begins at one of these places."""
    for k in range(len(starts)):
        values[k], stops[k], verdicts[k] = read_number(text, starts[k])


@njit
def write_all(values, out):
    """Every number, a line each."""
    k = 0
    for value in values:
        k = write_number(out, k, value)
        out[k] = 10
        k += 1
    return k


def read_words(words: list[str]):
    """Values, verdicts, and whether all of each word was read."""
    lengths = np.array([len(word) for word in words])
    starts = np.cumsum(lengths + 1) - lengths - 1
    values, verdicts, stops = np.empty(len(words)), np.empty(len(words), int), np.empty(len(words), int)
    read_all(np.frombuffer("\n".join([*words, ""]).encode(), np.uint8), starts, values, verdicts, stops)
    return values, verdicts, stops == starts + lengths


def list_words() -> list[str]:
    """Numbers of all lengths and sizes."""
    finite = [x for x in SEVENTEEN.tolist() if np.isfinite(x)] + EXTREME
    words = [repr(x) for x in finite]
    words += [f"{x:.{k % 30}e}" for k, x in enumerate(finite)]
    words += [f"{x:.{k % 25}f}" for k, x in enumerate(RNG.normal(size=2000).tolist())]
    words += [f"{m}e{e}" for m, e in zip(RNG.integers(0, 2**63, 3000), RNG.integers(-345, 310, 3000), strict=True)]
    middles = [(Decimal(x) + Decimal(float(np.nextafter(x, np.inf)))) / 2 for x in finite[:1000]]
    words += [f"{middle:.{k % 3 * 15 + 18}e}" for k, middle in enumerate(middles)]
    words += ["+1", "+.5", ".5", "5.", "-.0", "1e-400", "1e400", "-1e400", "0e999999999999", "1e+5", "1E-5", "007"]
    words += ["0." + "0" * 400 + "1e400", "1" + "0" * 400 + "e-400", "9" * 19, "9" * 20, "18446744073709551616"]
    return words


def test_numbers_are_the_nearest_floats():
    """As Python's float, to the last bit, wherever the compiled reader is sure; it seldom is not."""
    words = list_words()
    values, verdicts, whole = read_words(words)
    expected = np.array([float(word) for word in words])
    sure = verdicts == SURE
    assert whole.all()
    assert np.array_equal(values[sure].view(np.int64), expected[sure].view(np.int64))
    assert not (verdicts == BROKEN).any()
    usual = [repr(x) for x in RNG.normal(size=5000).tolist()]
    assert (read_words(usual)[1] == SURE).all()


@pytest.mark.parametrize(
    "word", ["", "-", ".", "e5", "+e5", "1e", "1e+", "nan", "inf", "Infinity", "x", "--1", "0x10", "1_0", "1,5", "１"]
)
def test_words_that_are_no_numbers(word):
    """Broken, or read to some place before the end."""
    _, verdicts, whole = read_words([word])
    assert verdicts[0] == BROKEN or not whole[0]


def test_the_shortest_text_of_a_float():
    """It reads back as the same bits, and has the digits of Python's repr."""
    values = np.concatenate([SEVENTEEN[np.isfinite(SEVENTEEN)], EXTREME, RNG.normal(size=3000), np.arange(-500.0, 500)])
    values = np.concatenate([values, np.round(RNG.normal(size=3000), 3), 2.0 ** np.arange(-1074, 1024)])
    out = np.empty(25 * len(values), np.uint8)
    words = out[: write_all(values, out)].tobytes().decode().split()
    assert np.array_equal(np.array([float(word) for word in words]).view(np.int64), values.view(np.int64))
    assert all(Decimal(word) == Decimal(repr(x)) for word, x in zip(words, values.tolist(), strict=True))
    assert max(len(word) for word in words) <= 24
    assert [words[list(values).index(x)] for x in (0.0001, 0.00001, 100.0, 1e17)] == ["0.0001", "1e-5", "100", "1e17"]


@pytest.mark.parametrize("k", [-342, -27, -1, 0, 1, 27, 55, 56, 324])
def test_the_table_of_powers(k):
    """The first 128 bits of 10^k, from below and from above."""
    low, high = (
        int(table[k - MIN_POWER_OF_TEN, 0]) << 64 | int(table[k - MIN_POWER_OF_TEN, 1]) for table in (DOWN, UP)
    )
    exact = 0 <= k <= 55
    assert high - low == (0 if exact else 1)
    assert low.bit_length() == 128
    power = 10 ** abs(k)
    shift = 128 - power.bit_length()
    if k >= 0:
        assert low == (power << shift if shift >= 0 else power >> -shift)
    else:
        assert low * power < 2 ** (127 + power.bit_length()) < high * power
