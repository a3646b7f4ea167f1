"""Pairs of classes that are small, solved together: without Python around each of them."""

from __future__ import annotations

import numpy as np

from ..certificates.class_pairs import ClassPairs
from ..model.formulations import Machine, Risk
from ..solvers.choice import Automatic
from ..solvers.smo import SMO
from ..solvers.smo.together import LARGEST, solve_together, suits
from .fit_problems import Fit, Posed
from .tasks import Budget

BATCH = 250_000  # samples of problems that lie one after the other: some megabytes, and a fraction of a second


def solve_small_pairs(posed: Posed, solver, tol: float, budget: Budget) -> dict[int, Fit]:
    """The fits of the tasks that are small, by number; one that has not converged is where the loop goes on."""
    smo = solver.smo if isinstance(solver, Automatic) else solver
    chosen = [k for k, task in enumerate(posed.tasks) if task.pair is not None and len(task.index) <= LARGEST]
    if not (chosen and isinstance(smo, SMO) and suits(smo, tol) and can_join(posed)):
        return {}
    sizes = np.cumsum([len(posed.tasks[k].index) for k in chosen])
    fits: dict[int, Fit] = {}
    for part in np.split(chosen, np.flatnonzero(np.diff(sizes // BATCH)) + 1):
        if fits and budget.is_over():
            break
        fits |= solve_batch(posed, part.tolist(), smo, tol, budget)
    return fits


def solve_batch(posed: Posed, chosen: list[int], smo: SMO, tol: float, budget: Budget) -> dict[int, Fit]:
    """The fits of some tasks, in memory that does not grow with their number."""
    problems = join(posed, chosen)
    results = solve_together(problems, smo, tol, budget.workers, budget.is_over)
    a = np.concatenate([result.point.a for result in results])
    free = (a > problems.row.lo) & (a < problems.row.hi) & (a != 0)
    return {
        k: Fit(result, Machine(result.point.a, result.point.b), free[problems.cut(place)], measure_norm(result))
        for place, (k, result) in enumerate(zip(chosen, results, strict=True))
    }


def can_join(posed: Posed) -> bool:
    """Whether pairs may be solved together: a risk with a free intercept, and rows evaluated within compiled loops."""
    free = isinstance(posed.formulation, Risk) and posed.formulation.free
    return free and posed.features.segments is not None and posed.features.kernel.psd


def join(posed: Posed, chosen: list[int]) -> ClassPairs:
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
