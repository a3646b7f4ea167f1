"""The small problems of a fit, solved together: without Python around each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from ..certificates.small_problems import SmallProblems
from ..model.features import SINGLE_ROWS_MAX_FEATURES, Gram
from ..model.formulations import Formulation
from ..model.kernels import has_formula
from ..solvers.automatic import Automatic
from ..solvers.smo import SMO
from ..solvers.smo.together import (
    MAX_FEATURES_OF_LARGE_PAIR,
    MAX_SAMPLES_PER_PAIR,
    MAX_SAMPLES_PER_PROBLEM,
    JointResults,
    holds_rows,
    is_default_smo,
    solve_together,
)
from .kernel_problems import KernelFit, KernelFits, KernelProblems
from .tasks import Budget, PairTasks, Task

BATCH_SAMPLES = 250_000  # samples of problems that lie one after the other: some megabytes, and a fraction of a second


def solve_small_problems(posed: KernelProblems, solver, tol: float, budget: Budget) -> Mapping[int, KernelFit]:
    """The fits of the tasks that are small, by number; one that has not converged is where the loop goes on."""
    smo = solver.smo if isinstance(solver, Automatic) else solver
    if not (isinstance(smo, SMO) and is_default_smo(smo, tol)):
        return {}
    limit = find_size_limit(posed)
    chosen = choose_small_tasks(posed.tasks, limit)
    if not (len(chosen) and can_solve_jointly(posed, chosen) and fits_in_cache(posed.tasks, chosen, smo, limit)):
        return {}
    batches = cut_batches(posed.tasks, chosen, limit)
    if len(chosen) == len(posed.tasks) and len(batches) == 1:
        return solve_batch(posed, chosen, smo, tol, budget)
    fits: dict[int, KernelFit] = {}
    for part in batches:
        if fits and budget.is_over():
            break
        fits |= {part[place]: fit for place, fit in solve_batch(posed, part, smo, tol, budget).items()}
    return fits


def find_size_limit(posed: KernelProblems) -> int:
    """The number of samples up to which a task is small."""
    features = posed.features
    if features.segments is not None and features.samples.d <= MAX_FEATURES_OF_LARGE_PAIR:
        return MAX_SAMPLES_PER_PAIR
    return MAX_SAMPLES_PER_PROBLEM


def choose_small_tasks(tasks: Sequence[Task], limit: int) -> Sequence[int]:
    """The numbers of the tasks with at most so many samples."""
    if isinstance(tasks, PairTasks) and tasks.largest <= limit:
        return range(len(tasks))
    return [k for k, task in enumerate(tasks) if len(task.index) <= limit]


def fits_in_cache(tasks: Sequence[Task], chosen: Sequence[int], smo: SMO, limit: int) -> bool:
    """Whether the rows that are held of the largest of these tasks fit into the cache_size."""
    return holds_rows(smo, limit) or holds_rows(smo, max(len(tasks[k].index) for k in chosen))


def can_solve_jointly(posed: KernelProblems, chosen: Sequence[int]) -> bool:
    """Whether rows can be evaluated within compiled loops, of pairs of classes or of all samples."""
    features, tasks = posed.features, posed.tasks
    if not has_formula(features.kernel) or features.samples.sparse:
        return False
    if features.segments is not None:
        return isinstance(tasks, PairTasks) or all(tasks[k].pair is not None for k in chosen)
    whole = len(chosen) == len(tasks) and (len(tasks) == 1 or all(len(task.index) == features.n for task in tasks))
    return whole and features.whole is None and features.samples.d <= SINGLE_ROWS_MAX_FEATURES


def cut_batches(tasks: Sequence[Task], chosen: Sequence[int], limit: int) -> list[Sequence[int]]:
    """The tasks in batches of bounded size."""
    if len(chosen) * limit <= BATCH_SAMPLES:
        return [chosen]
    sizes = np.cumsum([len(tasks[k].index) for k in chosen])
    return [part.tolist() for part in np.split(chosen, np.flatnonzero(np.diff(sizes // BATCH_SAMPLES)) + 1)]


def solve_batch(
    posed: KernelProblems, chosen: Sequence[int], smo: SMO, tol: float, budget: Budget
) -> Mapping[int, KernelFit]:
    """The fits of some tasks, by their places among these, in memory that does not grow with their number."""
    problems = concatenate_problems(posed, chosen)
    if problems is None:
        return {}
    results = solve_together(problems, smo, tol, budget.workers, budget.is_over)
    return read_results(posed.formulation, problems, results, len(chosen) == len(posed.tasks))


def read_results(
    formulation: Formulation, problems: SmallProblems, results: JointResults, is_whole: bool
) -> KernelFits:
    """The machines of all results, which of their samples are free, and |w|; none where there is no certificate."""
    (a, b, _), certificates, row = results.solutions, results.certificates, problems.rows.row
    free = (a > row.lo) & (a < row.hi) & (a != 0.0)
    ends = problems.end_places
    machines = formulation.read_jointly(a, b, problems.rows, ends[:-1], certificates.scores)
    norms = np.sqrt(np.maximum(certificates.squares, 0.0))
    return KernelFits(
        results, results.converged, machines.coef, free[0] if problems.layers == 1 else free.any(axis=0), machines.b,
        norms if machines.scale is None else norms * machines.scale, results.n_iter, ends, None, machines.scale,
        certificates.sound, is_whole,
    )  # fmt: skip


def concatenate_problems(posed: KernelProblems, chosen: Sequence[int]) -> SmallProblems | None:
    """The problems of some tasks, one after the other; None if their formulation cannot be posed so."""
    tasks: Sequence[Task] = posed.tasks
    if not (isinstance(tasks, PairTasks) and len(chosen) == len(tasks)):
        tasks = [tasks[k] for k in chosen]
    y, c, ends = join_tasks(tasks)
    rows = posed.formulation.pose_jointly(y, c, ends[:-1])
    if rows is None:
        return None
    features, segments, pairs = lay_out_samples(posed, tasks)
    return SmallProblems(features, segments, pairs, rows, ends)


def join_tasks(tasks: Sequence[Task]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """y and c of all tasks, where each begins, and the end of the last one."""
    if isinstance(tasks, PairTasks):
        return tasks.y, tasks.c, tasks.ends
    if len(tasks) == 1:
        return tasks[0].y, tasks[0].c, [0, len(tasks[0].y)]
    ends = [0, *accumulate(len(task.index) for task in tasks)]
    return np.concatenate([task.y for task in tasks]), np.concatenate([task.c for task in tasks]), ends


def lay_out_samples(posed: KernelProblems, tasks: Sequence[Task]) -> tuple[Gram, np.ndarray, np.ndarray]:
    """Features, segments, and the two segments of each task: its classes, or all samples and an empty one."""
    if posed.features.segments is not None:
        pairs = tasks.pairs if isinstance(tasks, PairTasks) else np.array([task.pair for task in tasks])
        return posed.features, np.array(posed.features.segments.ends), pairs
    features = tasks[0].cut(posed.features)
    return features, np.array([0, features.n, features.n]), np.array([[0, 1]] * len(tasks))
