"""Bounds of rounding in sums of piecewise losses over samples, held against fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from eighty_digit_losses import name_loss

from maxmargin.certificates.term_sums import RowSums
from maxmargin.compiled.row_sums import judge_rows
from maxmargin.model.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    LeastSquares,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.runtime.rounding import BALANCE_ROUNDINGS, UNIT, bound_sum

KINKED = [Hinge(), EpsilonInsensitive(0.25), Quantile(0.3)]
CURVED = [SquaredHinge(), SquaredEpsilonInsensitive(0.25), Huber(0.5), LeastSquares()]


class Rows(SimpleNamespace):
    """Rows of a loss, their duals, scores, errors of these, an intercept and a balance."""

    def judge(self):
        """What the compiled judge says: its sums, what must be moved, and what that costs."""
        found, moved, cost = judge_rows(self.s, self.errors, self.b, self.a, *self.row, True, self.balance)
        return RowSums(*found), moved, cost

    @property
    def missing(self) -> Fraction:
        """balance - sum(a), exactly."""
        return Fraction(self.balance) - sum(map(Fraction, self.a.tolist()))

    def write(self, i: int, side: int) -> tuple[list[Fraction | None], Fraction, Fraction]:
        """(p, d, e, lo, hi), f and a of a row as fractions, bounds that are infinite as None."""
        row = [Fraction(float(part[i])) if np.isfinite(part[i]) else None for part in self.row]
        f = Fraction(float(self.s[i])) + Fraction(self.b) + side * Fraction(float(self.errors[i]))
        return row, f, Fraction(float(self.a[i]))


def draw_rows(loss, seed: int, balance: float, n: int = 20) -> Rows:
    """Rows with duals at bounds, at zero and between; the last one is clearly free, and misses the balance by a bit."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n) if loss.target == "label" else rng.normal(size=n)
    c = 10.0 ** rng.uniform(-3, 3, n)
    row = loss.row(y, c)
    low, high = np.maximum(row.lo, -3.0 * c), np.minimum(row.hi, 3.0 * c)
    a = np.where(rng.random(n) < 0.3, 0.0, np.clip(low + rng.choice([0.0, 0.3, 1.0], n) * (high - low), low, high))
    rest = balance - float(a.sum())
    missed = rng.choice([-1.0, 1.0]) * (np.abs(a).sum() + abs(rest)) * 10.0 ** rng.uniform(-17, -8)
    y, c, a = np.append(y, np.sign(rest)), np.append(c, 4.0 * abs(rest)), np.append(a, rest + missed)
    row = type(row)(*(np.ascontiguousarray(np.broadcast_to(part, n + 1), float) for part in loss.row(y, c)))
    errors = 10.0 ** rng.uniform(-17, -1, n + 1) * (rng.random(n + 1) < 0.8)
    away = np.where(rng.random(n + 1) < 0.5, rng.normal(size=n + 1), rng.choice([0.0, 1.0, -1.0, 0.5], n + 1) * errors)
    b = float(rng.choice([0.0, 0.3, 1e3]))
    s = rng.choice([-1.0, 1.0], n + 1) * row.e - row.p + away - b
    return Rows(row=row, a=a, s=s, errors=errors, b=b, balance=balance)


def measure_row(row: list[Fraction | None], f: Fraction, a: Fraction) -> tuple[Fraction, Fraction]:
    """c l(f) = max over t of -t f - conj(t), and conj(a)."""
    p, d, e, lo, hi = row

    def conjugate(t: Fraction) -> Fraction:
        return p * t + d * t * t / 2 + e * abs(t)

    places = [Fraction(0), lo, hi] + ([(-f - p - e) / d, (-f - p + e) / d] if d else [])
    inside = [t for t in places if t is not None and (lo is None or t >= lo) and (hi is None or t <= hi)]
    return max(-t * f - conjugate(t) for t in inside), conjugate(a)


@pytest.mark.parametrize("balance", [0.0, -7.3, 1e5])
@pytest.mark.parametrize("loss", [*KINKED, *CURVED], ids=name_loss)
@pytest.mark.cover("all")
def test_sums_with_a_balance_hold_from_both_sides(loss, balance):
    for seed in range(4):
        rows = draw_rows(loss, seed, balance, n=12 if seed or balance else 280)  # more than are summed at a time
        sums, moved, _ = rows.judge()
        assert sums.inside == 1.0
        assert Fraction(moved) >= abs(rows.missing)
        assert moved <= 1.01 * float(abs(rows.missing)) + BALANCE_ROUNDINGS * UNIT * abs(balance) + 1e-26 * sums.size
        for side in (-1, 0, 1):
            each = [rows.write(i, side) for i in range(len(rows.a))]
            losses, conjugates = (sum(part) for part in zip(*(measure_row(*one) for one in each), strict=True))
            products = sum(f * a for _, f, a in each)
            assert abs(losses - Fraction(sums.losses)) <= Fraction(sums.loss_error)
            assert abs(conjugates - Fraction(sums.conjugates)) <= Fraction(sums.conjugate_error)
            assert 0 <= losses + conjugates + products <= Fraction(sums.most)


def cost_exactly(rows: Rows, i: int, way: Fraction) -> Fraction:
    """What conj(a) + a f of a row rises by when its dual moves, either way and at the worst score of its interval."""
    rises = []
    for side, end in product((-1, 1), repeat=2):
        row, f, a = rows.write(i, end)
        rises.append(measure_row(row, f, a + side * way)[1] - measure_row(row, f, a)[1] + side * way * f)
    return max(rises)


def check_cost(rows: Rows, granted: int) -> None:
    """Some dual can move by what the judge says at its cost; d moved^2 / 2 is `granted` so many times."""
    _, moved, cost = rows.judge()
    way = Fraction(moved)
    able = np.flatnonzero((rows.row.lo + moved < rows.a) & (rows.a < rows.row.hi - moved))
    assert len(rows.a) - 1 in able
    least = min(cost_exactly(rows, i, way) - granted * Fraction(float(rows.row.d[i])) * way * way / 2 for i in able)
    assert least <= Fraction(cost) * Fraction(1.0 + bound_sum(8))


@pytest.mark.parametrize("balance", [0.0, -7.3, 1e5])
@pytest.mark.parametrize("loss", [*KINKED, *CURVED], ids=name_loss)
@pytest.mark.cover("all")
def test_a_free_dual_takes_up_what_the_balance_misses(loss, balance):
    """Up to a term of second order, which is zero without curvature, and which the next test asks for."""
    for seed in range(12):
        check_cost(draw_rows(loss, seed, balance, n=8), granted=1)


@pytest.mark.parametrize("loss", CURVED, ids=name_loss)
def test_a_free_dual_of_a_curved_loss_takes_up_what_the_balance_misses(loss):
    for seed in range(20):
        check_cost(draw_rows(loss, seed, 0.0, n=8), granted=0)
