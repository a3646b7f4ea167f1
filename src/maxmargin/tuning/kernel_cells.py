"""The cells of chains over one kernel matrix: solved along C, judged, and read off at the rows that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from ..certificates.certificate import Certificate
from ..estimators.multiclass import pack_pairs, spread_duals
from ..estimators.tasks import PairTasks
from ..model.features import Gram
from ..solvers.smo.cells import CellRows, JointCells
from ..solvers.smo.matrix_products import multiply_part, multiply_parts
from .kernel_chains import PosedFold


class SolvedCells(JointCells):
    """The cells of one chain on several folds, over one matrix.

    Parameters
    ----------
    matrix, features
        As of `JointCells`.
    folds : list of PosedFold
        Of the same chain.
    before : ndarray, optional
        As of `JointCells`.
    """

    is_exact = False  # a score does not need the last digits, which take a sixth of the time of all steps

    def __init__(
        self, matrix: np.ndarray, features: Gram, folds: Sequence[PosedFold], before: np.ndarray | None = None
    ):
        parts = [CellRows(posed.index, posed.lengths, posed.rows) for posed in folds]
        super().__init__(matrix, features, parts, before)
        self.folds = folds

    def certify(self, wanted: np.ndarray | None = None) -> list[list[Certificate | None]]:
        """The worst certificate of each cell on each fold: [cell][fold]; None where one is not feasible."""
        numbers = self.judge(wanted)
        starts = [0, *accumulate(len(posed.lengths) for posed in self.folds)]
        return [[find_worst(of_cell[start:stop]) for start, stop in pairwise(starts)] for of_cell in numbers]

    def cut_last(self) -> dict[int, np.ndarray]:
        """`last` of each fold."""
        starts = [0, *accumulate(len(posed.lengths) for posed in self.folds)]
        places = self.ends[starts].tolist()
        cuts = pairwise(places)
        last = self.last
        return {posed.fold: last[:, slice(*cut)] for posed, cut in zip(self.folds, cuts, strict=True)}

    # ---- what was held out ----------------------------------------------------------------------------------

    def read(self, number: int, cell: int) -> tuple[np.ndarray, np.ndarray]:
        """The coefficients of all problems of a fold at a cell, one after the other, and their intercepts."""
        posed = self.folds[number]
        before = sum(len(each.lengths) for each in self.folds[:number])
        after = before + len(posed.lengths)
        a, b = self.a[cell, :, self.ends[before] : self.ends[after]], self.b[cell, before:after]
        scores = self.score(posed, a.sum(axis=0)) if self.layers > 1 else None
        machines = posed.formulations[cell].read_jointly(a, b, posed.rows[cell], posed.starts, scores)
        return machines.coef, machines.b

    def score(self, posed: PosedFold, coef: np.ndarray) -> np.ndarray:
        """sum_j coef_j k(x_j, x_i) of all problems of a fold, one after the other."""
        scores = np.empty(len(coef))
        for start, length in zip(posed.starts, posed.lengths, strict=True):
            places = posed.index[start : start + length]
            scores[start : start + length] = multiply_part(self.matrix, places, places, coef[start : start + length])
        return scores

    def decide(self, number: int, cells: Sequence[int], rows: np.ndarray) -> list[np.ndarray]:
        """f(x) of each machine of a fold at samples of the matrix, one column each: an array for each of the cells."""
        posed, machines = self.folds[number], len(self.folds[number].tasks)
        found = [self.read(number, cell) for cell in cells]
        if isinstance(posed.tasks, PairTasks):
            return self.decide_pairs(posed, posed.tasks, found, rows)
        table = np.concatenate([spread_duals(posed.tasks, coef, posed.y, 0) for coef, _ in found]).T
        values = self.multiply(rows, posed.train, table)
        return [values[:, t * machines : (t + 1) * machines] + b for t, (_, b) in enumerate(found)]

    def decide_pairs(
        self, posed: PosedFold, tasks: PairTasks, found: list[tuple[np.ndarray, np.ndarray]], rows: np.ndarray
    ) -> list[np.ndarray]:
        """The same for pairs of classes, class by class: a pair has coefficients of two classes only."""
        n_classes = len(tasks.class_ends) - 1
        table = np.stack([pack_pairs(tasks, coef, posed.y, n_classes) for coef, _ in found])
        width = len(found) * (n_classes - 1)
        factors = [
            self.take_used(posed.train[start:stop], table[:, :, start:stop].reshape(width, -1).T)
            for start, stop in pairwise(tasks.class_ends.tolist())
        ]
        parts = multiply_parts(self.matrix, rows, factors)
        by_cell = np.empty((n_classes, len(found), n_classes - 1, len(rows)))
        for k, part in enumerate(parts):
            by_cell[k] = part.T.reshape(by_cell.shape[1:])
        i, j = np.triu_indices(n_classes, 1)
        decisions = []
        for place, (_, intercepts) in enumerate(found):
            values = by_cell[i, place, j - 1]
            values += by_cell[j, place, i]
            values += intercepts[:, None]
            decisions.append(values.T)  # a row for each sample, laid out pair by pair as it was computed
        return decisions

    def multiply(self, rows: np.ndarray, used: np.ndarray, table: np.ndarray) -> np.ndarray:
        """K[rows, used] table."""
        return multiply_part(self.matrix, rows, *self.take_used(used, table))

    def take_used(self, used: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Samples that any machine uses, and their coefficients in the precision of the matrix."""
        counted = table.any(axis=1)
        return used[counted], table[counted].astype(self.matrix.dtype, copy=False)


def find_worst(numbers: np.ndarray) -> Certificate | None:
    """The certificate with the largest relative gap, from the numbers of each; None if one is not feasible."""
    if not (numbers[:, 5] > 0.0).all():
        return None
    primal, dual, rounding, bound, kkt, _, floor, _, _ = numbers[np.argmax(numbers[:, 7])].tolist()
    return Certificate(primal, dual, kkt, True, floor, rounding, bound)
