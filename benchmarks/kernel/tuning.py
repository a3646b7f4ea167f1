"""Searches over C and gamma whose cells share kernel matrices, beside scikit-learn's GridSearchCV over its own SVC.

Both search the same grid with the same folds on two cores: scikit-learn with two jobs, whose workers are started and
warmed by a small search first. Where its search would take longer than LIMIT seconds, cells are sampled at random, and
its time is that of the sample, scaled to all cells.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv

import maxmargin
from maxmargin.model_selection import GridSearchCV as OurGridSearchCV

from ..linear.linear_fits import average
from ..measuring.clock import time_once
from ..measuring.data import read_file, standardise
from ..measuring.idle_cores import wait_for_idle_cores
from ..measuring.report import Report, Table

JOBS, ROWS, WARMING_ROWS, SAMPLED_CELLS, REPEATS = 2, 5000, 300, 40, 3
SMALL_GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.003, 0.01, 0.03, 0.1]}
MIDDLE_GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.03, 0.1, 0.3]}
LARGE_GRID = {"C": list(np.logspace(-2, 3, 10)), "gamma": list(np.logspace(-3, 1, 10))}
PATH_GRID = {"C": list(np.logspace(-3, 2, 50))}
PURPOSE = (
    "`maxmargin.model_selection.GridSearchCV` over our SVC or SVR and scikit-learn's over its own, the same grid and "
    f"folds, two cores (scikit-learn: n_jobs={JOBS}), refit included. A ratio is their seconds over ours. Seconds "
    f"marked + are estimated from {SAMPLED_CELLS} cells sampled at random. `fits` counts cells, `kernel values` what "
    "was computed for all of them, `in fits` is our time over that of one fit of the best cell to all rows. `largest "
    "difference` is that of a mean score in the two tables."
)
COLUMNS = {
    "data": "{}", "n": "{:,}", "d": "{:,}", "classes": "{}", "cells": "{}", "folds": "{}", "ours, s": "{:.3g}",
    "scikit-learn, s": "{}", "ratio": "{}", "fits": "{:,}", "kernel values": "{:.2e}", "in fits": "{:.1f}",
    "our score": "{:.4f}", "their score": "{}", "same winner": "{}", "largest difference": "{}", "worst gap": "{:.1e}",
}  # fmt: skip


class Case(NamedTuple):
    """One search."""

    name: str
    X: np.ndarray
    y: np.ndarray
    grid: dict[str, list[float]]
    folds: int
    ours: Any
    theirs: Any
    compared: bool = True


def list_cases(brief: bool) -> Iterator[Case]:
    """Sets that come with scikit-learn, then those in the folder, then generated ones."""
    X, y = load_breast_cancer(return_X_y=True)
    yield Case("breast_cancer", standardise(X), y, SMALL_GRID, 5, maxmargin.SVC(), svm.SVC())
    X, y = load_digits(return_X_y=True)
    rows = WARMING_ROWS if brief else None
    yield Case("digits", X[:rows] / 16.0, y[:rows], SMALL_GRID, 5, maxmargin.SVC(), svm.SVC())
    if brief:
        return
    X, y = load_diabetes(return_X_y=True)
    tube = {"C": [1.0, 10.0, 100.0, 1000.0], "epsilon": [0.1, 1.0, 10.0]}
    yield Case("diabetes", X, y, tube, 5, maxmargin.SVR(), svm.SVR())
    for name, file, grid, folds in (
        ("letter", "letter/letter.scale", MIDDLE_GRID, 3),
        ("covtype", "covtype/covtype", MIDDLE_GRID, 3),
        ("covtype", "covtype/covtype", LARGE_GRID, 5),
    ):
        found = read_file(file)
        if found is not None:
            X, y = found
            chosen = np.random.default_rng(0).permutation(len(y))[:ROWS]
            X = X[chosen].toarray() if hasattr(X, "toarray") else X[chosen]
            yield Case(name, standardise(X), y[chosen], grid, folds, maxmargin.SVC(), svm.SVC())
    X, y = make_mixture(10_000, 1_000)
    gamma = 1.0 / (X.shape[1] * X.var())
    ours = maxmargin.SVC(gamma=gamma, cache_size=500)
    yield Case("mixture", X, y, PATH_GRID, 10, ours, svm.SVC(gamma=gamma), compared=False)


def make_mixture(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, each a mixture of ten normal distributions around centres of its own (Hastie et al. 2009, 2.3.3)."""
    rng = np.random.default_rng(0)
    X, y = np.empty((n, d)), np.arange(n) % 2
    for label in range(2):
        centre = np.zeros(d)
        centre[label] = 1.0
        centres = centre + rng.standard_normal((10, d))
        rows = np.flatnonzero(y == label)
        X[rows] = centres[rng.integers(10, size=len(rows))] + rng.standard_normal((len(rows), d)) * np.sqrt(5.0)
    return X, y


