"""Rows that a small problem has more than once are solved as one, with the sum of their weights."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import LinearSVR, RiskClassifier, RiskRegressor
from maxmargin.solvers.newton import together
from maxmargin.solvers.newton.repeated_rows import balance, find_repeated_rows

RNG = np.random.default_rng(3)
X = RNG.normal(size=(15, 6)) + 2.0
TIMES = RNG.integers(1, 6, 15)
TARGET = RNG.normal(size=15)
CLASSES = RNG.permutation(np.arange(15) % 3)
MACHINES = {
    "hinge": (RiskClassifier("hinge"), CLASSES),
    "hinge, w alone": (RiskClassifier("hinge", intercept="none"), CLASSES),
    "epsilon": (LinearSVR(epsilon=0.3), TARGET),
    "absolute": (RiskRegressor("absolute"), TARGET),
    "quantile": (RiskRegressor("quantile", quantile=0.3), TARGET),
}


def decide(model, rows):
    """f."""
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("name", MACHINES)
def test_weights_and_repeated_rows_have_the_same_digits(name, C):
    """At the default tol, whatever their order; and every dual is the same share of its bound."""
    model, y = MACHINES[name]
    model.set_params(C=C)
    order = RNG.permutation(TIMES.sum())
    weighted = decide(model.fit(X, y, sample_weight=TIMES), X)
    repeated = decide(model.fit(X.repeat(TIMES, axis=0)[order], y.repeat(TIMES)[order]), X)
    certificates = getattr(model, "certificates_", [model.certificate_])
    assert all(each.relative_gap <= model.tol for each in certificates)
    np.testing.assert_allclose(repeated, weighted, rtol=1e-9, atol=1e-9 * np.abs(weighted).max())


def test_without_repeated_rows_nothing_changes(monkeypatch):
    """The same bits as without looking for them."""
    model, y = MACHINES["hinge"]
    found = decide(model.fit(X, y), X)
    monkeypatch.setattr(together, "find_repeated_rows", lambda *arguments: None)
    np.testing.assert_array_equal(decide(model.fit(X, y), X), found)


def test_rows_are_the_same_if_all_their_numbers_are():
    """Features, targets of every problem, and flat parts; zeros of either sign are one number."""
    Z = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0], [-0.0, 1.0], [1.0, 2.0]])
    p, e = np.array([[1.0, 1.0, 1.0, 1.0, -1.0]] * 2), np.zeros((2, 5))
    rows = find_repeated_rows(Z, p, e)
    kinds = {frozenset(np.flatnonzero(rows.kinds == kind)) for kind in range(len(rows.starts))}
    assert kinds == {frozenset({0, 2}), frozenset({1, 3}), frozenset({4})}
    np.testing.assert_array_equal(rows.choose(p[0])[rows.kinds], p[0])
    np.testing.assert_array_equal(rows.add(np.arange(5.0))[rows.kinds], [2.0, 4.0, 2.0, 4.0, 4.0])
    p[1, 2] = e[0, 3] = 0.5
    assert find_repeated_rows(Z, p, e) is None
    assert find_repeated_rows(Z[:1], p[:, :1], e[:, :1]) is None


def test_duals_are_shared_in_proportion_to_their_bounds():
    """None beyond its bound, none where the bound is zero; and their sum is that of before."""
    Z, p = np.ones((4, 2)), np.ones((1, 4))
    rows, bounds = find_repeated_rows(Z, p, 0.0 * p), np.array([[1.0, 0.0, 2.0, 5.0]])
    np.testing.assert_allclose(rows.spread(np.array([[4.0]]), bounds, rows.add(bounds)), [[0.5, 0.0, 1.0, 2.5]])
    np.testing.assert_array_equal(rows.spread(np.zeros((1, 1)), 0.0 * bounds, np.zeros((1, 1))), np.zeros((1, 4)))


def test_what_rounding_has_left_of_a_sum():
    """The dual with most room takes it up; one that has no room is left."""
    a, hi = np.array([[0.1, 0.2, -0.3 - 1e-12], [1.0, 1.0, -1.0]]), np.ones((2, 3))
    balance(a, -hi, hi)
    assert abs(a[0].sum()) < 1e-16
    np.testing.assert_array_equal(a[1], [1.0, 1.0, -1.0])
