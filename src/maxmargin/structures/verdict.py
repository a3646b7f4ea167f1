"""The judge of structured problems: P from the model's oracle, D from the model's features, nothing from a solver."""

from __future__ import annotations

import numpy as np

from ..certificate import Certificate, judge
from .problem import StructuredPoint, StructuredProblem


@judge.register
def judge_structure(problem: StructuredProblem, point: StructuredPoint) -> Certificate:
    """P(w), D(alpha) and their gap, from the model and the point alone.

    The oracle is asked for every sample at w. Where it may miss the best labelling, the model's upper bound takes its
    place, and without one P is infinite. Every labelling of the point is looked at afresh; its weights are clipped at
    zero and scaled so that those of each sample sum to c_i: D is a true lower bound whatever was handed in. Where all
    of them are too heavy, some of their weight goes to the labels themselves.
    """
    examples, c = problem.examples.afresh(), problem.c
    w = np.ascontiguousarray(point.w, float)
    sheet, values, bounds = examples.blank(), np.empty(problem.n), np.empty(problem.n)
    examples.maximise(w, 0, problem.n, sheet, values, bounds)
    sums = sum((np.maximum(each.weight, 0.0) for each in point.sheets), np.zeros(problem.n))
    scale = np.where(sums > 0, c / np.where(sums > 0, sums, 1.0), 0.0)  # without weights all of it is on y, worth 0
    w_of_a, linear, means = np.zeros(problem.size), 0.0, np.zeros(problem.n)
    for each in point.sheets:
        a = np.maximum(each.weight, 0.0) * scale
        labelling = examples.admit(each.labelling)
        losses, heights = examples.measure(labelling, w)
        examples.combine(labelling, a, w_of_a)
        linear += float(a @ losses)
        means += a / c * heights
    square = float(w_of_a @ w_of_a)
    share = float(np.clip(linear / square, 0.0, 1.0)) if square > 0 else 1.0  # the rest goes to y, which is worth 0
    return Certificate(
        primal=0.5 * float(w @ w) + float(c @ bounds),
        dual=share * linear - 0.5 * share**2 * square,
        kkt=float(np.maximum(bounds - means, 0.0).max()),
        convex=True,
        floor=problem.floor,
        resolution=problem.resolution,
    )
