"""Probabilities of SVC beside scikit-learn's CalibratedClassifierCV around its own: log loss, calibration, seconds."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import sklearn.svm
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split

from maxmargin import SVC
from maxmargin.plots.calibration import bin_calibration

from ..measuring.clock import LONG, RUNS
from ..measuring.data import make_clouds, read_file, standardise
from ..measuring.report import Report, Table

PURPOSE = (
    "SVC(probability=method) beside CalibratedClassifierCV(sklearn.svm.SVC(), method, ensemble=False), half of the "
    "rows to fit and half to predict: log loss, expected calibration error over ten bins, seconds of the "
    "processor for the fit."
)
COLUMNS = {
    "data": "{}", "n": "{:,}", "classes": "{}", "method": "{}", "log loss": "{:.4f}", "theirs": "{:.4f}",
    "calibration error": "{:.4f}", "their error": "{:.4f}", "agreeing": "{:.1%}", "they agree": "{:.1%}",
    "fit, s CPU": "{:.3f}", "their fit, s CPU": "{:.3f}", "ratio": "{:.1f}",
}  # fmt: skip
FILES = ("german.numer/german.numer", "segment/segment.scale", "spambase/spambase")
METHODS = ("sigmoid", "isotonic", "temperature")


class LabelledSet(NamedTuple):
    """A set with labels, standardised."""

    name: str
    X: np.ndarray
    y: np.ndarray


def list_sets(brief: bool) -> list[LabelledSet]:
    """Three sets of scikit-learn or generated ones, and three of the folder of data."""
    found = [LabelledSet("breast_cancer", *datasets.load_breast_cancer(return_X_y=True))]
    if not brief:
        found.append(LabelledSet("digits", *datasets.load_digits(return_X_y=True)))
        found.append(LabelledSet("clouds", *make_clouds(4000)))
        for file in FILES:
            if (read := read_file(file)) is not None:
                found.append(LabelledSet(file.partition("/")[0], np.asarray(read[0]), read[1]))
    return [LabelledSet(name, standardise(X), y) for name, X, y in found]


def make_theirs(method: str) -> CalibratedClassifierCV:
    """The same folds of the same machine."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return CalibratedClassifierCV(sklearn.svm.SVC(), method=method, ensemble=False, cv=folds)


def time_fit(model: Any, X: np.ndarray, y: np.ndarray, runs: int) -> float:
    """The best of several fits, in seconds of the processor."""
    best = np.inf
    for _ in range(runs):
        began = time.process_time()
        model.fit(X, y)
        best = min(best, time.process_time() - began)
        if best > LONG:
            break
    return best


def measure(data: LabelledSet, method: str, runs: int) -> dict[str, Any] | None:
    """A row of the table; None where this scikit-learn lacks the method."""
    X, new, y, right = train_test_split(data.X, data.y, test_size=0.5, random_state=0, stratify=data.y)
    ours, theirs = SVC(probability=method, random_state=0), make_theirs(method)
    ours.fit(X[:200], y[:200])  # loads the compiled code
    try:
        seconds = {"fit, s CPU": time_fit(ours, X, y, runs), "their fit, s CPU": time_fit(theirs, X, y, runs)}
    except ValueError:
        return None
    p, q = ours.predict_proba(new), theirs.predict_proba(new)
    theirs_alone = sklearn.svm.SVC().fit(X, y)
    classes = ours.classes_
    return {
        "data": data.name, "n": len(y), "classes": len(classes), "method": method,
        "log loss": log_loss(right, p), "theirs": log_loss(right, np.clip(q, 1e-15, 1.0)),
        "calibration error": bin_calibration(right, p, classes=classes).expected_error,
        "their error": bin_calibration(right, q, classes=classes).expected_error,
        "agreeing": float(np.mean(classes[p.argmax(axis=1)] == ours.predict(new))),
        "they agree": float(np.mean(classes[q.argmax(axis=1)] == theirs_alone.predict(new))),
        **seconds, "ratio": seconds["their fit, s CPU"] / seconds["fit, s CPU"],
    }  # fmt: skip


def run(*, brief: bool) -> Report:
    """All sets by all methods."""
    rows = []
    for data in list_sets(brief):
        for method in METHODS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = measure(data, method, 1 if brief else RUNS)
            if row is not None:
                rows.append(row)
                print(f"  {data.name}, {method}: {row['ratio']:.1f}", flush=True)
    lower = sum(row["log loss"] <= row["theirs"] + 5e-4 for row in rows)
    ratios = [row["ratio"] for row in rows]
    findings = [
        f"The log loss is not above theirs by more than 0.0005 in {lower} of {len(rows)} cases.",
        f"Ratios of seconds: geometric mean {np.exp(np.mean(np.log(ratios))):.1f}, least {min(ratios):.1f}.",
    ]
    return Report("calibration", PURPOSE, [Table("Probabilities", COLUMNS, rows)], findings)
