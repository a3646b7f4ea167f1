"""Where a cell of a search starts best: at nothing, at the C before it, at the fold before it, at the better of both.

Seeding from fold to fold is that of DeCoste and Wagstaff (2000) and of Wen et al. (2017): the samples that both folds
train on keep their duals, those that are held out now give theirs back, and where the rest no longer sums to zero the
heavier class is scaled down. Newly trained samples start at zero, or take the duals that were given back: each dual
goes to the most similar one of its class, as far as bounds allow, after the single instance replacement of Wen et al.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, check_cv

from maxmargin.compiled.cells import scale_duals
from maxmargin.compiled.smo import ITERATIONS
from maxmargin.runtime.blas import single_threaded_blas
from maxmargin.tuning.kernel_cells import SolvedCells
from maxmargin.tuning.matrix_cells import LOOSE_GAP, LOOSE_MIN_SAMPLES, FoldRows, MatrixSearch, SampleSet

from ..measuring.report import Report, Table
from .tuning import Case, list_cases

NOTHING, ALONG_C, ZERO, REPLACED, BETTER = "nothing", "along C", "fold, at zero", "fold, replaced", "better of both"
STARTS = (NOTHING, ALONG_C, ZERO, REPLACED, BETTER)
MAX_CELLS = 16  # of the grids that are searched
MORE_FOLDS = 5  # tried beside the folds that a case has
PURPOSE = (
    "Pair steps and seconds of CPU time of all cells of a search, by where each starts: at nothing; at the scaled "
    "duals of the C before it on the same fold, as the engine does; at the duals of the fold before it at the same C, "
    "where newly trained samples start at zero or take the duals of the most similar ones that are now held out; or at "
    "the better of the last and `along C`, by their dual values. The first fold goes along C. CPU time is that of the "
    "steps with their first scores: making and comparing the starts is not counted."
)
COLUMNS = {"data": "{}", "n": "{:,}", "cells": "{}", "folds": "{}", "start": "{}", "steps": "{:,}", "CPU, s": "{:.2f}"}


class StartedSearch(MatrixSearch):
    """A search that solves every chain once for each start, and scores nothing."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.steps, self.seconds = dict.fromkeys(STARTS, 0), dict.fromkeys(STARTS, 0.0)
        self.before: dict[str, SolvedCells] = {}

    def solve_chain(self, solved: SolvedCells) -> None:
        """Fold by fold; a chain that is cut between folds goes on from its last part."""
        tol = solved.folds[0].machine.tol
        loose = max(tol, LOOSE_GAP) if max(solved.lengths) > LOOSE_MIN_SAMPLES else tol
        for posed in solved.folds:
            for start in STARTS:
                before = self.before.get(start)
                follows = before is not None and before.folds[0].chain.candidates == posed.chain.candidates
                fold = SolvedCells(solved.matrix, solved.features, [posed])
                for cell in range(fold.cells):
                    self.take_steps(fold, cell, before if follows else None, start, loose)
                self.steps[start] += int(fold.counts[:, :, ITERATIONS].sum())
                self.before[start] = fold

    def take_steps(self, fold: SolvedCells, cell: int, before: SolvedCells | None, start: str, tol: float) -> None:
        """One cell of all problems of a fold from its start."""
        warm = start == NOTHING or (start != ALONG_C and before is not None)
        if before is not None and start not in (NOTHING, ALONG_C):
            for k in range(len(fold.lengths)):
                fold.a[cell, 0, fold.ends[k] : fold.ends[k + 1]] = choose_start(fold, cell, k, before, start)
        began = time.process_time()
        fold.take_steps(cell, cell + 1, warm, tol, self.is_over)
        self.seconds[start] += time.process_time() - began


def choose_start(fold: SolvedCells, cell: int, k: int, before: SolvedCells, start: str) -> np.ndarray:
    """The duals at which problem k of a cell starts."""
    seeded = seed(fold, cell, k, before, start != ZERO)
    if start != BETTER or cell == 0:
        return seeded
    along = fold.a[cell - 1, :, fold.ends[k] : fold.ends[k + 1]].copy()
    scale_duals(along, score(fold, k, along[0]), *take_rows(fold, cell, k))
    return max(seeded, along[0], key=lambda a: measure_dual(fold, cell, k, a))


