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

from ..blocks.problem import BlockFormulation, BlockPoint, BlockProblem
from ..blocks.source import SUM_FAN_IN, Block
from ..model.problem import Problem
from ..runtime.rounding import UNIT, Enclosed, add_enclosed, bound_sum
from .in_memory import Certificate, judge, sum_terms

INTERCEPT_SHIFT_FACTORS = (
    1.0,
    100.0,
    1e4,
)  # times the scale of the scores: how far intercepts are shifted to find duals that balance
MAX_SHARE = 1.0 - 1e-12  # of a room: this share stays within the bounds although the ends of the room are rounded
MAX_UNIT_MOVE_ERROR = 1e-3  # of a unit: how far a move that was found may be from the one that is wanted


class EnclosedSum(NamedTuple):
    """A sum over blocks, a bound on the errors of its parts, and the sum of their sizes, for the errors of adding them.

    For a vector, `error` and `size` are norms.
    """

    value: float | np.ndarray = 0.0
    error: float | np.ndarray = 0.0
    size: float | np.ndarray = 0.0

    def __add__(self, other: EnclosedSum) -> EnclosedSum:
        return EnclosedSum(*(mine + its for mine, its in zip(self, other, strict=True)))

    def close(self, additions: int) -> Enclosed:
        """The sum and a bound on its error, if each part went through this many additions."""
        slack = bound_sum(additions + 2)
        return Enclosed(self.value, (self.error + slack * self.size) * (1.0 + 2.0 * slack))


class FeasibleStep(NamedTuple):
    """How far the duals between their bounds can move in one direction: sum_i a_i, sum_i a_i x_i, and the cost.

    A share t of that move adds at most t rise + t^2 quadratic to the remainders, and thus to the gap.
    """

    total: float = 0.0
    pulled: EnclosedSum = EnclosedSum()
    rise: EnclosedSum = EnclosedSum()
    quadratic: float = 0.0

    def __add__(self, other: FeasibleStep) -> FeasibleStep:
        return FeasibleStep(*(mine + its for mine, its in zip(self, other, strict=True)))


class BlockSums(NamedTuple):
    """Sums over rows at (w, b) and the duals, and the largest violation.

    `rest` is what all remainders would sum to if all duals were zero.
    """

    losses: EnclosedSum
    conjugates: EnclosedSum
    remainders: EnclosedSum
    rest: float
    pulled: EnclosedSum
    total: EnclosedSum
    up: FeasibleStep
    down: FeasibleStep
    kkt: float

    def __add__(self, other: BlockSums) -> BlockSums:
        summed = (mine + its for mine, its in zip(self[:8], other[:8], strict=True))
        return BlockSums(*summed, max(self.kkt, other.kkt))


class ShiftedDualSums(NamedTuple):
    """Remainders, sum_i a_i x_i and sum_i a_i of the duals at shifted intercepts, one entry per shift."""

    remainders: tuple[EnclosedSum, ...]
    pulled: tuple[EnclosedSum, ...]
    totals: tuple[EnclosedSum, ...]

    def __add__(self, other: ShiftedDualSums) -> ShiftedDualSums:
        return ShiftedDualSums(*(tuple(map(EnclosedSum.__add__, *pair)) for pair in zip(self, other, strict=True)))


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
    def error_bound(self) -> float:
        """A bound on the error of the pull, that of the share included."""
        length = measure_length(self.pulled.value) + self.pulled.error
        return (self.spare + 4.0 * UNIT * self.share) * length + self.share * self.pulled.error


def measure_length(v: np.ndarray) -> float:
    """|v|, rounded upwards."""
    return float(np.sqrt(np.sum(np.square(v)))) * (1.0 + bound_sum(np.size(v) + 8))


def count_additions(n_blocks: int) -> int:
    """The most additions that a part of a sum over blocks goes through: FAN on each level of the tree."""
    levels = 1
    while SUM_FAN_IN**levels < n_blocks:
        levels += 1
    return SUM_FAN_IN * (levels + 1)


@judge.register
def judge_blocks(problem: BlockProblem, point: BlockPoint, closely: bool = False) -> Certificate:
    """P(w, b), D(a) and their gap, summed over blocks.

    The recipe of the point makes the duals of a block, and the judge puts them into their domain. Where a free
    intercept requires them to balance over all blocks and they do not, some of the duals at other intercepts is mixed
    in. So D is a true lower bound whatever the recipe was. With `closely` the products of each block are formed as if
    in twice the precision; sums over blocks are formed as usual.
    """
    block_sums = problem.blocks.run(sum_block, problem.pose, point.coef, point.b, point.a, closely)
    moves = balance(problem, point, block_sums, closely) if problem.pose.free else []
    return conclude(problem, point, block_sums, moves)


