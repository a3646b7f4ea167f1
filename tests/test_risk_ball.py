"""The smallest ball around samples in feature space."""

from __future__ import annotations

import numpy as np
import pytest
from risk_machines import find_radius_square
from textbook import make_data
from time_allowances import HANG_SECONDS

from maxmargin.guarantees.risk.ball import find_smallest_ball
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.runtime.interrupt import Interrupt


def enclose_all(kernel, X, stretch: float = 0.0):
    """The ball around the rows of X."""
    n = len(X)
    gram, stretches, counted = Gram.from_data(kernel, X), np.full(n, stretch), np.ones(n, bool)
    return find_smallest_ball(gram, stretches, counted, max_seconds=HANG_SECONDS, interrupt=Interrupt())


@pytest.mark.parametrize("stretch", [0.0, 0.4])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.1), RBF(3.0)], ids=["linear", "wide", "narrow"])
def test_ball_is_the_smallest(kernel, stretch):
    """The squared radius of cvxopt, from above and to six digits, with a certificate."""
    X = make_data("SVC", n=40)[0]
    ball = enclose_all(kernel, X, stretch)
    bound = kernel.bind(X)
    samples = bound.samples(X)
    expected = find_radius_square(bound.evaluate(samples, samples) + stretch * np.eye(40))
    assert ball.radius_square == pytest.approx(expected, rel=2e-6)
    assert ball.radius_square >= expected * (1 - 1e-9)
    assert ball.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("X", [np.ones((1, 2)), np.ones((5, 2)), 1e4 + np.ones((5, 2))], ids=["one", "same", "far"])
def test_ball_of_a_point_has_no_radius(X):
    """One sample, or the same sample many times; from above, so that the rounding of |x|^2 is allowed for."""
    assert 0.0 <= enclose_all(Linear(), X).radius_square <= 1e-7 + 2e-14 * np.square(X[0]).sum()


def test_ball_of_two_points_is_half_way():
    """R = |x - z| / 2."""
    X = np.array([[0.0, 0.0], [6.0, 8.0]])
    assert enclose_all(Linear(), X).radius_square == pytest.approx(25.0, rel=1e-6)
