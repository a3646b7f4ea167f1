"""The reference that other tests are held against: exact where the answer is known in closed form, or refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_programs import OPTIMUM_TOLERANCE, measure, solve_exactly


@pytest.mark.parametrize("seed", range(5))
def test_projections_are_exact(seed):
    """The nearest x >= 0 to t is max(t, 0); where t is zero both the constraint and its multiplier vanish."""
    t = np.random.default_rng(seed).normal(size=12)
    t[:3] = 0.0
    found = solve_exactly(np.eye(12), -t, -np.eye(12), np.zeros(12))
    np.testing.assert_allclose(found.x, np.maximum(t, 0.0), atol=1e-15)
    np.testing.assert_allclose(found.z, np.maximum(-t, 0.0), atol=1e-15)
    assert found.value == pytest.approx(float(-sum(Fraction(each) ** 2 for each in t if each > 0) / 2), rel=1e-15)


def test_linear_programs_are_exact():
    """The largest of q on the simplex, which two of them share."""
    q = np.array([0.3, 0.7, -1.0, 0.7])
    found = solve_exactly(np.zeros((4, 4)), -q, -np.eye(4), np.zeros(4), np.ones((1, 4)), np.ones(1))
    assert found.value == pytest.approx(-0.7, rel=1e-15)
    assert found.error <= 1e-13


@pytest.mark.parametrize("blur", [1e-9, 1e-6, 1e-3])
def test_the_error_is_a_bound(blur):
    """Whatever point is measured, the optimum is within its error; away from the optimum that is no longer sharp."""
    rng = np.random.default_rng(3)
    G, h = rng.normal(size=(20, 4)), rng.uniform(0.1, 1.0, 20)
    parts = np.eye(4), rng.normal(size=4), G, h, np.zeros((0, 4)), np.zeros(0)
    exact = solve_exactly(*parts[:4])
    for _ in range(50):
        rough = measure(*parts, exact.x + blur * rng.normal(size=4), exact.z + blur * rng.normal(size=20), exact.y)
        assert abs(rough.value - exact.value) <= rough.error
        assert rough.error > OPTIMUM_TOLERANCE * abs(exact.value)