def conclude(problem: BlockProblem, point: BlockPoint, block_sums: BlockSums, moves: list[Move] | None) -> Certificate:
    """P from the losses, and P - D from the remainders after the moves; if `moves` is None, there is no D."""
    additions, coef = count_additions(problem.blocks.n_blocks), point.coef
    half = 0.5 * float(np.sum(np.square(coef)))
    primal = add_enclosed(Enclosed(half, bound_sum(np.size(coef) + 8) * half), block_sums.losses.close(additions))
    if moves is None or not np.isfinite(primal.high):
        high = float(primal.high) if np.isfinite(primal.high) else np.inf
        return Certificate(high, -np.inf, block_sums.kkt, floor=problem.floor)
    remainders, pulled = block_sums.remainders.close(additions), block_sums.pulled.close(additions)
    shrink = bound_shrinking(problem)
    v = sum((move.share * move.pulled.value for move in moves), pulled.value)
    apart, length = measure_length(coef - v), measure_length(coef) + measure_length(v)
    error_bound = (
        pulled.error + sum(move.error_bound for move in moves) + shrink * length + (len(moves) + 4) * UNIT * length
    )
    costs = [move.cost for move in moves]
    plain = 0.5 * apart * apart + remainders.value + sum(cost.value for cost in costs)
    errors = remainders.error + shrink * block_sums.rest + sum(cost.error for cost in costs)
    sizes = abs(remainders.value) + sum(abs(cost.value) for cost in costs)
    bound = plain + errors + (apart + error_bound) * error_bound
    bound = max((bound + 16.0 * UNIT * (sizes + apart * apart)) * (1.0 + (len(moves) + 16) * UNIT), 0.0)
    if not np.isfinite(bound):
        return Certificate(float(primal.high), -np.inf, block_sums.kkt, floor=problem.floor)
    dual = float(primal.low) - bound
    dual = max(dual - UNIT * abs(dual), -np.inf if moves else bound_dual(block_sums, additions, shrink))
    return Certificate(
        float(primal.high), dual, block_sums.kkt, floor=problem.floor, rounding=float(max(bound - plain, 0.0)),
        bound=float(bound),
    )  # fmt: skip


def bound_dual(block_sums: BlockSums, additions: int, shrink: float) -> float:
    """D = -1/2 |v|^2 - sum_i conj_i(a_i) of the duals as they are, bounded from below."""
    pulled, conjugates = block_sums.pulled.close(additions), block_sums.conjugates.close(additions)
    length = measure_length(pulled.value) + pulled.error
    half_square = 0.5 * length * length * (1.0 + 8.0 * UNIT)
    cost = float(conjugates.high) + shrink * (block_sums.rest + abs(conjugates.value))
    return -half_square - cost - 4.0 * UNIT * (half_square + abs(cost))


def bound_shrinking(problem: BlockProblem) -> float:
    """The share by which duals must shrink before they are in their domain exactly.

    It is zero for a row of the loss table: its domain is an interval, and duals are clipped to it. For other losses the
    duals are formed with a few rounding errors.
    """
    k = problem.pose.n_classes
    rounded = k is not None or problem.loss.row(np.ones(1), np.ones(1)) is None
    return 16.0 * ((k or 1) + 1) * UNIT if rounded else 0.0


# ---- one block ----------------------------------------------------------------------------------------------------


def sum_block(block: Block, pose: BlockFormulation, coef: np.ndarray, b, recipe, closely: bool) -> BlockSums:
    """The sums of one block."""
    problem = pose.pose(block)
    a = project_duals(problem, recipe.duals(problem))
    scores = problem.features.enclose(coef, closely)
    losses, conjugates, remainders, kkt = enclose_terms(problem, a, b, scores)
    rest = 0.0 if problem.row is not None else losses.value + losses.error + sum_zero_dual_conjugates(problem)
    steps = find_feasible_steps(problem, a, b, scores)
    return BlockSums(losses, conjugates, remainders, rest, pull(problem, a, closely), add_duals(a), *steps, kkt)


def enclose_terms(
    problem: Problem, a: np.ndarray, b, scores: Enclosed
) -> tuple[EnclosedSum, EnclosedSum, EnclosedSum, float]:
    """The sums of losses, conjugates and remainders, and the largest violation.

    The balance is left out: it concerns all blocks together.
    """
    sums = sum_terms(replace(problem, balance=None), a, b, scores, repaired=True)
    parts = (sums.losses, sums.conjugates, sums.remainders)
    return *(EnclosedSum(*map(float, part), abs(float(part.value))) for part in parts), float(sums.kkt)


