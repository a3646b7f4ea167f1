"""The judge of problems in memory: P and D from the problem and the point alone, rounding included."""

from __future__ import annotations

import numpy as np

from ..model.problem import Point, Problem
from ..runtime.rounding import Enclosed, bound_sum
from .bounds import combine_bounds, enclose_offset
from .certificate import Certificate, judge
from .definiteness import examine_kernel
from .mixtures import judge_mixture
from .needed_scores import enclose_needed_scores
from .term_sums import largest, sum_terms


@judge.register
def judge_in_memory(problem: Problem, point: Point, closely: bool = False) -> Certificate:
    """P(w, b), D(a) and their gap at a point, from nothing but the problem and the point.

    Duals outside their bounds or out of balance are first made feasible, so that D is a true lower bound whatever the
    solver handed in. The cost of this repair shows in the gap.
    """
    features = problem.features
    if features.penalty == "l1":
        point = point._replace(
            a=features.scale_to_feasible(problem.feasible(point.a))
        )  # in this order: a repair changes v too
    coef = problem.expand(point)
    scores, rough = enclose_needed_scores(problem, point, coef, closely)
    scores, penalty, drift = enclose_machine(problem, point, coef, scores)
    if problem.terms.joint:
        return judge_mixture(problem, point, penalty, scores, closely)
    a, sums = point.a, sum_terms(problem, point.a, point.b, scores)
    if sums is None:
        a = problem.feasible(point.a)
        sums = sum_terms(problem, a, point.b, scores, repaired=True)
    if point.w is None:
        remainder = features.measure_remainder(coef, a, sums.moved, closely, drift)
    else:
        remainder = features.measure_distance(point.w, a, sums.moved)
    penalty_conjugate = features.bound_penalty_conjugate(penalty.high, remainder)
    bounds = combine_bounds(penalty, enclose_offset(problem, point.b), sums, remainder, penalty_conjugate)
    return Certificate(
        *(float(each) for each in bounds[:2]), float(sums.kkt), examine_kernel(features, coef), problem.floor,
        *(float(each) for each in bounds[2:]), scores.value, rough=rough,
        errors=np.broadcast_to(scores.error, scores.value.shape),
    )  # fmt: skip


def enclose_machine(
    problem: Problem, point: Point, coef: np.ndarray, scores: Enclosed
) -> tuple[Enclosed, Enclosed, float]:
    """Scores and R(w) of the machine that users see, and how far its w is from that of the point, which has `coef`."""
    if point.w is not None:
        half, drift = 0.5 * float(point.w @ point.w), 0.0
        penalty = Enclosed(half, bound_sum(len(point.w) + 8) * half)
    else:
        penalty, drift = problem.features.enclose_penalty(coef, scores), problem.measure_drift(coef)
    if drift:
        lengthened = drift * (np.sqrt(2.0 * max(penalty.high, 0.0)) + drift)
        penalty = penalty._replace(error=penalty.error + lengthened)
    public = problem.features.bound_public_errors(coef, largest(point.b), penalty.high, drift)
    if isinstance(public, np.ndarray) or public > 0.0:
        scores = scores._replace(error=scores.error + public)
    return scores, penalty, drift
