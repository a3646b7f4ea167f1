"""The judge of structured problems: P from the model's oracle, D from the model's features, nothing from a solver.

With heights h_i(z) = Delta(y_i, z) + <w, psi(x_i, z) - psi(x_i, y_i)> and weights alpha_i(z) that sum to c_i,

    P(w) - D(alpha) = 1/2 |w - w(alpha)|^2 + sum_i [ c_i max_z h_i(z) - sum_z alpha_i(z) h_i(z) ],

a sum of nonnegative terms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..runtime.rounding import UNIT, Enclosed, add_enclosed, bound_sum
from ..structures.examples import Sheet
from ..structures.problem import StructuredPoint, StructuredProblem
from .in_memory import Certificate, judge


class Mixture(NamedTuple):
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
    examples, c = problem.examples.afresh(), problem.c
    w = np.ascontiguousarray(point.w, float)
    sheet, values, bounds = examples.blank(), np.empty(problem.n), np.empty(problem.n)
    examples.maximise(w, 0, problem.n, sheet, values, bounds)
    bounds = np.maximum(bounds, 0.0)  # the height of the true labelling y
    best = add_products(c, bounds, examples.bound_rounding(sheet, w))
    half = 0.5 * float(w @ w)
    primal = add_enclosed(Enclosed(half, bound_sum(len(w) + 8) * half), best)
    mixture = mix(problem, examples, point.sheets, w)
    share, dual = bound_dual(mixture)
    kkt = float(np.maximum(bounds - mixture.means, 0.0).max())
    if not np.isfinite(primal.high):
        return Certificate(np.inf, dual, kkt, floor=problem.floor)
    plain, bound = bound_gap(w, best, mixture, share)
    below = float(primal.low) - bound
    return Certificate(
        float(primal.high), max(dual, below - UNIT * abs(below)), kkt, floor=problem.floor,
        rounding=max(bound - plain, 0.0), bound=bound,
    )  # fmt: skip


def add_products(weights: np.ndarray, values: np.ndarray, errors: np.ndarray) -> Enclosed:
    """sum_i weight_i value_i for values with errors of up to `errors` and nonnegative weights."""
    slack = bound_sum(len(weights) + 8)
    size = float(weights @ np.abs(values)) if np.isfinite(values).all() else np.inf
    return Enclosed(float(weights @ values), (float(weights @ errors) + slack * size) * (1.0 + 2.0 * slack))


def mix(problem: StructuredProblem, examples, sheets: tuple[Sheet, ...], w: np.ndarray) -> Mixture:
    """The sums over all labellings, with weights scaled so that those of each sample sum to at most c_i.

    The weights are reduced by a few rounding errors, so that this holds in exact arithmetic. The rest of the weight is
    on y_i, where loss, height and pull are zero.
    """
    c, parts = problem.c, len(sheets)
    sums = sum((np.maximum(each.weight, 0.0) for each in sheets), np.zeros(problem.n))
    scale = np.where(sums > 0, c / np.where(sums > 0, sums, 1.0), 0.0) * (1.0 - 2.0 * bound_sum(parts + 8))
    pulled, doubt, length, means = np.zeros(problem.size), 0.0, 0.0, np.zeros(problem.n)
    losses, heights = Enclosed(0.0, 0.0), Enclosed(0.0, 0.0)
    for each in sheets:
        a, sheet = np.maximum(each.weight, 0.0) * scale, examples.admit(each.labelling)
        costs, reached = examples.measure(sheet, w)
        part = examples.combine(sheet, a, np.zeros(problem.size))
        pulled += part
        doubt += bound_sum(examples.additions + 8) * float(a @ examples.bound_lengths(sheet))
        length += float(np.linalg.norm(part))
        losses = add_enclosed(losses, add_products(a, costs, bound_sum(examples.additions) * costs))
        heights = add_enclosed(heights, add_products(a, reached, examples.bound_rounding(sheet, w)))
        means += a / c * reached
    slack = bound_sum(parts + problem.n + 8)
    return Mixture(
        Enclosed(pulled, (doubt + bound_sum(parts + 8) * length) * (1.0 + slack)),
        Enclosed(losses.value, losses.error * (1.0 + slack) + bound_sum(parts + 8) * losses.value),
        Enclosed(heights.value, heights.error * (1.0 + slack) + bound_sum(parts + 8) * abs(heights.value)), means,
    )  # fmt: skip


def bound_dual(mixture: Mixture) -> tuple[float, float]:
    """The share t of the weights that is best left in place, and D = t losses - t^2 |w(alpha)|^2 / 2 for that t."""
    square = float(mixture.pulled.value @ mixture.pulled.value)
    linear = mixture.losses.value
    share = float(np.clip(linear / square, 0.0, 1.0)) if square > 0 else 1.0  # the rest goes to y, which is worth 0
    length = np.sqrt(square) * (1.0 + bound_sum(len(mixture.pulled.value) + 8)) + mixture.pulled.error
    gained, lost = share * max(float(mixture.losses.low), 0.0), 0.5 * (share * length) ** 2
    return share, float(gained - lost - 8.0 * UNIT * (gained + lost))


def bound_gap(w: np.ndarray, best: Enclosed, mixture: Mixture, share: float) -> tuple[float, float]:
    """P - D as the sum of its terms, and the same with a bound on all rounding errors added."""
    pulled, length = share * mixture.pulled.value, float(np.linalg.norm(w))
    slack = bound_sum(len(w) + 8)
    apart = float(np.linalg.norm(w - pulled)) * (1.0 + slack)
    doubt = share * mixture.pulled.error + 4.0 * UNIT * (length + apart)
    heights = share * mixture.heights.value
    plain = 0.5 * apart * apart + best.value - heights
    errors = best.error + share * mixture.heights.error + (apart + doubt) * doubt
    sizes = abs(best.value) + abs(heights) + apart * apart
    return plain, max((plain + errors + 8.0 * UNIT * (sizes + errors)) * (1.0 + 4.0 * UNIT), 0.0)
