"""Exponentials and hyperbolic tangents in twice the precision, held against eighty digits."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from eighty_digit_losses import SMALL
from exact_numbers import ONE, exact, many_digits

from maxmargin.compiled.compiler import njit
from maxmargin.compiled.double_double import EXP_ERROR, TANH_ERROR, exp_double, tanh_double
from maxmargin.compiled.lanes import load, store
from maxmargin.runtime.rounding import UNIT


@njit(nogil=True, error_model="numpy")
def evaluate_lanes(high, low, value, rest, hyperbolic):
    """exp or tanh of vectors of eight numbers."""
    for k in range(np.uintp(0), np.uintp(high.shape[0]), np.uintp(8)):
        x, y = load(high, k), load(low, k)
        if hyperbolic:
            a, b = tanh_double(x, y)
        else:
            a, b = exp_double(x, y)
        store(value, k, a)
        store(rest, k, b)


def evaluate_pairs(high: np.ndarray, low: np.ndarray, hyperbolic: bool) -> list[Decimal]:
    """exp(high + low) or tanh(high + low), both parts added exactly; vectors must be full."""
    assert len(high) % 8 == 0
    value, rest = np.empty_like(high), np.empty_like(high)
    evaluate_lanes(high, low, value, rest, hyperbolic)
    return list(exact(value) + exact(rest))


def draw_arguments(seed: int, most: float) -> tuple[np.ndarray, np.ndarray]:
    """Near zero, subnormal, near multiples of log(2) / 2, near 1/16, and anywhere up to `most`; and low parts."""
    rng, n = np.random.default_rng(seed), 640
    signs = rng.choice([-1.0, 1.0], (3, n))
    high = np.concatenate([
        rng.uniform(-1, 1, n), signs[0] * 10.0 ** rng.uniform(-323, 0, n), rng.uniform(-most, most, n),
        signs[1] * np.minimum(0.5 * np.log(2.0) * rng.integers(0, 2020, n) * (1.0 + 1e-12 * rng.normal(size=n)), most),
        signs[2] * 0.0625 * (1.0 + rng.choice([0.0, UNIT, 1e-3, 0.1], n) * rng.normal(size=n)),
        np.array([0.0, -0.0, 5e-324, -5e-324, most, -most, 0.0625, -0.0625]),
    ])  # fmt: skip
    return high, UNIT * high * rng.choice([0.0, 1.0, -1.0, rng.random()], len(high))


def test_exponentials_in_twice_the_precision():
    high, low = draw_arguments(12, 699.9)
    with many_digits(50):
        for x, value in zip(exact(high) + exact(low), evaluate_pairs(high, low, False), strict=True):
            assert abs(value - x.exp()) <= Decimal(EXP_ERROR) * x.exp()


def test_exponentials_beyond_their_range_are_cut_off():
    """exp(-700) is a normal number, with a rest that is not; no argument gives less, or more than exp(700)."""
    high = np.array([-700.0, -700.1, -745.0, -1e5, -np.inf, 700.0, 710.0, np.inf])
    with many_digits(50):
        found = evaluate_pairs(high, np.zeros(8), False)
        for value, end in zip(found, [-700] * 5 + [700] * 3, strict=True):
            assert abs(value - Decimal(end).exp()) <= Decimal(EXP_ERROR) * Decimal(end).exp()


def test_hyperbolic_tangents_in_twice_the_precision():
    high, low = draw_arguments(13, 400.0)
    with many_digits(50):
        for x, value in zip(exact(high) + exact(low), evaluate_pairs(high, low, True), strict=True):
            power = (-2 * abs(x)).exp()
            truth = (ONE - power) / (ONE + power) if abs(x) > SMALL else abs(x) - abs(x) ** 3 / 3
            assert abs(value - truth.copy_sign(x)) <= Decimal(TANH_ERROR) * truth
