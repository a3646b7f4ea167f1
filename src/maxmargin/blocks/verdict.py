"""The judge of problems over blocks: one pass for P and D, and a second where the duals must be brought to balance.

For duals a that sum to zero where an intercept is free, and v = sum_i a_i x_i,

    P(w, b) - D(a) = 1/2 |w - v|^2 + sum_i [ c_i l(f_i) + conj_i(a_i) + a_i f_i ],

a sum of terms of which none is negative. It is what is added up over blocks, each sum with a bound on its error. D is P
less that.
"""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, nnls

from ..certificate import Certificate, add_up, judge
from ..problem import Problem
from ..rounding import UNIT, Enclosed, bound_sum
from .problem import BlockPoint, BlockProblem, Pose
from .source import FAN, Block

SHIFTS = (1.0, 100.0, 1e4)  # times the scale of the scores: how far intercepts are moved to find duals that balance
WHOLE = 1.0 - 1e-12  # of a room: what is within its bounds in spite of the rounding of its ends
APART = 1e-3  # of a unit: how far moves that are found may be from the one that is wanted


class Tally(NamedTuple):
    """A sum over blocks, what the parts may be off by, and the sum of their sizes, which bounds what adding them loses.

    Of a vector, `error` and `size` are lengths.
    """

    value: float | np.ndarray = 0.0
    error: float | np.ndarray = 0.0
    size: float | np.ndarray = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(mine + its for mine, its in zip(self, other, strict=True)))

    def close(self, additions: int) -> Enclosed:
        """The sum with all that it may be off by, after so many additions one after the other."""
        slack = bound_sum(additions + 2)
        return Enclosed(self.value, (self.error + slack * self.size) * (1.0 + 2.0 * slack))


class Room(NamedTuple):
    """How far the duals between their bounds can go one way: in sum, in sum_i a_i x_i, and what that adds to the gap.

    A share t of the way adds at most t rise + t^2 quadratic to the remainders.
    """

    total: float = 0.0
    pulled: Tally = Tally()
    rise: Tally = Tally()
    quadratic: float = 0.0

    def __add__(self, other: Room) -> Room:
        return Room(*(mine + its for mine, its in zip(self, other, strict=True)))


class Weighed(NamedTuple):
    """Sums over rows at (w, b) and the duals, and the worst violation.

    `rest` is what all remainders would be if all duals were zero.
    """

    losses: Tally
    conjugates: Tally
    remainders: Tally
    rest: float
    pulled: Tally
    total: Tally
    up: Room
    down: Room
    kkt: float

    def __add__(self, other: Weighed) -> Weighed:
        summed = (mine + its for mine, its in zip(self[:8], other[:8], strict=True))
        return Weighed(*summed, max(self.kkt, other.kkt))


class Extremes(NamedTuple):
    """Remainders, sum_i a_i x_i and sum_i a_i of the duals at shifted intercepts, one entry a shift."""

    remainders: tuple[Tally, ...]
    pulled: tuple[Tally, ...]
    totals: tuple[Tally, ...]

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(*(tuple(map(Tally.__add__, *pair)) for pair in zip(self, other, strict=True)))


class Move(NamedTuple):
    """A way for the duals to go, by a share t and at most `spare` more or less of it.

    `spare` is what exact arithmetic may need: with it the duals balance, without it they do to rounding.
    """

    share: float
    spare: float
    pulled: Enclosed
    rise: Enclosed
    quadratic: float = 0.0

    @property
    def cost(self) -> Enclosed:
        """What it adds to the remainders, its error upwards."""
        t, most = self.share, self.share + self.spare
        value = t * self.rise.value + t * t * self.quadratic
        error = self.spare * abs(self.rise.value) + most * self.rise.error + self.spare * (t + most) * self.quadratic
        return Enclosed(value, error * (1.0 + 16.0 * UNIT) + 8.0 * UNIT * (abs(value) + most * most * self.quadratic))

    @property
    def doubt(self) -> float:
        """What the pull may be off by, where the share may be."""
        length = measure_length(self.pulled.value) + self.pulled.error
        return (self.spare + 4.0 * UNIT * self.share) * length + self.share * self.pulled.error


