"""The judge of structured problems: P from the model's oracle, D from the model's features, nothing from a solver.

With heights h_i(z) = Delta(y_i, z) + <w, psi(x_i, z) - psi(x_i, y_i)> and weights alpha_i(z) that sum to c_i,

    P(w) - D(alpha) = 1/2 |w - w(alpha)|^2 + sum_i [ c_i max_z h_i(z) - sum_z alpha_i(z) h_i(z) ],

a sum of nonnegative terms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..runtime.rounding import UNIT, Enclosed, add_enclosed, bound_sum
from ..structures.labellings import WeightedLabelling
from ..structures.problem import StructuredPoint, StructuredProblem
from .certificate import Certificate, judge


class LabellingSums(NamedTuple):
    """Weighted sums over the labellings of a point.

    Attributes
    ----------
    pulled : Enclosed
        w(alpha), and a bound on the norm of its error.
    losses, heights : Enclosed
        sum alpha_i(z) Delta(y_i, z) and sum alpha_i(z) h_i(z).
    means : ndarray
        The mean height of each sample.
    """

    pulled: Enclosed
    losses: Enclosed
    heights: Enclosed
    means: np.ndarray


@judge.register
def judge_structure(problem: StructuredProblem, point: StructuredPoint, closely: bool = False) -> Certificate:
    """P(w), D(alpha) and their gap, from the model and the point alone.

    The oracle is asked for every sample at w. Where it may miss the best labelling, the model's upper bound takes its
    place; if the model has none, P is infinite. Every labelling of the point is evaluated anew. The weights are clipped
    at zero and scaled so that those of each sample sum to c_i: D is a true lower bound whatever the solver handed in.
    Where D is larger with smaller weights, some of the weight is shifted to the true labels. What a model returns
    counts as exact, and `closely` changes nothing, since the oracle computes its own scores.
    """
    examples, c = problem.examples.without_cache(), problem.c
    w = np.ascontiguousarray(point.w, float)
    joint_labelling, values, bounds = examples.blank(), np.empty(problem.n), np.empty(problem.n)
    examples.maximise(w, 0, problem.n, joint_labelling, values, bounds)
    bounds = np.maximum(bounds, 0.0)  # the height of the true labelling y
    best = add_weighted_values(c, bounds, examples.bound_rounding(joint_labelling, w))
    half = 0.5 * float(w @ w)
    primal = add_enclosed(Enclosed(half, bound_sum(len(w) + 8) * half), best)
    labelling_sums = sum_labellings(problem, examples, point.sheets, w)
    share, dual = bound_dual(labelling_sums)
    kkt = float(np.maximum(bounds - labelling_sums.means, 0.0).max())
    if not np.isfinite(primal.high):
        return Certificate(np.inf, dual, kkt, floor=problem.floor)
    plain, bound = bound_gap(w, best, labelling_sums, share)
    below = float(primal.low) - bound
    return Certificate(
        float(primal.high), max(dual, below - UNIT * abs(below)), kkt, floor=problem.floor,
        rounding=max(bound - plain, 0.0), bound=bound,
    )  # fmt: skip


def add_weighted_values(weights: np.ndarray, values: np.ndarray, errors: np.ndarray) -> Enclosed:
    """sum_i weight_i value_i for values with errors of up to `errors` and nonnegative weights."""
    slack = bound_sum(len(weights) + 8)
    size = float(weights @ np.abs(values)) if np.isfinite(values).all() else np.inf
    return Enclosed(float(weights @ values), (float(weights @ errors) + slack * size) * (1.0 + 2.0 * slack))


def sum_labellings(
    problem: StructuredProblem, examples, sheets: tuple[WeightedLabelling, ...], w: np.ndarray
) -> LabellingSums:
    """The sums over all labellings, with weights scaled so that those of each sample sum to at most c_i.

    The weights are reduced by a few rounding errors, so that this holds in exact arithmetic. The rest of the weight is
    on y_i, where loss, height and pull are zero.
    """
    c, parts = problem.c, len(sheets)
    sums = sum((np.maximum(each.weight, 0.0) for each in sheets), np.zeros(problem.n))
    scale = np.where(sums > 0, c / np.where(sums > 0, sums, 1.0), 0.0) * (1.0 - 2.0 * bound_sum(parts + 8))
    pulled, error_bound, length, means = np.zeros(problem.size), 0.0, 0.0, np.zeros(problem.n)
    losses, heights = Enclosed(0.0, 0.0), Enclosed(0.0, 0.0)
    for each in sheets:
        a, joint_labelling = np.maximum(each.weight, 0.0) * scale, examples.from_labelling(each.labelling)
        costs, reached = examples.measure(joint_labelling, w)
        part = examples.combine(joint_labelling, a, np.zeros(problem.size))
        pulled += part
        error_bound += bound_sum(examples.additions + 8) * float(a @ examples.bound_feature_norms(joint_labelling))
        length += float(np.linalg.norm(part))
        losses = add_enclosed(losses, add_weighted_values(a, costs, bound_sum(examples.additions) * costs))
        heights = add_enclosed(heights, add_weighted_values(a, reached, examples.bound_rounding(joint_labelling, w)))
        means += a / c * reached
    slack = bound_sum(parts + problem.n + 8)
    return LabellingSums(
        Enclosed(pulled, (error_bound + bound_sum(parts + 8) * length) * (1.0 + slack)),
        Enclosed(losses.value, losses.error * (1.0 + slack) + bound_sum(parts + 8) * losses.value),
        Enclosed(heights.value, heights.error * (1.0 + slack) + bound_sum(parts + 8) * abs(heights.value)), means,
    )  # fmt: skip


def bound_dual(labelling_sums: LabellingSums) -> tuple[float, float]:
    """The share t of the weights that is best left in place, and D = t losses - t^2 |w(alpha)|^2 / 2 for that t."""
    square = float(labelling_sums.pulled.value @ labelling_sums.pulled.value)
    linear = labelling_sums.losses.value
    share = float(np.clip(linear / square, 0.0, 1.0)) if square > 0 else 1.0  # the rest goes to y, which is worth 0
    length = np.sqrt(square) * (1.0 + bound_sum(len(labelling_sums.pulled.value) + 8)) + labelling_sums.pulled.error
    gained, lost = share * max(float(labelling_sums.losses.low), 0.0), 0.5 * (share * length) ** 2
    return share, float(gained - lost - 8.0 * UNIT * (gained + lost))


def bound_gap(w: np.ndarray, best: Enclosed, labelling_sums: LabellingSums, share: float) -> tuple[float, float]:
    """P - D as the sum of its terms, and the same with a bound on all rounding errors added."""
    pulled, length = share * labelling_sums.pulled.value, float(np.linalg.norm(w))
    slack = bound_sum(len(w) + 8)
    apart = float(np.linalg.norm(w - pulled)) * (1.0 + slack)
    error_bound = share * labelling_sums.pulled.error + 4.0 * UNIT * (length + apart)
    heights = share * labelling_sums.heights.value
    plain = 0.5 * apart * apart + best.value - heights
    errors = best.error + share * labelling_sums.heights.error + (apart + error_bound) * error_bound
    sizes = abs(best.value) + abs(heights) + apart * apart
    return plain, max((plain + errors + 8.0 * UNIT * (sizes + errors)) * (1.0 + 4.0 * UNIT), 0.0)
