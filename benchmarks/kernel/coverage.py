"""How often sets and intervals hold the truth over a thousand splits, how wide they are, and what they take."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.svm
from sklearn import datasets

from maxmargin import SVC, SVR, ConformalClassifier, ConformalQuantileRegressor, ConformalRegressor

from ..measuring.clock import RUNS
from ..measuring.data import make_clouds, make_friedman, standardise
from ..measuring.report import Report, Table

SPLITS, TRAIN, TEST, COVERAGE = 1000, 100, 40, 0.9
ROWS_OF_RACE, NEW_ROWS_OF_RACE = 500, 1000
PURPOSE = (
    f"Share of new rows within their intervals or sets over {SPLITS:,} splits into {TRAIN} rows of a fit and {TEST} "
    f"new ones, promised {COVERAGE:.0%}; and jackknife+ compared with MAPIE, cv=-1, on {ROWS_OF_RACE} rows."
)
COLUMNS = {
    "data": "{}", "machine": "{}", "method": "{}", "coverage": "{:.4f}", "standard error": "{:.4f}",
    "proved": "{}", "width or size": "{:.3f}", "relative to split": "{:.3f}",
}  # fmt: skip
RACE_COLUMNS = {
    "gamma": "{}", "fit, s CPU": "{:.3f}", "MAPIE fit, s CPU": "{:.2f}", "predict, s CPU": "{:.3f}",
    "MAPIE predict, s CPU": "{:.2f}", "ratio of fits": "{:.1f}", "ratio of both": "{:.1f}",
    "largest difference": "{:.1e}",
}  # fmt: skip
PROVED = {"split": "90 %", "full": "90 %", "minmax": "90 %", "cv+": "80 %", "jackknife+": "80 %"}


def list_numbers() -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Sets with real targets, standardised."""
    X, y = datasets.load_diabetes(return_X_y=True)
    return [
        ("diabetes", standardise(X), standardise(y[:, None]).ravel()),
        ("friedman1", make_friedman(2000)[0], standardise(make_friedman(2000)[1][:, None]).ravel()),
    ]


def list_classes() -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Sets with labels, standardised."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    clouds, labels = make_clouds(2000)
    return [("breast_cancer", standardise(X), y), ("clouds, 20 features", standardise(clouds), labels)]


def repeat(
    X: np.ndarray, y: np.ndarray, model: Any, measure: Callable[[Any, np.ndarray, np.ndarray], Any], splits: int
) -> tuple[float, float, float]:
    """Coverage, its standard error and the mean width over splits."""
    rng, found = np.random.default_rng(0), []
    for split in range(splits):
        rows = rng.permutation(len(y))[: TRAIN + TEST]
        model.set_params(random_state=split)
        model.fit(X[rows[:TRAIN]], y[rows[:TRAIN]])
        found.append(measure(model, X[rows[TRAIN:]], y[rows[TRAIN:]]))
    covered, width = (np.array(part) for part in zip(*found, strict=True))
    return float(covered.mean()), float(covered.std() / np.sqrt(splits)), float(width.mean())