def measure_length(v: np.ndarray) -> float:
    """|v|, rounded upwards."""
    return float(np.sqrt(np.sum(np.square(v)))) * (1.0 + bound_sum(np.size(v) + 8))


def count_additions(n_blocks: int) -> int:
    """How many additions a part of a sum over blocks goes through at most: FAN on each level of the tree."""
    levels = 1
    while FAN**levels < n_blocks:
        levels += 1
    return FAN * (levels + 1)


@judge.register
def judge_blocks(problem: BlockProblem, point: BlockPoint, closely: bool = False) -> Certificate:
    """P(w, b), D(a) and their gap, summed over blocks.

    The duals of a block are made by the recipe of the point, and put into their domain here. Where a free intercept
    asks them to balance over all blocks and they do not, a little of the duals at other intercepts is mixed in: D is a
    true lower bound whatever the recipe was. With `closely` the products of each block are formed as if in twice the
    precision; sums over blocks are as ever.
    """
    weighed = problem.blocks.run(weigh_block, problem.pose, point.coef, point.b, point.a, closely)
    moves = balance(problem, point, weighed, closely) if problem.pose.free else []
    return conclude(problem, point, weighed, moves)


def conclude(problem: BlockProblem, point: BlockPoint, weighed: Weighed, moves: list[Move] | None) -> Certificate:
    """P from the losses, and P - D from the remainders with the moves made; None for moves means that there is no D."""
    additions, coef = count_additions(problem.blocks.n_blocks), point.coef
    losses, penalty = weighed.losses.close(additions), 0.5 * float(np.sum(np.square(coef)))
    primal = Enclosed(penalty + losses.value, bound_sum(np.size(coef) + 8) * penalty + losses.error)
    if moves is None or not np.isfinite(primal.high):
        high = float(primal.high) if np.isfinite(primal.high) else np.inf
        return Certificate(high, -np.inf, weighed.kkt, floor=problem.floor)
    remainders, pulled = weighed.remainders.close(additions), weighed.pulled.close(additions)
    shrink = bound_shrinking(problem)
    v = sum((move.share * move.pulled.value for move in moves), pulled.value)
    apart, length = measure_length(coef - v), measure_length(coef) + measure_length(v)
    doubt = pulled.error + sum(move.doubt for move in moves) + shrink * length + (len(moves) + 4) * UNIT * length
    costs = [move.cost for move in moves]
    plain = 0.5 * apart * apart + remainders.value + sum(cost.value for cost in costs)
    errors = remainders.error + shrink * weighed.rest + sum(cost.error for cost in costs)
    sizes = abs(remainders.value) + sum(abs(cost.value) for cost in costs)
    bound = plain + errors + (apart + doubt) * doubt
    bound = max((bound + 16.0 * UNIT * (sizes + apart * apart)) * (1.0 + (len(moves) + 16) * UNIT), 0.0)
    if not np.isfinite(bound):
        return Certificate(float(primal.high), -np.inf, weighed.kkt, floor=problem.floor)
    dual = float(primal.low) - bound
    dual = max(dual - UNIT * abs(dual), -np.inf if moves else bound_dual(weighed, additions, shrink))
    return Certificate(
        float(primal.high), dual, weighed.kkt, floor=problem.floor, rounding=float(max(bound - plain, 0.0)),
        bound=float(bound),
    )  # fmt: skip


def bound_dual(weighed: Weighed, additions: int, shrink: float) -> float:
    """D = -1/2 |v|^2 - sum_i conj_i(a_i) of the duals as they are, from below."""
    pulled, conjugates = weighed.pulled.close(additions), weighed.conjugates.close(additions)
    length = measure_length(pulled.value) + pulled.error
    price = 0.5 * length * length * (1.0 + 8.0 * UNIT)
    cost = float(conjugates.high) + shrink * (weighed.rest + abs(conjugates.value))
    return -price - cost - 4.0 * UNIT * (price + abs(cost))


def bound_shrinking(problem: BlockProblem) -> float:
    """The share by which duals are made smaller before they are in their domain exactly.

    A row of the loss table says it by its bounds, which duals keep. Elsewhere shares are formed with some roundings.
    """
    k = problem.pose.n_classes
    rounded = k is not None or problem.loss.row(np.ones(1), np.ones(1)) is None
    return 16.0 * ((k or 1) + 1) * UNIT if rounded else 0.0


