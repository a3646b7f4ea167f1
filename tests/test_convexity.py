"""Definitions 1 to 5 of Meoli (2021): convexity, strong convexity and smoothness of the machines' objectives."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from maxmargin.model.losses import LOSSES

C = 0.4
OBJECTIVES = ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"]
SMOOTH = ["squared_hinge", "squared_epsilon_insensitive"]
N_PAIRS = 200


@cache
def draw_data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Samples with a constant feature, and labels or targets."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(30, 3)), np.ones(30)])
    signal = X @ [1.0, -1.0, 0.5, 0.2] + rng.normal(size=30)
    return X, np.where(signal > 0, 1.0, -1.0) if "hinge" in name else signal


def evaluate(name: str, w: np.ndarray, ridge: float = 1.0) -> float:
    """P(w) = ridge/2 |w|^2 + C sum_i l(<w, x_i>; y_i)."""
    X, y = draw_data(name)
    return 0.5 * ridge * w @ w + C * LOSSES[name]().value(X @ w, y).sum()


def differentiate(name: str, w: np.ndarray) -> np.ndarray:
    """A subgradient of P."""
    X, y = draw_data(name)
    low, high = LOSSES[name]().subgradient(X @ w, y)
    return w + C * X.T @ (0.5 * (low + high))


def draw_pairs() -> np.ndarray:
    """Pairs of points of the space of w."""
    return np.random.default_rng(1).normal(size=(N_PAIRS, 2, 4))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_definition_1_chords_lie_above(name):
    """P(s u + (1 - s) v) <= s P(u) + (1 - s) P(v)."""
    for (u, v), s in zip(draw_pairs(), np.random.default_rng(2).uniform(size=N_PAIRS), strict=True):
        assert evaluate(name, s * u + (1 - s) * v) <= s * evaluate(name, u) + (1 - s) * evaluate(name, v) + 1e-12


@pytest.mark.parametrize("name", OBJECTIVES)
def test_definition_2_tangents_lie_below(name):
    """P(u) >= P(v) + <g(v), u - v>; with kinks, for a subgradient g."""
    for u, v in draw_pairs():
        assert evaluate(name, u) >= evaluate(name, v) + differentiate(name, v) @ (u - v) - 1e-12


@pytest.mark.parametrize("name", SMOOTH)
def test_definition_3_hessians_are_positive_semidefinite(name):
    """The Hessian, by differences of the gradient, is I + 2C sum x x' over the samples with a loss."""
    X, y = draw_data(name)
    for w in draw_pairs()[:20, 0]:
        h = 1e-6
        hessian = np.array(
            [(differentiate(name, w + h * e) - differentiate(name, w - h * e)) / (2 * h) for e in np.eye(4)]
        )
        active = X[LOSSES[name]().value(X @ w, y) > 0]
        np.testing.assert_allclose(hessian, np.eye(4) + 2 * C * active.T @ active, atol=1e-5)
        assert np.linalg.eigvalsh(0.5 * (hessian + hessian.T)).min() >= 1.0 - 1e-5


@pytest.mark.parametrize("name", OBJECTIVES)
def test_definition_4_the_regulariser_makes_it_strongly_convex(name):
    """P - 1/2 |w|^2 is convex, and P(u) >= P(v) + <g(v), u - v> + 1/2 |u - v|^2: mu = 1."""
    for u, v in draw_pairs():
        middle = evaluate(name, 0.5 * (u + v), ridge=0.0)
        assert middle <= 0.5 * (evaluate(name, u, ridge=0.0) + evaluate(name, v, ridge=0.0)) + 1e-12
        tangent = evaluate(name, v) + differentiate(name, v) @ (u - v)
        assert evaluate(name, u) >= tangent + 0.5 * np.sum((u - v) ** 2) - 1e-12


@pytest.mark.parametrize("name", SMOOTH)
def test_definition_5_gradients_change_at_most_at_the_rate_l(name):
    """|g(u) - g(v)| <= L |u - v| with L = 1 + 2C times the largest eigenvalue of X'X; never strictly where u = v."""
    X, _ = draw_data(name)
    L = 1.0 + 2.0 * C * np.linalg.eigvalsh(X.T @ X)[-1]
    for u, v in draw_pairs():
        change = np.linalg.norm(differentiate(name, u) - differentiate(name, v))
        assert change <= L * np.linalg.norm(u - v) * (1.0 + 1e-12)


@pytest.mark.parametrize("name", ["hinge", "epsilon_insensitive"])
def test_kinks_have_no_l(name):
    """Across a kink the subgradient jumps: the change over the distance grows without bound."""
    loss, y = LOSSES[name](), np.array([1.0])
    kink = 1.0 if name == "hinge" else 1.0 + loss.epsilon
    rates = [
        abs(loss.subgradient(np.array([kink + h]), y)[0][0] - loss.subgradient(np.array([kink - h]), y)[0][0]) / (2 * h)
        for h in (1e-2, 1e-4, 1e-6)
    ]
    assert rates[1] > 50 * rates[0]
    assert rates[2] > 50 * rates[1]


@pytest.mark.parametrize("name", SMOOTH)
def test_squared_losses_are_not_strictly_convex(name):
    """Meoli (2021) says that they are: between two scores without a loss they are flat."""
    loss, y = LOSSES[name](), np.array([1.0])
    scores = (2.0, 4.0) if name == "squared_hinge" else (1.0 - 0.5 * loss.epsilon, 1.0 + 0.5 * loss.epsilon)
    ends = [loss.value(np.array([f]), y)[0] for f in scores]
    assert loss.value(np.array([np.mean(scores)]), y)[0] == 0.5 * sum(ends) == 0.0
