"""The loss table: every entry is a convex function with the derivative, conjugate and curvature it claims."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_problems import ALL_LOSSES, ROW_LOSSES, say

from maxmargin.model.losses import LOSSES, Loss, soft_threshold

EXTREME = np.array([-1e4, -1e3, -710.0, 0.0, 710.0, 1e3, 1e4])
scores = st.floats(-30.0, 30.0)

FORMULAS = {
    "hinge": lambda loss, f, y: np.maximum(0.0, loss.margin - y * f),
    "squared_hinge": lambda loss, f, y: np.maximum(0.0, 1.0 - y * f) ** 2,
    "exponential": lambda loss, f, y: np.exp(-y * f),
    "logistic": lambda loss, f, y: np.log1p(np.exp(-y * f)),
    "novelty": lambda loss, f, y: np.maximum(0.0, loss.rho - f),
    "least_squares": lambda loss, f, y: 0.5 * (f - y) ** 2,
    "absolute": lambda loss, f, y: np.abs(f - y),
    "quantile": lambda loss, f, y: np.maximum((1.0 - loss.quantile) * (f - y), -loss.quantile * (f - y)),
    "epsilon_insensitive": lambda loss, f, y: np.maximum(0.0, np.abs(f - y) - loss.epsilon),
    "squared_epsilon_insensitive": lambda loss, f, y: np.maximum(0.0, np.abs(f - y) - loss.epsilon) ** 2,
    "huber": lambda loss, f, y: np.where(
        np.abs(f - y) <= loss.threshold,
        (f - y) ** 2 / (2.0 * loss.threshold),
        np.abs(f - y) - 0.5 * loss.threshold,
    ),
    "poisson": lambda loss, f, y: np.exp(f) - y * f,
}


def entropy(t):
    """t log t with 0 log 0 = 0."""
    return t * np.log(np.where(t > 0, t, 1.0))


CONJUGATES = {
    "hinge": lambda loss, v, y: (loss.margin * y * v, (y * v >= -1) & (y * v <= 0)),
    "squared_hinge": lambda loss, v, y: (y * v + v**2 / 4.0, y * v <= 0),
    "exponential": lambda loss, v, y: (entropy(-y * v) + y * v, y * v <= 0),
    "logistic": lambda loss, v, y: (entropy(-y * v) + entropy(1.0 + y * v), (y * v >= -1) & (y * v <= 0)),
    "novelty": lambda loss, v, y: (loss.rho * v, (v >= -1) & (v <= 0)),
    "least_squares": lambda loss, v, y: (y * v + v**2 / 2.0, v == v),
    "absolute": lambda loss, v, y: (y * v, np.abs(v) <= 1),
    "quantile": lambda loss, v, y: (y * v, (v >= -loss.quantile) & (v <= 1.0 - loss.quantile)),
    "epsilon_insensitive": lambda loss, v, y: (y * v + loss.epsilon * np.abs(v), np.abs(v) <= 1),
    "squared_epsilon_insensitive": lambda loss, v, y: (y * v + loss.epsilon * np.abs(v) + v**2 / 4.0, v == v),
    "huber": lambda loss, v, y: (y * v + loss.threshold * v**2 / 2.0, np.abs(v) <= 1),
    "poisson": lambda loss, v, y: (entropy(v + y) - (v + y), v + y >= 0),
}


@pytest.fixture(scope="module", params=ALL_LOSSES, ids=say)
def loss(request) -> Loss:
    """Every loss of the table, and some with other parameters than the default."""
    return request.param


@pytest.fixture(scope="module", params=ROW_LOSSES, ids=say)
def row_loss(request) -> Loss:
    """Every loss with a row."""
    return request.param


def targets(loss: Loss) -> np.ndarray:
    """A few targets of every kind the loss knows."""
    kinds = {"label": [1.0, -1.0], "count": [0.0, 1.0, 7.0], "none": [1.0]}
    return np.array(kinds.get(loss.target, [-2.5, 0.0, 0.1, 4.0]))


def grid(loss: Loss, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every score against every target."""
    f, y = np.meshgrid(f, targets(loss))
    return f.ravel(), y.ravel()


def draw_target(loss: Loss, number: int) -> np.ndarray:
    """One of the targets."""
    known = targets(loss)
    return known[number % len(known) : number % len(known) + 1]


def test_every_loss_has_a_formula_here(loss):
    """A new entry of the table is written out in this file too."""
    assert loss.name in FORMULAS
    assert loss.name in CONJUGATES
    assert LOSSES[loss.name] is type(loss)


def test_value_is_the_formula(loss):
    """l(f; y) as section 2 of the specification writes it."""
    f, y = grid(loss, np.linspace(-6.0, 6.0, 241))
    np.testing.assert_allclose(loss.value(f, y), FORMULAS[loss.name](loss, f, y), rtol=1e-12, atol=1e-12)