# ---- one block ----------------------------------------------------------------------------------------------------


def weigh_block(block: Block, pose: Pose, coef: np.ndarray, b, recipe, closely: bool) -> Weighed:
    """The sums of one block."""
    problem = pose.pose(block)
    a = confine(problem, recipe.duals(problem))
    scores = problem.features.enclose(coef, closely)
    losses, conjugates, remainders, kkt = weigh_duals(problem, a, b, scores)
    rest = 0.0 if problem.row is not None else losses.value + losses.error + sum_resting(problem)
    rooms = find_rooms(problem, a, b, scores)
    return Weighed(losses, conjugates, remainders, rest, pull(problem, a, closely), add_duals(a), *rooms, kkt)


def weigh_duals(problem: Problem, a: np.ndarray, b, scores: Enclosed) -> tuple[Tally, Tally, Tally, float]:
    """The sums of losses, conjugates and remainders, and the largest violation.

    What duals sum to is no matter of one block.
    """
    sums = add_up(replace(problem, balance=None), a, b, scores, repaired=True)
    parts = (sums.losses, sums.conjugates, sums.remainders)
    return *(Tally(*map(float, part), abs(float(part.value))) for part in parts), float(sums.kkt)


def sum_resting(problem: Problem) -> float:
    """sum_i |conj_i(0)|."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(problem.terms.conjugate(np.zeros(problem.shape))).sum()) * (1.0 + bound_sum(problem.n + 8))


def pull(problem: Problem, a: np.ndarray, closely: bool = False) -> Tally:
    """sum_i a_i x_i; of many classes, the dual of a sample's own is minus the sum of the others."""
    features = problem.features
    if features.n_classes is None:
        value, error = features.enclose_pull(a, closely)
        return Tally(value, error, measure_length(value))
    parts = [features.design.enclose_pull(row, closely) for row in a]
    value = np.stack([part.value for part in parts])
    own = bound_sum(features.n_classes + 8) * float(np.abs(a).sum(axis=0) @ features.design.sizes)
    error = measure_length(np.array([part.error for part in parts])) + own * (1.0 + bound_sum(problem.n + 8))
    return Tally(value, error, measure_length(value))


def add_duals(a: np.ndarray) -> Tally:
    """sum_i a_i, of each class, with one rounding; and what the own dual of a sample of many classes may be off by."""
    if a.ndim == 1:
        total = fsum(a.tolist())
        return Tally(total, UNIT * abs(total), abs(total))
    totals, k = np.array([fsum(row.tolist()) for row in a]), len(a)
    own = bound_sum(k + 8) * float(np.abs(a).sum()) * (1.0 + bound_sum(a.size))
    return Tally(totals, UNIT * np.abs(totals) + own, np.abs(totals))


def confine(problem: Problem, a: np.ndarray) -> np.ndarray:
    """The duals in their domain, each row by itself."""
    if problem.row is not None:
        return np.minimum(np.maximum(a, problem.row.lo), problem.row.hi)
    return problem.terms.repair(a, None) if problem.features.n_classes is not None else a


def find_rooms(problem: Problem, a: np.ndarray, b, scores: Enclosed) -> tuple[Room, Room]:
    """How far the duals between their bounds can go up and down: near the optimum that costs next to nothing.

    To the bound where it is finite; else to twice their size, or to zero where that is the way.
    """
    row = problem.row
    if row is None or problem.balance is None:
        return Room(), Room()
    inner = np.flatnonzero((a > row.lo) & (a < row.hi))
    if len(inner) < problem.n // 2:
        part = replace(problem, features=problem.features.subset(inner), y=problem.y[inner], c=problem.c[inner])
        a, scores = a[inner], Enclosed(scores.value[inner], scores.error[inner])
    else:
        part = problem
    f = scores.value + b
    wide = scores.error + UNIT * np.abs(f)
    return measure_room(part, a, f, wide, 1.0), measure_room(part, a, f, wide, -1.0)


