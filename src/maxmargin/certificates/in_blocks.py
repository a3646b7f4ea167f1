"""The judge of problems over blocks: one pass for P and D, and a second where the duals must be brought to balance.

For duals a that sum to zero where an intercept is free, and v = sum_i a_i x_i,

    P(w, b) - D(a) = 1/2 |w - v|^2 + sum_i [ c_i l(f_i) + conj_i(a_i) + a_i f_i ],

a sum of nonnegative terms. These are added up over the blocks, each sum with a bound on its error. D is P minus that
sum.
"""

from __future__ import annotations

import numpy as np

from ..blocks.problem import BlockPoint, BlockProblem
from ..runtime.rounding import UNIT, Enclosed, add_enclosed, bound_sum
from .block_balance import Move, balance
from .block_sums import BlockSums, count_additions, measure_length, sum_block
from .certificate import Certificate, judge


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
