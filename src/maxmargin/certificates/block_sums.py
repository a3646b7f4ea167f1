"""Sums over the rows of a block at (w, b) and its duals, each with a bound on its error, added over the blocks."""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from typing import NamedTuple

import numpy as np

from ..blocks.problem import BlockFormulation
from ..contracts.blocks import Block
from ..model.problem import Problem
from ..runtime.rounding import UNIT, Enclosed, bound_sum
from ..runtime.tree_sum import SUM_FAN_IN
from .term_sums import sum_terms


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


def measure_length(v: np.ndarray) -> float:
    """|v|, rounded upwards."""
    return float(np.sqrt(np.sum(np.square(v)))) * (1.0 + bound_sum(np.size(v) + 8))


def count_additions(n_blocks: int) -> int:
    """The most additions that a part of a sum over blocks goes through: SUM_FAN_IN on each level of the tree."""
    levels = 1
    while SUM_FAN_IN**levels < n_blocks:
        levels += 1
    return SUM_FAN_IN * (levels + 1)


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
