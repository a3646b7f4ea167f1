"""What `minimize` refuses, in one sentence each, and the odd things that it takes."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from minimisation_methods import every_method
from selection import leave_long
from textbook_functions import CATALOGUE

from maxmargin import Status
from maxmargin import minimize as minimise_at_length

minimize = functools.partial(minimise_at_length, max_iter=5000)  # a test that fails is not to hang
CENTRE = np.array([0.5, -0.25, 1.0])


def bowl(x):
    """|x - c|^2 / 2."""
    return 0.5 * float((x - CENTRE) @ (x - CENTRE)), x - CENTRE


def cone(x):
    """|x - c|_1."""
    return float(np.abs(x - CENTRE).sum()), np.sign(x - CENTRE)


# ---- refused ------------------------------------------------------------------------------------------------------

OPTIONS = [
    ({"method": "simplex"}, "method must be one of", "'simplex'"),
    ({"method": None}, "method must be one of", "None"),
    ({"ridge": -1.0}, "ridge must be", "-1.0"),
    ({"ridge": np.nan}, "ridge must be", "nan"),
    ({"ridge": np.inf}, "ridge must be", "inf"),
    ({"ridge": "much"}, "ridge must be", "'much'"),
    ({"tol": -1e-6}, "tol must be", "-1e-06"),
    ({"tol": np.nan}, "tol must be", "nan"),
    ({"tol": None}, "tol must be", "None"),
    ({"max_iter": -1}, "max_iter must be", "-1"),
    ({"max_iter": 2.5}, "max_iter must be", "2.5"),
    ({"max_iter": "ten"}, "max_iter must be", "'ten'"),
    ({"max_seconds": -0.5}, "max_seconds must be", "-0.5"),
    ({"max_seconds": np.nan}, "max_seconds must be", "nan"),
    ({"max_cuts": 0}, "max_cuts must be", "0"),
    ({"max_cuts": 7.0}, "max_cuts must be", "7.0"),
    ({"bounds": 1.0}, "bounds must be a pair", "1.0"),
    ({"bounds": (0.0, 1.0, 2.0)}, "bounds must be a pair", "(0.0, 1.0, 2.0)"),
    ({"bounds": (np.zeros(2), np.ones(2))}, "bounds must be a pair", "0."),
    ({"bounds": ("a", "b")}, "bounds must be a pair", "'a'"),
    ({"bounds": (np.nan, 1.0)}, "bounds must be", "nan"),
    ({"bounds": (2.0, 1.0)}, "lo <= hi", "lo[0] is 2 and hi[0] is 1"),
    ({"bounds": (np.zeros(3), np.array([1.0, -1.0, 1.0]))}, "lo <= hi", "lo[1] is 0 and hi[1] is -1"),
    ({"bounds": (np.inf, np.inf)}, "bounds", "inf"),
    ({"bounds": (-np.inf, -np.inf)}, "bounds", "-inf"),
    ({"callback": "print"}, "callback must be", "'print'"),
    ({"checkpoint": 7}, "checkpoint must be", "7"),
    ({"resume": 7}, "resume must be", "7"),
    ({"x0": []}, "x0 must be a vector", "(0,)"),
    ({"x0": 1.0}, "x0 must be a vector", "()"),
    ({"x0": np.zeros((3, 1))}, "x0 must be a vector", "(3, 1)"),
    ({"x0": [0.0, np.nan, 0.0]}, "x0 must be finite", "x0[1] is nan"),
    ({"x0": [0.0, 0.0, np.inf]}, "x0 must be finite", "x0[2] is inf"),
    ({"x0": ["a", "b", "c"]}, "x0 must be", "'a'"),
    ({"x0": [1.0, 2.0 + 1.0j, 0.0]}, "x0 must be", "1j"),
    ({"x0": None}, "x0 must be", "()"),
    ({"fun": 3}, "fun must be", "3"),
]


@pytest.mark.parametrize(("options", "rule", "value"), OPTIONS, ids=str)
def test_options_that_cannot_be_are_refused(options, rule, value):
    """The sentence names the parameter and what it was, before fun is asked for the first time."""
    asked = []
    options = {"x0": np.zeros(3), "fun": lambda x: asked.append(x) or bowl(x), **options}
    with pytest.raises((ValueError, TypeError)) as caught:
        minimize(options.pop("fun"), options.pop("x0"), **options)
    assert rule in str(caught.value)
    assert value in str(caught.value)
    assert str(caught.value).endswith(".")
    assert not asked


ANSWERS = {
    "nan": (lambda x: (np.nan, np.zeros(3)), "returned the value nan at x = [0, 0, 0]"),
    "infinite": (lambda x: (np.inf, np.zeros(3)), "returned the value inf at x = [0, 0, 0]"),
    "nan slope": (lambda x: (0.0, np.full(3, np.nan)), "subgradient that is not finite at x = [0, 0, 0]"),
    "short slope": (lambda x: (0.0, np.zeros(2)), "subgradient of 3 numbers, one for each of x, got 2"),
    "number for a slope": (lambda x: (0.0, 1.0), "subgradient of 3 numbers"),
    "matrix for a slope": (lambda x: (0.0, np.zeros((3, 3))), "subgradient of 3 numbers"),
    "value alone": (lambda x: 1.0, "must return a pair (value, subgradient), got float"),
    "nothing": (lambda x: None, "must return a pair (value, subgradient), got NoneType"),
    "three things": (lambda x: (1.0, np.zeros(3), 2.0), "must return a pair (value, subgradient)"),
    "words": (lambda x: ("low", np.zeros(3)), "must return a number and an array of numbers"),
    "vector for a value": (lambda x: (np.ones(2), np.zeros(3)), "must return a number and an array of numbers"),
    "complex": (lambda x: (1.0 + 1.0j, np.zeros(3)), "must return a number and an array of numbers"),
    "complex slope": (lambda x: (1.0, np.zeros(3, complex)), "must return a number and an array of numbers"),
    "ragged": (lambda x: (1.0, [1.0, [2.0]]), "must return a number and an array of numbers"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_cannot_be_are_refused(name):
    """fun must return a finite number and as many numbers as x has."""
    fun, sentence = ANSWERS[name]
    with pytest.raises(ValueError, match=re.escape(sentence)):
        minimize(fun, np.zeros(3))


@every_method
def test_nan_on_the_way_is_refused(method):
    """With the point where it happened."""

    def fun(x):
        return (np.nan if x[0] < -1.0 else float(x.sum())), np.ones(2)

    message = "fun must be finite wherever it is evaluated, and returned the value nan at x ="
    with pytest.raises(ValueError, match=message):
        minimize(fun, np.zeros(2), method, bounds=(-3.0, 3.0))


WRONG = {
    "concave": lambda x: (-float(x @ x), -2.0 * x),
    "slopes of the wrong sign": lambda x: (bowl(x)[0], -bowl(x)[1]),
}


@every_method
@pytest.mark.parametrize("name", WRONG)
def test_functions_that_are_not_convex_are_refused(name, method):
    """Once a cut lies above a value, no convex function has both."""
    with pytest.raises(ValueError, match="fun must be convex and return a subgradient, but a cut is at"):
        minimize(WRONG[name], np.array([0.4, 0.3, -0.7]), method, bounds=(-2.0, 2.0))


# ---- taken --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x0",
    [[0, 0, 0], (0.0, 0.0, 0.0), np.zeros(3, int), np.zeros(3, np.float32), np.zeros(6)[::2], np.zeros(3, bool)],
    ids=["list", "tuple", "integers", "float32", "strided", "booleans"],
)
def test_any_vector_of_numbers_is_a_start(x0):
    """Whatever holds it, x is a vector of floats and x0 is left alone."""
    before = np.array(x0)
    found = minimize(bowl, x0, tol=1e-10)
    assert found.x.dtype == np.float64
    np.testing.assert_allclose(found.x, CENTRE, atol=1e-4)
    np.testing.assert_array_equal(x0, before)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda value, slope: (np.float64(value), list(slope)),
        lambda value, slope: (np.array(value), tuple(slope)),
        lambda value, slope: [np.array([value]), slope.reshape(-1, 1)],
        lambda value, slope: (np.float32(value), slope.astype(np.float32)),
    ],
    ids=["lists", "arrays", "a column", "float32"],
)
def test_any_pair_of_numbers_is_an_answer(wrap):
    """Lists, arrays of one number and single precision are numbers too."""
    found = minimize(lambda x: wrap(*cone(x)), np.zeros(3), bounds=(-2.0, 2.0), tol=1e-4)
    np.testing.assert_allclose(found.x, CENTRE, atol=1e-3)


@every_method
def test_a_function_that_writes_into_x_spoils_nothing(method):
    """It gets a copy."""

    def fun(x):
        answer = cone(x)
        x[:] = np.nan
        return answer

    found = minimize(fun, np.zeros(3), method, bounds=(-2.0, 2.0))
    plain = minimize(cone, np.zeros(3), method, bounds=(-2.0, 2.0))
    np.testing.assert_array_equal(found.x, plain.x)


@every_method
def test_a_function_that_reuses_its_buffers_spoils_nothing(method):
    """What it returns is copied."""
    value, slope = np.zeros(1), np.zeros(3)

    def fun(x):
        value[0], slope[:] = cone(x)
        return value, slope

    found = minimize(fun, np.zeros(3), method, bounds=(-2.0, 2.0))
    plain = minimize(cone, np.zeros(3), method, bounds=(-2.0, 2.0))
    np.testing.assert_array_equal(found.x, plain.x)


@every_method
def test_a_function_that_keeps_x_keeps_it(method):
    """The points that fun has seen are not written to afterwards."""
    seen, copies = [], []

    def fun(x):
        seen.append(x)
        copies.append(x.copy())
        return cone(x)

    minimize(fun, np.zeros(3), method, bounds=(-2.0, 2.0))
    np.testing.assert_array_equal(seen, copies)


@every_method
def test_a_start_outside_the_box_is_moved_into_it(method):
    """fun is asked at the nearest point of the box first."""
    asked = []
    minimize(lambda x: asked.append(x) or bowl(x), np.array([9.0, 0.0, -9.0]), method, bounds=(-1.0, 2.0))
    np.testing.assert_array_equal(asked[0], [2.0, 0.0, -1.0])
    assert all(np.all((x >= -1.0) & (x <= 2.0)) for x in asked)


# ---- small and extreme functions ----------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("bounds", [None, (-3.0, 3.0)], ids=str)
@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_a_constant_function(method, bounds, ridge):
    """Where the slope is zero the start is a minimum, but for the ridge."""
    found = minimize(lambda x: (7.0, np.zeros(2)), np.array([1.0, -2.0]), method, bounds=bounds, ridge=ridge)
    assert found.converged
    assert found.fun == pytest.approx(7.0, rel=1e-6)
    assert found.n_calls <= 20


@every_method
def test_a_linear_function_on_a_box(method):
    """The minimum is a corner, exactly; a slope of zero leaves its coordinate alone."""
    slope = np.array([1.0, -2.0, 0.0, 1e-3])
    lo, hi = np.array([-1.0, -2.0, -3.0, -4.0]), np.array([5.0, 6.0, 7.0, 8.0])
    found = minimize(lambda x: (float(slope @ x), slope), np.zeros(4), method, bounds=(lo, hi), tol=1e-9)
    assert found.converged
    np.testing.assert_allclose(found.x[[0, 1, 3]], [-1.0, 6.0, -4.0], atol=2e-5)
    assert found.fun == pytest.approx(-13.004, rel=1e-9)
    assert found.lower_bound <= -13.004 + 1e-12


LINES = {
    "absolute": (lambda x: (abs(x[0] - 0.3), np.sign(x - 0.3)), 0.0),
    "square": (lambda x: ((x[0] - 0.3) ** 2, 2.0 * (x - 0.3)), 0.0),
    "exponential": (lambda x: (np.exp(x[0]) - 2.0 * x[0], np.exp(x) - 2.0), 2.0 - 2.0 * np.log(2.0)),
    "fourth power": (lambda x: (x[0] ** 4, 4.0 * x**3), 0.0),
}


@every_method
@pytest.mark.parametrize("bounds", [None, (-4.0, 3.0)], ids=str)
@pytest.mark.parametrize("name", LINES)
def test_functions_of_one_variable(method, name, bounds):
    """A vector of one number."""
    fun, minimum = LINES[name]
    found = minimize(fun, [2.0], method, bounds=bounds)
    assert found.converged, found.message
    assert found.x.shape == (1,)
    assert found.fun - minimum <= 2e-6


@every_method
@pytest.mark.parametrize("scale", leave_long([1e-12, 1e-6, 1e6, 1e12], 1e12))
def test_values_of_any_size(method, scale):
    """tol is relative to what is larger, 1 or |f|: tiny functions end soon, huge ones are solved as well."""
    found = minimize(lambda x: tuple(scale * part for part in cone(x)), np.zeros(3), method, bounds=(-2.0, 2.0))
    assert found.fun <= 2e-6 * max(1.0, scale)
    assert found.lower_bound <= 1e-9 * max(1.0, scale)


@every_method
def test_a_large_constant_hides_nothing_but_digits(method):
    """f + 1e9: tol 1e-12 is asked of 1e9."""
    found = minimize(lambda x: (1e9 + cone(x)[0], cone(x)[1]), np.zeros(3), method, bounds=(-2.0, 2.0), tol=1e-12)
    np.testing.assert_allclose(found.x, CENTRE, atol=2e-3)


@every_method
@pytest.mark.parametrize(
    ("name", "fun"),
    [
        ("linear", lambda x: (float(x.sum()), np.ones(2))),
        ("half open", lambda x: (float(max(x[0], 0.0) - x[1]), np.array([float(x[0] > 0), -1.0]))),
    ],
)
def test_functions_without_a_minimum_end_with_a_sentence(method, name, fun):
    """After a few rounds, not never; and the sentence says what to do."""
    found = minimize(fun, np.array([1.0, 1.0]), method)
    assert found.n_iter < 300
    assert found.status is Status.STALLED
    assert "no minimum" in found.message
    assert "bounds" in found.message
    assert found.lower_bound == -np.inf


@every_method
def test_a_minimum_at_infinity_ends(method):
    """exp(x) has an infimum and no minimiser: tol is reached somewhere on the way."""
    found = minimize(lambda x: (float(np.exp(x[0])), np.exp(x)), [0.0], method)
    assert found.n_iter < 300
    assert found.fun <= 1e-3


@pytest.mark.slow
@every_method
@pytest.mark.parametrize(("name", "bounds"), [("CB2", (-3.0, 3.0)), ("Shor", (-np.inf, np.inf))])
def test_more_than_floats_can_give_is_refused(name, bounds, method):
    """tol = 0 ends at the last digits, or stalls there and says so; it never creeps on by less than rounding."""
    function = CATALOGUE[name]
    found = minimize(function.fun, function.x0, method, bounds=bounds, tol=0.0)
    assert found.status in (Status.CONVERGED, Status.ROUNDING_LIMIT, Status.STALLED)
    assert found.n_iter < 500
    assert found.fun == pytest.approx(function.minimum, rel=1e-10)
    assert found.status is Status.CONVERGED or "rounding" in found.message
