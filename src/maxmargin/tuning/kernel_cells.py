"""The cells of chains over one kernel matrix: solved along C, judged, and read off at the rows that were held out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ..certificates.certificate import Certificate
from ..certificates.small_problems import SmallProblems
from ..estimators.multiclass import spread_duals
from ..model.features import Gram
from ..model.formulations import JointRows
from ..model.problem import FLOOR, SCALE_FREE_FLOOR, Point
from ..model.tiles import open_tile
from ..runtime.interpreter import release_interpreter
from ..runtime.threads import run_strips
from .kernel_chains import PosedFold

ROW_BUFFER_BYTES = 1 << 25  # of kernel rows that a thread keeps, per problem
WHOLE_CHAIN_MAX_SAMPLES = 600  # samples of a problem up to which its chain is one call, too short to be interrupted
STEPS_PER_SAMPLE, MIN_STEPS = 100, 20_000  # pair steps of a cell, after which it is left as it is
SINGLE_STORAGE_ERROR = 1.0001 * 2.0**-24  # of a float64 number that was rounded to float32
FLOOR_PLACE = 3


@dataclass(frozen=True)
class CellProblems(SmallProblems):
    """The problems of one cell of a chain on several folds, over samples of a matrix.

    Parameters
    ----------
    lengths : tuple of int
        The samples of each problem.
    mean_diagonals : tuple of float
        The mean k(x, x) of each.
    """

    lengths: tuple[int, ...] = ()
    mean_diagonals: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def sizes(self) -> list[int]:  # type: ignore[override]
        """The samples of each problem."""
        return list(self.lengths)

    @cached_property
    def floors(self) -> np.ndarray:
        """`Problem.floor` of each problem."""
        if not self.has_balance or self.rows.row.p.any():
            return np.full(len(self), FLOOR)
        sizes = np.abs(self.rows.balance).sum(axis=1)
        return np.maximum(SCALE_FREE_FLOOR * sizes**2 * np.array(self.mean_diagonals), FLOOR)


class SolvedCells:
    """The cells of one chain on several folds, over one matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    features : Gram
        The kernel over all samples, for the judge.
    folds : list of PosedFold
        Of the same chain.
    """

    def __init__(self, matrix: np.ndarray, features: Gram, folds: Sequence[PosedFold]):
        self.matrix, self.features, self.folds = matrix, features, folds
        self.cells = len(folds[0].rows)
        self.lengths = [length for posed in folds for length in posed.lengths]
        self.index = np.concatenate([posed.index for posed in folds])
        self.ends = np.array([0, *accumulate(self.lengths)])
        self.rows = tuple(
            np.stack(
                [np.concatenate([posed.rows[cell].row[k] for posed in folds], axis=1) for cell in range(self.cells)]
            )
            for k in range(5)
        )
        self.layers = self.rows[0].shape[1]
        self.balance = np.stack(
            [np.concatenate([posed.rows[cell].balance for posed in folds]) for cell in range(self.cells)]
        )
        self.has_balance = bool(self.balance.any())
        shape = (self.cells, len(self.lengths))
        self.a = np.zeros((self.cells, self.layers, len(self.index)))
        self.b = np.zeros((*shape, self.layers))
        self.counts = np.zeros((*shape, 7), np.int64)
        self.diagonal = np.ascontiguousarray(features.diagonal, np.float64)
        self.seconds = np.zeros(self.cells)

    @property
    def storage_error(self) -> float:
        """By how much of itself an entry of the matrix may be off since it was stored in less precision."""
        return 0.0 if self.matrix.dtype == np.float64 else SINGLE_STORAGE_ERROR

    @cached_property
    def problems(self) -> list[CellProblems]:
        """The problems of each cell, as the judge sees them."""
        ends, diagonal = self.ends, self.diagonal[self.index]
        means = tuple((np.add.reduceat(diagonal, ends[:-1]) / np.array(self.lengths)).tolist())
        found = []
        for cell in range(self.cells):
            parts = [posed.rows[cell] for posed in self.folds]
            joint = JointRows(
                type(parts[0].row)(*(part[cell] for part in self.rows)),
                np.concatenate([part.weights for part in parts], axis=1),
                self.balance[cell],
                np.concatenate([part.least_sizes for part in parts]),
            )
            segments, pairs = np.array([0, self.features.n]), np.zeros((len(self.lengths), 2), np.int64)
            found.append(CellProblems(self.features, segments, pairs, joint, tuple(self.lengths), means))
        return found

    # ---- solving ------------------------------------------------------------------------------------------

    def solve(self, tol: float, is_over: Callable[[], bool], wanted: np.ndarray | None = None) -> None:
        """Steps to gaps within tol for all cells along C, or for some of them from where they are."""
        began = time.perf_counter()
        if wanted is None:
            self.take_steps(0, self.cells, False, tol, is_over)
            self.seconds += (time.perf_counter() - began) / self.cells
            return
        for cell in np.flatnonzero(wanted).tolist():
            began = time.perf_counter()
            self.take_steps(cell, cell + 1, True, tol, is_over)
            self.seconds[cell] += time.perf_counter() - began

    def take_steps(self, first: int, last: int, warm: bool, tol: float, is_over: Callable[[], bool]) -> None:
        """Pair steps for some cells of all problems, on all cores."""
        from ..compiled.cells import balance_cells, solve_cells

        lengths = np.array(self.lengths)
        limits = np.maximum(STEPS_PER_SAMPLE * lengths, MIN_STEPS)
        numbers = np.zeros((self.cells, len(lengths), 5))
        for cell in range(first, last):
            numbers[cell, :, FLOOR_PLACE] = self.problems[cell].floors
        order = np.argsort(-lengths, kind="stable").tolist() if lengths.min() > WHOLE_CHAIN_MAX_SAMPLES else None

        def advance(start: int, stop: int) -> None:
            most = int(lengths[start:stop].max()) if order is None else int(lengths.max())
            rows = max(2, min(most, ROW_BUFFER_BYTES // 8 // most))
            buffer = open_tile(rows, most, np.dtype(float), "rows").ravel()
            for k in range(start, stop) if order is not None else [start]:
                one, end = (order[k], order[k] + 1) if order is not None else (start, stop)
                whole = most <= WHOLE_CHAIN_MAX_SAMPLES
                for begin, finish in [(first, last)] if whole else [(t, t + 1) for t in range(first, last)]:
                    if is_over():
                        return
                    solve_cells(
                        one, end, begin, finish, warm, self.matrix, self.diagonal, self.index, self.ends, buffer,
                        self.a, *self.rows, self.balance, self.has_balance, tol, limits, numbers, self.counts, self.b,
                    )  # fmt: skip
                    balance_cells(one, end, begin, finish, self.ends, self.a, *self.rows[3:], self.balance)

        work = float(lengths.mean()) ** 2
        run_strips(advance, len(lengths), max(1, int(400_000 // work)))

    # ---- the judge ----------------------------------------------------------------------------------------

    def judge(self, wanted: np.ndarray | None = None) -> list[list[tuple]]:
        """What `SmallProblems.combine` says of each problem, cell by cell; nothing of cells that are not wanted."""
        from ..compiled.cells import judge_cells
        from ..compiled.small_problems import PROBLEM_SUMS

        used = np.ones(self.cells, bool) if wanted is None else wanted
        first = self.problems[0]
        sums = np.zeros((self.cells, len(self.lengths), self.layers * first.sums_per_layer + PROBLEM_SUMS))

        def enclose(start: int, stop: int) -> None:
            judge_cells(
                start, stop, self.matrix, self.storage_error, self.index, self.ends, self.a, *self.rows, self.balance,
                self.b, first.error_rates, sums, used,
            )  # fmt: skip

        work = float(np.mean(self.lengths)) ** 2
        with release_interpreter():
            run_strips(enclose, len(self.lengths), max(1, int(400_000 // work)))
        return [
            self.problems[cell].combine(sums[cell], self.b[cell]) if used[cell] else [] for cell in range(self.cells)
        ]

    def certify(self, wanted: np.ndarray | None = None) -> list[list[Certificate | None]]:
        """The worst certificate of each cell on each fold: [cell][fold]; None where one is not feasible."""
        found = self.judge(wanted)
        table: list[list[Certificate | None]] = []
        for judged in found:
            row: list[Certificate | None] = []
            place = 0
            for posed in self.folds:
                part = judged[place : place + len(posed.lengths)]
                place += len(posed.lengths)
                row.append(find_worst(part))
            table.append(row)
        return table

    # ---- what was held out ----------------------------------------------------------------------------------

    def read(self, number: int, cell: int) -> tuple[list[np.ndarray], np.ndarray]:
        """The coefficients of each problem of a fold at a cell, and their intercepts."""
        posed = self.folds[number]
        before = sum(len(each.lengths) for each in self.folds[:number])
        after = before + len(posed.lengths)
        if self.layers == 1 and not self.has_balance:
            ends = self.ends[before : after + 1].tolist()
            return [self.a[cell, 0, begin:end] for begin, end in pairwise(ends)], self.b[cell, before:after, 0]
        formulation, coefs, intercepts = posed.formulations[cell], [], []
        for k in range(before, after):
            begin, end = self.ends[k], self.ends[k + 1]
            a = self.a[cell, :, begin:end]
            coef, places = a.sum(axis=0), self.index[begin:end]
            point = Point(a[0], float(self.b[cell, k, 0])) if self.layers == 1 else Point(a, self.b[cell, k])
            weights = self.problems[cell].rows.weights[:, begin:end]
            scores = self.matrix[np.ix_(places, places)] @ coef
            machine = formulation.read_jointly(point, coef if self.layers > 1 else point.a, weights, scores)
            coefs.append(machine.coef)
            intercepts.append(machine.b)
        return coefs, np.array(intercepts)

    def decide(self, number: int, cells: Sequence[int], rows: np.ndarray) -> list[np.ndarray]:
        """f(x) of each machine of a fold at samples of the matrix, one column each: an array for each of the cells."""
        posed, machines = self.folds[number], len(self.folds[number].tasks)
        if machines > 1 and posed.tasks[0].pair is not None:
            return self.decide_pairs(number, cells, rows)
        found, indices = [self.read(number, cell) for cell in cells], [task.index for task in posed.tasks]
        table = np.concatenate([spread_duals(indices, coefs, posed.train, 0) for coefs, _ in found]).T
        values = self.multiply(rows, posed.train, table)
        return [values[:, t * machines : (t + 1) * machines] + b for t, (_, b) in enumerate(found)]

    def decide_pairs(self, number: int, cells: Sequence[int], rows: np.ndarray) -> list[np.ndarray]:
        """The same for pairs of classes, class by class: a pair has coefficients of two classes only.

        LIBSVM's table has a row of coefficients for each of the other classes: that of class i against j is row j - 1
        if i < j, and row j if i > j.
        """
        posed = self.folds[number]
        found = [self.read(number, cell) for cell in cells]
        table = np.zeros((len(cells), posed.n_classes - 1, len(posed.train)))
        for place, (coefs, _) in enumerate(found):
            table[place, posed.table_rows, posed.table_columns] = np.concatenate(coefs)
        width, classes = len(cells) * (posed.n_classes - 1), pairwise(posed.class_ends)
        parts = np.empty((posed.n_classes, width, len(rows)))
        for k, (start, stop) in enumerate(classes):
            parts[k] = self.multiply(rows, posed.train[start:stop], table[:, :, start:stop].reshape(width, -1).T).T
        parts = parts.reshape(posed.n_classes, len(cells), posed.n_classes - 1, len(rows))
        i, j = np.triu_indices(posed.n_classes, 1)
        decisions = []
        for place, (_, intercepts) in enumerate(found):
            values = parts[i, place, j - 1]
            values += parts[j, place, i]
            values += intercepts[:, None]
            decisions.append(values.T)  # a row for each sample, laid out pair by pair as it was computed
        return decisions

    def multiply(self, rows: np.ndarray, used: np.ndarray, table: np.ndarray) -> np.ndarray:
        """K[rows, used] table, for samples that any machine uses."""
        counted = table.any(axis=1)
        part = self.matrix[np.ix_(rows, used[counted])]
        return np.asarray(part @ table[counted].astype(part.dtype, copy=False), np.float64)


def find_worst(judged: list[tuple]) -> Certificate | None:
    """The certificate with the largest relative gap; None if one is missing or not feasible."""
    if not judged or not all(sound for _, _, _, _, _, sound, _ in judged):
        return None
    certificates = (
        Certificate(primal, dual, kkt, True, floor, rounding, bound)
        for primal, dual, rounding, bound, kkt, _, floor in judged
    )
    return max(certificates, key=lambda certificate: certificate.relative_gap)
