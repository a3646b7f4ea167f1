"""Duals over blocks that balance: moves that make those of a point sum to zero exactly, and what these moves cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..blocks.problem import BlockFormulation, BlockPoint, BlockProblem
from ..contracts.blocks import Block
from ..runtime.rounding import UNIT, Enclosed, bound_sum
from ..runtime.scipy_functions import linprog, nnls
from .block_sums import (
    BlockSums,
    EnclosedSum,
    add_duals,
    count_additions,
    enclose_terms,
    measure_length,
    project_duals,
    pull,
)

# times the scale of the scores: how far intercepts are shifted to find duals that balance
INTERCEPT_SHIFT_FACTORS = (1.0, 100.0, 1e4)
MAX_SHARE = 1.0 - 1e-12  # of a room: this share stays within the bounds although the ends of the room are rounded
MAX_UNIT_MOVE_ERROR = 1e-3  # of a unit: how far a move that was found may be from the one that is wanted


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
    below MAX_UNIT_MOVE_ERROR. The same mixtures correct that error, and so on: a geometric series. The duals of many
    classes sum to zero for every sample, so one sum rises by as much as the others fall together.
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
