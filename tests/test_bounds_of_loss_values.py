"""Bounds of rounding in the values of losses, held against eighty digits."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from eighty_digit_losses import (
    CLASSES,
    COSTS,
    MANY,
    SINGLE,
    draw_metric,
    draw_scores,
    draw_targets,
    draw_weights,
    grant,
    log_one_plus,
    name_loss,
)
from exact_numbers import ZERO, exact, many_digits

from maxmargin.model.losses import Exponential, Multivariate, Poisson
from maxmargin.runtime.rounding import UNIT


def exponentials(gaps: list[Decimal]) -> Decimal:
    """log(1 + sum_k exp(g_k))."""
    top = max(gaps)
    if top <= 0:
        return log_one_plus(sum(gap.exp() for gap in gaps))
    return top + ((-top).exp() + sum((gap - top).exp() for gap in gaps)).ln()


def measure_loss(loss, f, y, c: Decimal) -> Decimal:
    """c l(f; y) of one sample; with many scores f is an array, and y a class or an array."""
    if loss.name == "logistic":
        return c * exponentials([-y * f])
    if loss.name == "exponential":
        return c * (-y * f).exp()
    if loss.name == "poisson":
        return c * (f.exp() - y * f)
    if loss.name == "multivariate":
        return c * (f - y) @ exact(loss.M) @ (f - y) / 2
    others = [k for k in range(len(f)) if k != y]
    if loss.name == "softmax":
        return c * exponentials([f[k] - f[y] for k in others])
    costs, scales = (exact(np.ones_like(COSTS) if part is None else part)[y] for part in vars(loss).values())
    return c * max(ZERO, *(scales[k] * (f[k] - f[y] + costs[k]) for k in others))


def draw_widths(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
    """How far scores may be off: not at all, by a rounding, or by up to 10."""
    wide = 10.0 ** rng.uniform(-16, 1, f.shape)
    return rng.choice([0.0, 1.0, 1.0], f.shape) * np.where(rng.random(f.shape[-1]) < 0.4, UNIT * np.abs(f), wide)


@pytest.mark.parametrize("loss", SINGLE, ids=name_loss)
def test_values_at_scores_that_are_off(loss):
    """c l of one score, anywhere in an interval around the score it was evaluated at."""
    rng, n = np.random.default_rng(0), 250
    f, y, c = draw_scores(rng, n), draw_targets(rng, loss, n), draw_weights(rng, n)
    wide, places = draw_widths(rng, f), [(-1.0, 0.0, 1.0, *rng.uniform(-1, 1, 2)) for _ in range(n)]
    terms = loss.terms(y, c)
    values, bounds = terms.value(f), terms.bound_value_error(f, wide)
    counted = np.flatnonzero(np.isfinite(bounds) & (bounds < 1e300))
    assert len(counted) > 0.95 * n
    with many_digits():
        for i in counted:
            for place in places[i]:
                at = exact(f[i]) + exact(place) * exact(wide[i])
                off = measure_loss(loss, at, exact(y[i]), exact(c[i])) - exact(values[i])
                assert abs(off) <= grant(bounds[i])


@pytest.mark.parametrize("loss", MANY, ids=name_loss)
def test_values_of_many_scores_that_are_off(loss):
    """At corners of the box of scores, at those where the loss is largest and least among them, and inside."""
    rng, n = np.random.default_rng(1), 100
    f, c, y = draw_scores(rng, CLASSES, n), draw_weights(rng, n), rng.integers(0, CLASSES, n)
    wide = draw_widths(rng, f)
    terms = loss.terms(y.astype(float), c)
    values, bounds = terms.value(f), terms.bound_value_error(f, wide)
    with many_digits():
        for i in range(n):
            against = np.where(np.arange(CLASSES) == y[i], -1.0, 1.0)
            sides = (0.0 * against, against, -against, rng.choice([-1.0, 1.0], CLASSES), rng.uniform(-1, 1, CLASSES))
            for side in sides:
                at = exact(f[:, i]) + exact(side) * exact(wide[:, i])
                assert abs(measure_loss(loss, at, y[i], exact(c[i])) - exact(values[i])) <= grant(bounds[i])


@pytest.mark.parametrize("condition", [1.0, 30.0, 1e6])
def test_values_of_vectors_that_are_off(condition):
    """Targets of several numbers, near to the scores or far from them."""
    rng, n, k = np.random.default_rng(2), 40, 3
    loss = Multivariate(draw_metric(rng, k, condition))
    f, c = draw_scores(rng, k, n), draw_weights(rng, n)
    y = np.where(rng.random(n) < 0.5, f * (1.0 + 1e-9 * rng.normal(size=(k, n))), 100.0 * rng.normal(size=(k, n)))
    wide = draw_widths(rng, f)
    terms = loss.terms(y, c)
    values, bounds = terms.value(f), terms.bound_value_error(f, wide)
    with many_digits():
        for i in range(n):
            uphill = np.sign(loss.M @ (f[:, i] - y[:, i]))
            for side in (np.zeros(k), uphill, -uphill, rng.choice([-1.0, 1.0], k), rng.uniform(-1, 1, k)):
                at = exact(f[:, i]) + exact(side) * exact(wide[:, i])
                assert abs(measure_loss(loss, at, exact(y[:, i]), exact(c[i])) - exact(values[i])) <= grant(bounds[i])


@pytest.mark.parametrize("loss", [Exponential(), Poisson()], ids=name_loss)
def test_bounds_that_overflow_are_infinite(loss):
    """exp(800) is 1e347: a finite bound would be wrong."""
    terms = loss.terms(np.ones(1), np.full(1, 1e-3))
    assert terms.bound_value_error(np.zeros(1), np.full(1, 800.0))[0] == np.inf
