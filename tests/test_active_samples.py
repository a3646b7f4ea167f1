"""Cells of large problems take their steps in phases over the samples that may still move."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC as LibSVC
from test_kernel_cells import search

from maxmargin import SVC
from maxmargin.compiled import active_samples, cells
from maxmargin.solvers.smo import cells as solver_of_cells

X, Y = make_classification(1000, 8, n_informative=5, flip_y=0.1, random_state=3)
FOLDS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
COSTS = [{"C": C} for C in (0.1, 3.0, 100.0)]


def test_active_samples_are_those_of_violating_pairs():
    """By brute force over all pairs: i rises and j falls, and up_i - f_i > low_j - f_j."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        f, rate = rng.normal(size=30), rng.normal(size=30)
        up, low = np.where(rng.random(30) < 0.3, -1e300, rate), np.where(rng.random(30) < 0.3, 1e300, rate)
        violating = ((up - f)[:, None] > (low - f)[None, :]) & (up > -1e299)[:, None] & (low < 1e299)[None, :]
        expected = np.flatnonzero(violating.any(axis=1) | violating.any(axis=0))
        found, m, M = np.empty(30, np.int64), (up - f).max(), (low - f).min()
        count = active_samples.find_active(up, low, f, m, M, found)
        np.testing.assert_array_equal(found[:count], expected)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-8])
def test_gaps_are_reached(tol):
    """Also those that float32 cannot reach: float64 takes over. The values are LIBSVM's."""
    found, _ = search(SVC(tol=tol, gamma=0.1), COSTS, X, Y, FOLDS)
    assert len(found) == len(COSTS) * len(FOLDS)
    for (number, fold), cell in found.items():
        assert cell.certificate.relative_gap <= tol
        train, test = FOLDS[fold]
        peer = LibSVC(gamma=0.1, tol=1e-6, **COSTS[number]).fit(X[train], Y[train])
        coef, kernel = peer.dual_coef_[0], rbf_kernel(peer.support_vectors_, gamma=0.1)
        dual = np.abs(coef).sum() - 0.5 * coef @ kernel @ coef
        assert dual * (1.0 - tol) - 1e-6 * abs(dual) <= cell.certificate.dual
        assert dual <= cell.certificate.primal * (1.0 + 1e-12)
        allowed = 2.0 * np.sqrt(2.0 * (cell.certificate.gap + 1e-6 * abs(dual)))  # |f - f*|, with the intercept
        np.testing.assert_allclose(-cell.test.ravel(), peer.decision_function(X[test]), atol=allowed)


def test_phases_are_taken(monkeypatch):
    """Problems of more samples than a chain of one call have room for rows in float32; others have not."""
    rooms = []
    solve = cells.solve_cells
    monkeypatch.setattr(cells, "solve_cells", lambda *given: (rooms.append(given[10].size), solve(*given))[1])
    search(SVC(gamma=0.1), COSTS, X, Y, FOLDS)
    assert rooms
    assert min(rooms) > 0
    rooms.clear()
    search(SVC(gamma=0.1), COSTS, X[:300], Y[:300], list(StratifiedKFold(3).split(X[:300], Y[:300])))
    assert set(rooms) == {0}


def test_few_rows_have_room(monkeypatch):
    """With room for a few rows only, a phase ends all the same; rows of the cell before do not stay for ever."""
    monkeypatch.setattr(solver_of_cells, "ROW_BUFFER_BYTES", 8 * 8 * 667)
    found, _ = search(SVC(tol=1e-4, gamma=0.1), COSTS, X, Y, FOLDS)
    assert all(cell.certificate.relative_gap <= 1e-4 for cell in found.values())
    assert len(found) == len(COSTS) * len(FOLDS)
