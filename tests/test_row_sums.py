"""The compiled pass of the judge beside exact rational numbers: at bounds, near kinks, and with scores that are off."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from maxmargin.certificates.term_sums import RowSums
from maxmargin.compiled.row_sums import add_exponents, judge_rows
from maxmargin.model.losses import EpsilonInsensitive, Hinge, Huber, LeastSquares, Quantile, SquaredEpsilonInsensitive
from maxmargin.model.losses import SquaredHinge as Squared

LOSSES = [
    Hinge(), Squared(), EpsilonInsensitive(0.25), SquaredEpsilonInsensitive(0.25), Quantile(0.3), Huber(0.5),
    LeastSquares(),
]  # fmt: skip


def draw_rows(loss, seed: int):
    """Rows, duals at their bounds or between, and scores at a kink, near one, or anywhere."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0) if loss.target == "label" else rng.normal(size=n)
    row = loss.row(y, 10.0 ** rng.uniform(-3, 3, n))
    row = type(row)(*(np.ascontiguousarray(np.broadcast_to(part, n), float) for part in row))
    low, high = np.maximum(row.lo, -10.0), np.minimum(row.hi, 10.0)
    share = rng.choice([0.0, 0.5, 1.0], n) * rng.choice([1.0, rng.random()], n)
    a = np.where(rng.random(n) < 0.3, 0.0, np.clip(low + share * (high - low), low, high))
    kink = -row.p + rng.choice([-1.0, 1.0], n) * row.e
    errors = 10.0 ** rng.uniform(-17, -1, n) * (rng.random(n) < 0.8)
    s = kink + rng.choice([0.0, 1.0, -1.0, 0.5], n) * errors + np.where(rng.random(n) < 0.4, rng.normal(size=n), 0.0)
    return row, a, s, errors


def measure_exactly(row: list[Fraction], f: Fraction, a: Fraction) -> tuple[Fraction, Fraction]:
    """c l(f) = max over t of -t f - conj(t), and conj(a), from p, d, e, lo and hi."""
    p, d, e, lo, hi = row

    def conjugate(t: Fraction) -> Fraction:
        return p * t + d * t * t / 2 + e * abs(t)

    ends = [end for end in (lo, hi) if end is not None]
    candidates = [Fraction(0), *ends]
    if d > 0:
        candidates += [(-f - p - e) / d, (-f - p + e) / d]
    inside = [t for t in candidates if (lo is None or t >= lo) and (hi is None or t <= hi)]
    return max(-t * f - conjugate(t) for t in inside), conjugate(a)


def write_exactly(row) -> list[list[Fraction | None]]:
    """The five numbers of every row, None where a bound is infinite."""
    return [[Fraction(float(part)) if np.isfinite(part) else None for part in each] for each in zip(*row, strict=True)]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_sums_hold_in_exact_arithmetic(loss):
    """Wherever in their intervals the scores are: losses, conjugates, remainders and the sum of the duals."""
    for seed in range(60):
        row, a, s, errors = draw_rows(loss, seed)
        b = float(np.random.default_rng(seed).choice([0.0, 0.3, 1e3]))
        s = s - b
        found, moved, cost = judge_rows(s, errors, b, a, *row, False, 0.0)
        sums, rows = RowSums(*found), write_exactly(row)
        duals = [Fraction(float(value)) for value in a]
        assert moved == cost == 0.0
        assert abs(Fraction(sums.total) + Fraction(sums.total_error) - sum(duals)) <= Fraction(1, 10**25) * sum(
            map(abs, duals)
        )
        assert sums.inside == 1.0
        for side in (-1, 0, 1):
            f = [
                Fraction(float(score)) + Fraction(b) + side * Fraction(float(error))
                for score, error in zip(s, errors, strict=True)
            ]
            parts = [measure_exactly(*each) for each in zip(rows, f, duals, strict=True)]
            loss_sum, conjugate_sum = (sum(column) for column in zip(*parts, strict=True))
            products = sum(dual * score for dual, score in zip(duals, f, strict=True))
            assert loss_sum <= Fraction(sums.losses) + Fraction(sums.loss_error)
            assert abs(conjugate_sum - Fraction(sums.conjugates)) <= Fraction(sums.conjugate_error)
            assert 0 <= loss_sum + conjugate_sum + products <= Fraction(sums.most)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.25)], ids=lambda loss: loss.name)
def test_rows_that_are_settled_have_no_remainder(loss):
    """A dual at its bound and a score clearly on its side: nothing of the gap, however far off the score is."""
    y = np.array([1.0, -1.0, 1.0])
    row = loss.row(y, np.full(3, 2.0))
    away = np.array([-3.0, 3.0, 0.0])  # beyond the kink, or within the tube or outside the margin
    a = np.array([2.0, -2.0, 0.0])
    s = y + away if loss.name == "epsilon_insensitive" else np.array([-3.0, 3.0, 4.0])
    found, _, _ = judge_rows(s, np.full(3, 0.1), 0.0, a, *row, False, 0.0)
    sums = RowSums(*found)
    assert sums.remainders == 0.0
    assert sums.most <= 1e-13
    assert sums.loss_error == pytest.approx(2 * 2.0 * 0.1, rel=1e-9)


def test_exponents_are_added_as_numpy_does():
    """sum_j weight_j (t_i + t_j + more), those above the limit left out."""
    rng = np.random.default_rng(0)
    rows, columns, weight = rng.random(7), rng.random(5), rng.random(5)
    kept, others = (np.where(each <= 0.6, each, 0.0) for each in (rows, columns))
    expected = (weight * (kept[:, None] + others + 0.1)).sum(axis=1)
    np.testing.assert_allclose(add_exponents(rows, columns, weight, 0.6, 0.1), expected, rtol=1e-13)
