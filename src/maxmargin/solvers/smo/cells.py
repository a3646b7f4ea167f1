"""Cells that differ in their bounds alone, over samples of one kernel matrix: solved one after the other, and judged.

A search has such cells, one for each C on each fold, and so have the folds from which probabilities are made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ...certificates.small_problems import STRIP_KERNEL_VALUES, SmallProblems
from ...model.features import Gram
from ...model.formulations import JointRows
from ...model.problem import FLOOR, SCALE_FREE_FLOOR
from ...model.tiles import open_tile
from ...runtime.threads import run_strips
from .matrix_products import multiply_covered

ROW_BUFFER_BYTES = 3 << 23  # of kernel rows that a thread keeps, per problem
WHOLE_CHAIN_MAX_SAMPLES = 600  # samples of a problem up to which its chain is one call, too short to be interrupted
STEPS_PER_SAMPLE, MIN_STEPS = 100, 20_000  # pair steps of a cell, after which it is left as it is
SINGLE_STORAGE_ERROR = 1.0001 * 2.0**-24  # of a float64 number that was rounded to float32
ROWS_PER_PRODUCT = 64  # problems whose scores a core multiplies at a time
FLOOR_PLACE = 3
SOLVED_SHARE_OF_GAP = 0.97  # of the gap that is asked for: the judge allows for rounding on top of what the solver sees


@dataclass(frozen=True)
class CellRows:
    """Problems over samples of a matrix at several cells.

    Attributes
    ----------
    index : ndarray
        The sample of the matrix at each place, one problem after the other.
    lengths : list of int
        The samples of each problem.
    rows : list of JointRows
        One for each cell.
    """

    index: np.ndarray
    lengths: list[int]
    rows: list[JointRows]


@dataclass(frozen=True)
class CellProblems(SmallProblems):
    """The problems of one cell of a chain on several folds, over samples of a matrix.

    Parameters
    ----------
    mean_diagonals : ndarray
        The mean k(x, x) of each problem.
    """

    mean_diagonals: np.ndarray

    @cached_property
    def floors(self) -> np.ndarray:
        """`Problem.floor` of each problem."""
        if not self.rows.has_balance or self.rows.row.p.any():
            return np.full(len(self), FLOOR)
        sizes = np.abs(self.rows.balance).sum(axis=1)
        return np.maximum(SCALE_FREE_FLOOR * sizes**2 * self.mean_diagonals, FLOOR)


class JointCells:
    """The cells of some problems over one matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    features : Gram
        The kernel over all samples, for the judge.
    parts : sequence of CellRows
        With the same number of cells.
    before : ndarray of shape (layers + 1, samples of all problems), optional
        The duals and scores from which the first cell starts: those of `last` of cells of the same problems.

    Attributes
    ----------
    is_exact : bool
        Whether small problems are solved to the last digits, as those of single fits are, and not to the tolerance.
    """

    is_exact = True

    def __init__(self, matrix: np.ndarray, features: Gram, parts: Sequence[CellRows], before: np.ndarray | None = None):
        self.matrix, self.features, self.parts = matrix, features, parts
        self.cells = len(parts[0].rows)
        self.lengths = [length for part in parts for length in part.lengths]
        self.index = np.concatenate([part.index for part in parts])
        self.ends = np.array([0, *accumulate(self.lengths)])
        self.rows = tuple(
            np.stack([np.concatenate([part.rows[cell].row[k] for part in parts], axis=1) for cell in range(self.cells)])
            for k in range(5)
        )
        self.layers = self.rows[0].shape[1]
        self.balance = np.stack(
            [np.concatenate([part.rows[cell].balance for part in parts]) for cell in range(self.cells)]
        )
        self.has_balance = parts[0].rows[0].has_balance
        shape = (self.cells, len(self.lengths))
        self.a = np.zeros((self.cells, self.layers, len(self.index)))
        self.f = np.zeros((self.cells, len(self.index)))  # the solver's scores, for the cells that start there
        self.before = np.zeros((self.layers + 1, len(self.index))) if before is None else before
        self.b = np.zeros((*shape, self.layers))
        self.counts = np.zeros((*shape, 7), np.int64)
        self.diagonal = np.ascontiguousarray(features.diagonal, np.float64)
        self.seconds = np.zeros(self.cells)

    @property
    def last(self) -> np.ndarray:
        """The duals and scores of the last cell, where the next ones may start."""
        return np.concatenate([self.a[-1], self.f[-1:]])

    @property
    def storage_error(self) -> float:
        """By how much of itself an entry of the matrix may be off since it was stored in less precision."""
        return 0.0 if self.matrix.dtype == np.float64 else SINGLE_STORAGE_ERROR

    @cached_property
    def problems(self) -> list[CellProblems]:
        """The problems of each cell, as the judge sees them."""
        means = np.add.reduceat(self.diagonal[self.index], self.ends[:-1]) / np.array(self.lengths)
        found = []
        for cell in range(self.cells):
            parts = [part.rows[cell] for part in self.parts]
            joint = JointRows(
                type(parts[0].row)(*(part[cell] for part in self.rows)),
                np.concatenate([part.weights for part in parts], axis=1),
                self.balance[cell],
                self.has_balance,
                np.concatenate([part.least_sizes for part in parts]),
            )
            segments, pairs = np.array([0, self.features.n]), np.zeros((len(self.lengths), 2), np.int64)
            found.append(CellProblems(self.features, segments, pairs, joint, self.ends.tolist(), means))
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
        from ...compiled.cells import balance_cells, solve_cells

        lengths = np.array(self.lengths)
        limits = np.maximum(STEPS_PER_SAMPLE * lengths, MIN_STEPS)
        numbers = np.zeros((self.cells, len(lengths), 5))
        for cell in range(first, last):
            numbers[cell, :, FLOOR_PLACE] = self.problems[cell].floors
        groups = group_problems(self.lengths)

        def advance(number: int, _: int) -> None:
            start, stop = groups[number]
            most = int(lengths[start:stop].max())
            short = most <= WHOLE_CHAIN_MAX_SAMPLES
            rows = max(2, min(most, ROW_BUFFER_BYTES // 8 // most))
            buffer = open_tile(rows, most, np.dtype(float), "rows").ravel()
            in_phases = not short and self.layers == 1 and not self.has_balance
            places = np.zeros(1 + 3 * most if in_phases else 0, np.int64)
            for begin, end in [(first, last)] if short else [(cell, cell + 1) for cell in range(first, last)]:
                if is_over():
                    return
                solve_cells(
                    start, stop, begin, end, warm, self.matrix, self.diagonal, self.index, self.ends, buffer, places,
                    self.before, self.a, self.f, *self.rows, self.balance, self.has_balance, self.is_exact,
                    SOLVED_SHARE_OF_GAP * tol, limits, numbers, self.counts, self.b,
                )  # fmt: skip
                balance_cells(start, stop, begin, end, self.ends, self.a, *self.rows[3:], self.balance)

        run_strips(advance, len(groups), 1)

    # ---- the judge ----------------------------------------------------------------------------------------

    def judge(self, wanted: np.ndarray | None = None) -> np.ndarray:
        """The numbers of `JointCertificates` of each problem, cell by cell; zeros for cells that are not wanted."""
        from ...compiled.cells import judge_cells
        from ...compiled.small_problems import CERTIFICATE_NUMBERS

        used = np.ones(self.cells, bool) if wanted is None else wanted
        first = self.problems[0]
        numbers = np.zeros((self.cells, len(self.lengths), CERTIFICATE_NUMBERS))
        least_sizes = np.stack([problems.rows.least_sizes for problems in self.problems])
        floors = np.stack([problems.floors for problems in self.problems])
        known, scores, errors = self.score_large_problems(used)

        def enclose(start: int, stop: int) -> None:
            judge_cells(
                start, stop, self.matrix, self.storage_error, self.index, self.ends, self.a, *self.rows, self.balance,
                self.b, first.error_rates, least_sizes, floors, numbers, used, known, scores, errors,
            )  # fmt: skip

        work = float(np.mean(self.lengths)) ** 2
        run_strips(enclose, len(self.lengths), max(1, int(STRIP_KERNEL_VALUES // work)))
        return numbers

    def judge_cell(self, cell: int, scores: np.ndarray | None = None) -> np.ndarray:
        """The same for one cell, all of whose scores come from one product: for many problems over one matrix.

        The matrix is as it was evaluated, not stored in less precision. The scores K a may be known.
        """
        from ...compiled.cells import certify_cell
        from ...compiled.small_problems import CERTIFICATE_NUMBERS

        problems, numbers = self.problems[cell], np.zeros((len(self.lengths), CERTIFICATE_NUMBERS))
        scores = self.multiply_all(self.a[cell].sum(axis=0)) if scores is None else scores

        def enclose(start: int, stop: int) -> None:
            certify_cell(
                start, stop, scores, self.ends, self.a[cell], *(part[cell] for part in self.rows), self.balance[cell],
                self.b[cell], problems.error_rates, problems.rows.least_sizes, problems.floors, numbers,
            )  # fmt: skip

        run_strips(enclose, len(self.lengths), max(1, STRIP_KERNEL_VALUES // (64 * max(self.lengths))))
        return numbers

    def multiply_all(self, coef: np.ndarray) -> np.ndarray:
        """sum_j coef_j k(x_j, x_i) of all problems, one after the other, by one product."""
        return self.cut_table(self.multiply_table(coef))

    def multiply_table(self, coef: np.ndarray) -> np.ndarray:
        """The same at all rows of the matrix, one row for each problem."""
        table = np.zeros((len(self.lengths), len(self.matrix)))
        for row, (start, stop) in zip(table, pairwise(self.ends.tolist()), strict=True):
            row[self.index[start:stop]] = coef[start:stop]
        found = np.empty_like(table)

        def multiply(start: int, stop: int) -> None:
            np.matmul(table[start:stop], self.matrix, out=found[start:stop])

        run_strips(multiply, len(table), ROWS_PER_PRODUCT)
        return found

    def cut_table(self, table: np.ndarray) -> np.ndarray:
        """What a table says of the samples of the problems, one after the other."""
        scores = np.empty(len(self.index))
        for row, (start, stop) in zip(table, pairwise(self.ends.tolist()), strict=True):
            scores[start:stop] = row[self.index[start:stop]]
        return scores

    def score_large_problems(self, used: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which problems have their scores K a already, these, and how much storage may have changed them.

        Those of the same pair of classes on several folds are over almost the same samples, so they are one product.
        """
        known, cells = np.zeros(len(self.lengths), bool), np.flatnonzero(used)
        large = max(self.lengths) > WHOLE_CHAIN_MAX_SAMPLES
        scores = np.zeros((self.cells, len(self.index) if large else 0))
        errors = np.zeros_like(scores if self.storage_error else scores[:, :0])
        for group in self.list_twins():
            cuts = [slice(self.ends[k], self.ends[k + 1]) for k in group]
            own = [self.index[cut] for cut in cuts]
            samples = np.unique(np.concatenate(own))
            if any(len(np.unique(each)) < len(each) for each in own):
                continue
            coef = [self.a[cells, :, cut].sum(axis=1).T for cut in cuts]
            found = multiply_covered(self.matrix, samples, own, coef, self.storage_error)
            if found is None:
                continue
            known[group] = True
            for number, cut in enumerate(cuts):
                scores[cells, cut] = found[0][number].T
                if self.storage_error:
                    errors[cells, cut] = found[1][number].T
        return known, scores, errors

    def list_twins(self) -> list[list[int]]:
        """Large problems, those at the same place in each part together."""
        counts = [len(part.lengths) for part in self.parts]
        starts = [0, *accumulate(counts)]
        found: dict[int, list[int]] = {}
        for part, count in enumerate(counts):
            for k in range(count):
                if self.lengths[starts[part] + k] > WHOLE_CHAIN_MAX_SAMPLES:
                    found.setdefault(k, []).append(starts[part] + k)
        return list(found.values())


def group_problems(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Problems that a core takes at a time, as (first, last + 1), the longest first; large ones are alone."""
    groups, start, work = [], 0, 0
    for number, length in enumerate([*lengths, None]):
        if length is None or length > WHOLE_CHAIN_MAX_SAMPLES or work > STRIP_KERNEL_VALUES:
            groups += [(start, number)] if number > start else []
            start, work = number, 0
        if length is not None:
            work += length**2
            if length > WHOLE_CHAIN_MAX_SAMPLES:
                groups.append((number, number + 1))
                start, work = number + 1, 0
    return sorted(groups, key=lambda group: -sum(length**2 for length in lengths[slice(*group)]))
