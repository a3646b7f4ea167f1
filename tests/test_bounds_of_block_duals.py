"""Duals of blocks that are balanced, held against fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from eighty_digit_losses import solve_exactly, write_fractions

from maxmargin.certificates.block_balance import Move, balance_by_feasible_steps, find_spares
from maxmargin.certificates.block_sums import BlockSums, EnclosedSum, FeasibleStep, add_duals, count_additions
from maxmargin.runtime.rounding import Enclosed


def weigh_rooms(rng: np.random.Generator, n_blocks: int):
    """Duals of some blocks that nearly sum to zero, what the judge knows of them, and their exact sum and rooms."""
    n, additions = 6, count_additions(n_blocks)
    a = rng.normal(size=(n_blocks, n)) * 10.0 ** rng.uniform(-3, 3, (n_blocks, 1))
    a[-1] -= a.sum() / n * (1.0 - rng.choice([0.0, 1e-16, 1e-12, 1e-3]))
    lo, hi = a - rng.random(a.shape), a + rng.random(a.shape)
    summed = sum((add_duals(block) for block in a), EnclosedSum())
    up, down = (sum((FeasibleStep(float(way.sum())) for way in end - a), FeasibleStep()) for end in (hi, lo))
    weighed = BlockSums(EnclosedSum(), EnclosedSum(), EnclosedSum(), 0.0, EnclosedSum(), summed, up, down, 0.0)
    exactly = [sum(map(Fraction, part.ravel().tolist())) for part in (a, lo, hi)]
    rooms = exactly[2] - exactly[0], exactly[0] - exactly[1]
    return weighed, summed.close(additions), exactly[0], rooms, n * n_blocks


def check_moves(moves: list[Move], forwards: bool, missing: Fraction, ahead: Fraction, back: Fraction) -> None:
    """Shares within the spares make up for what is missing: ahead, or back where the sign is another one."""
    share, spare = Fraction(moves[0].share), Fraction(moves[0].spare)
    needed = missing / ahead if forwards else Fraction(0)
    assert abs(needed - share) <= spare
    assert share + spare <= 1
    if not forwards and missing:
        assert missing / back <= Fraction(moves[1].spare) <= 1


def test_rooms_balance_duals_exactly():
    """The sum of the duals as it is, and as it may be; the way back is allowed where its sign is not known."""
    rng, found, uncertain = np.random.default_rng(14), 0, 0
    for _ in range(80):
        n_blocks = int(rng.integers(1, 80))
        weighed, summed, truth, (up, down), n = weigh_rooms(rng, n_blocks)
        problem = SimpleNamespace(blocks=SimpleNamespace(n_blocks=n_blocks), n=n)
        moves = balance_by_feasible_steps(problem, weighed, summed)
        value, error = Fraction(summed.value), Fraction(summed.error)
        assert abs(value - truth) <= error
        if moves is None:
            assert abs(truth) + 2 * error >= Fraction(0.99) * min(up, down)
            continue
        found, uncertain = found + 1, uncertain + (len(moves) == 2)
        ahead, back = (down, up) if value > 0 else (up, down)
        for possible in (truth, value - error, value + error):
            check_moves(moves, possible * value >= 0, abs(possible), ahead, back)
    assert found > 40
    assert uncertain > 6


def test_moves_cost_no_more_than_they_say():
    """t rise + t^2 quadratic, wherever t and the rise are in their intervals."""
    rng = np.random.default_rng(15)
    for _ in range(200):
        size = 10.0 ** rng.uniform(-8, 8)
        rise = Enclosed(size * rng.normal(), size * rng.choice([0.0, 1e-15, 1e-3]) * rng.random())
        spare = rng.choice([0.0, 1e-15, 1e-4])
        move = Move(rng.random() * rng.choice([0.0, 1e-9, 1.0]), spare, Enclosed(np.zeros(1), 0.0), rise, rng.random())
        most = Fraction(float(move.cost.high))
        for t_side, rise_side in product((-1, 0, 1), repeat=2):
            t = Fraction(move.share) + t_side * Fraction(float(move.spare))
            slope = Fraction(rise.value) + rise_side * Fraction(float(rise.error))
            assert t < 0 or t * slope + t * t * Fraction(move.quadratic) <= most


def find_mixture(sums: list[list[Fraction]], spares: list[Fraction], aim: list[Fraction]) -> list[Fraction] | None:
    """Shares s between 0 and the spares with sum_i s_i sums_i = aim: a vertex, as many of them as equations inside."""
    k, every = len(aim), range(len(sums))
    vertices = product(combinations(every, len(sums) - k), product((0, 1), repeat=len(sums) - k))
    for outer, ends in sorted(vertices, key=lambda vertex: sum(vertex[1])):
        shares = [Fraction(0)] * len(sums)
        for i, end in zip(outer, ends, strict=True):
            shares[i] = end * spares[i]
        inner = [i for i in every if i not in outer]
        left = [goal - sum(s * row[j] for s, row in zip(shares, sums, strict=True)) for j, goal in enumerate(aim)]
        found = solve_exactly([[sums[i][j] for i in inner] for j in range(k)], left)
        if found is not None and all(0 <= share <= spares[i] for i, share in zip(inner, found, strict=True)):
            return [dict(zip(inner, found, strict=True)).get(i, shares[i]) for i in every]
    return None


def draw_totals(rng: np.random.Generator, k: int, zero_sum: bool) -> np.ndarray:
    """Sums of duals at intercepts shifted up and down, with a few bits each, so that they sum to zero exactly."""
    ends = np.concatenate([np.eye(k), -np.eye(k)])
    totals = np.round(64.0 * (ends + 0.3 * rng.normal(size=ends.shape))) / 64.0 * 2.0 ** rng.integers(-20, 20)
    if zero_sum:
        totals[:, -1] = -totals[:, :-1].sum(axis=1)
    return totals


def check_spares(totals: np.ndarray, doubts: np.ndarray, left: np.ndarray, sides: np.ndarray, k: int) -> None:
    """Sums at corners of the box `left`, and totals at one of `doubts`, are corrected by shares within the spares.

    k is the number of equations: with duals that sum to zero over classes the last one follows from the others.
    """
    spares = find_spares(totals, doubts, left, k < totals.shape[1])
    assert spares is not None
    moved = [
        [a + b * int(side) / k for a, b, side in zip(*rows, strict=True)][:k]
        for rows in zip(write_fractions(totals), write_fractions(doubts), sides, strict=True)
    ]
    for corner in product((-1, 1), repeat=k):
        aim = [side * Fraction(float(width)) for side, width in zip(corner, left[:k], strict=True)]
        if k < totals.shape[1] and sum(aim):
            share = min(Fraction(1), Fraction(float(left[-1])) / abs(sum(aim)))
            aim = [share * value for value in aim]
        shares = find_mixture(moved, [Fraction(float(spare)) for spare in spares], aim)
        assert shares is not None
        assert [sum(s * row[j] for s, row in zip(shares, moved, strict=True)) for j in range(k)] == aim


@pytest.mark.parametrize("zero_sum", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.cover("all")
def test_spare_shares_correct_any_sums(k, zero_sum):
    """Whatever the sums miss, and wherever the totals are in their intervals."""
    rng, found = np.random.default_rng(16 + k), 0
    for _ in range(12):
        zero = zero_sum and k > 1
        totals = draw_totals(rng, k, zero)
        unit = np.abs(totals).max()
        doubts = np.full(totals.shape, unit * rng.choice([0.0, 1e-15, 1e-5]))
        left = unit * 10.0 ** rng.uniform(-15, -3) * rng.uniform(0.5, 1.0, k)
        sides = rng.choice([-1, 1], totals.shape)
        if find_spares(totals, doubts, left, zero) is not None:
            found += 1
            check_spares(totals, doubts, left, sides, k - zero)
    assert found >= 6


def test_spare_shares_correct_sums_of_unequal_widths():
    """To correct the first sum spoils the second by 1e-13, and only a share of 1e-7 can mend that."""
    totals = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1e-6], [0.0, -1e-6]])
    check_spares(totals, np.full((4, 2), 1e-10), np.array([1e-3, 1e-15]), np.ones((4, 2)), 2)


@pytest.mark.parametrize(
    "totals",
    [np.array([[1.0], [2.0]]), np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.array([[np.inf], [-1.0]])],
    ids=["one side", "one way", "infinite"],
)
def test_there_are_no_spare_shares_where_sums_cannot_go_both_ways(totals):
    assert find_spares(totals, np.zeros(totals.shape), np.full(totals.shape[1], 1e-9), False) is None
