"""Derivatives, subgradients and subproblems as in the lecture notes of Schmidt-Thieme, number by number."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import minimize
from maxmargin.model.losses import LOSSES
from maxmargin.solvers.bundle.cuts import Cuts
from maxmargin.solvers.bundle.model import Model

STEP = 1e-7
POINTS = {"label": (-2.0, 0.3, 1.0, 4.0), "real": (-1.1, -1.0, 0.0, 0.1, 1.0, 2.5), "count": (-1.0, 0.0, 2.0)}
POINTS["none"] = POINTS["real"]


def differentiate(fun, x: np.ndarray, direction: np.ndarray) -> float:
    """df(x; d) = lim (f(x + t d) - f(x)) / t for t falling to 0."""
    return (fun(x + STEP * direction) - fun(x)) / STEP


def steep(x: np.ndarray) -> float:
    """x1^3 / (x1^2 + x2^2), and 0 at the origin."""
    return x[0] ** 3 / (x @ x) if x.any() else 0.0


def test_directional_derivatives_need_not_be_linear():
    """The example of Schmidt-Thieme: df(0; d) = d1^3 / (d1^2 + d2^2), which is not linear in d."""
    for direction in np.random.default_rng(0).normal(size=(20, 2)):
        slope = differentiate(steep, np.zeros(2), direction)
        assert slope == pytest.approx(direction[0] ** 3 / (direction @ direction), rel=1e-6)
    one, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    apart = differentiate(steep, np.zeros(2), one) + differentiate(steep, np.zeros(2), other)
    assert abs(differentiate(steep, np.zeros(2), one + other) - apart) > 0.4


def torn(x: np.ndarray) -> float:
    """x1^3 x2 / (x1^6 + x2^2), and 0 at the origin."""
    return x[0] ** 3 * x[1] / (x[0] ** 6 + x[1] ** 2) if x.any() else 0.0


def bent(x: np.ndarray) -> float:
    """x1^2 x2 / (x1^4 + x2^2) |x|, and 0 at the origin."""
    return x[0] ** 2 * x[1] / (x[0] ** 4 + x[1] ** 2) * np.linalg.norm(x) if x.any() else 0.0


@pytest.mark.parametrize("fun", [torn, bent])
def test_gateaux_derivatives_of_zero(fun):
    """Both have the slope 0 in every direction, which is linear: the quotient falls with the step."""
    directions = [*np.random.default_rng(1).normal(size=(20, 2)), np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    for direction in directions:
        slopes = [abs(fun(step * direction) / step) for step in (1e-3, 1e-5, 1e-7)]
        assert slopes[2] <= slopes[1] <= slopes[0]
        assert slopes[2] < 1e-5


def test_a_gateaux_derivative_without_continuity():
    """Along (t, t^3) the second example stays at 1/2 while its argument falls to the origin, where it is 0."""
    for t in (1e-1, 1e-3, 1e-5):
        assert torn(np.array([t, t**3])) == pytest.approx(0.5, rel=1e-12)


def test_a_continuous_gateaux_derivative_that_is_not_frechets():
    """The third example is continuous, |f(h)| <= |h|/2, but |f(h)| / |h| stays at 1/2 along (t, t^2)."""
    for h in np.random.default_rng(2).normal(scale=1e-3, size=(200, 2)):
        assert abs(bent(h)) <= 0.5 * np.linalg.norm(h) * (1.0 + 1e-12)
    for t in (1e-1, 1e-3, 1e-5):
        h = np.array([t, t**2])
        assert bent(h) / np.linalg.norm(h) == pytest.approx(0.5, rel=1e-12)


def test_frechets_derivative_is_the_jacobian():
    """|f(x + h) - f(x) - A h| / |h| falls with h where A is the matrix of partial derivatives."""

    def fun(x: np.ndarray) -> np.ndarray:
        return np.array([np.sin(x[0]) * x[1], x[0] ** 2 + np.exp(x[1]), x[0] * x[1]])

    x = np.array([0.7, -0.3])
    jacobian = np.array([[np.cos(x[0]) * x[1], np.sin(x[0])], [2 * x[0], np.exp(x[1])], [x[1], x[0]]])
    for h in np.random.default_rng(3).normal(size=(10, 2)):
        rests = [
            np.linalg.norm(fun(x + t * h) - fun(x) - t * jacobian @ h) / np.linalg.norm(t * h) for t in (1e-2, 1e-4)
        ]
        assert rests[1] < 0.02 * rests[0]


def test_a_linear_operator_without_a_bound():
    """A x = (i x_i) on bounded sequences: |A e_i| = i |e_i|, so no M serves them all."""
    for i in (1, 10, 1000):
        unit = np.zeros(1000)
        unit[i - 1] = 1.0
        assert np.abs(np.arange(1, 1001) * unit).max() == i * np.abs(unit).max()


@pytest.mark.parametrize("name", LOSSES)
def test_one_subgradient_where_there_is_a_derivative(name):
    """A convex function is differentiable at a point exactly where its subdifferential has one element."""
    loss, y = LOSSES[name](), np.array([1.0])
    for f in POINTS[loss.target]:
        low, high = (float(end[0]) for end in loss.subgradient(np.array([f]), y))
        central = [loss.value(np.array([f + side * STEP]), y)[0] - loss.value(np.array([f]), y)[0] for side in (1, -1)]
        smooth = abs(central[0] + central[1]) < 1e-4 * STEP
        assert smooth == (high - low < 1e-9)


def test_a_function_without_subgradients_is_found_out():
    """It is not convex: its gradients are no subgradients, and a cut above a known value shows it."""

    def fun(x):
        square = x @ x
        return steep(x), np.array([x[0] ** 2 * (x[0] ** 2 + 3 * x[1] ** 2), -2 * x[0] ** 3 * x[1]]) / square**2

    with pytest.raises(ValueError, match="convex"):
        minimize(fun, np.array([0.5, 2.0]), bounds=(-2.0, 2.0))


@pytest.mark.parametrize("name", LOSSES)
def test_directional_derivatives_are_the_ends_of_the_subdifferential(name):
    """df(f; d) = max of d phi over the subdifferential, for every loss of the table, on its kinks and off them."""
    loss = LOSSES[name]()
    for f in POINTS[loss.target]:
        y = np.array([1.0])
        low, high = (float(end[0]) for end in loss.subgradient(np.array([f]), y))
        right = (loss.value(np.array([f + STEP]), y) - loss.value(np.array([f]), y))[0] / STEP
        left = (loss.value(np.array([f]), y) - loss.value(np.array([f - STEP]), y))[0] / STEP
        assert low == pytest.approx(left, abs=1e-5)
        assert high == pytest.approx(right, abs=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_subgradients_bound_from_below(name):
    """<phi, g - f> <= l(g) - l(f) for every g and every phi of the subdifferential at f."""
    loss, rng = LOSSES[name](), np.random.default_rng(1)
    y = np.ones(1)
    for f in POINTS[loss.target]:
        value = loss.value(np.array([f]), y)[0]
        low, high = (float(end[0]) for end in loss.subgradient(np.array([f]), y))
        for g in rng.normal(scale=3.0, size=20):
            rise = loss.value(np.array([g]), y)[0] - value
            assert max(low * (g - f), high * (g - f)) <= rise + 1e-12 * (1.0 + abs(rise))


def make_model(ridge: float) -> tuple[Model, np.ndarray, np.ndarray]:
    """Ten cuts in four dimensions, their slopes and offsets."""
    rng = np.random.default_rng(2)
    slopes, offsets = rng.normal(size=(10, 4)), rng.normal(size=10)
    cuts = Cuts(4)
    for slope, offset in zip(slopes, offsets, strict=True):
        cuts.add(slope, float(offset))
    return Model(cuts, (ridge,), None, None), slopes, offsets


def test_the_subproblem_in_its_dual():
    """x = x_t - Phi' alpha / zeta, and primal and dual value of the subproblem are the same."""
    model, slopes, offsets = make_model(0.0)
    zeta, centre = 0.7, np.array([1.0, -2.0, 0.5, 3.0])
    step = model.minimise((zeta,), centre, None)
    alpha = step.weights
    np.testing.assert_allclose(step.x, centre - slopes.T @ alpha / zeta, atol=1e-12)
    assert alpha.min() >= 0.0
    assert alpha.sum() == pytest.approx(1.0, abs=1e-14)
    primal = (offsets + slopes @ step.x).max() + 0.5 * zeta * np.sum((step.x - centre) ** 2)
    dual = -0.5 / zeta * np.sum((slopes.T @ alpha) ** 2) + (offsets + slopes @ centre) @ alpha
    assert primal == pytest.approx(dual, rel=1e-12)


