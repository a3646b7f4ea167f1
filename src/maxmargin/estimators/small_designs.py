"""Problems of a linear machine over few rows of few features, solved together: without Python around each step."""

from __future__ import annotations

import numpy as np

from ..certificates.small_designs import SmallDesigns
from ..contracts.losses import Loss
from ..model.features import Design
from ..solvers.newton.together import can_solve_together, is_small, solve_together
from .linear_problems import LinearFit, LinearProblems
from .tasks import Budget


def solve_small_designs(
    posed: LinearProblems, loss: Loss, free: bool, tol: float, budget: Budget
) -> dict[int, LinearFit]:
    """The fits of all tasks, by number, where their rows are few; one that has not converged is where the loop goes on.

    Tasks that do not share their rows are left to the loop.
    """
    features = posed.whole
    if type(features) is not Design or not is_small(features.n, features.samples.d):
        return {}
    y, c = (np.stack([getattr(task, name) for task in posed.tasks]) for name in ("y", "c"))
    problems = SmallDesigns(features, y, c, loss, free)
    if not can_solve_together(problems):
        return {}
    results = solve_together(problems, tol, budget.workers, budget.is_over)
    if all(result.converged for result in results):
        budget.workers = 1  # nothing is left that threads could do
    return {k: LinearFit(result, *posed.read_point(None, result.point)) for k, result in enumerate(results)}
