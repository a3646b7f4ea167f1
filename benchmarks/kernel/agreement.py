"""Do our predictions equal those of scikit-learn's default fit, and at which tol: how the default tol was chosen.

Each set is fitted on at most 5,000 of its rows, drawn with a fixed seed, with the default parameters of both
libraries. Labels and predictions are compared on those rows and on up to 5,000 others. A further column asks
the same of scikit-learn: "optimum" compares its default fit with a fit of ours to a gap of 1e-7. "far" is the largest
decision value of scikit-learn among the rows whose labels differ at our default tol, for two classes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable

import numpy as np
from sklearn import svm

import maxmargin

from ..measuring.data import Sample, find_folder, list_classification, list_regression
from ..measuring.report import Report, Table

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5)
OPTIMUM_TOL, DEFAULT_TOL = 1e-7, maxmargin.SVC().tol
REQUIRED_AGREEMENT = 0.999  # of the rows of every set must have the same label at the default tol
MAX_ROWS = 5000
MAX_SECONDS = 120.0  # for one fit of ours

SET = {"data": "{}", "rows": "{:,}", "features": "{:,}", "scaled": "{}"}
TIMES = {**{f"s, {tol:.0e}": "{:.3f}" for tol in TOLERANCES}, "scikit-learn, s": "{:.3f}", "their gap": "{:.0e}"}
SHARES = {f"{tol:.0e}": "{:.3%}" for tol in TOLERANCES}
LABELS = {**SET, "classes": "{}", **SHARES, "optimum": "{:.3%}", "far": "{:.0e}", **TIMES}
VALUES = {**SET, **{f"{tol:.0e}": "{:.1e}" for tol in TOLERANCES}, "optimum": "{:.1e}", **TIMES}


def draw(sample: Sample) -> tuple:
    """Rows to fit on, and rows to compare on: those and as many others at most."""
    order = np.random.default_rng(0).permutation(len(sample.y))
    fit, compare = np.sort(order[:MAX_ROWS]), np.sort(order[: 2 * MAX_ROWS])
    return sample.X[fit], sample.y[fit], sample.X[compare]


def time_fit(model, X, y) -> float:
    """Seconds of one fit; a warning that it stopped early is left to the gap to tell."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return time.perf_counter() - began


def share_equal(ours: np.ndarray, theirs: np.ndarray, y: np.ndarray) -> float:
    """The share of rows with the same label."""
    return float(np.mean(ours == theirs))


def largest_difference(ours: np.ndarray, theirs: np.ndarray, y: np.ndarray) -> float:
    """The largest difference of two predictions, in standard deviations of y."""
    return float(np.abs(ours - theirs).max() / y.std())


def compare(name: str, sample: Sample, measure) -> dict:
    """One row: our fits at every tolerance beside scikit-learn's default one."""
    X, y, others = draw(sample)
    row = {"data": sample.name, "rows": len(y), "features": X.shape[1], "scaled": "yes" if sample.scaled else "no"}
    if name == "SVC":
        row["classes"] = len(np.unique(y))
    theirs = getattr(svm, name)()
    row["scikit-learn, s"] = time_fit(theirs, X, y)
    row["their gap"] = maxmargin.certify(theirs, X, y).relative_gap
    their_values = theirs.predict(others)
    for tol in (*TOLERANCES, OPTIMUM_TOL):
        ours = getattr(maxmargin, name)(tol=tol, max_seconds=MAX_SECONDS)
        seconds = time_fit(ours, X, y)
        our_values = ours.predict(others)
        agreement = measure(our_values, their_values, y)
        if tol == DEFAULT_TOL and row.get("classes") == 2 and agreement < 1:
            row["far"] = float(np.abs(theirs.decision_function(others[our_values != their_values])).max())
        if tol == OPTIMUM_TOL:
            row["optimum"] = agreement
        else:
            row[f"s, {tol:.0e}"], row[f"{tol:.0e}"] = seconds, agreement
    return row


def collect(name: str, samples: Iterable[Sample], measure) -> list[dict]:
    """One row for each set, told as they come."""
    rows = []
    for sample in samples:
        rows.append(compare(name, sample, measure))
        print(f"{name} on {sample.name}: {rows[-1]['1e-04']:.3g} at tol 1e-4", flush=True)
    return rows


def run(*, brief: bool) -> Report:
    """Compare on every set there is."""
    report = Report("agreement", "Predictions compared with those of scikit-learn's default fit, by tol.", [], [])
    files = not brief and find_folder() is not None
    labels = collect("SVC", list_classification(files=files), share_equal)
    values = collect("SVR", list_regression(files=files), largest_difference)
    report.tables = [
        Table("SVC: share of rows with the same label", LABELS, labels),
        Table("SVR: largest difference of two predictions, in standard deviations of y", VALUES, values),
    ]
    for tol in TOLERANCES:
        worst = min(labels, key=lambda row: row[f"{tol:.0e}"])
        widest = max(values, key=lambda row: row[f"{tol:.0e}"])
        report.findings.append(
            f"tol = {tol:.0e}: labels agree on {worst[f'{tol:.0e}']:.3%} of rows or more (least on {worst['data']}), "
            f"SVR differs by {widest[f'{tol:.0e}']:.1e} standard deviations or less (most on {widest['data']})."
        )
    report.findings.append(judge_default(labels))
    source = "from files too" if files else "none from files"
    report.findings.append(f"{len(labels)} sets for SVC and {len(values)} for SVR, {source}.")
    return report


def judge_default(labels: list[dict]) -> str:
    """Whether the default tol keeps its promise, and where it does not."""
    column = f"{DEFAULT_TOL:.0e}"
    if DEFAULT_TOL not in TOLERANCES:
        return f"The default, tol = {column}, was not tried."
    below = [row["data"] for row in labels if row[column] < REQUIRED_AGREEMENT]
    verdict = f"fails on {', '.join(below)}" if below else "holds on every set"
    return f"The default, tol = {column}: agreement on {REQUIRED_AGREEMENT:.1%} of rows {verdict}."