def test_bmrm_is_the_proximal_subproblem_at_zero():
    """x_t = 0 and zeta = lambda: the regulariser of BMRM is a proximity to the origin."""
    regularised, proximal = make_model(0.3)[0], make_model(0.0)[0]
    one = regularised.minimise((0.0,), np.ones(4), None)
    other = proximal.minimise((0.3,), np.zeros(4), None)
    np.testing.assert_allclose(one.x, other.x, atol=1e-12)
    assert regularised.bound(one).value == pytest.approx(one.height + 0.15 * one.x @ one.x, rel=1e-12)


def test_linear_operators_of_finite_dimension_are_bounded():
    """|A x| <= M |x| with M the largest singular value, which some x attains: no smaller M serves."""
    rng = np.random.default_rng(4)
    A = rng.normal(size=(3, 5))
    M = np.linalg.norm(A, 2)
    for x in rng.normal(size=(100, 5)):
        assert np.linalg.norm(A @ x) <= M * np.linalg.norm(x) * (1.0 + 1e-12)
    steepest = np.linalg.svd(A)[2][0]
    assert np.linalg.norm(A @ steepest) == pytest.approx(M, rel=1e-12)


def test_a_frechet_derivative_is_gateauxs_and_implies_continuity():
    """Of exp(x1) sin(x2) + x1 x2: df(x; d) = <gradient, d> in every direction, and f(x + h) - f(x) falls with h."""

    def fun(x: np.ndarray) -> float:
        return np.exp(x[0]) * np.sin(x[1]) + x[0] * x[1]

    x = np.array([0.4, -0.8])
    gradient = np.array([np.exp(x[0]) * np.sin(x[1]) + x[1], np.exp(x[0]) * np.cos(x[1]) + x[0]])
    for direction in np.random.default_rng(5).normal(size=(20, 2)):
        assert differentiate(fun, x, direction) == pytest.approx(gradient @ direction, abs=1e-5)
        falls = [abs(fun(x + t * direction) - fun(x)) for t in (1e-1, 1e-3, 1e-5)]
        assert falls[2] < 1e-3
        assert falls[2] <= falls[0]
