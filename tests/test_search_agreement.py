"""The same winner and the same scores as scikit-learn's search over its own machines; labels that differ, explained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sklearn.model_selection as theirs
from search_accounts import HEADER, CellPair, Reference, compare_searches, list_cases, search
from sklearn import svm
from sklearn.datasets import make_moons

import maxmargin
from maxmargin.model_selection import GridSearchCV

CASES = list_cases()
QUICK = ("moons", "wine", "weights")
PAGE = Path(__file__).parent.parent / "docs" / "tuning.md"
SAME_SCORE = 2e-3  # the largest difference of two mean scores: one label of 500


@pytest.mark.cover("all")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_labels_that_differ_are_explained(name):
    """The winner, mean scores, and every held-out label that differs: scores that both gaps allow."""
    account = compare_searches(CASES[name])
    assert account.same_winner
    assert account.unexplained == []
    assert account.largest_difference <= SAME_SCORE * (1.0 + 1e-9)
    if CASES[name].kind == "SVC":
        assert account.different - account.undetermined <= 1e-3 * account.held_out
    assert account.undetermined == 0 or name == "balanced classes"


@pytest.mark.slow
def test_an_intercept_that_is_not_unique_is_in_the_middle():
    """Balanced classes, small C: all duals are at their bounds, an interval of b is optimal, and we take its middle."""
    case = CASES["balanced classes"]._replace(grid={"C": [0.1], "gamma": [1.0]})
    ours, our_cells = search(case, GridSearchCV, maxmargin)
    other, their_cells = search(case, theirs.GridSearchCV, svm)
    train, test = next(case.cv.split(case.X, case.y))
    name = our_cells.name_cell({"C": 0.1, "gamma": 1.0}, case.X[test])
    pair = CellPair(case, train, test, our_cells.kept[name], their_cells.kept[name], 1e-12)
    assert not pair.has_unique_intercepts(pair.list_different())
    reference = pair.open_reference(0)
    products = reference.score(case.X[train]) - reference.machine.intercept_  # <w, phi(x)>
    positive = case.y[train] == 1
    lower, upper = (-1.0 - products[~positive]).max(), (1.0 - products[positive]).min()  # y (<w, phi(x)> + b) <= 1
    assert lower + 0.1 < upper
    found = our_cells.kept[name][1] - reference.score(case.X[test]) + reference.machine.intercept_
    np.testing.assert_allclose(found, (lower + upper) / 2.0, atol=1e-9)
    assert ours.best_score_ > other.best_score_ + 0.2


@pytest.mark.parametrize("tol", [1.0, 0.1, 1e-2])
def test_bounds_hold_for_machines_of_any_gap(tol):
    """Every score is within its bounds, and a thousandth of the gap would not allow all of them."""
    X, y = make_moons(300, noise=0.3, random_state=1)
    train, held_out = slice(0, 150), X[150:]
    reference = Reference(maxmargin.SVC(C=3.0, gamma=1.0, tol=1e-9), X[train], y[train], np.ones(150))
    machine = svm.SVC(C=3.0, gamma=1.0, tol=tol).fit(X[train], y[train])
    scores, gap = machine.decision_function(held_out), maxmargin.certify(machine, X[train], y[train]).gap
    assert gap > 1e3 * reference.certificate.gap
    rows = range(len(held_out))
    assert all(reference.contains(held_out[[row]], scores[row], gap) for row in rows)
    assert not all(reference.contains(held_out[[row]], scores[row], 1e-3 * gap) for row in rows)


def test_another_intercept_is_not_explained():
    """Labels that differ because a machine was given another intercept lie beyond what its gap allows."""
    case = CASES["moons"]._replace(grid={"C": [1.0], "gamma": [1.0]})
    train, test = next(case.cv.split(case.X, case.y))
    machine = svm.SVC(C=1.0, gamma=1.0).fit(case.X[train], case.y[train])
    scores = machine.decision_function(case.X[test])
    moved = scores + 0.2
    other = ((moved > 0).astype(int), moved, machine)
    pair = CellPair(case, train, test, other, ((scores > 0).astype(int), scores, machine), 1e-5)
    rows = pair.list_different()
    assert len(rows) > 0
    assert not any(pair.explains(row) for row in rows)


def test_page_has_every_search():
    """The table of docs/tuning.md: cells, folds and held-out labels of each case, all winners, nothing unexplained."""
    lines = PAGE.read_text().splitlines()
    start = lines.index(HEADER) + 2
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start : start + len(CASES)]]
    for (name, case), row in zip(CASES.items(), rows, strict=True):
        folds = list(case.cv.split(case.X, case.y))
        cells = int(np.prod([len(values) for values in case.grid.values()]))
        held_out = cells * sum(len(test) for _, test in folds)
        assert row[:5] == [name, str(cells), str(len(folds)), "yes", f"{held_out:,}"]
        assert row[5] == row[6]
