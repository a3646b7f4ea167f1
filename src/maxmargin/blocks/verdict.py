"""The judge of problems over blocks: one pass for P and D, and a second where the duals must be brought to balance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from ..certificate import ROUNDING, Certificate, judge, measure_violation
from ..problem import Problem
from .problem import BlockPoint, BlockProblem, Pose
from .source import Block

SHIFTS = (1.0, 100.0, 1e4)  # times the scale of the scores: how far intercepts are moved to find duals that balance


class Room(NamedTuple):
    """How far the duals between their bounds can go one way: in sum, in sum_i a_i x_i, and what that adds to conj.

    A share t of the way adds at most t linear + t^2 quadratic.
    """

    total: float = 0.0
    pulled: np.ndarray | float = 0.0
    linear: float = 0.0
    quadratic: float = 0.0

    def __add__(self, other: Room) -> Room:
        return Room(*(mine + its for mine, its in zip(self, other, strict=True)))


class Weighed(NamedTuple):
    """Sums over rows: losses at (w, b), conjugates of the duals, sum_i a_i x_i, sum_i a_i; and the worst violation."""

    losses: float
    conjugates: float
    pulled: np.ndarray
    total: float | np.ndarray
    up: Room
    down: Room
    kkt: float

    def __add__(self, other: Weighed) -> Weighed:
        summed = (mine + its for mine, its in zip(self[:6], other[:6], strict=True))
        return Weighed(*summed, max(self.kkt, other.kkt))


class Extremes(NamedTuple):
    """Conjugates, sum_i a_i x_i and sum_i a_i of the duals at shifted intercepts, one entry a shift."""

    conjugates: np.ndarray
    pulled: np.ndarray
    totals: np.ndarray

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(*(mine + its for mine, its in zip(self, other, strict=True)))


@judge.register
def judge_blocks(problem: BlockProblem, point: BlockPoint) -> Certificate:
    """P(w, b), D(a) and their gap, summed over blocks.

    The duals of a block are made by the recipe of the point, and put into their domain here. Where a free intercept
    asks them to balance over all blocks and they do not, a little of the duals at other intercepts is mixed in: D is a
    true lower bound whatever the recipe was.
    """
    sums = problem.blocks.run(weigh_block, problem.pose, point.coef, point.b, point.a)
    primal = 0.5 * float(np.sum(point.coef * point.coef)) + sums.losses
    conjugates, pulled = balance(problem, point, sums) if problem.pose.free else (sums.conjugates, sums.pulled)
    dual = -0.5 * float(np.sum(pulled * pulled)) - conjugates
    return Certificate(primal, dual, sums.kkt, floor=problem.floor, resolution=problem.resolution)


def weigh_block(block: Block, pose: Pose, coef: np.ndarray, b, recipe) -> Weighed:
    """The sums of one block."""
    problem = pose.pose(block)
    a = confine(problem, recipe.duals(problem))
    f = problem.shift(problem.features.scores(coef), b)
    losses, conjugates, kkt = add_up(problem, a, f)
    pulled, total = problem.features.combine(a), a.sum(axis=-1)
    return Weighed(losses, conjugates, pulled, total, *find_rooms(problem, a), kkt)


def add_up(problem: Problem, a: np.ndarray, f: np.ndarray) -> tuple[float, float, float]:
    """The sums of losses and conjugates, and the largest violation; in one compiled pass where the loss has a row."""
    if problem.row is not None:
        from ..compiled.row_sums import sum_rows

        margin = ROUNDING * max(a.max(initial=0.0), -a.min(initial=0.0))
        return sum_rows(f, a, *map(np.ascontiguousarray, problem.row), margin)[:3]
    with np.errstate(over="ignore", invalid="ignore"):
        losses, conjugates = float(problem.terms.value(f).sum()), float(problem.terms.conjugate(a).sum())
    return losses, conjugates, measure_violation(problem, a, f) if problem.n else 0.0


def confine(problem: Problem, a: np.ndarray) -> np.ndarray:
    """The duals in their domain, each row by itself."""
    if problem.row is not None:
        return np.minimum(np.maximum(a, problem.row.lo), problem.row.hi)
    return problem.terms.repair(a, None) if hasattr(problem.terms, "repair") else a


def find_rooms(problem: Problem, a: np.ndarray) -> tuple[Room, Room]:
    """How far the duals between their bounds can go up and down: near the optimum that costs next to nothing.

    To the bound where it is finite; else to twice their size, or to zero where that is the way.
    """
    row = problem.row
    if row is None or problem.balance is None:
        return Room(), Room()
    inner = np.flatnonzero((a > row.lo) & (a < row.hi))
    features, part = problem.features, row
    if len(inner) < problem.n // 2:
        features, a, part = features.subset(inner), a[inner], type(row)(*(each[inner] for each in row))
    between = (a > part.lo) & (a < part.hi)
    rooms = []
    for end, side in ((part.hi, 1.0), (part.lo, -1.0)):
        end = np.where(np.isfinite(end), end, np.where(side * a > 0, 2.0 * a, 0.0))
        way = np.where(between, end - a, 0.0)
        quadratic = 0.5 * float((part.d * way) @ way)
        added = float(np.where(between, part.conjugate(end) - part.conjugate(a), 0.0).sum())
        rooms.append(Room(float(way.sum()), features.combine(way), added - quadratic, quadratic))
    return rooms[0], rooms[1]


def balance(problem: BlockProblem, point: BlockPoint, sums: Weighed) -> tuple[float, np.ndarray]:
    """sum conj(a) and sum a_i x_i of duals that sum to zero, from those of the point that nearly do."""
    missing = -sums.total
    if not np.any(missing):
        return sums.conjugates, sums.pulled
    room = sums.up if np.all(missing > 0) else sums.down
    if np.ndim(missing) == 0 and abs(float(missing)) <= abs(room.total):  # duals between their bounds take it up
        share = float(missing) / room.total
        added = share * room.linear + share**2 * room.quadratic
        return sums.conjugates + added, sums.pulled + share * room.pulled
    for shift in SHIFTS:
        shifts = shift * problem.scale * spread_shifts(problem)
        found = problem.blocks.run(weigh_extremes, problem.pose, point.coef, point.b, shifts)
        shares = find_shares(np.atleast_1d(sums.total), found.totals.reshape(len(shifts), -1))
        if shares is not None:
            rest = 1.0 - shares.sum()
            pulled = rest * sums.pulled + np.tensordot(shares, found.pulled, 1)
            return rest * sums.conjugates + float(shares @ found.conjugates), pulled
    return np.inf, sums.pulled


def spread_shifts(problem: BlockProblem) -> np.ndarray:
    """Intercepts up and down, or those of each class."""
    k = problem.pose.n_classes
    return np.array([1.0, -1.0]) if k is None else np.concatenate([np.eye(k), -np.eye(k)])


def weigh_extremes(block: Block, pose: Pose, coef: np.ndarray, b, shifts: np.ndarray) -> Extremes:
    """The duals that rows answer with where intercepts are shifted: feasible, and out of balance either way."""
    problem = pose.pose(block)
    f = problem.shift(problem.features.scores(coef), b)
    conjugates, pulled, totals = [], [], []
    for shift in shifts:
        with np.errstate(over="ignore", invalid="ignore"):
            a = confine(problem, problem.terms.response(problem.shift(f, shift))[0])
        conjugates.append(float(problem.terms.conjugate(a).sum()))
        pulled.append(problem.features.combine(a))
        totals.append(a.sum(axis=-1))
    return Extremes(np.array(conjugates), np.array(pulled), np.array(totals))


def find_shares(total: np.ndarray, totals: np.ndarray) -> np.ndarray | None:
    """The least shares t with (1 - sum t) total + sum_j t_j totals_j = 0, or None; convexity bounds what they cost."""
    unit = max(float(np.abs(totals).max()), 1e-300)
    if not np.isfinite(unit):
        return None
    if len(total) == 1:  # one equation, solved exactly by the shift that leads to the other side
        across = np.flatnonzero(totals[:, 0] * total[0] < 0)[:1]
        return np.eye(len(totals))[across[0]] * (total[0] / (total[0] - totals[across[0], 0])) if len(across) else None
    answer = linprog(
        np.ones(len(totals)), A_ub=np.ones((1, len(totals))), b_ub=[1.0], A_eq=(totals - total).T / unit,
        b_eq=-total / unit, method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    return np.maximum(answer.x, 0.0) if answer.status == 0 else None
