"""Where a cell of a search starts, how its rows are read, and when its duals count as balanced."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.compiled.cells import scale_duals
from maxmargin.compiled.certificate_numbers import are_feasible
from maxmargin.compiled.row_sums import enclose_rows
from maxmargin.compiled.single_rows import find_runs, gather_row
from maxmargin.runtime.rounding import BALANCE_TOLERANCE


@pytest.mark.parametrize(
    ("bounded", "score", "expected"),
    [
        (10, 0.5, 0.0),  # all were at their bounds and would come off them at t = 2
        (10, 0.05, 10.0),  # all stay at their bounds
        (3, 0.5, 2.0),  # most were free
    ],
)
def test_a_cell_starts_from_nothing_where_most_duals_would_leave_their_bounds(bounded, score, expected):
    """Bounds grow from 1 to 10, and f = score y, so that D(t a) is largest at t = 1 / score."""
    y = np.where(np.arange(10) < 5, 1.0, -1.0)
    duals = (y * np.where(np.arange(10) < bounded, 1.0, 0.5))[None]
    before, f, zeros = duals.copy(), score * y, np.zeros((1, 10))
    lo, hi = np.minimum(10.0 * y, 0.0)[None], np.maximum(10.0 * y, 0.0)[None]
    scale_duals(duals, f, -y[None], zeros, zeros, lo, hi)
    np.testing.assert_allclose(duals, expected * before)
    np.testing.assert_allclose(f, expected * score * y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "index",
    [
        np.r_[3:20, 25:50],
        np.arange(40),
        np.r_[30:50, 0:20],  # runs in any order
        np.arange(0, 50, 2),  # no runs
        np.r_[0:10, 0:10],  # samples that are there twice
    ],
)
def test_rows_read_run_by_run_are_those_of_the_matrix(index, dtype):
    """Whatever the order of the samples."""
    matrix, row = np.random.default_rng(0).standard_normal((50, 50)), np.empty(len(index), dtype)
    runs = find_runs(index)
    assert len(runs) == 0 or (np.diff(index)[np.setdiff1d(np.arange(1, len(index)), runs) - 1] == 1).all()
    for i in (0, 5, len(index) - 1):
        gather_row(i, (matrix, index, runs), row)
        np.testing.assert_array_equal(row, matrix[index[i], index].astype(dtype))


@pytest.mark.parametrize("moved", [0.0, 1e-6])
def test_duals_that_sum_to_zero_are_balanced_whatever_a_running_sum_loses(moved):
    """40,000 duals of 0.1 and 20,000 of -0.2 sum to zero exactly, but not if every partial sum is rounded."""
    a = np.repeat([0.1, -0.2], [40_000, 20_000])
    a[0] += moved
    size, row = float(np.abs(a).sum()), np.zeros(len(a))
    found = np.zeros((1, 18))
    found[0, :16] = enclose_rows(row, row, 0.0, a, -np.sign(a), row, row, np.minimum(a, 0.0), np.maximum(a, 0.0), 0.0)
    assert abs(np.cumsum(a)[-1]) > BALANCE_TOLERANCE * size
    assert are_feasible(found, 1, np.zeros(1), size) == (moved == 0.0)
