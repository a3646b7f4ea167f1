"""exp and log that compile to vectors: to two units in the last place of what the longest floats say, ends included."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compiled.compiler import njit
from maxmargin.compiled.elementary import exponential, logarithm, logarithm_of_one_plus

# As their callers are compiled: sums may be reordered there, but not within these functions.
OPTIONS = {"error_model": "numpy", "fastmath": {"reassoc", "contract"}}
UNIT = 2.0**-53


@njit(**OPTIONS)
def exponentials(x, found):
    """exp of every number."""
    for i in range(x.shape[0]):
        found[i] = exponential(x[i])


@njit(**OPTIONS)
def logarithms(x, found):
    """log of every number."""
    for i in range(x.shape[0]):
        found[i] = logarithm(x[i])


@njit(**OPTIONS)
def logarithms_of_one_plus(x, found):
    """log(1 + x) of every number."""
    for i in range(x.shape[0]):
        found[i] = logarithm_of_one_plus(x[i])


def evaluate(function, x) -> np.ndarray:
    """The function of every number of x."""
    x = np.asarray(x, float)
    found = np.empty_like(x)
    function(x, found)
    return found


def draw(low: float, high: float, n: int = 20_001) -> np.ndarray:
    """Numbers between two; no multiple of the width of a vector."""
    return np.random.default_rng(0).uniform(low, high, n)


@pytest.mark.parametrize(
    ("function", "reference", "x"),
    [
        (exponentials, np.exp, draw(-708.0, 709.0)),
        (exponentials, np.exp, draw(-1.0, 1.0)),
        (logarithms, np.log, np.exp(draw(-700.0, 700.0))),
        (logarithms, np.log, 1.0 + draw(-1e-6, 1e-6)),
        (logarithms, np.log, draw(0.5, 2.0)),
        (logarithms_of_one_plus, np.log1p, draw(-1.0, 5.0)),
        (logarithms_of_one_plus, np.log1p, 10.0 ** draw(-300.0, 300.0)),
        (logarithms_of_one_plus, np.log1p, -(10.0 ** draw(-300.0, -0.1))),
    ],
)
def test_errors_are_below_three_units(function, reference, x):
    """A unit is 2^-53, half of one in the last place; the judge allows for sixteen."""
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("no float is longer than float64 here")
    expected = reference(x.astype(np.longdouble))
    assert np.abs(evaluate(function, x) - expected).max(where=expected == 0.0, initial=0.0) == 0.0
    relative = np.abs((evaluate(function, x) - expected) / np.where(expected == 0.0, 1.0, expected))
    assert float(relative.max()) < 3.0 * UNIT


@pytest.mark.parametrize(
    ("function", "reference", "x"),
    [
        (exponentials, np.exp, [-745.0, -710.0, -800.0, -1e308, -np.inf, 709.7, 709.8, 1e308, np.inf, np.nan, 0.0]),
        (logarithms, np.log, [0.0, -0.0, -1.0, -np.inf, 5e-324, 1e-310, 1.0, 1e308, np.inf, np.nan]),
        (logarithms_of_one_plus, np.log1p, [-1.0, -2.0, 0.0, 5e-324, 1e308, np.inf, np.nan]),
    ],
)  # fmt: skip
def test_ends_are_those_of_numpy(function, reference, x):
    """Zeros, infinities, numbers that are none, and those too small to be normal."""
    with np.errstate(all="ignore"):
        expected = reference(np.array(x))
    np.testing.assert_allclose(evaluate(function, x), expected, rtol=4.0 * UNIT, atol=5e-324)
