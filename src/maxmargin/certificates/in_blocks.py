"""The judge of problems over blocks: one pass for P and D, and a second where the duals must be brought to balance.

For duals a that sum to zero where an intercept is free, and v = sum_i a_i x_i,

    P(w, b) - D(a) = 1/2 |w - v|^2 + sum_i [ c_i l(f_i) + conj_i(a_i) + a_i f_i ],

a sum of nonnegative terms. These are added up over the blocks, each sum with a bound on its error. D is P minus that
sum.
"""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, nnls

from ..blocks.problem import BlockPoint, BlockProblem, Pose
from ..blocks.source import FAN, Block
from ..model.problem import Problem
from ..runtime.rounding import UNIT, Enclosed, add_enclosed, bound_sum
from .in_memory import Certificate, add_up, judge

SHIFTS = (1.0, 100.0, 1e4)  # times the scale of the scores: how far intercepts are shifted to find duals that balance
WHOLE = 1.0 - 1e-12  # of a room: this share stays within the bounds although the ends of the room are rounded
APART = 1e-3  # of a unit: how far a move that was found may be from the one that is wanted


class Tally(NamedTuple):
    """A sum over blocks, a bound on the errors of its parts, and the sum of their sizes, for the errors of adding them.

    For a vector, `error` and `size` are norms.
    """

    value: float | np.ndarray = 0.0
    error: float | np.ndarray = 0.0
    size: float | np.ndarray = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(mine + its for mine, its in zip(self, other, strict=True)))

    def close(self, additions: int) -> Enclosed:
        """The sum and a bound on its error, if each part went through this many additions."""
        slack = bound_sum(additions + 2)
        return Enclosed(self.value, (self.error + slack * self.size) * (1.0 + 2.0 * slack))


class Room(NamedTuple):
    """How far the duals between their bounds can move in one direction: sum_i a_i, sum_i a_i x_i, and the cost.

    A share t of that move adds at most t rise + t^2 quadratic to the remainders, and thus to the gap.
    """

    total: float = 0.0
    pulled: Tally = Tally()
    rise: Tally = Tally()
    quadratic: float = 0.0

    def __add__(self, other: Room) -> Room:
        return Room(*(mine + its for mine, its in zip(self, other, strict=True)))


class Weighed(NamedTuple):
    """Sums over rows at (w, b) and the duals, and the largest violation.

    `rest` is what all remainders would sum to if all duals were zero.
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
    """Remainders, sum_i a_i x_i and sum_i a_i of the duals at shifted intercepts, one entry per shift."""

    remainders: tuple[Tally, ...]
    pulled: tuple[Tally, ...]
    totals: tuple[Tally, ...]

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(*(tuple(map(Tally.__add__, *pair)) for pair in zip(self, other, strict=True)))


class Move(NamedTuple):
    """A direction in which the duals move, by a share t, plus or minus at most `spare`.

    With the share t the duals balance up to rounding. Some share within `spare` of t balances them in exact arithmetic.
    """

    share: float
    spare: float
    pulled: Enclosed
    rise: Enclosed
    quadratic: float = 0.0

    @property
    def cost(self) -> Enclosed:
        """What the move adds to the remainders, with an error that bounds it from above."""
        t, most = self.share, self.share + self.spare
        value = t * self.rise.value + t * t * self.quadratic
        error = self.spare * abs(self.rise.value) + most * self.rise.error + self.spare * (t + most) * self.quadratic
        return Enclosed(value, error * (1.0 + 16.0 * UNIT) + 8.0 * UNIT * (abs(value) + most * most * self.quadratic))

    @property
    def doubt(self) -> float:
        """A bound on the error of the pull, that of the share included."""
        length = measure_length(self.pulled.value) + self.pulled.error
        return (self.spare + 4.0 * UNIT * self.share) * length + self.share * self.pulled.error


def measure_length(v: np.ndarray) -> float:
    """|v|, rounded upwards."""
    return float(np.sqrt(np.sum(np.square(v)))) * (1.0 + bound_sum(np.size(v) + 8))


def count_additions(n_blocks: int) -> int:
    """The most additions that a part of a sum over blocks goes through: FAN on each level of the tree."""
    levels = 1
    while FAN**levels < n_blocks:
        levels += 1
    return FAN * (levels + 1)


@judge.register
def judge_blocks(problem: BlockProblem, point: BlockPoint, closely: bool = False) -> Certificate:
    """P(w, b), D(a) and their gap, summed over blocks.

    The recipe of the point makes the duals of a block, and the judge puts them into their domain. Where a free
    intercept requires them to balance over all blocks and they do not, some of the duals at other intercepts is mixed
    in. So D is a true lower bound whatever the recipe was. With `closely` the products of each block are formed as if
    in twice the precision; sums over blocks are formed as usual.
    """
    weighed = problem.blocks.run(weigh_block, problem.pose, point.coef, point.b, point.a, closely)
    moves = balance(problem, point, weighed, closely) if problem.pose.free else []
    return conclude(problem, point, weighed, moves)


def conclude(problem: BlockProblem, point: BlockPoint, weighed: Weighed, moves: list[Move] | None) -> Certificate:
    """P from the losses, and P - D from the remainders after the moves; if `moves` is None, there is no D."""
    additions, coef = count_additions(problem.blocks.n_blocks), point.coef
    half = 0.5 * float(np.sum(np.square(coef)))
    primal = add_enclosed(Enclosed(half, bound_sum(np.size(coef) + 8) * half), weighed.losses.close(additions))
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
    """D = -1/2 |v|^2 - sum_i conj_i(a_i) of the duals as they are, bounded from below."""
    pulled, conjugates = weighed.pulled.close(additions), weighed.conjugates.close(additions)
    length = measure_length(pulled.value) + pulled.error
    price = 0.5 * length * length * (1.0 + 8.0 * UNIT)
    cost = float(conjugates.high) + shrink * (weighed.rest + abs(conjugates.value))
    return -price - cost - 4.0 * UNIT * (price + abs(cost))


def bound_shrinking(problem: BlockProblem) -> float:
    """The share by which duals must shrink before they are in their domain exactly.

    It is zero for a row of the loss table: its domain is an interval, and duals are clipped to it. For other losses the
    duals are formed with a few rounding errors.
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

    The balance is left out: it concerns all blocks together.
    """
    sums = add_up(replace(problem, balance=None), a, b, scores, repaired=True)
    parts = (sums.losses, sums.conjugates, sums.remainders)
    return *(Tally(*map(float, part), abs(float(part.value))) for part in parts), float(sums.kkt)


def sum_resting(problem: Problem) -> float:
    """sum_i |conj_i(0)|."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(problem.terms.conjugate(np.zeros(problem.shape))).sum()) * (1.0 + bound_sum(problem.n + 8))