def measure_room(problem: Problem, a: np.ndarray, f: np.ndarray, wide: np.ndarray, side: float) -> Room:
    """The room upwards or downwards.

    A share t of the way w_i of a dual adds t w_i (f_i + p_i + d_i a_i) + t e_i (|a_i + w_i| - |a_i|) + t^2 d_i w_i^2/2
    to its remainder at most, since |a| is convex.
    """
    p, d, e, lo, hi = problem.row
    between, end = (a > lo) & (a < hi), hi if side > 0 else lo
    end = np.where(np.isfinite(end), end, np.where(side * a > 0, 2.0 * a, 0.0))
    way = np.where(between, end - a, 0.0)
    linear = way * (f + p + d * a) + np.where(between, e * (np.abs(end) - np.abs(a)), 0.0)
    sizes = np.abs(way) * (np.abs(f) + np.abs(p) + d * np.abs(a)) + e * (np.abs(end) + np.abs(a))
    slack = bound_sum(len(a) + 16)
    rise, error = float(linear.sum()), float(np.abs(way) @ wide) * (1.0 + slack) + slack * float(sizes.sum())
    quadratic = 0.5 * float((d * way) @ way) * (1.0 + slack)
    return Room(float(way.sum()), pull(problem, way), Tally(rise, error, abs(rise)), quadratic)


# ---- duals that balance -------------------------------------------------------------------------------------------


def balance(problem: BlockProblem, point: BlockPoint, weighed: Weighed, closely: bool) -> list[Move] | None:
    """How the duals of the point, which nearly sum to zero, come to do so exactly; None if they cannot.

    Duals between their bounds take it up where they can, else those at other intercepts are mixed in.
    """
    total = weighed.total.close(count_additions(problem.blocks.n_blocks))
    if not np.any(total.value) and not np.any(total.error):
        return []
    if np.ndim(total.value) == 0 and (moves := use_rooms(problem, weighed, total)) is not None:
        return moves
    for shift in SHIFTS:
        shifts = shift * problem.scale * spread_shifts(problem)
        found = problem.blocks.run(weigh_extremes, problem.pose, point.coef, point.b, shifts, closely)
        moves = use_extremes(problem, weighed, total, found)
        if moves is not None:
            return moves
    return None


def use_rooms(problem: BlockProblem, weighed: Weighed, total: Enclosed) -> list[Move] | None:
    """A share of the room on the side that is missing; with what rounding leaves open, which may be on the other side.

    The share that balances exactly is |sum_i a_i| / room, of which both are known to rounding.
    """
    additions, missing = count_additions(problem.blocks.n_blocks), abs(float(total.value))
    ahead, back = (weighed.down, weighed.up) if total.value > 0 else (weighed.up, weighed.down)
    slack = bound_sum(problem.n + additions + 16)
    doubt = (float(total.error) + missing * slack) * (1.0 + 8.0 * UNIT)
    moves = []
    for room, needed in ((ahead, missing), (back, 0.0)):
        if room is back and doubt <= missing:
            continue
        width = abs(room.total) * (1.0 - slack)
        if not needed + doubt <= WHOLE * width:
            return None
        pulled, rise = room.pulled.close(additions), room.rise.close(additions)
        moves.append(Move(needed / abs(room.total), doubt / width * (1.0 + 4.0 * UNIT), pulled, rise, room.quadratic))
    return moves


def use_extremes(problem: BlockProblem, weighed: Weighed, total: Enclosed, found: Extremes) -> list[Move] | None:
    """A share of the duals at each shifted intercept, so that all sum to zero; None if there are no such shares.

    They do so to rounding. Into that mixture goes as much again of the same duals as makes up for it exactly.
    """
    additions = count_additions(problem.blocks.n_blocks)
    start, drawn = weighed.remainders.close(additions), weighed.pulled.close(additions)
    rests, pulls, ends = ([each.close(additions) for each in part] for part in found)
    origin, totals = np.atleast_1d(total.value), np.array([np.atleast_1d(end.value) for end in ends])
    shares = find_shares(origin, totals)
    if shares is None:
        return None
    doubts, doubt = np.array([np.atleast_1d(end.error) for end in ends]), np.atleast_1d(total.error)
    sizes = np.abs(origin) + shares @ (np.abs(totals) + np.abs(origin))
    left = np.abs(origin + shares @ (totals - origin)) + bound_sum(len(shares) + 8) * sizes
    left = left + doubt + shares @ (doubts + doubt)
    spares = find_spares(totals, doubts, left, problem.loss.target == "class")
    if spares is None or not max(float(shares.sum()), float(spares.sum())) <= WHOLE:
        return None
    moves = [
        Move(
            float(share), 0.0, Enclosed(end.value - drawn.value, end.error + drawn.error),
            Enclosed(rest.value - start.value, rest.error + start.error + UNIT * (abs(rest.value) + abs(start.value))),
        )
        for share, end, rest in zip(shares, pulls, rests, strict=True) if share > 0
    ]  # fmt: skip
    v = sum((move.share * move.pulled.value for move in moves), drawn.value)
    more = [
        Move(0.0, float(spare), Enclosed(end.value - v, end.error + drawn.error), rest)
        for spare, end, rest in zip(spares, pulls, rests, strict=True) if spare > 0
    ]  # fmt: skip
    return moves + more


