"""Many machines that differ in a few samples: their problems over one kernel matrix, solved side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ...model.features import Gram
from ...model.formulations import Formulation, JointRows
from ...model.intercept import find_median_intercept
from ...model.losses import PiecewiseConjugate
from ...solvers.loop import solve
from ...solvers.smo.cells import CellRows, JointCells

REFINED_SHARE_OF_GAP = 0.3  # of the gap that was asked for, to which problems go on that the judge finds short of it
LEAST_TOL = 1e-12  # below which pair steps do not help, and the loop has other solvers
RELATIVE_GAP_COLUMN, SOUND_COLUMN = 7, 5  # of the numbers of a certificate


class Subproblem(NamedTuple):
    """The problem of some samples.

    Attributes
    ----------
    rows : ndarray
        The samples, as rows of the matrix.
    y, c : ndarray
        Their targets and weights.
    start : ndarray or None
        Duals to start from, which sum to zero; None to start at zero.
    is_held : bool
        Whether the dual of the last sample is held where it starts.
    """

    rows: np.ndarray
    y: np.ndarray
    c: np.ndarray
    start: np.ndarray | None = None
    is_held: bool = False


class SolvedSubproblem(NamedTuple):
    """The machine of a subproblem.

    Attributes
    ----------
    coef : ndarray
        One for each of its samples.
    b : float
    gap : float
        The certified relative gap.
    fixes_intercept : bool
        Whether b is the only optimal intercept, since some dual is free; else it is the middle of those.
    """

    coef: np.ndarray
    b: float
    gap: float
    fixes_intercept: bool


def solve_side_by_side(
    formulation: Formulation, matrix: np.ndarray, features: Gram, problems: Sequence[Subproblem], tol: float
) -> list[SolvedSubproblem]:
    """The machines of all subproblems, each to a certified relative gap within tol."""
    lengths = [len(problem.rows) for problem in problems]
    starts = [0, *accumulate(lengths[:-1])]
    y, c = (np.concatenate(parts) for parts in zip(*((each.y, each.c) for each in problems), strict=True))
    rows = formulation.pose_jointly(y, c, starts)
    assert rows is not None  # as for all machines that come here
    held = any(problem.is_held for problem in problems)
    if held:
        rows = hold_last_duals(rows, problems, starts, lengths)
    begins = rows.row.p.shape[0] == 1 and not rows.has_balance and any(each.start is not None for each in problems)
    index = np.concatenate([problem.rows for problem in problems])
    cells = JointCells(matrix, features, [CellRows(index, lengths, [rows])])
    if begins:
        start = np.concatenate([np.zeros(len(p.rows)) if p.start is None else p.start for p in problems])
        if held:
            cells.a[0, 0] = start
        else:  # their scores by one product
            cells.before[0], cells.before[1] = start, cells.multiply_all(start)
    cells.solve(tol, never, np.ones(1, bool) if held else None)
    fixed = settle_intercepts(cells)
    numbers = cells.judge_cell(0)
    if not is_done(numbers, tol).all() and choose_best_intercepts(cells, ~is_done(numbers, tol)):
        numbers = cells.judge_cell(0)
    found = read(formulation, cells, rows, fixed, numbers)
    left = np.flatnonzero(~is_done(numbers, tol)).tolist()
    for k in left:
        found[k] = go_on(formulation, matrix, features, problems[k], found[k], tol)
    return found


def never() -> bool:
    """No limit of time."""
    return False


def is_done(numbers: np.ndarray, tol: float) -> np.ndarray:
    """Which problems have a certificate within tol."""
    return (numbers[:, SOUND_COLUMN] > 0.0) & (numbers[:, RELATIVE_GAP_COLUMN] <= tol)


def hold_last_duals(
    rows: JointRows, problems: Sequence[Subproblem], starts: list[int], lengths: list[int]
) -> JointRows:
    """Bounds that leave the dual of the last sample of such problems no choice."""
    lo, hi = rows.row.lo.copy(), rows.row.hi.copy()
    for problem, start, length in zip(problems, starts, lengths, strict=True):
        if problem.is_held and problem.start is not None:
            lo[:, start + length - 1] = hi[:, start + length - 1] = problem.start[-1]
    return rows._replace(row=PiecewiseConjugate(*rows.row[:3], lo, hi))


def settle_intercepts(cells: JointCells) -> np.ndarray:
    """Where no dual is free, the middle of the optimal intercepts, which does not depend on the start.

    Returns whether one is.
    """
    problems = len(cells.lengths)
    if cells.layers > 1 or cells.has_balance:
        return np.zeros(problems, bool)
    p, d, e, lo, hi = (part[0, 0] for part in cells.rows)
    a = cells.a[0, 0]
    free = (a > lo) & (a < hi) & ((a != 0.0) | (e == 0.0))
    fixed = np.logical_or.reduceat(free, cells.ends[:-1])
    for k in np.flatnonzero(~fixed).tolist():
        own = slice(cells.ends[k], cells.ends[k + 1])
        left, right = PiecewiseConjugate(p[own], d[own], e[own], lo[own], hi[own]).slopes(a[own])
        low, high = float((-right - cells.f[0, own]).max()), float((-left - cells.f[0, own]).min())
        ends = [end for end in (low, high) if np.isfinite(end)]
        if ends:
            cells.b[0, k, 0] = sum(ends) / len(ends)
    return fixed


def choose_best_intercepts(cells: JointCells, chosen: np.ndarray) -> bool:
    """The best intercept of the scores of some problems, for losses without curvature; whether there were such.

    Pair steps may end between two looks at the gap, with the intercept of the last look.
    """
    p, d, e, lo, hi = (part[0] for part in cells.rows)
    if d.any():
        return False
    for k in np.flatnonzero(chosen).tolist():
        own = slice(cells.ends[k], cells.ends[k + 1])
        for layer in range(cells.layers):
            kinks, bounds = (p[layer, own], e[layer, own]), (lo[layer, own], hi[layer, own])
            balance = float(cells.balance[0, k, layer])
            cells.b[0, k, layer] = find_median_intercept(cells.f[0, own], *kinks, *bounds, balance)
    return True


def read(
    formulation: Formulation, cells: JointCells, rows: JointRows, fixed: np.ndarray, numbers: np.ndarray
) -> list[SolvedSubproblem]:
    """The machines of all problems."""
    ends, a, b = cells.ends.tolist(), cells.a[0], cells.b[0]
    scores = None if cells.layers == 1 else cells.multiply_all(a.sum(axis=0))
    machines = formulation.read_jointly(a, b, rows, ends[:-1], scores)
    return [
        SolvedSubproblem(machines.coef[start:stop].copy(), float(machines.b[k]), gap, bool(fixed[k]))
        for k, ((start, stop), gap) in enumerate(
            zip(pairwise(ends), numbers[:, RELATIVE_GAP_COLUMN].tolist(), strict=True)
        )
    ]


def go_on(
    formulation: Formulation, matrix: np.ndarray, features: Gram, problem: Subproblem, found: SolvedSubproblem,
    tol: float,
) -> SolvedSubproblem:  # fmt: skip
    """A problem whose gap the judge has found too wide: from where it is to a smaller one, else by the loop."""
    if tol < LEAST_TOL:
        return found if problem.is_held else solve_alone(formulation, features, problem, tol)
    begun = problem._replace(start=found.coef if formulation.is_risk else None)
    again = solve_side_by_side(formulation, matrix, features, [begun], REFINED_SHARE_OF_GAP * tol)
    return again[0]


def solve_alone(formulation: Any, features: Gram, problem: Subproblem, tol: float) -> SolvedSubproblem:
    """A problem by the solvers that the library chooses."""
    posed = formulation.pose(features.subset(problem.rows), problem.y, problem.c)
    result = solve(posed, tol=tol)
    machine = formulation.read(posed, result.point)
    return SolvedSubproblem(machine.coef, machine.b, result.certificate.relative_gap, False)
