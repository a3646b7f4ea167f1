"""Scores as close as the judge needs them: roughly, where a sample adds nothing to P, to D or to their gap."""

from __future__ import annotations

import numpy as np

from ..model.problem import Point, Problem
from ..runtime.rounding import Enclosed

SHIFT_ALLOWANCE = 1e-12  # of the sizes of score, intercept and target: more than their sum loses to rounding


def enclose_needed_scores(
    problem: Problem, point: Point, coef: np.ndarray, closely: bool = False
) -> tuple[Enclosed, np.ndarray | None]:
    """Scores at a point with bounds on their errors, and which samples have rough ones, in float32; None for none.

    The proof does not rest on the choice of these samples: whatever the interval of a score is, the judge adds what the
    loss may be within it. They are chosen so that this is nothing.
    """
    if not closely and problem.row is not None and point.w is None:
        found = problem.features.enclose_where_needed(
            coef, lambda index, scores: settles(problem, point, index, scores)
        )
        if found is not None:
            return found
    return problem.enclose_scores(point, closely), None


def settles(problem: Problem, point: Point, index: np.ndarray, scores: Enclosed) -> np.ndarray:
    """Whether dual and loss of these samples are zero wherever the score lies within its error, in every layer."""
    settled = np.ones(len(index), bool)
    row, duals, intercepts = problem.row, np.atleast_2d(point.a), np.atleast_1d(point.b)
    for layer, intercept in enumerate(intercepts):
        p, _, e, lo, hi = (np.atleast_2d(part)[layer, index] for part in row)
        push = -(scores.value + intercept + p)
        sizes = np.abs(scores.value) + np.abs(p) + abs(float(intercept))
        reach = scores.error * (1.0 + 1e-9) + SHIFT_ALLOWANCE * sizes
        settled &= (duals[layer, index] == 0) & np.isfinite(reach)
        settled &= ((push + reach < e) | (hi == 0)) & ((push - reach > -e) | (lo == 0))
    return settled
