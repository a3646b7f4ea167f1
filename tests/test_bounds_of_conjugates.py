"""Bounds of rounding in the conjugates of losses, held against eighty digits."""

from __future__ import annotations

import numpy as np
import pytest
from eighty_digit_losses import (
    CLASSES,
    COSTS,
    MANY,
    SCALES,
    SINGLE,
    draw_metric,
    draw_simplex,
    draw_targets,
    draw_weights,
    entropy,
    find_share,
    grant,
    measure_conjugate,
    name_loss,
)
from exact_numbers import ONE, ZERO, Factors, exact, many_digits, total

from maxmargin.model.losses import Multivariate, Poisson
from maxmargin.runtime.rounding import UNIT


def draw_shares(rng: np.random.Generator, n: int) -> np.ndarray:
    """Between 0 and 1: inside, near to an end, a rounding from 1, and at an end."""
    kinds = [
        rng.random(n), 10.0 ** rng.uniform(-290, 0, n), 1.0 - 10.0 ** rng.uniform(-16, 0, n), np.zeros(n), np.ones(n),
        1.0 - UNIT * rng.integers(0, 4, n),
    ]  # fmt: skip
    return np.choose(rng.integers(0, len(kinds), n), kinds)


def draw_duals(rng: np.random.Generator, loss, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Duals of a loss of one score, within their domain up to rounding."""
    t = draw_shares(rng, len(y))
    if loss.name == "logistic":
        return c * t * y
    large = t * 10.0 ** rng.uniform(0, 250 if loss.name == "exponential" else 4, len(y))
    if loss.name == "exponential":
        return c * np.where(rng.random(len(y)) < 0.3, large, t) * y
    return np.where(rng.random(len(y)) < 0.5, c * (y - large), c * (y * t))


def list_conjugates(loss, seed: int, n: int):
    """(exact share, conjugate as computed, exactly, and the bound) of duals that are in their domain exactly."""
    rng = np.random.default_rng(seed)
    y, c = draw_targets(rng, loss, n), draw_weights(rng, n)
    a = draw_duals(rng, loss, y, c)
    terms = loss.terms(y, c)
    for i, (value, bound) in enumerate(zip(terms.conjugate(a), terms.bound_conjugate_error(a), strict=True)):
        numbers = exact(a[i]), exact(y[i]), exact(c[i])
        t = find_share(loss, *numbers)
        if t >= 0 and (t <= 1 or loss.name != "logistic") and np.isfinite(value):  # an infinite one makes no claim
            yield t, exact(value), measure_conjugate(loss, *numbers), bound


@pytest.mark.parametrize("loss", SINGLE, ids=name_loss)
def test_conjugates_inside_their_domain_and_at_its_ends(loss):
    with many_digits():
        found = list(list_conjugates(loss, 3, 1000))
        assert len(found) > 900
        assert sum(t == 0 for t, *_ in found) > 50
        for _, value, truth, bound in found:
            if loss.name != "poisson" or bound > 0:  # where it is zero, see the next test
                assert abs(value - truth) <= grant(bound)


def test_conjugates_of_counts_that_are_used_up():
    """t = y - a/c of about 1e-16 y, computed as 0: the conjugate is off by c t (1 - log t)."""
    with many_digits():
        for t, value, truth, bound in list_conjugates(Poisson(), 3, 1000):
            if bound == 0:
                assert abs(value - truth) <= grant(bound), t


@pytest.mark.parametrize("loss", MANY, ids=name_loss)
def test_conjugates_of_many_scores(loss):
    """The dual of a sample's own class is minus the sum of the others, which float64 has up to rounding."""
    rng, n = np.random.default_rng(4), 300
    y, c = rng.integers(0, CLASSES, n), draw_weights(rng, n)
    terms = loss.terms(y.astype(float), c)
    scales = 1.0 if name_loss(loss) in ("softmax", "multiclass_hinge") else SCALES[y].T
    a = terms.repair(-c * draw_simplex(rng, y) * scales, None)
    values, bounds = terms.conjugate(a), terms.bound_conjugate_error(a)
    costs = exact(np.ones_like(COSTS) if name_loss(loss) == "multiclass_hinge" else COSTS)
    with many_digits():
        for i in range(n):
            others = np.delete(np.arange(CLASSES), y[i])
            duals, weight = exact(a[others, i]), exact(c[i])
            truth = total(duals * costs[y[i], others])
            if loss.name == "softmax":
                rest = max(ONE + total(duals) / weight, ZERO)  # below zero by a rounding at a corner
                truth = weight * sum((entropy(-dual / weight) for dual in duals), entropy(rest))
            assert abs(exact(values[i]) - truth) <= grant(bounds[i])


@pytest.mark.parametrize("condition", [1.0, 30.0, 1e4, 1e8, 1e11])
def test_conjugates_of_vectors(condition):
    """a' M^-1 a with the exact inverse of M, however near to singular M is."""
    rng, n, k = np.random.default_rng(5), 30, 3
    loss = Multivariate(draw_metric(rng, k, condition))
    c, y = draw_weights(rng, n), rng.normal(size=(k, n)) * rng.choice([0.0, 1.0, 1e3], n)
    a = np.where(rng.random(n) < 0.5, c * rng.normal(size=(k, n)), c * (loss.M @ rng.normal(size=(k, n))))
    terms = loss.terms(y, c)
    values, bounds = terms.conjugate(a), terms.bound_conjugate_error(a)
    with many_digits():
        factors = Factors(exact(loss.M))
        for i in range(n):
            dual = exact(a[:, i])
            truth = dual @ factors.solve(dual) / (2 * exact(c[i])) - dual @ exact(y[:, i])
            assert abs(exact(values[i]) - truth) <= grant(bounds[i])