def sum_zero_dual_conjugates(problem: Problem) -> float:
    """sum_i |conj_i(0)|."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(problem.terms.conjugate(np.zeros(problem.shape))).sum()) * (1.0 + bound_sum(problem.n + 8))


def pull(problem: Problem, a: np.ndarray, closely: bool = False) -> EnclosedSum:
    """sum_i a_i x_i; with many classes, the dual of a sample's own class is minus the sum of the others."""
    features = problem.features
    if features.n_classes is None:
        value, error = features.enclose_dual_weights(a, closely)
        return EnclosedSum(value, error, measure_length(value))
    parts = [features.design.enclose_dual_weights(row, closely) for row in a]
    value = np.stack([part.value for part in parts])
    own = bound_sum(features.n_classes + 8) * float(np.abs(a).sum(axis=0) @ features.design.sizes)
    error = measure_length(np.array([part.error for part in parts])) + own * (1.0 + bound_sum(problem.n + 8))
    return EnclosedSum(value, error, measure_length(value))


def add_duals(a: np.ndarray) -> EnclosedSum:
    """sum_i a_i for each class, rounded once; with many classes also the error of the dual of a sample's own class."""
    if a.ndim == 1:
        total = fsum(a.tolist())
        return EnclosedSum(total, UNIT * abs(total), abs(total))
    totals, k = np.array([fsum(row.tolist()) for row in a]), len(a)
    own = bound_sum(k + 8) * float(np.abs(a).sum()) * (1.0 + bound_sum(a.size))
    return EnclosedSum(totals, UNIT * np.abs(totals) + own, np.abs(totals))


def project_duals(problem: Problem, a: np.ndarray) -> np.ndarray:
    """The duals, each put into its domain."""
    if problem.row is not None:
        return np.minimum(np.maximum(a, problem.row.lo), problem.row.hi)
    return problem.terms.repair(a, None) if problem.features.n_classes is not None else a


def find_feasible_steps(problem: Problem, a: np.ndarray, b, scores: Enclosed) -> tuple[FeasibleStep, FeasibleStep]:
    """How far the duals between their bounds can move up and down; near the optimum this costs next to nothing.

    Each moves to its bound where that is finite, otherwise to twice its size, or to zero if that is the direction.
    """
    row = problem.row
    if row is None or problem.balance is None:
        return FeasibleStep(), FeasibleStep()
    inner = np.flatnonzero((a > row.lo) & (a < row.hi))
    if len(inner) < problem.n // 2:
        part = replace(problem, features=problem.features.subset(inner), y=problem.y[inner], c=problem.c[inner])
        a, scores = a[inner], Enclosed(scores.value[inner], scores.error[inner])
    else:
        part = problem
    f = scores.value + b
    score_error = scores.error + UNIT * np.abs(f)
    return measure_feasible_step(part, a, f, score_error, 1.0), measure_feasible_step(part, a, f, score_error, -1.0)


def measure_feasible_step(
    problem: Problem, a: np.ndarray, f: np.ndarray, score_error: np.ndarray, side: float
) -> FeasibleStep:
    """The room upwards or downwards.

    If dual i can move by w_i, a share t of that adds at most
    t w_i (f_i + p_i + d_i a_i) + t e_i (|a_i + w_i| - |a_i|) + t^2 d_i w_i^2/2 to its remainder, since |a| is convex.
    """
    p, d, e, lo, hi = problem.row
    between, end = (a > lo) & (a < hi), hi if side > 0 else lo
    end = np.where(np.isfinite(end), end, np.where(side * a > 0, 2.0 * a, 0.0))
    displacement = np.where(between, end - a, 0.0)
    linear = displacement * (f + p + d * a) + np.where(between, e * (np.abs(end) - np.abs(a)), 0.0)
    sizes = np.abs(displacement) * (np.abs(f) + np.abs(p) + d * np.abs(a)) + e * (np.abs(end) + np.abs(a))
    slack = bound_sum(len(a) + 16)
    rise, error = (
        float(linear.sum()),
        float(np.abs(displacement) @ score_error) * (1.0 + slack) + slack * float(sizes.sum()),
    )
    quadratic = 0.5 * float((d * displacement) @ displacement) * (1.0 + slack)
    return FeasibleStep(
        float(displacement.sum()), pull(problem, displacement), EnclosedSum(rise, error, abs(rise)), quadratic
    )


# ---- duals that balance -------------------------------------------------------------------------------------------


def balance(problem: BlockProblem, point: BlockPoint, block_sums: BlockSums, closely: bool) -> list[Move] | None:
    """The moves that make the duals of the point, which nearly sum to zero, do so exactly; None if there are none.

    Duals between their bounds absorb the difference where they can. Otherwise the duals at other intercepts are mixed
    in.
    """
    total = block_sums.total.close(count_additions(problem.blocks.n_blocks))
    if not np.any(total.value) and not np.any(total.error):
        return []
    if np.ndim(total.value) == 0 and (moves := balance_by_feasible_steps(problem, block_sums, total)) is not None:
        return moves
    for shift in INTERCEPT_SHIFT_FACTORS:
        shifts = shift * problem.scale * spread_shifts(problem)
        found = problem.blocks.run(sum_shifted_duals, problem.pose, point.coef, point.b, shifts, closely)
        moves = balance_by_shifted_duals(problem, block_sums, total, found)
        if moves is not None:
            return moves
    return None


