"""The mean of cuts as a lower bound, held against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from eighty_digit_losses import solve_exactly, write_fractions

from maxmargin.solvers.bundle.cuts import Cuts
from maxmargin.solvers.bundle.model import Model, Step, flatten_mean


def draw_cuts(rng: np.random.Generator, m: int, d: int, flat: int) -> tuple[Cuts, np.ndarray]:
    """Cuts and weights; in the last `flat` coordinates the mean is flat to rounding."""
    blocks = (slice(0, d - flat), slice(d - flat, d))
    cuts, weights = Cuts(d, blocks), rng.dirichlet(np.ones(m))
    slopes = rng.normal(size=(m, d)) * 10.0 ** rng.uniform(-4, 4, d)
    slopes[-1, d - flat :] = -(weights[:-1] @ slopes[:-1, d - flat :]) / weights[-1]
    for slope, offset in zip(slopes, 10.0 ** rng.uniform(-2, 4) * rng.normal(size=m), strict=True):
        cuts.add(slope, float(offset))
    cuts.factor = float(rng.choice([1.0, 0.3, 1e4]))
    return cuts, weights


def flatten_exactly(slopes: np.ndarray, weights: np.ndarray, moved: np.ndarray) -> list[Fraction]:
    """The weights, of which those that may move are such that the mean is flat and all sum to one."""
    columns = write_fractions(np.column_stack([slopes, np.ones(len(slopes))]))
    kept, shares = np.flatnonzero(moved), [Fraction(float(weight)) for weight in weights]
    aim = [Fraction(0)] * slopes.shape[1] + [Fraction(1)]
    fixed = [k for k in range(len(shares)) if k not in kept]
    left = [goal - sum(shares[k] * columns[k][j] for k in fixed) for j, goal in enumerate(aim)]
    for k, share in zip(
        kept, solve_exactly([[columns[k][j] for k in kept] for j in range(len(aim))], left), strict=True
    ):
        shares[k] = share
    return shares


@pytest.mark.parametrize("flat", [1, 2, 3])
def test_weights_near_those_found_make_the_mean_flat(flat):
    rng, found = np.random.default_rng(20 + flat), 0
    for _ in range(40):
        cuts, weights = draw_cuts(rng, int(rng.integers(flat + 1, flat + 6)), flat + 1, flat)
        slopes = cuts.slopes[:, 1:]
        answer = flatten_mean(slopes, weights)
        if answer is not None:
            found += 1
            near, extra = answer
            assert np.count_nonzero(extra) == flat + 1
            for share, weight, width in zip(flatten_exactly(slopes, near, extra), near, extra, strict=True):
                assert share >= 0
                assert abs(share - Fraction(float(weight))) <= Fraction(float(width))
            assert extra.max() <= 1e-6
    assert found > 25


def test_no_weights_make_a_mean_flat_that_only_rises():
    slopes = np.array([[1.0], [2.0], [0.5]])
    assert flatten_mean(slopes, np.full(3, 1.0 / 3.0)) is None
    assert flatten_mean(slopes, np.array([1.0, 0.0, 0.0])) is None


BOXES = {
    "ridge": ((0.7, 1e-3), False),
    "box": ((0.0, 0.0), True),
    "ridge and box": ((0.7, 0.0), True),
    "flat": ((0.7, 0.0), False),
}


def minimise_exactly(cuts: Cuts, shares: list[Fraction], ridges: list[Fraction], lo, hi) -> Fraction:
    """min over the box of the mean of the cuts plus ridge/2 |x|^2, coordinate by coordinate."""
    factor = Fraction(cuts.factor)
    least = factor * sum(share * Fraction(float(offset)) for share, offset in zip(shares, cuts.offsets, strict=True))
    for column, ridge, low, high in zip(write_fractions(cuts.slopes.T), ridges, lo, hi, strict=True):
        slope = factor * sum(share * value for share, value in zip(shares, column, strict=True))
        ends = [Fraction(float(end)) for end in (low, high) if np.isfinite(end)]
        if ridge:
            place = -slope / ridge
            ends = [min(max(place, *ends[:1]), *ends[1:])] if ends else [place]
        least += min((slope * x + ridge * x * x / 2 for x in ends), default=Fraction(0))
        assert ends or slope == 0
    return least


@pytest.mark.parametrize("kind", BOXES)
def test_the_mean_of_cuts_bounds_the_model_from_below(kind):
    """The bound is near the exact minimum of a mean, and no value of the model is below it."""
    (ridges, boxed), rng, found = BOXES[kind], np.random.default_rng(30), 0
    for _ in range(40):
        cuts, weights = draw_cuts(rng, 6, 3, 1)
        lo, hi = (-rng.random(3), rng.random(3)) if boxed else (np.full(3, -np.inf), np.full(3, np.inf))
        model = Model(cuts, ridges, lo if boxed else None, hi if boxed else None)
        bound = model.bound(Step(np.zeros(3), weights, cuts.combine(weights), 0.0))
        if not np.isfinite(bound.value):
            continue
        found += 1
        shares = [Fraction(float(weight)) for weight in weights]
        shares = [share / sum(shares) for share in shares]
        if kind == "flat":
            shares = flatten_exactly(cuts.slopes[:, 2:], *flatten_mean(cuts.slopes[:, 2:], weights))
        each = [Fraction(ridges[0])] * 2 + [Fraction(ridges[1])]
        least = minimise_exactly(cuts, shares, each, lo, hi)
        assert abs(least - Fraction(bound.value)) <= Fraction(bound.error)
        assert Fraction(float(bound.low)) <= least
        for _ in range(5):
            x = [Fraction(float(value)) for value in np.clip(rng.normal(size=3), lo, hi)]
            heights = [
                Fraction(float(offset)) + sum(slope * value for slope, value in zip(row, x, strict=True))
                for row, offset in zip(write_fractions(cuts.slopes), cuts.offsets, strict=True)
            ]
            curved = sum(ridge * value * value / 2 for ridge, value in zip(each, x, strict=True))
            assert Fraction(float(bound.low)) <= Fraction(cuts.factor) * max(heights) + curved
    assert found > 25
