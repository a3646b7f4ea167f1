"""The small problems of a fit, solved together: without Python around each of them."""

from __future__ import annotations

from itertools import accumulate
from math import sqrt

import numpy as np

from ..certificates.small_problems import SmallProblems
from ..model.features import SINGLE_ROWS_MAX_FEATURES, Gram
from ..model.formulations import Formulation
from ..model.kernels import has_formula
from ..solvers.automatic import Automatic
from ..solvers.result import Result
from ..solvers.smo import SMO
from ..solvers.smo.together import MAX_SAMPLES_PER_PROBLEM, is_default_smo, solve_together
from .kernel_problems import KernelFit, KernelProblems
from .tasks import Budget, Task

BATCH_SAMPLES = 250_000  # samples of problems that lie one after the other: some megabytes, and a fraction of a second


def solve_small_problems(posed: KernelProblems, solver, tol: float, budget: Budget) -> dict[int, KernelFit]:
    """The fits of the tasks that are small, by number; one that has not converged is where the loop goes on."""
    smo = solver.smo if isinstance(solver, Automatic) else solver
    chosen = [k for k, task in enumerate(posed.tasks) if len(task.index) <= MAX_SAMPLES_PER_PROBLEM]
    if not (chosen and isinstance(smo, SMO) and is_default_smo(smo, tol) and can_solve_jointly(posed, chosen)):
        return {}
    fits: dict[int, KernelFit] = {}
    for part in cut_batches(posed.tasks, chosen):
        if fits and budget.is_over():
            break
        fits |= solve_batch(posed, part, smo, tol, budget)
    return fits


def can_solve_jointly(posed: KernelProblems, chosen: list[int]) -> bool:
    """Whether rows can be evaluated within compiled loops, of pairs of classes or of all samples."""
    features, tasks = posed.features, posed.tasks
    if not (has_formula(features.kernel) and features.kernel.psd) or features.samples.sparse:
        return False
    if features.segments is not None:
        return all(tasks[k].pair is not None for k in chosen)
    whole = len(chosen) == len(tasks) and (len(tasks) == 1 or all(len(task.index) == features.n for task in tasks))
    return whole and features.whole is None and features.samples.d <= SINGLE_ROWS_MAX_FEATURES


def cut_batches(tasks: list[Task], chosen: list[int]) -> list[list[int]]:
    """The tasks in batches of bounded size."""
    if len(chosen) * MAX_SAMPLES_PER_PROBLEM <= BATCH_SAMPLES:
        return [chosen]
    sizes = np.cumsum([len(tasks[k].index) for k in chosen])
    return [part.tolist() for part in np.split(chosen, np.flatnonzero(np.diff(sizes // BATCH_SAMPLES)) + 1)]


def solve_batch(posed: KernelProblems, chosen: list[int], smo: SMO, tol: float, budget: Budget) -> dict[int, KernelFit]:
    """The fits of some tasks, in memory that does not grow with their number."""
    problems = concatenate_problems(posed, chosen)
    if problems is None:
        return {}
    results = solve_together(problems, smo, tol, budget.workers, budget.is_over)
    fits = read_results(posed.formulation, problems, results)
    return {k: fit for k, fit in zip(chosen, fits, strict=True) if fit is not None}


def read_results(formulation: Formulation, problems: SmallProblems, results: list[Result]) -> list[KernelFit | None]:
    """The machine of each result, which of its samples are free, and |w|; None where the judge had no certificate."""
    row, many = problems.rows.row, problems.layers > 1
    a = np.concatenate([result.point.a for result in results], axis=-1)
    free = (a > row.lo) & (a < row.hi) & (a != 0.0)
    free = free[0] if problems.layers == 1 else free.any(axis=0)
    fits: list[KernelFit | None] = []
    for place, result in enumerate(results):
        if result.certificate is None:
            fits.append(None)
            continue
        part, scores = problems.cut(place), result.certificate.scores
        coef = result.point.a.sum(axis=0) if many else result.point.a
        machine = formulation.read_jointly(result.point, coef, problems.rows.weights[:, part], scores)
        norm = sqrt(max(float(coef @ scores), 0.0)) * machine.scale
        fits.append(KernelFit(result, machine, free[part], norm))
    return fits


def concatenate_problems(posed: KernelProblems, chosen: list[int]) -> SmallProblems | None:
    """The problems of some tasks, one after the other; None if their formulation cannot be posed so."""
    tasks = [posed.tasks[k] for k in chosen]
    if len(tasks) == 1:
        y, c, starts = tasks[0].y, tasks[0].c, np.zeros(1, np.int64)
    else:
        y, c = np.concatenate([task.y for task in tasks]), np.concatenate([task.c for task in tasks])
        starts = np.array([0, *accumulate(len(task.index) for task in tasks[:-1])])
    rows = posed.formulation.pose_jointly(y, c, starts)
    if rows is None:
        return None
    features, segments, pairs = lay_out_samples(posed, tasks)
    return SmallProblems(features, segments, pairs, rows)


def lay_out_samples(posed: KernelProblems, tasks: list[Task]) -> tuple[Gram, np.ndarray, np.ndarray]:
    """Features, segments, and the two segments of each task: its classes, or all samples and an empty one."""
    if posed.features.segments is not None:
        return posed.features, np.array(posed.features.segments.ends), np.array([task.pair for task in tasks])
    features = tasks[0].cut(posed.features)
    return features, np.array([0, features.n, features.n]), np.tile([0, 1], (len(tasks), 1))