def test_conjugate_is_the_formula(loss):
    """l*(v; y) as section 2 of the specification writes it, infinite outside its domain."""
    v, y = grid(loss, np.linspace(-3.0, 3.0, 121))
    formula, domain = CONJUGATES[loss.name](loss, np.where(np.abs(v) < 1e-15, 0.0, v), y)
    got = loss.conjugate(v, y)
    edge = np.isclose(np.abs(v) % 1.0, 0.0) | np.isclose(np.abs(v) % 0.2, 0.0) | np.isclose(np.abs(v) % 0.2, 0.2)
    np.testing.assert_allclose(got[domain & ~edge], formula[domain & ~edge], rtol=1e-12, atol=1e-12)
    assert np.isposinf(got[~domain & ~edge]).all()


def test_derivative_against_central_differences(loss):
    """l'(f) is the slope of l wherever l has one."""
    rng = np.random.default_rng(0)
    f, y = grid(loss, rng.uniform(-5.0, 5.0, 300))
    h = 1e-5
    ahead, here, behind = loss.value(f + h, y), loss.value(f, y), loss.value(f - h, y)
    smooth = (ahead - 2.0 * here + behind) / h < 0.02
    assert smooth.mean() > 0.9
    left, right = loss.subgradient(f, y)
    slope = (ahead - behind) / (2.0 * h)
    np.testing.assert_allclose(left[smooth], slope[smooth], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(left[smooth], right[smooth])


def test_subgradient_is_a_rising_interval(loss):
    """l'(f-) <= l'(f+) <= l'(g-) for f < g."""
    for target in targets(loss):
        f = np.unique(np.concatenate([np.linspace(-6.0, 6.0, 301), [target, 1.0, -1.0, 0.0]]))
        left, right = loss.subgradient(f, np.full_like(f, target))
        assert (left <= right).all()
        assert (right[:-1] <= left[1:] + 1e-12).all()


def test_kinks_have_both_ends(loss):
    """At a kink the subdifferential reaches the slopes on either side, where the kink is a number exactly."""
    y = targets(loss) if loss.target != "real" else np.zeros(1)
    kinks = {"label": y * getattr(loss, "margin", 1.0), "none": np.full_like(y, getattr(loss, "rho", 0.0))}
    at = kinks.get(loss.target, y + getattr(loss, "epsilon", 0.0))
    left, right = loss.subgradient(at, y)
    before, after = loss.subgradient(at - 1e-9, y)[0], loss.subgradient(at + 1e-9, y)[1]
    np.testing.assert_allclose(left, before, atol=1e-7)
    np.testing.assert_allclose(right, after, atol=1e-7)


def test_fenchel_young_equality_at_the_derivative(loss):
    """l(f) + l*(v) = v f at both ends v of the subdifferential at f."""
    f, y = grid(loss, np.linspace(-6.0, 6.0, 121))
    value = loss.value(f, y)
    for v in loss.subgradient(f, y):
        size = np.abs(value) + np.abs(v * f) + 1.0
        assert (np.abs(value + loss.conjugate(v, y) - v * f) <= 1e-12 * size).all()


@settings(max_examples=60, deadline=None)
@given(f=scores, v=st.floats(-5.0, 5.0), number=st.integers(0, 3))
def test_fenchel_young_inequality(loss, f, v, number):
    """l(f) + l*(v) >= v f for every f and v."""
    y = draw_target(loss, number)
    total = loss.value([f], y) + loss.conjugate([v], y)
    assert (total >= v * f - 1e-11 * (1.0 + abs(v * f) + np.abs(loss.value([f], y)))).all()


@settings(max_examples=60, deadline=None)
@given(f=scores, g=scores, share=st.floats(0.0, 1.0), number=st.integers(0, 3))
def test_convexity(loss, f, g, share, number):
    """The chord is nowhere below the function."""
    y = draw_target(loss, number)
    chord = share * loss.value([f], y) + (1.0 - share) * loss.value([g], y)
    assert (loss.value([share * f + (1.0 - share) * g], y) <= chord + 1e-11 * (1.0 + np.abs(chord))).all()


@settings(max_examples=60, deadline=None)
@given(f=scores, g=scores, number=st.integers(0, 3))
def test_subgradient_supports_the_function(loss, f, g, number):
    """l(g) >= l(f) + l'(f) (g - f)."""
    y = draw_target(loss, number)
    value = loss.value([f], y)
    for slope in loss.subgradient([f], y):
        assert (
            loss.value([g], y) >= value + slope * (g - f) - 1e-11 * (1.0 + np.abs(value) + np.abs(slope * (g - f)))
        ).all()


def test_curvature_bounds_the_change_of_the_derivative(loss):
    """|l'(f) - l'(g)| <= curvature |f - g|, and no smaller number would do."""
    steepest = 0.0
    f = np.linspace(-20.0, 20.0, 40001)
    for target in targets(loss):
        left, right = loss.subgradient(f, np.full_like(f, target))
        steepest = max(steepest, np.max((right[1:] - left[:-1]) / np.diff(f)))
    if np.isfinite(loss.curvature):
        assert 0.99 * loss.curvature <= steepest <= loss.curvature * (1.0 + 1e-9)
    else:
        assert steepest > 900.0


def test_far_scores_give_no_nan_and_no_warning(loss):
    """At |f| = 1e4 nothing is nan and NumPy has nothing to say."""
    f, y = grid(loss, EXTREME)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = [loss.value(f, y), *loss.subgradient(f, y), loss.conjugate(f, y)]
        parts += loss.terms(y, np.ones_like(y)).slopes(loss.terms(y, np.ones_like(y)).response(f)[0])
    assert not np.isnan(np.concatenate(parts)).any()


def test_far_values_are_exact(loss):
    """The value far out is that of the formula where the formula does not overflow."""
    f, y = grid(loss, EXTREME)
    with np.errstate(over="ignore"):
        expected = FORMULAS[loss.name](loss, f, y)
    if loss.name == "logistic":
        expected = np.where(-y * f > 100.0, -y * f, expected)
    np.testing.assert_allclose(loss.value(f, y), expected, rtol=1e-12)


@pytest.mark.parametrize("far", [1.0, 1e4], ids=["near", "far"])
def test_weight_zero_gives_zeros(loss, far):
    """A row of weight zero costs nothing and its dual is nailed to zero."""
    f, y = grid(loss, np.linspace(-far, far, 21))
    terms = loss.terms(y, np.zeros_like(y))
    zero = np.zeros_like(f)
    np.testing.assert_array_equal(terms.value(f), zero)
    for end in terms.response(f):
        np.testing.assert_array_equal(end, zero)
    np.testing.assert_array_equal(terms.conjugate(zero), zero)


def test_weight_zero_forbids_any_other_dual(loss):
    """The conjugate of the zero function is infinite away from zero."""
    y = targets(loss)
    terms = loss.terms(y, np.zeros_like(y))
    for a in (-1.0, -1e-6, 1e-6, 1.0):
        assert np.isposinf(terms.conjugate(np.full_like(y, a))).all()


def test_weights_scale_the_terms(loss):
    """value = c l(f), conjugate = c l*(-a/c), response = -c dl(f)."""
    rng = np.random.default_rng(1)
    f, y = grid(loss, rng.uniform(-4.0, 4.0, 40))
    c = 10.0 ** rng.uniform(-3.0, 3.0, len(f))
    terms = loss.terms(y, c)
    np.testing.assert_allclose(terms.value(f), c * loss.value(f, y), rtol=1e-11)
    left, right = loss.subgradient(f, y)
    for got, expected in zip(terms.response(f), (-c * right, -c * left), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-11)
    share = rng.uniform(0.01, 0.99, len(f))
    v = left * share
    np.testing.assert_allclose(terms.conjugate(-c * v) / c, loss.conjugate(v, y), rtol=1e-9, atol=1e-12)


def test_slopes_are_those_of_the_conjugate(loss):
    """Left and right derivative of conj against differences, and -f lies between them at a = response(f)."""
    rng = np.random.default_rng(2)
    f, y = grid(loss, rng.uniform(-4.0, 4.0, 60))
    terms = loss.terms(y, np.ones_like(y))
    for a in terms.response(f):
        left, right = terms.slopes(a)
        assert (left <= -f + 1e-9 * (1.0 + np.abs(f))).all()
        assert (right >= -f - 1e-9 * (1.0 + np.abs(f))).all()
    a = 0.5 * sum(terms.response(f))
    h = 1e-6
    inside = np.isfinite(terms.conjugate(a + h)) & np.isfinite(terms.conjugate(a - h))
    difference = (terms.conjugate(a + h)[inside] - terms.conjugate(a)[inside]) / h
    np.testing.assert_allclose(terms.slopes(a)[1][inside], difference, rtol=1e-2, atol=1e-2)


def test_row_bounds_are_ordered_and_hold_zero(row_loss):
    """lo <= 0 <= hi, d >= 0, e >= 0, all of one shape."""
    y = np.repeat(targets(row_loss), 3)
    c = np.tile([0.0, 0.5, 20.0], len(targets(row_loss)))
    row = row_loss.row(y, c)
    assert {part.shape for part in row} == {y.shape}
    assert (row.lo <= 0.0).all()
    assert (row.hi >= 0.0).all()
    assert (row.d >= 0.0).all()
    assert (row.e >= 0.0).all()


def test_row_derives_value_by_maximising(row_loss):
    """value(f) is the largest of -a f - conj(a) over a fine grid of duals."""
    f, y = grid(row_loss, np.linspace(-3.0, 3.0, 13))
    row = row_loss.row(y, np.ones_like(y))
    lo, hi = np.maximum(row.lo, -20.0), np.minimum(row.hi, 20.0)
    a = np.clip(lo + np.linspace(0.0, 1.0, 8001)[:, None] * (hi - lo), lo, hi)
    best = (-a * f - row.conjugate(a)).max(axis=0)
    np.testing.assert_allclose(row.value(f), best, atol=1e-3)
    assert (row.value(f) >= best - 1e-12).all()


@pytest.mark.parametrize("e", [0.0, 0.1, 1.5])
def test_soft_threshold(e):
    """soften is sign(x) max(|x| - e, 0)."""
    x = np.linspace(-2.0, 2.0, 41)
    np.testing.assert_allclose(soft_threshold(x, e), np.sign(x) * np.maximum(np.abs(x) - e, 0.0), atol=1e-15)