def pull(problem: Problem, a: np.ndarray, closely: bool = False) -> Tally:
    """sum_i a_i x_i; with many classes, the dual of a sample's own class is minus the sum of the others."""
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
    """sum_i a_i for each class, rounded once; with many classes also the error of the dual of a sample's own class."""
    if a.ndim == 1:
        total = fsum(a.tolist())
        return Tally(total, UNIT * abs(total), abs(total))
    totals, k = np.array([fsum(row.tolist()) for row in a]), len(a)
    own = bound_sum(k + 8) * float(np.abs(a).sum()) * (1.0 + bound_sum(a.size))
    return Tally(totals, UNIT * np.abs(totals) + own, np.abs(totals))


def confine(problem: Problem, a: np.ndarray) -> np.ndarray:
    """The duals, each put into its domain."""
    if problem.row is not None:
        return np.minimum(np.maximum(a, problem.row.lo), problem.row.hi)
    return problem.terms.repair(a, None) if problem.features.n_classes is not None else a


def find_rooms(problem: Problem, a: np.ndarray, b, scores: Enclosed) -> tuple[Room, Room]:
    """How far the duals between their bounds can move up and down; near the optimum this costs next to nothing.

    Each moves to its bound where that is finite, otherwise to twice its size, or to zero if that is the direction.
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

    If dual i can move by w_i, a share t of that adds at most
    t w_i (f_i + p_i + d_i a_i) + t e_i (|a_i + w_i| - |a_i|) + t^2 d_i w_i^2/2 to its remainder, since |a| is convex.
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
    """The moves that make the duals of the point, which nearly sum to zero, do so exactly; None if there are none.

    Duals between their bounds absorb the difference where they can. Otherwise the duals at other intercepts are mixed
    in.
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
    """A share of the room in the direction that balances the duals, and an allowance for rounding in either direction.

    The share that balances exactly is |sum_i a_i| / room, and both are known up to rounding.
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

    With these shares the sum is zero up to rounding. Spare shares of the same duals make up for the difference exactly.
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
    """The shares of duals with these sums that correct any sums within `left` of zero, in exact arithmetic; or None.

    For each sum there is a mixture that raises or lowers it by one unit and leaves the others unchanged, up to an error
    below APART. The same mixtures correct that error, and so on: a geometric series. The duals of many classes sum to
    zero for every sample, so one sum rises by as much as the others fall together.
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
    spoilt = left + error * left.sum()  # by the mixtures for other sums
    return 2.0 * (most @ spoilt) if error <= APART else None  # mixing in a share t scales what is left by 1 - t


def spread_shifts(problem: BlockProblem) -> np.ndarray:
    """Unit shifts of the intercept up and down, for each class where there are many."""
    k = problem.pose.n_classes
    return np.array([1.0, -1.0]) if k is None else np.concatenate([np.eye(k), -np.eye(k)])


def weigh_extremes(block: Block, pose: Pose, coef: np.ndarray, b, shifts: np.ndarray, closely: bool) -> Extremes:
    """The sums for the duals that rows respond with at shifted intercepts: feasible, and unbalanced either way."""
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
    """The least shares t with (1 - sum t) total + sum_j t_j totals_j = 0, or None; convexity bounds their cost."""
    unit = max(float(np.abs(totals).max()), 1e-300)
    if not np.isfinite(unit):
        return None
    if not np.any(total):
        return np.zeros(len(totals))
    if len(total) == 1:  # one equation, solved exactly by the shift to the other side of zero
        across = np.flatnonzero(totals[:, 0] * total[0] < 0)[:1]
        return np.eye(len(totals))[across[0]] * (total[0] / (total[0] - totals[across[0], 0])) if len(across) else None
    answer = linprog(
        np.ones(len(totals)), A_ub=np.ones((1, len(totals))), b_ub=[1.0], A_eq=(totals - total).T / unit,
        b_eq=-total / unit, method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    return np.maximum(answer.x, 0.0) if answer.status == 0 else None
