"""Decisions of held-out samples from folds that share one kernel matrix, all of them solved side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ..model.features import Gram
from ..model.intercept import find_median_intercept
from ..model.kernels import has_formula
from ..model.tiles import evaluate_square
from ..solvers.smo.cells import CellRows, JointCells
from ..solvers.smo.matrix_products import multiply_part
from ..solvers.smo.together import MAX_SAMPLES_PER_PROBLEM
from .kernel_problems import KernelProblems

REFINED_SHARE_OF_GAP = 0.3  # of the gap that was asked for, to which folds go on that the judge finds short of it
RELATIVE_GAP_COLUMN, SOUND_COLUMN = 7, 5  # of the numbers of a certificate


class TaskFold(NamedTuple):
    """A fold of a task: the samples of the task, as places in it, that train a machine, and those it is asked for."""

    task: int
    train: np.ndarray
    test: np.ndarray


def find_matrix(features: Gram, cache_bytes: float) -> np.ndarray | None:
    """K of all samples, where it is there or fits into the cache; None for kernels that have no formula here."""
    plain = has_formula(features.kernel) and not features.offset
    if not plain or 8.0 * features.n**2 > cache_bytes:
        return None
    return features.whole if features.whole is not None else evaluate_square(features.kernel, features.samples)


class SharedFolds:
    """The machines of all folds of all tasks of a fit.

    Parameters
    ----------
    problems : KernelProblems
    folds : sequence of TaskFold
    matrix : ndarray of shape (n, n)
        The kernel over the samples of the problems.
    cells : JointCells
        Their problems, one after the other, with one cell each.
    """

    def __init__(self, problems: KernelProblems, folds: Sequence[TaskFold], matrix: np.ndarray, cells: JointCells):
        self.problems, self.folds, self.matrix, self.cells = problems, folds, matrix, cells

    @classmethod
    def pose(cls, problems: KernelProblems, folds: Sequence[TaskFold], cache_bytes: float) -> SharedFolds | None:
        """All folds over one matrix; None where the matrix does not fit, or a fold is too long for one compiled call.

        Ctrl-C ends such a call only at its end.
        """
        if not folds or max(len(fold.train) for fold in folds) > MAX_SAMPLES_PER_PROBLEM:
            return None
        tasks = {fold.task: problems.tasks[fold.task] for fold in folds}
        lengths = [len(fold.train) for fold in folds]
        y = np.concatenate([tasks[fold.task].y[fold.train] for fold in folds])
        c = np.concatenate([tasks[fold.task].c[fold.train] for fold in folds])
        rows = problems.formulation.pose_jointly(y, c, [0, *accumulate(lengths[:-1])])
        if rows is None or (matrix := find_matrix(problems.features, cache_bytes)) is None:
            return None
        index = np.concatenate([tasks[fold.task].index[fold.train] for fold in folds])
        return cls(problems, folds, matrix, JointCells(matrix, problems.features, [CellRows(index, lengths, [rows])]))

    def solve(self, tol: float, is_over: Callable[[], bool]) -> np.ndarray:
        """Solve all folds; which of them are certified to have a gap within tol."""
        self.cells.solve(tol, is_over)
        done = self.judge_best_intercepts(tol)
        if not done.all() and not is_over():
            self.cells.solve(REFINED_SHARE_OF_GAP * tol, is_over, np.ones(1, bool))
            done = self.judge_best_intercepts(tol)
        return done

    def judge_best_intercepts(self, tol: float) -> np.ndarray:
        """Which folds have a certificate within tol; those that have none get the best intercept of their scores first.

        Pair steps may end between two looks at the gap, with the intercept of the last look. Where that is enough, it
        stays: an optimal intercept need not be the only one, and labels would change for no gain.
        """
        done, cells = self.judge(tol), self.cells
        if done.all() or cells.rows[1].any():  # rows with d > 0 have no kinks
            return done
        p, _, e, lo, hi = (part[0] for part in cells.rows)
        for k in np.flatnonzero(~done).tolist():
            own = slice(cells.ends[k], cells.ends[k + 1])
            for layer in range(cells.layers):
                row = (part[layer, own] for part in (p, e, lo, hi))
                cells.b[0, k, layer] = find_median_intercept(cells.f[0, own], *row, float(cells.balance[0, k, layer]))
        return self.judge(tol)

    def judge(self, tol: float) -> np.ndarray:
        """Which folds have a certificate within tol."""
        numbers = self.cells.judge()[0]
        return (numbers[:, SOUND_COLUMN] > 0.0) & (numbers[:, RELATIVE_GAP_COLUMN] <= tol)

    def decide(self) -> list[np.ndarray]:
        """f(x) of the held-out samples of each fold."""
        cells, tasks = self.cells, self.problems.tasks
        ends = cells.ends.tolist()
        a, rows = cells.a[0], cells.parts[0].rows[0]
        scores = None if cells.layers == 1 else self.score(a.sum(axis=0), ends)
        machines = self.problems.formulation.read_jointly(a, cells.b[0], rows, ends[:-1], scores)
        found = []
        for k, fold in enumerate(self.folds):
            coef = machines.coef[ends[k] : ends[k + 1]]
            used, held_out = np.flatnonzero(coef), tasks[fold.task].index[fold.test]
            columns = cells.index[ends[k] : ends[k + 1]][used]
            found.append(multiply_part(self.matrix, held_out, columns, coef[used]) + machines.b[k])
        return found

    def score(self, coef: np.ndarray, ends: list[int]) -> np.ndarray:
        """sum_j coef_j k(x_j, x_i) of all folds, one after the other."""
        scores = np.empty(len(coef))
        for start, stop in pairwise(ends):
            places = self.cells.index[start:stop]
            scores[start:stop] = multiply_part(self.matrix, places, places, coef[start:stop])
        return scores
