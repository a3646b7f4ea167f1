"""Newton's method with the matrix of some rows: the optimum of all rows, whatever was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import LinearSVC, LinearSVR, RiskClassifier, RiskRegressor
from maxmargin.compiled.sampled_newton import find_direction
from maxmargin.model.samples import wrap
from maxmargin.solvers.newton import system, together

INTERCEPTS = ["free", "regularised", "none"]


def make_rows(kind: str, n: int = 6_000):
    """Rows of four features; what one in eight of them says of the others differs by kind."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 4))
    if kind == "rare feature":  # that few rows have
        X[:, 3] = np.where(random.random(n) < 2e-3, 40.0, 0.0)
    elif kind == "one large row":
        X[7] *= 1e3
    f = X[:, 0] - 0.5 * X[:, 1] + 0.3
    return X, np.where(random.random(n) < 1.0 / (1.0 + np.exp(-f)), 1, 0), random.poisson(np.exp(0.4 * f)).astype(float)


@pytest.fixture
def no_loop(monkeypatch):
    """Fits that would enter the loop of solvers fail."""

    def refuse(*arguments, **options):
        raise AssertionError("the loop was entered")

    monkeypatch.setattr("maxmargin.estimators.observers.solve", refuse)


def fit(loss: str, X, labels, counts, **options):
    """The machine of a loss."""
    if loss == "poisson":
        return RiskRegressor(loss, **options).fit(X, counts)
    return RiskClassifier(loss, **options).fit(X, labels)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("kind", ["plain", "rare feature", "one large row"])
@pytest.mark.parametrize("loss", ["logistic", "poisson", "exponential"])
def test_optimum_of_all_rows(loss, kind, intercept, no_loop, monkeypatch):
    """With and without a sample the optimum is the same, to a tolerance far below what a sample could know."""
    rows = make_rows(kind)
    if kind == "one large row" and loss == "exponential":
        rows = (rows[0] * 1e-2, *rows[1:])
    calls = []
    draw = together.draw_weighted_rows
    monkeypatch.setattr(together, "draw_weighted_rows", lambda samples: calls.append(samples) or draw(samples))
    sampled = fit(loss, *rows, intercept=intercept, tol=1e-9)
    assert len(calls) == 1
    monkeypatch.setattr(together, "ROW_DRAW_RATIO", 10**6)
    exact = fit(loss, *rows, intercept=intercept, tol=1e-9)
    assert len(calls) == 1
    assert sampled.certificate_.relative_gap <= 1e-9
    np.testing.assert_allclose(sampled.coef_, exact.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(sampled.intercept_, exact.intercept_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("kind", ["plain", "rare feature", "one large row"])
@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive", "huber"])
def test_optimum_of_all_rows_with_five_numbers(loss, kind, intercept, no_loop, monkeypatch):
    """The same for losses of which only some rows are curved, with weights of samples."""
    X, labels, counts = make_rows(kind)
    makers = {"squared_hinge": LinearSVC, "squared_epsilon_insensitive": LinearSVR, "huber": RiskRegressor}
    weights, fits, calls = np.random.default_rng(1).uniform(0.1, 2.0, len(X)), [], []
    draw = together.draw_weighted_rows
    monkeypatch.setattr(together, "draw_weighted_rows", lambda samples: calls.append(samples) or draw(samples))
    for least in (1, 10**6):
        monkeypatch.setattr(together, "SAMPLED_MIN_ROWS", least)
        model = makers[loss](loss=loss, intercept=intercept, tol=1e-9)
        fits.append(model.fit(X, labels if loss == "squared_hinge" else counts, sample_weight=weights))
        assert len(calls) == 1
        assert model.certificate_.relative_gap <= 1e-9
    sampled, exact = fits
    np.testing.assert_allclose(sampled.coef_, exact.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(sampled.intercept_, exact.intercept_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("share", [0.0, 1e-3])
def test_samples_that_mislead_cost_steps_only(share, no_loop, monkeypatch):
    """Rows drawn of one class alone, or with a weight that is far too small, end at the same optimum."""
    X, labels, counts = make_rows("plain")
    expected = fit("logistic", X, labels, counts, tol=1e-9)
    chosen = np.flatnonzero(labels == 1)[:500] if share == 0.0 else np.arange(500)
    factors = np.ones(500) if share == 0.0 else np.full(500, share)
    monkeypatch.setattr(together, "draw_weighted_rows", lambda samples: (chosen, factors))
    found = fit("logistic", X, labels, counts, tol=1e-9)
    assert found.certificate_.relative_gap <= 1e-9
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6)


def test_classes_share_what_was_drawn(no_loop):
    """Three classes, each against the rest."""
    X, labels, counts = make_rows("plain")
    model = fit("logistic", X, labels + (X[:, 2] > 1.0), counts, tol=1e-8)
    assert [each.relative_gap <= 1e-8 for each in model.certificates_] == [True] * 3


def test_far_rows_are_all_drawn():
    """Rows of large norm stand for themselves, the others for eight each."""
    X, _, _ = make_rows("rare feature")
    index, factors = system.draw_weighted_rows(wrap(X))
    norms = (X**2).sum(axis=1)
    far = np.flatnonzero(norms > 3.0 * norms.mean())
    assert set(np.flatnonzero(X[:, 3])) <= set(far) <= set(index)
    assert (factors[np.isin(index, far)] == 1.0).all()
    assert (factors[~np.isin(index, far)] == 8.0).all()
    assert len(index) == pytest.approx(750, rel=0.1)


def test_secants_lead_to_the_inverse():
    """As many conjugate steps as dimensions on a quadratic function make B its inverse, whatever the factors were."""
    random = np.random.default_rng(0)
    A = random.standard_normal((5, 5))
    A = A @ A.T + np.eye(5)
    _, vectors = np.linalg.eigh(A)
    steps, changes = np.zeros((8, 5)), np.zeros((8, 5))
    steps[:5] = vectors.T
    changes[:5] = steps[:5] @ A
    gradient, step = random.standard_normal(5), np.empty(5)
    find_direction(gradient, np.diag(random.random(5) + 1.0), steps, changes, 5, np.empty(8), step)
    np.testing.assert_allclose(step, -np.linalg.solve(A, gradient), rtol=1e-12)
