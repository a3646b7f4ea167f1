"""Decisions of held-out samples from folds that share one kernel matrix, all of them solved side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ..model.features import Gram
from ..model.intercept import find_median_intercept
from ..model.kernels import has_formula
from ..model.problem import Point
from ..model.tiles import evaluate_square
from ..solvers.smo.cells import CellRows, JointCells
from ..solvers.smo.matrix_products import multiply_at
from .kernel_problems import KernelProblems

MAX_SAMPLES_PER_FOLD = 2000  # up to which pair steps over the whole matrix are quicker than a solve of its own
MAX_LINEAR_SAMPLES_PER_FOLD = 1000  # of a linear kernel, for which there are solvers that need no matrix
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
    cells : JointCells
        Their problems, one after the other, with one cell each.
    """

    def __init__(self, problems: KernelProblems, folds: Sequence[TaskFold], cells: JointCells):
        self.problems, self.folds, self.cells = problems, folds, cells
        self.is_warm = False
        self.products: np.ndarray | None = None  # of the duals of all folds with the whole matrix

    @classmethod
    def pose(
        cls, problems: KernelProblems, folds: Sequence[TaskFold], cache_bytes: float, points: Sequence[Point] = ()
    ) -> SharedFolds | None:
        """All folds over one matrix; None where the matrix does not fit, or a fold is too long.

        They start from the points of the whole fit, one for each task, where these are given.
        """
        most = MAX_LINEAR_SAMPLES_PER_FOLD if problems.features.kernel.linear else MAX_SAMPLES_PER_FOLD
        if not folds or max(len(fold.train) for fold in folds) > most:
            return None
        tasks = {fold.task: problems.tasks[fold.task] for fold in folds}
        lengths = [len(fold.train) for fold in folds]
        y = np.concatenate([tasks[fold.task].y[fold.train] for fold in folds])
        c = np.concatenate([tasks[fold.task].c[fold.train] for fold in folds])
        rows = problems.formulation.pose_jointly(y, c, [0, *accumulate(lengths[:-1])])
        if rows is None or (matrix := find_matrix(problems.features, cache_bytes)) is None:
            return None
        index = np.concatenate([tasks[fold.task].index[fold.train] for fold in folds])
        found = cls(problems, folds, JointCells(matrix, problems.features, [CellRows(index, lengths, [rows])]))
        if points and problems.formulation.is_risk and found.cells.layers == 1:
            found.start(np.concatenate([points[fold.task].a[fold.train] for fold in folds]))
        return found

    def start(self, a: np.ndarray) -> None:
        """Start from duals that need not sum to zero: those of the sign of the sum are scaled until they do.

        Free duals first, since those at a bound are likely to stay there.
        """
        cells = self.cells
        lo, hi = cells.rows[3][0, 0], cells.rows[4][0, 0]
        a, own = np.clip(a, lo, hi), np.repeat(np.arange(len(self.folds)), cells.lengths)
        if not np.isfinite(a).all():
            return
        for able in ((a > lo) & (a < hi), a != 0.0):
            excess = np.add.reduceat(a, cells.ends[:-1])[own]
            able = able & (a * excess > 0.0)
            scaled = np.add.reduceat(np.where(able, a, 0.0), cells.ends[:-1])[own]
            a[able] *= 1.0 - np.minimum(excess[able] / scaled[able], 1.0)
        cells.a[0, 0], self.is_warm = a, True

    @property
    def covers_matrix(self) -> bool:
        """Whether folds have most rows of the matrix, so that whole products are quickest: those of pairs have not."""
        return 2 * len(self.cells.index) > len(self.folds) * len(self.cells.matrix)

    def solve(self, tol: float, is_over: Callable[[], bool]) -> np.ndarray:
        """Solve all folds; which of them are certified to have a gap within tol."""
        from_here = np.ones(1, bool)
        self.cells.solve(tol, is_over, from_here if self.is_warm else None)
        done = self.judge_best_intercepts(tol)
        if not done.all() and not is_over():
            self.cells.solve(REFINED_SHARE_OF_GAP * tol, is_over, from_here)
            done = self.judge_best_intercepts(tol)
        return done

    def judge_best_intercepts(self, tol: float) -> np.ndarray:
        """Which folds have a certificate within tol; those that have none get the best intercept of their scores first.

        Pair steps may end between two looks at the gap, with the intercept of the last look. Where that is enough, it
        stays: an optimal intercept need not be the only one, and labels would change for no gain.
        """
        cells = self.cells
        self.products = cells.multiply_table(cells.a[0].sum(axis=0)) if self.covers_matrix else None
        done = self.judge(tol)
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
        cells = self.cells
        numbers = cells.judge()[0] if self.products is None else cells.judge_cell(0, cells.cut_table(self.products))
        return (numbers[:, SOUND_COLUMN] > 0.0) & (numbers[:, RELATIVE_GAP_COLUMN] <= tol)

    def decide(self) -> list[np.ndarray]:
        """f(x) of the held-out samples of each fold."""
        cells, tasks = self.cells, self.problems.tasks
        a, ends = cells.a[0], cells.ends
        scores = None if cells.layers == 1 else self.score(cells.index, ends)
        machines = self.problems.formulation.read_jointly(a, cells.b[0], cells.parts[0].rows[0], ends[:-1], scores)
        held_out = [tasks[fold.task].index[fold.test] for fold in self.folds]
        places = np.array([0, *accumulate(len(rows) for rows in held_out)])
        values = self.score(np.concatenate(held_out), places)
        cuts, scales = pairwise(places.tolist()), np.ones(len(held_out)) if machines.scale is None else machines.scale
        return [
            values[slice(*cut)] * scale + b
            for cut, scale, b in zip(cuts, scales.tolist(), machines.b.tolist(), strict=True)
        ]

    def score(self, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        """sum_j a_j k(x_j, x_i) at some rows for each fold, those of fold k from places[k] to places[k + 1]."""
        cells, coef = self.cells, self.cells.a[0].sum(axis=0)
        if self.products is not None:
            cuts = pairwise(places.tolist())
            return np.concatenate([each[rows[slice(*cut)]] for each, cut in zip(self.products, cuts, strict=True)])
        return multiply_at(cells.matrix, cells.index, cells.ends, coef, rows, places)
