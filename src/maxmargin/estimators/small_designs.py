"""Problems of a linear machine over few rows of few features, solved together: without Python around each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificates.small_designs import SmallDesigns, SparseDesigns
from ..contracts.losses import Loss
from ..model.features import Design
from ..solvers.coordinate.together import can_descend_together, descend_together, has_few_entries
from ..solvers.newton.together import can_solve_together, is_small, solve_together
from .linear_problems import LinearFit, LinearProblems
from .tasks import Budget


def is_small_design(X: Any) -> bool:
    """Whether the problems over X are solved together: few rows and features, and of a sparse matrix not few entries.

    Rows of few entries are multiplied in less time as they are, unless the whole matrix of the features is soon formed.
    """
    n, d = X.shape
    return is_small(n, d, X.nnz if sp.issparse(X) else n * d)


def solve_small_designs(
    posed: LinearProblems, loss: Loss, free: bool, tol: float, budget: Budget
) -> dict[int, LinearFit]:
    """The fits of all tasks, by number; one that has not converged is where the loop goes on.

    Tasks that do not share their rows are left to the loop.
    """
    features = posed.whole
    if type(features) is not Design:
        return {}
    samples, sparse = features.samples, features.samples.sparse
    few = has_few_entries(samples, len(posed.tasks)) if sparse else is_small(samples.n, samples.d, samples.size)
    if not few:
        return {}
    if len(posed.tasks) == 1:
        y, c = posed.tasks[0].y[None], posed.tasks[0].c[None]
    else:
        y, c = np.array([task.y for task in posed.tasks]), np.array([task.c for task in posed.tasks])
    problems = (SparseDesigns if sparse else SmallDesigns)(features, y, c, loss, free)
    if not (can_descend_together if sparse else can_solve_together)(problems, tol):
        return {}
    results = (descend_together if sparse else solve_together)(problems, tol, budget.workers, budget.is_over)
    if len(results) == len(problems) and all(result.converged for result in results.values()):
        budget.workers = 1  # nothing is left that threads could do
    return {k: LinearFit(result, *posed.read_point(None, result.point)) for k, result in results.items()}
