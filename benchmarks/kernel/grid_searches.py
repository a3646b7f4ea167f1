"""scikit-learn's GridSearchCV around SVC of both libraries: 16 cells, 3 folds, two jobs.

The search as people write it. Workers are started and warmed by a search over a few rows first, which is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import svm
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

import maxmargin

from ..linear.linear_fits import average
from ..measuring.clock import time_once
from ..measuring.data import read_file, standardise
from ..measuring.idle_cores import wait_for_idle_cores
from ..measuring.report import Report, Table

GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.03, 0.1, 0.3]}
FOLDS, JOBS, ROWS, WARMING_ROWS = 3, 2, 5000, 300
FILES = {"letter": "letter/letter.scale", "covtype": "covtype/covtype"}
PURPOSE = (
    f"`GridSearchCV(SVC(), 16 cells, cv={FOLDS}, n_jobs={JOBS})` of scikit-learn around its own SVC and around ours, "
    f"defaults otherwise: digits (pixels in [0, 1]), and {ROWS:,} rows of letter and covtype, standardised. A ratio is "
    "their seconds over ours."
)
COLUMNS = {
    "data": "{}", "n": "{:,}", "d": "{:,}", "classes": "{}", "ours, s": "{:.2f}", "scikit-learn, s": "{:.2f}",
    "ratio": "{:.2f}", "our score": "{:.4f}", "their score": "{:.4f}", "same winner": "{}",
}  # fmt: skip


def list_sets(brief: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Digits, and some rows of the sets that are in the folder."""
    X, y = load_digits(return_X_y=True)
    yield "digits", X[: WARMING_ROWS if brief else None] / 16.0, y[: WARMING_ROWS if brief else None]
    for name, file in {} if brief else FILES.items():
        found = read_file(file)
        if found is not None:
            X, y = found
            rows = np.random.default_rng(0).permutation(len(y))[:ROWS]
            X = X[rows].toarray() if hasattr(X, "toarray") else X[rows]
            yield name, standardise(X), y[rows]


def search(library: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, GridSearchCV]:
    """Seconds of a search, and the search itself."""
    searched = GridSearchCV(library.SVC(), GRID, cv=FOLDS, n_jobs=JOBS)
    time_once(lambda: searched.fit(X[:WARMING_ROWS], y[:WARMING_ROWS]))
    wait_for_idle_cores()
    return time_once(lambda: searched.fit(X, y))


def compare(name: str, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """One row of the table: the better of two searches of each library, in turns."""
    times: dict[Any, list[tuple[float, GridSearchCV]]] = {maxmargin: [], svm: []}
    for _ in range(2):
        for library, found in times.items():
            found.append(search(library, X, y))
    (our_seconds, ours), (their_seconds, theirs) = (min(found, key=lambda each: each[0]) for found in times.values())
    row = {
        "data": name, "n": len(y), "d": X.shape[1], "classes": len(np.unique(y)), "ours, s": our_seconds,
        "scikit-learn, s": their_seconds, "ratio": their_seconds / our_seconds, "our score": ours.best_score_,
        "their score": theirs.best_score_, "same winner": "yes" if ours.best_params_ == theirs.best_params_ else "no",
    }  # fmt: skip
    print(f"  {name}: {row['ratio']:.2f}", flush=True)
    return row


def run(*, brief: bool) -> Report:
    """Search every set."""
    rows = [compare(*each) for each in list_sets(brief)]
    least = min(rows, key=lambda row: row["ratio"])
    findings = [
        f"Geometric mean of the ratios {average([row['ratio'] for row in rows]):.2f}, least {least['ratio']:.2f} "
        f"({least['data']}); the same winner on {sum(row['same winner'] == 'yes' for row in rows)} of {len(rows)} sets."
    ]
    return Report("grid_searches", PURPOSE, [Table("Searches", COLUMNS, rows)], findings)