def fit_and_score(machine: Any, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """One cell of scikit-learn's."""
    return machine.fit(X[train], y[train]).score(X[test], y[test])


def estimate_theirs(case: Case) -> float:
    """Seconds of scikit-learn's search, from a sample of its cells on two workers."""
    rng, cells = np.random.default_rng(0), list(ParameterGrid(case.grid))
    folds = list(check_cv(case.folds, case.y, classifier=True).split(case.X, case.y))
    numbers = rng.choice(len(cells) * len(folds), SAMPLED_CELLS, replace=False)
    chosen = [(cells[k // len(folds)], folds[k % len(folds)]) for k in numbers]
    work = [delayed(fit_and_score)(clone(case.theirs).set_params(**p), case.X, case.y, *fold) for p, fold in chosen]
    with Parallel(n_jobs=JOBS) as pool:
        pool(work[:JOBS])
        wait_for_idle_cores()
        seconds, _ = time_once(lambda: pool(work))
    return seconds * len(cells) * len(folds) / SAMPLED_CELLS


def measure_theirs(case: Case, limit: float) -> tuple[float, bool, Any]:
    """Seconds of scikit-learn's search, whether they were estimated, and the search if there was one."""
    searched = GridSearchCV(case.theirs, case.grid, cv=case.folds, n_jobs=JOBS)
    cells = len(list(ParameterGrid(case.grid))) * case.folds
    searched.fit(case.X[:WARMING_ROWS], case.y[:WARMING_ROWS])
    one, _ = time_once(lambda: clone(case.theirs).fit(case.X, case.y))
    if one * cells / JOBS > limit:
        return estimate_theirs(case), True, None
    found = []
    for _ in range(1 if one * cells > limit / 4 else REPEATS):
        wait_for_idle_cores()
        found.append(time_once(lambda: searched.fit(case.X, case.y))[0])
    return min(found), False, searched


def compare(case: Case, limit: float) -> dict[str, Any]:
    """One row of the table."""
    searched = OurGridSearchCV(case.ours, case.grid, cv=case.folds)
    searched.fit(case.X[:WARMING_ROWS], case.y[:WARMING_ROWS])
    ours = []
    while len(ours) < REPEATS and sum(ours) < limit:
        wait_for_idle_cores()
        ours.append(time_once(lambda: searched.fit(case.X, case.y))[0])
    single = time_once(lambda: clone(searched.best_estimator_).fit(case.X, case.y))[0]
    theirs, estimated, other = measure_theirs(case, limit) if case.compared else (np.nan, True, None)
    counters, table = searched.search_outcome_.counters, searched.cv_results_
    row = {
        "data": case.name, "n": len(case.y), "d": case.X.shape[1],
        "classes": len(np.unique(case.y)) if hasattr(case.ours, "class_weight") else "-",
        "cells": len(table["params"]), "folds": case.folds, "ours, s": min(ours),
        "scikit-learn, s": "-" if np.isnan(theirs) else f"{theirs:.3g}{'+' if estimated else ''}",
        "ratio": "-" if np.isnan(theirs) else f"{theirs / min(ours):.1f}", "fits": counters["fits"],
        "kernel values": counters["kernel_values"], "in fits": min(ours) / single, "our score": searched.best_score_,
        "their score": "-" if other is None else f"{other.best_score_:.4f}",
        "same winner": "-" if other is None else "yes" if other.best_params_ == searched.best_params_ else "no",
        "largest difference": "-" if other is None else "{:.1e}".format(
            np.abs(table["mean_test_score"] - other.cv_results_["mean_test_score"]).max()
        ),
        "worst gap": table["worst_relative_gap"].max(), "number": theirs / min(ours),
    }  # fmt: skip
    print(f"  {case.name}: {row['ours, s']:.3g} s, ratio {row['ratio']}", flush=True)
    return row


def run(*, brief: bool) -> Report:
    """Search every set."""
    limit, began = float(os.environ.get("LIMIT", 60.0)), time.perf_counter()
    rows = [compare(case, limit) for case in list_cases(brief)]
    ratios = [row.pop("number") for row in rows]
    known = [ratio for ratio in ratios if not np.isnan(ratio)]
    findings = [
        f"Geometric mean of the ratios {average(known):.1f}, least {min(known):.1f}.",
        "covtype, 5,000 rows, 10 x 10 cells, 5 folds: liquidSVM's authors publish 15.7 s on two threads of another "
        "machine. 10,000 x 1,000, 50 values of C, 10 folds: TorchKM's publish 37.7 s on a graphics processor.",
        f"The whole run took {time.perf_counter() - began:.0f} s.",
    ]
    return Report("tuning", PURPOSE, [Table("Searches", COLUMNS, rows)], findings)
