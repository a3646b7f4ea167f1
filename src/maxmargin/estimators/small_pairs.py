"""Pairs of classes that are small, solved together: without Python around each of them."""

from __future__ import annotations

import numpy as np

from ..certificates.class_pairs import ClassPairs
from ..model.formulations import Machine
from ..solvers.choice import Automatic
from ..solvers.smo import SMO
from ..solvers.smo.together import MAX_SAMPLES_PER_PAIR, is_default_smo, solve_together
from .kernel_problems import KernelFit, KernelProblems
from .tasks import Budget

BATCH_SAMPLES = 250_000  # samples of problems that lie one after the other: some megabytes, and a fraction of a second


def solve_small_pairs(posed: KernelProblems, solver, tol: float, budget: Budget) -> dict[int, KernelFit]:
    """The fits of the tasks that are small, by number; one that has not converged is where the loop goes on."""
    smo = solver.smo if isinstance(solver, Automatic) else solver
    chosen = [
        k for k, task in enumerate(posed.tasks) if task.pair is not None and len(task.index) <= MAX_SAMPLES_PER_PAIR
    ]
    if not (chosen and isinstance(smo, SMO) and is_default_smo(smo, tol) and can_solve_jointly(posed)):
        return {}
    sizes = np.cumsum([len(posed.tasks[k].index) for k in chosen])
    fits: dict[int, KernelFit] = {}
    for part in np.split(chosen, np.flatnonzero(np.diff(sizes // BATCH_SAMPLES)) + 1):
        if fits and budget.is_over():
            break
        fits |= solve_batch(posed, part.tolist(), smo, tol, budget)
    return fits


def solve_batch(posed: KernelProblems, chosen: list[int], smo: SMO, tol: float, budget: Budget) -> dict[int, KernelFit]:
    """The fits of some tasks, in memory that does not grow with their number."""
    problems = concatenate_problems(posed, chosen)
    results = solve_together(problems, smo, tol, budget.workers, budget.is_over)
    a = np.concatenate([result.point.a for result in results])
    free = (a > problems.row.lo) & (a < problems.row.hi) & (a != 0)
    return {
        k: KernelFit(result, Machine(result.point.a, result.point.b), free[problems.cut(place)], measure_norm(result))
        for place, (k, result) in enumerate(zip(chosen, results, strict=True))
    }


def can_solve_jointly(posed: KernelProblems) -> bool:
    """Whether pairs may be solved together: a risk with a free intercept, and rows evaluated within compiled loops."""
    free = posed.formulation.is_risk and posed.formulation.free
    return free and posed.features.segments is not None and posed.features.kernel.psd


def concatenate_problems(posed: KernelProblems, chosen: list[int]) -> ClassPairs:
    """The problems of some tasks, one after the other."""
    tasks = [posed.tasks[k] for k in chosen]
    y, c = np.concatenate([task.y for task in tasks]), np.concatenate([task.c for task in tasks])
    starts = np.searchsorted(posed.y, np.arange(posed.y[-1] + 1))
    return ClassPairs(posed.features, starts, np.array([task.pair for task in tasks]), y, c, posed.formulation.loss)


def measure_norm(result) -> float:
    """|w|, from the scores of the judge."""
    if not result.converged:
        return np.nan
    return float(np.sqrt(max(result.point.a @ result.certificate.scores, 0.0)))