def balance_by_feasible_steps(problem: BlockProblem, block_sums: BlockSums, total: Enclosed) -> list[Move] | None:
    """A share of the room in the direction that balances the duals, and an allowance for rounding in either direction.

    The share that balances exactly is |sum_i a_i| / room, and both are known up to rounding.
    """
    additions, missing = count_additions(problem.blocks.n_blocks), abs(float(total.value))
    ahead, back = (block_sums.down, block_sums.up) if total.value > 0 else (block_sums.up, block_sums.down)
    slack = bound_sum(problem.n + additions + 16)
    error_bound = (float(total.error) + missing * slack) * (1.0 + 8.0 * UNIT)
    moves = []
    for step, needed in ((ahead, missing), (back, 0.0)):
        if step is back and error_bound <= missing:
            continue
        width = abs(step.total) * (1.0 - slack)
        if not needed + error_bound <= MAX_SHARE * width:
            return None
        pulled, rise = step.pulled.close(additions), step.rise.close(additions)
        moves.append(
            Move(needed / abs(step.total), error_bound / width * (1.0 + 4.0 * UNIT), pulled, rise, step.quadratic)
        )
    return moves


def balance_by_shifted_duals(
    problem: BlockProblem, block_sums: BlockSums, total: Enclosed, found: ShiftedDualSums
) -> list[Move] | None:
    """A share of the duals at each shifted intercept, so that all sum to zero; None if there are no such shares.

    With these shares the sum is zero up to rounding. Spare shares of the same duals make up for the difference exactly.
    """
    additions = count_additions(problem.blocks.n_blocks)
    start, drawn = block_sums.remainders.close(additions), block_sums.pulled.close(additions)
    rests, pulls, ends = ([each.close(additions) for each in part] for part in found)
    origin, totals = np.atleast_1d(total.value), np.array([np.atleast_1d(end.value) for end in ends])
    shares = find_shares(origin, totals)
    if shares is None:
        return None
    error_bounds, error_bound = np.array([np.atleast_1d(end.error) for end in ends]), np.atleast_1d(total.error)
    sizes = np.abs(origin) + shares @ (np.abs(totals) + np.abs(origin))
    left = np.abs(origin + shares @ (totals - origin)) + bound_sum(len(shares) + 8) * sizes
    left = left + error_bound + shares @ (error_bounds + error_bound)
    spares = find_spares(totals, error_bounds, left, problem.loss.target == "class")
    if spares is None or not max(float(shares.sum()), float(spares.sum())) <= MAX_SHARE:
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


def find_spares(totals: np.ndarray, error_bounds: np.ndarray, left: np.ndarray, zero_sum: bool) -> np.ndarray | None:
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
        missed = np.abs(found @ totals / unit - side * wanted[j]).sum() + found @ error_bounds.sum(axis=1) / unit
        most[:, j], error = np.maximum(most[:, j], found / unit), max(error, float(missed))
    spoilt = left + error * left.sum()  # by the mixtures for other sums
    return (
        2.0 * (most @ spoilt) if error <= MAX_UNIT_MOVE_ERROR else None
    )  # mixing in a share t scales what is left by 1 - t


def spread_shifts(problem: BlockProblem) -> np.ndarray:
    """Unit shifts of the intercept up and down, for each class where there are many."""
    k = problem.pose.n_classes
    return np.array([1.0, -1.0]) if k is None else np.concatenate([np.eye(k), -np.eye(k)])


def sum_shifted_duals(
    block: Block, pose: BlockFormulation, coef: np.ndarray, b, shifts: np.ndarray, closely: bool
) -> ShiftedDualSums:
    """The sums for the duals that rows respond with at shifted intercepts: feasible, and unbalanced either way."""
    problem = pose.pose(block)
    scores = problem.features.enclose(coef, closely)
    f = problem.shift(scores.value, b)
    remainders, pulled, totals = [], [], []
    for shift in shifts:
        with np.errstate(over="ignore", invalid="ignore"):
            a = project_duals(problem, problem.terms.response(problem.shift(f, shift))[0])
        remainders.append(enclose_terms(problem, a, b, scores)[2])
        pulled.append(pull(problem, a, closely))
        totals.append(add_duals(a))
    return ShiftedDualSums(tuple(remainders), tuple(pulled), tuple(totals))


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
