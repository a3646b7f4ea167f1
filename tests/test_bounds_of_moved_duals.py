"""Bounds of rounding where duals are moved to fulfil a constraint, held against eighty digits."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from eighty_digit_losses import (
    CLASSES,
    COSTS,
    MANY,
    SINGLE,
    draw_metric,
    draw_scores,
    draw_simplex,
    draw_targets,
    draw_weights,
    entropy,
    find_share,
    grant,
    log_one_plus,
    measure_conjugate,
    name_loss,
)
from exact_numbers import ONE, ZERO, Factors, exact, many_digits

from maxmargin.model.losses import Multivariate, Poisson
from maxmargin.runtime.rounding import UNIT, bound_sum


def raise_entropy(t: Decimal, way: Decimal) -> Decimal:
    """(t + way) log(t + way) - t log t, where the two may have no digits that differ."""
    if t + way <= 0 or t == 0:
        return entropy(t + way) - entropy(t)
    return way * (t + way).ln() + t * log_one_plus(way / t)


def move_dual(loss, numbers: tuple, f: Decimal, way: Decimal) -> Decimal:
    """What conj(a) + a f changes by when a, the first of the numbers (a, y, c), moves."""
    a, y, c = numbers
    return measure_conjugate(loss, a + way, y, c) - measure_conjugate(loss, a, y, c) + way * f


def find_most_room(loss, a: np.ndarray, y: np.ndarray, c: np.ndarray) -> int:
    """The dual that is furthest from the ends of its domain."""
    shares = [find_share(loss, *map(exact, numbers)) for numbers in zip(a, y, c, strict=True)]
    if loss.name == "logistic":
        shares = [min(t, ONE - t) for t in shares]
    return max(range(len(a)), key=lambda i: shares[i] * exact(c[i]))


@pytest.mark.parametrize("loss", SINGLE, ids=name_loss)
def test_moving_the_dual_with_most_room(loss):
    """As much as the judge may ask for: the rounding of the sum of all duals, and up to a quarter of the room."""
    rng, finite = np.random.default_rng(6), 0
    with many_digits():
        for _ in range(120):
            n = int(rng.integers(1, 6))
            y, c, f = draw_targets(rng, loss, n), draw_weights(rng, n), draw_scores(rng, n)
            t = 10.0 ** rng.uniform(-3, 0, n)
            a = c * (y - t * np.maximum(y, 1.0)) if loss.name == "poisson" else c * t * y
            moved = bound_sum(n + 2) * np.abs(a).sum() * 10.0 ** rng.uniform(0, 15)
            slope = loss.terms(y, c).bound_slope(a, f, moved)
            if np.isfinite(slope):
                finite += 1
                k = find_most_room(loss, a, y, c)
                numbers = tuple(map(exact, (a[k], y[k], c[k])))
                for share in (-1.0, 1.0, rng.uniform(-1, 1)):
                    changed = move_dual(loss, numbers, exact(f[k]), exact(share) * exact(moved))
                    assert abs(changed) <= exact(moved) * grant(slope)
    assert finite > 60


@pytest.mark.parametrize("loss", SINGLE, ids=name_loss)
def test_duals_without_room_have_no_bound(loss):
    terms, a, f = loss.terms(np.ones(2), np.full(2, 3.0)), np.ones(2), np.zeros(2)
    assert terms.bound_slope(a, f, 0.0) == 0.0
    assert terms.bound_slope(a, f, 0.2) < np.inf
    assert terms.bound_slope(a, f, 0.6) == np.inf


def test_moving_the_dual_of_a_count_whose_slope_is_zero():
    """log t near zero, and a score of zero: then what t = y - a/c is off by is a large part of the slope."""
    rng, loss = np.random.default_rng(9), Poisson()
    with many_digits():
        for _ in range(200):
            c, y = draw_weights(rng, 1), np.full(1, 2.0)
            a = c * (1.0 - 6.0 * UNIT)
            moved = bound_sum(3) * float(a[0])
            slope = loss.terms(y, c).bound_slope(a, np.zeros(1), moved)
            for side in (-1, 1):
                changed = move_dual(loss, tuple(map(exact, (a[0], y[0], c[0]))), ZERO, side * exact(moved))
                assert abs(changed) <= exact(moved) * grant(slope)


@pytest.mark.parametrize("loss", MANY, ids=name_loss)
def test_moving_a_share_between_two_classes(loss):
    """From the class with the largest share to any other one, and back; also to one without a share."""
    rng, n = np.random.default_rng(10), 100
    y, c, f = rng.integers(0, CLASSES, n), draw_weights(rng, n), draw_scores(rng, CLASSES, n)
    t = draw_simplex(rng, y)
    costs = exact(np.ones_like(COSTS) if name_loss(loss) == "multiclass_hinge" else COSTS)
    moved = 10.0 ** rng.uniform(-300, -1, n) * c
    with many_digits():
        for i in range(n):
            one = slice(i, i + 1)
            terms = loss.terms(y[one].astype(float), c[one])
            slope = terms.bound_slope(-c[one] * t[:, one], f[:, one], moved[i])
            rich, weight, way = int(t[:, i].argmax()), exact(c[i]), exact(moved[i])
            for poor in np.delete(np.arange(CLASSES), rich):
                ends = (rich, -1), (poor, 1)
                changed = way * (exact(f[poor, i]) - exact(f[rich, i]))
                if loss.name == "softmax":
                    taken, given = (raise_entropy(exact(t[k, i]), side * way / weight) for k, side in ends)
                    changed = -changed + weight * (taken + given)
                else:
                    price = np.where(np.arange(CLASSES) == y[i], ZERO, costs[y[i]])
                    changed += way * (price[poor] - price[rich])
                assert abs(changed) <= way * grant(slope)


@pytest.mark.parametrize("condition", [1.0, 30.0, 1e6])
def test_moving_a_component_of_a_vector(condition):
    """By a rounding of the duals, in the sample with the largest weight, any component either way."""
    rng, n, k = np.random.default_rng(11), 5, 3
    with many_digits():
        for _ in range(20):
            loss = Multivariate(draw_metric(rng, k, condition))
            c, y, f = draw_weights(rng, n), rng.normal(size=(k, n)), draw_scores(rng, k, n)
            terms = loss.terms(y, c)
            a = c * (loss.M @ rng.normal(size=(k, n)))
            moved = bound_sum(k + 8) * float(np.abs(a).sum())
            slope = terms.bound_slope(a, f, moved)
            factors, i, way = Factors(exact(loss.M)), int(c.argmax()), exact(moved)
            inner = factors.solve(exact(a[:, i])) / exact(c[i])
            for j, side in product(range(k), (-1, 1)):
                unit = exact(np.eye(k)[j])
                bend = way * way * (unit @ factors.solve(unit)) / (2 * exact(c[i]))
                changed = side * way * (inner[j] - exact(y[j, i]) + exact(f[j, i])) + bend
                assert abs(changed) <= way * grant(slope)