def find_spares(totals: np.ndarray, doubts: np.ndarray, left: np.ndarray, zero_sum: bool) -> np.ndarray | None:
    """How much of duals with these sums makes up for any sums within `left` of zero, in exact arithmetic; or None.

    For each sum there is a mixture that changes it by one unit up or down and leaves the others as they are, but for an
    error below APART. That error is made up for by the same mixtures, and so on: a geometric series. The duals of many
    classes sum to zero for every sample, so that one sum rises by what the others fall by.
    """
    k, unit = totals.shape[1], max(float(np.abs(totals).max()), 1e-300)
    if not np.isfinite(unit):
        return None
    wanted = np.eye(k) - (1.0 / k if zero_sum and k > 1 else 0.0)
    most, error = np.zeros(totals.shape), 0.0
    for j, side in ((j, side) for j in range(k) for side in (1.0, -1.0)):
        found, _ = nnls(totals.T / unit, side * wanted[j])
        missed = np.abs(found @ totals / unit - side * wanted[j]).sum() + found @ doubts.sum(axis=1) / unit
        most[:, j], error = np.maximum(most[:, j], found / unit), max(error, float(missed))
    return 2.0 * (most @ left) if error <= APART else None  # to mix in t scales what is left by 1 - t


def spread_shifts(problem: BlockProblem) -> np.ndarray:
    """Intercepts up and down, or those of each class."""
    k = problem.pose.n_classes
    return np.array([1.0, -1.0]) if k is None else np.concatenate([np.eye(k), -np.eye(k)])


def weigh_extremes(block: Block, pose: Pose, coef: np.ndarray, b, shifts: np.ndarray, closely: bool) -> Extremes:
    """The duals that rows answer with where intercepts are shifted: feasible, and out of balance either way."""
    problem = pose.pose(block)
    scores = problem.features.enclose(coef, closely)
    f = problem.shift(scores.value, b)
    remainders, pulled, totals = [], [], []
    for shift in shifts:
        with np.errstate(over="ignore", invalid="ignore"):
            a = confine(problem, problem.terms.response(problem.shift(f, shift))[0])
        remainders.append(weigh_duals(problem, a, b, scores)[2])
        pulled.append(pull(problem, a, closely))
        totals.append(add_duals(a))
    return Extremes(tuple(remainders), tuple(pulled), tuple(totals))


def find_shares(total: np.ndarray, totals: np.ndarray) -> np.ndarray | None:
    """The least shares t with (1 - sum t) total + sum_j t_j totals_j = 0, or None; convexity bounds what they cost."""
    unit = max(float(np.abs(totals).max()), 1e-300)
    if not np.isfinite(unit):
        return None
    if not np.any(total):
        return np.zeros(len(totals))
    if len(total) == 1:  # one equation, solved exactly by the shift that leads to the other side
        across = np.flatnonzero(totals[:, 0] * total[0] < 0)[:1]
        return np.eye(len(totals))[across[0]] * (total[0] / (total[0] - totals[across[0], 0])) if len(across) else None
    answer = linprog(
        np.ones(len(totals)), A_ub=np.ones((1, len(totals))), b_ub=[1.0], A_eq=(totals - total).T / unit,
        b_eq=-total / unit, method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    return np.maximum(answer.x, 0.0) if answer.status == 0 else None
