"""The scale of the scores of a problem, and whether its rows have kinks."""

from __future__ import annotations

import numpy as np

from ...problem import Problem


def is_kinked(problem: Problem) -> bool:
    """Whether any row that counts has no curvature of its own."""
    row = problem.row
    return row is not None and bool(((row.d <= 0) & (row.hi > row.lo)).any())


def measure_scale(problem: Problem) -> float:
    """How far scores may have to go: 1 for labels, the spread of the targets for regression."""
    if problem.row is None:
        return 1.0
    free, p = problem.balance is not None, problem.row.p
    away = p + problem.centre if free else p
    spread = float(problem.c @ np.abs(away)) / max(float(problem.c.sum()), 1e-300)
    if spread == 0.0 and free:  # one class: the scores are those that the balance asks for
        spread = abs(float(problem.balance)) * float(np.mean(problem.features.samples.norms))
    return max(spread, 1e-12 * float(np.abs(p).max(initial=0.0))) or 1.0