def measure_intervals(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The share of targets within, and the mean width."""
    low, high = model.predict_interval(X, COVERAGE).T
    return float(np.mean((low <= y) & (y <= high))), float(np.mean(high - low))


def measure_sets(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The share of labels within, and the mean size."""
    found = model.predict_set(X, COVERAGE)
    return float(found[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()), float(found.sum(axis=1).mean())


def cover(splits: int) -> list[dict[str, Any]]:
    """The rows of the first table."""
    cases: list[tuple[str, np.ndarray, np.ndarray, str, Any, Any]] = []
    for name, X, y in list_numbers():
        gamma = 1.0 / X.shape[1]
        for method in ("split", "cv+", "jackknife+", "minmax", "full"):
            cases.append((name, X, y, "SVR", ConformalRegressor(SVR(gamma=gamma), method=method), measure_intervals))
        for method in ("split", "cv+", "jackknife+"):
            model = ConformalQuantileRegressor(SVR(gamma=gamma), coverage=COVERAGE, method=method)
            cases.append((name, X, y, "SVR, two quantiles", model, measure_intervals))
    for name, X, y in list_classes():
        for method in ("split", "cv+", "jackknife+", "full"):
            model = ConformalClassifier(SVC(gamma=1.0 / X.shape[1]), method=method)
            cases.append((name, X, y, "SVC", model, measure_sets))
    rows: list[dict[str, Any]] = []
    for name, X, y, machine, model, measure in cases:
        coverage, error, width = repeat(X, y, model, measure, splits)
        row = {"data": name, "machine": machine, "method": model.method, "coverage": coverage, "standard error": error}
        split = width if model.method == "split" else rows[-1]["split width"]
        row |= {"proved": PROVED[model.method], "width or size": width, "relative to split": width / split}
        rows.append(row | {"split width": split})
        print(f"  {name}, {machine}, {model.method}: {coverage:.4f} +- {error:.4f}, {width:.3f}", flush=True)
    return rows


def race(runs: int) -> list[dict[str, Any]]:
    """Jackknife+ beside MAPIE's, in turns, in seconds of the processor: those of both cores are added up."""
    try:
        from mapie.regression import CrossConformalRegressor
    except ImportError:
        return []
    X, y = make_friedman(ROWS_OF_RACE + NEW_ROWS_OF_RACE)
    train, new = slice(ROWS_OF_RACE), slice(ROWS_OF_RACE, None)
    rows = []
    for gamma in (0.1, "scale"):
        best = np.full((2, 2), np.inf)
        ConformalRegressor(SVR(gamma=gamma), method="jackknife+").fit(X[:50], y[:50]).predict_interval(X[:5])
        for _ in range(runs):
            ours = ConformalRegressor(SVR(gamma=gamma), method="jackknife+")
            theirs = CrossConformalRegressor(
                sklearn.svm.SVR(gamma=gamma), confidence_level=COVERAGE, method="plus", cv=-1
            )  # fmt: skip
            moments = [time.process_time()]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours.fit(X[train], y[train])
                moments.append(time.process_time())
                found = ours.predict_interval(X[new], COVERAGE)
                moments.append(time.process_time())
                theirs.fit_conformalize(X[train], y[train])
                moments.append(time.process_time())
                expected = theirs.predict_interval(X[new])[1][:, :, 0]
                moments.append(time.process_time())
            best = np.minimum(best, np.diff(moments).reshape(2, 2))
        (fit, predict), (their_fit, their_predict) = best
        rows.append({
            "gamma": f"{gamma}", "fit, s CPU": fit, "MAPIE fit, s CPU": their_fit, "predict, s CPU": predict,
            "MAPIE predict, s CPU": their_predict, "ratio of fits": their_fit / fit,
            "ratio of both": (their_fit + their_predict) / (fit + predict),
            "largest difference": float(np.abs(found - expected).max()),
        })  # fmt: skip
        print(f"  gamma={gamma}: {rows[-1]['ratio of fits']:.1f}, {rows[-1]['ratio of both']:.1f}", flush=True)
    return rows


def run(*, brief: bool) -> Report:
    """Both tables."""
    splits = 10 if brief else SPLITS
    times = race(1 if brief else RUNS)
    rows = cover(splits)
    tables = [Table("Coverage", COLUMNS, rows), Table("Jackknife+ compared with MAPIE, cv=-1", RACE_COLUMNS, times)]
    short = [row for row in rows if row["coverage"] < COVERAGE - 3.0 * row["standard error"]]
    findings = [
        f"{len(rows) - len(short)} of {len(rows)} methods cover {COVERAGE:.0%} within three standard errors or more; "
        f"the least coverage is {min(row['coverage'] for row in rows):.4f}."
    ]
    if not times:
        findings.append("MAPIE was skipped: it is not installed.")
    return Report("coverage", PURPOSE, tables, findings)
