"""What is proven of the optimum of a fitted kernel machine, from its support vectors and their duals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..certificates.optimum.bounds import OptimumBounds
from ..certificates.optimum.machines import MachineBounds
from ..certificates.optimum.proof import RowSource, bound_optimum
from ..certificates.optimum.space import RowSpace
from ..contracts.kernels import Kernel
from ..model.features import Gram
from ..model.formulations import NEGLIGIBLE_CLASS_SHARE, Formulation, NuClassification
from ..model.problem import Problem
from ..solvers.result import Result
from .tasks import Task

NO_DUALS = (
    "the duals of its fit are missing, as in a model from a file; "
    "use maxmargin.certify_predictions with the training data"
)


class PosedTasks(NamedTuple):
    """What a fit has solved: tasks over samples in some order, and their formulation."""

    tasks: Sequence[Task]
    formulation: Formulation
    order: np.ndarray | None


class SupportRows(NamedTuple):
    """The support vectors of a machine, as the kernel sees them, and which of the n training samples they are."""

    kernel: Kernel
    vectors: Any
    rows: np.ndarray
    n: int


def bound_kernel_machines(posed: PosedTasks, results: Sequence[Result], support: SupportRows) -> list[MachineBounds]:
    """Of each task, from those of its samples that are support vectors."""
    place = np.full(support.n, -1)
    place[support.rows] = np.arange(len(support.rows))
    gram, found = Gram(support.kernel, support.vectors, posed.formulation.offset), []
    for task, result in zip(posed.tasks, results, strict=True):
        rows = place[task.index if posed.order is None else posed.order[task.index]]
        at_hand = np.flatnonzero(rows >= 0)
        space = RowSpace(support.kernel, support.vectors.take(rows[at_hand]), gram.offset)
        problem = posed.formulation.pose(gram, task.y, task.c)  # its terms alone are asked for
        scores = bound_optimum(problem, result.point, result.certificate, RowSource(space, at_hand))
        found.append(join_margin(problem, scores, isinstance(posed.formulation, NuClassification)))
    return found


def join_margin(problem: Problem, scores: OptimumBounds, divides: bool) -> MachineBounds:
    """With bounds on rho, by which a nu classifier divides its scores."""
    if not divides:
        return MachineBounds(scores)
    if problem.features.signed:
        return MachineBounds(scores, scores.for_shares(-1.0))
    weights = problem.c.sum(axis=1)
    if (
        weights.min() <= NEGLIGIBLE_CLASS_SHARE * weights.sum()
    ):  # P does not hold its wall: see choose_margin_intercepts
        scores = replace(scores, square_radius=np.inf)
    return MachineBounds(scores, scores.for_shares(-0.5, 0.5))
