"""The same winner and the same scores as scikit-learn's search over its own machines; labels that differ, explained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from search_accounts import HEADER, CellPair, Reference, compare_searches, list_cases
from sklearn import svm
from sklearn.datasets import make_moons

import maxmargin

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
        assert account.different <= 1e-3 * account.held_out


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
    theirs = svm.SVC(C=1.0, gamma=1.0).fit(case.X[train], case.y[train])
    scores = theirs.decision_function(case.X[test])
    moved = scores + 0.2
    other = ((moved > 0).astype(int), moved, theirs)
    pair = CellPair(case, train, test, other, ((scores > 0).astype(int), scores, theirs), 1e-5)
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
