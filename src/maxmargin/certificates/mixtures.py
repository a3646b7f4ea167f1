"""The judge of losses that do not split over samples."""

from __future__ import annotations

import numpy as np

from ..model.problem import Mixture, Point, Problem
from ..runtime.interruptible import check_interrupt
from ..runtime.rounding import UNIT, Enclosed, add_enclosed, bound_sum
from .bounds import enclose_offset
from .certificate import Certificate
from .definiteness import examine_kernel
from .term_sums import MAX_RELATIVE_IMBALANCE


def judge_mixture(problem: Problem, point: Point, penalty: Enclosed, scores: Enclosed, closely: bool) -> Certificate:
    """The certificate of a loss that does not split over samples.

    The loss is evaluated again at every vector of scores of the mixture. For the a that it returns,
    R(g) >= R(f) - a.(g - f), whatever the scores f are. So -R*(-a) >= R(f) + a.f, and the weighted sum of these bounds,
    with the weighted sum of the a, bounds P from below.
    """
    features, terms = problem.features, problem.terms
    f = problem.shift(scores.value, point.b)
    score_error = scores.error + UNIT * np.abs(f)
    offset = enclose_offset(problem, point.b)
    value = float(terms.value(f)[0])
    losses = Enclosed(value, terms.bound_value_error(f, score_error, value))
    primal = add_enclosed(penalty, losses, offset)
    a, dual, moved = combine_responses(problem, point.mixture)
    moved += 0.0 if problem.balance is None else abs(float(a.sum() - problem.balance))
    pulled = features.combine(a)  # not w: where R has kinks, the best w may be another one
    remainder = features.measure_remainder(pulled, a, moved, closely)
    penalty_conjugate = features.bound_penalty_conjugate(
        features.enclose_penalty(pulled, features.enclose(pulled, closely)).high, remainder
    )
    cost = moved * float(np.abs(f).max(initial=0.0) + np.abs(point.b))
    low = (
        dual.low - penalty_conjugate - cost - 4.0 * UNIT * abs(penalty_conjugate)
        if problem.imbalance(a) <= MAX_RELATIVE_IMBALANCE
        else -np.inf
    )
    error = float(primal.error + dual.error + cost + moved * features.largest_size * np.sqrt(2.0 * penalty_conjugate))
    return Certificate(
        primal=float(primal.high), dual=float(low), kkt=terms.violation(a, f), convex=examine_kernel(features, pulled),
        floor=problem.floor, rounding=error, scores=scores.value,
    )  # fmt: skip


def combine_responses(problem: Problem, mixture: Mixture | None) -> tuple[np.ndarray, Enclosed, float]:
    """The duals of a mixture, sum_k weight_k (R(f_k) + a_k.f_k), which bounds -R*(-a), and what rounding moved of a."""
    if mixture is None or not (mixture.weights > 0).any():
        return np.zeros(problem.shape), Enclosed(-np.inf, 0.0), 0.0
    weights = np.maximum(mixture.weights, 0.0)
    weights = weights / weights.sum()
    slack = bound_sum(problem.n + len(weights) + 16)
    a, total, error, pulls = np.zeros(problem.shape), 0.0, 0.0, 0.0
    for weight, f in zip(weights, mixture.scores, strict=True):
        check_interrupt()
        value, duals = problem.terms.cut(f)
        a += weight * duals
        pulls += weight * float(np.abs(duals).sum())
        size = float(np.abs(duals) @ np.abs(f))
        total += weight * (value + float(duals @ f))
        error += weight * (problem.terms.bound_value_error(f, np.zeros_like(f), value) + 2.0 * size * UNIT)
        error += weight * slack * (size + abs(value))
    return a, Enclosed(total, error), slack * pulls