def seed(fold: SolvedCells, cell: int, k: int, before: SolvedCells, replaced: bool) -> np.ndarray:
    """The duals of the fold before on the samples of this one, summing to zero."""
    own, its = (each.index[each.ends[k] : each.ends[k + 1]] for each in (fold, before))
    lo, hi = (bound[0] for bound in take_rows(fold, cell, k)[3:])
    duals = np.zeros(len(fold.matrix))
    duals[its] = before.a[cell, 0, before.ends[k] : before.ends[k + 1]]
    fresh, a = np.flatnonzero(~np.isin(own, its)), duals[own]
    gone = np.setdiff1d(its, own)
    for sign, bound in ((1.0, hi), (-1.0, -lo)):
        given, taking = gone[sign * duals[gone] > 0.0], fresh[bound[fresh] > 0.0]
        if replaced and len(taking):
            nearest = np.argsort(-fold.matrix[np.ix_(given, own[taking])], axis=1)
            a[taking] = sign * replace_similar(np.abs(duals[given]), nearest, bound[taking])
    plus, minus = a[a > 0.0].sum(), -a[a < 0.0].sum()
    least = min(plus, minus)
    return a * np.where(a > 0.0, least / max(plus, 1e-300), least / max(minus, 1e-300))


def replace_similar(given: np.ndarray, nearest: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """What each newly trained sample takes: the largest duals are given first, to the nearest that has room."""
    taken = np.zeros(len(bound))
    for r in np.argsort(-given):
        left = given[r]
        for j in nearest[r]:
            part = min(left, bound[j] - taken[j])
            taken[j] += part
            left -= part
            if left <= 0.0:
                break
    return taken


def take_rows(fold: SolvedCells, cell: int, k: int) -> list[np.ndarray]:
    """p, d, e, lo and hi of a problem."""
    return [np.ascontiguousarray(part[cell, :, fold.ends[k] : fold.ends[k + 1]]) for part in fold.rows]


def score(fold: SolvedCells, k: int, a: np.ndarray) -> np.ndarray:
    """K a over the samples of a problem."""
    own, used = fold.index[fold.ends[k] : fold.ends[k + 1]], np.flatnonzero(a)
    return fold.matrix[np.ix_(own, own[used])] @ a[used]


def measure_dual(fold: SolvedCells, cell: int, k: int, a: np.ndarray) -> float:
    """D(a) of a problem."""
    p, d, e, *_ = (part[0] for part in take_rows(fold, cell, k))
    return float(-0.5 * a @ score(fold, k, a) - p @ a - 0.5 * d @ a**2 - e @ np.abs(a))


def measure(case: Case) -> list[dict[str, Any]]:
    """The rows of one set."""
    folds = check_cv(case.folds, case.y, classifier=True).split(case.X, case.y)
    samples = SampleSet(case.X, case.y, [FoldRows(k, *rows) for k, rows in enumerate(folds)])
    cells = list(ParameterGrid(case.grid))
    machines = {number: clone(case.ours).set_params(**cell) for number, cell in enumerate(cells)}

    def search(some: dict[int, Any]) -> StartedSearch:
        found = StartedSearch(samples, some, lambda _: 0.0, lambda *_: None, lambda: False)
        found.run()
        return found

    with single_threaded_blas():
        search({0: machines[0]})  # loads the compiled code
        found = search(machines)
    shape = {"data": case.name, "n": len(case.y), "cells": len(cells), "folds": case.folds}
    return [{**shape, "start": name, "steps": found.steps[name], "CPU, s": found.seconds[name]} for name in STARTS]


def run(*, brief: bool) -> Report:
    """Measure the classifications of `tuning` with small grids."""
    rows: list[dict[str, Any]] = []
    for case in list_cases(brief):
        if len(list(ParameterGrid(case.grid))) <= MAX_CELLS and len(np.unique(case.y)) <= len(case.y) // 10:
            for folds in dict.fromkeys((case.folds, MORE_FOLDS)):
                found = measure(case._replace(folds=folds))
                said = ", ".join(f"{row['start']} {row['steps']:,}" for row in found)
                print(f"  {case.name}, {folds} folds: {said}", flush=True)
                rows += found
    by_start = {name: np.array([row["steps"] for row in rows if row["start"] == name]) for name in STARTS}
    findings = [
        f"Steps in place of one along C, by set: {name} " + ", ".join(f"{x:.2f}" for x in steps / by_start[ALONG_C])
        for name, steps in by_start.items()
        if name != ALONG_C
    ]
    return Report("fold_starts", PURPOSE, [Table("Starts", COLUMNS, rows)], findings)
