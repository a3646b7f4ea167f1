"""How well `diagnose` predicts the time of a fit: kernel and linear machines on sets of many shapes, fitted after it.

The prediction comes from fits of parts of the data; a ratio is predicted over measured seconds. Both are taken in one
process, one after the other, so that whatever else the machine does meets both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from sklearn.base import clone

import maxmargin
from maxmargin import LinearSVC, RiskClassifier, diagnose

from ..kernel.cases import list_cases
from ..linear.linear_cases import list_labelled
from ..measuring.report import Report, Table

PURPOSE = "Seconds that `diagnose` predicts for a fit, and those that it takes. A ratio is predicted over measured."
LINEAR = {
    "covtype": (LinearSVC(loss="hinge", intercept="free"), RiskClassifier("logistic")),
    "skin_nonskin": (LinearSVC(intercept="free"),),
    "a9a": (LinearSVC(loss="hinge", intercept="free"),),
    "w8a": (LinearSVC(loss="hinge", intercept="free"),),
    "mnist": (LinearSVC(intercept="free"),),
    "news20": (LinearSVC(loss="hinge", intercept="free"),),
    "farm-ads": (LinearSVC(intercept="free"),),
}
COLUMNS = {
    "data": "{}", "model": "{}", "n": "{:,}", "d": "{:,}", "predicted, s": "{:.2f}", "measured, s": "{:.2f}",
    "ratio": "{:.2f}", "diagnosis, s": "{:.2f}",
}  # fmt: skip


def list_fits(brief: bool) -> Iterator[tuple]:
    """(data, model, X, y)."""
    for name, case in list_cases(brief=brief):
        if case is not None:
            yield name, getattr(maxmargin, case.kind)(**case.parameters), case.X, case.y
    for name, found in list_labelled(tuple(LINEAR), brief=brief):
        for model in LINEAR.get(name, (LinearSVC(intercept="free"),)) if found is not None else ():
            yield name, model, *found


def compare(name: str, model, X, y) -> dict:
    """One row: diagnosed, then fitted."""
    began = time.perf_counter()
    predicted = diagnose(model, X, y).seconds
    diagnosis = time.perf_counter() - began
    began = time.perf_counter()
    clone(model).fit(X, y)
    measured = time.perf_counter() - began
    loss = f", {model.loss}" if hasattr(model, "loss") and not hasattr(model, "kernel") else ""
    return {
        "data": name, "model": type(model).__name__ + loss, "n": X.shape[0], "d": X.shape[1],
        "predicted, s": predicted, "measured, s": measured, "ratio": predicted / measured, "diagnosis, s": diagnosis,
    }  # fmt: skip


def run(*, brief: bool) -> Report:
    """Diagnose and fit every case."""
    rows = [compare(*fit) for fit in list_fits(brief)]
    ratios = [row["ratio"] for row in rows]
    within = sum(1 / 3 <= ratio <= 3 for ratio in ratios)
    finding = f"Within a factor of 3: {within} of {len(rows)} fits; ratios from {min(ratios):.2f} to {max(ratios):.2f}."
    return Report("foresight", PURPOSE, [Table("Predicted and measured seconds", COLUMNS, rows)], [finding])
