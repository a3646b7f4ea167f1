"""The functions that `minimize` is tried on: convex, with the subgradients and the minima that they claim."""

from __future__ import annotations

import numpy as np
import pytest
from generated_functions import GENERATED
from scipy.optimize import check_grad, nnls
from textbook_functions import AT_THE_START, CATALOGUE, LITERATURE, PIECES, solve_epigraph

FUNCTIONS = {**CATALOGUE, **GENERATED}
every_function = pytest.mark.parametrize("name", FUNCTIONS)


def draw_points(function, rng: np.random.Generator, times: int = 60):
    """Points near the start, near the minimiser where it is known, and near zero."""
    centres = [function.x0, np.zeros(function.dimension)]
    if function.minimiser is not None:
        centres.append(function.minimiser)
    for k in range(times):
        yield centres[k % len(centres)] + 10.0 ** rng.uniform(-4.0, 0.5) * rng.normal(size=function.dimension)


@every_function
def test_subgradients_support_the_function(name):
    """f(y) >= f(x) + <g, y - x> for any x and y: f is convex and g a subgradient."""
    function, rng = FUNCTIONS[name], np.random.default_rng(1)
    for x in draw_points(function, rng):
        value, slope = function.fun(x)
        assert slope.shape == x.shape
        for y in draw_points(function, rng, 6):
            other = function.fun(y)[0]
            assert other >= value + slope @ (y - x) - 1e-13 * (1.0 + abs(value) + abs(other) + abs(slope) @ abs(y - x))


@every_function
def test_subgradients_are_gradients_at_random_points(name):
    """At a random point f is smooth, and its subgradient is the gradient by differences."""
    function, rng = FUNCTIONS[name], np.random.default_rng(2)
    for x in draw_points(function, rng, 9):
        error = check_grad(lambda x: function.fun(x)[0], lambda x: function.fun(x)[1], x, epsilon=1e-7)
        assert error <= 1e-4 * max(1.0, np.linalg.norm(function.fun(x)[1])) * np.sqrt(function.dimension)


@every_function
def test_the_minimum_is_one(name):
    """No point lies below it, and the minimiser is there, inside its box."""
    function, rng = FUNCTIONS[name], np.random.default_rng(3)
    slack = 1e-12 * max(1.0, abs(function.minimum))
    assert all(function.fun(x)[0] >= function.minimum - slack for x in draw_points(function, rng))
    if function.minimiser is not None:
        assert function.fun(function.minimiser)[0] <= function.minimum + slack
        assert np.all(function.minimiser > function.box[0])
        assert np.all(function.minimiser < function.box[1])


@pytest.mark.parametrize("name", PIECES)
def test_a_general_solver_finds_the_minimum_of_the_literature(name):
    """scipy's minimum is the printed one, and some mean of the active gradients is zero there."""
    pieces, x0, *_ = PIECES[name]
    x, value = solve_epigraph(pieces, np.array(x0, float))
    assert value == pytest.approx(LITERATURE[name], rel=2e-8, abs=5e-8)
    assert value == pytest.approx(CATALOGUE[name].minimum, rel=1e-13)
    values, gradients = (np.asarray(part) for part in pieces(x))
    active = gradients[values >= value - 1e-6 * max(1.0, abs(value))]
    scale = np.linalg.norm(active, axis=1).max()
    _, residual = nnls(np.vstack([active.T / scale, np.ones(len(active))]), np.append(np.zeros(len(x)), 1.0))
    assert residual <= 1e-6


@pytest.mark.parametrize("name", AT_THE_START)
def test_the_start_has_the_value_of_the_literature(name):
    """A slip in the formula shows at the start already."""
    function = CATALOGUE[name]
    assert function.fun(function.x0)[0] == pytest.approx(AT_THE_START[name], rel=1e-7, abs=1e-12)


def test_the_catalogue_is_broad():
    """Smooth, kinked, piecewise linear and badly scaled, from 2 to 1,000 variables."""
    functions = list(FUNCTIONS.values())
    for trait in ("smooth", "linear", "badly_scaled"):
        assert sum(getattr(function, trait) for function in functions) >= 2
    assert sum(not function.smooth and not function.linear for function in functions) >= 10
    assert {function.dimension for function in functions} >= {2, 4, 5, 10, 20, 50, 1000}
