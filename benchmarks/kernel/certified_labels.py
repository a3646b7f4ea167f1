"""Labels that are certain to be those of the exact optimum: after a default fit, and with certify_labels=0.99."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from maxmargin import SVC, LinearSVC

from ..measuring.data import find_folder, read_file
from ..measuring.report import Report, Table

FILES = (
    "a9a/a9a", "german.numer/german.numer", "ijcnn1/ijcnn1_reconstructed", "letter/letter.scale", "magic04/magic04",
    "pendigits/pendigits", "phishing/phishing", "satimage/satimage.scale", "spambase/spambase", "usps/usps",
)  # fmt: skip
MACHINES = (("SVC", SVC(C=1.0)), ("SVC, C = 10", SVC(C=10.0)), ("LinearSVC", LinearSVC()))
MAX_TRAINING_ROWS, MAX_TEST_ROWS = 10_000, 5_000
SHARE = 0.99
TURNS = 3
REFERENCE_TOL = 1e-12
PURPOSE = (
    "The share of test labels that are proven to be those of the exact optimum, after a default fit and after one with "
    f"certify_labels={SHARE}, and the CPU time of the second fit as a multiple of the first: the least of {TURNS} runs "
    f"each, in turns. `flipped` counts certain labels that a fit at tol={REFERENCE_TOL:g} predicts differently. Rows "
    f"are drawn at random: two thirds to train, up to {MAX_TRAINING_ROWS:,}, and up to {MAX_TEST_ROWS:,} of the rest."
)
COLUMNS = {
    "data": "{}", "machine": "{}", "rows": "{:,}", "test rows": "{:,}", "certain by default, %": "{:.2f}",
    "certain, %": "{:.2f}", "flipped": "{}", "default fit, s": "{:.3f}", "times the default fit": "{:.2f}",
    "prediction, s": "{:.3f}", "certified prediction, s": "{:.3f}",
}  # fmt: skip


def list_sets(brief: bool) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Ten sets of the folder; those of scikit-learn to be brief, or without a folder."""
    if brief or find_folder() is None:
        for load in (datasets.load_breast_cancer, datasets.load_digits, datasets.load_wine):
            yield load.__name__.removeprefix("load_"), *load(return_X_y=True)
        return
    for file in FILES:
        found = read_file(file)
        if found is not None:
            yield file.partition("/")[0], *found


def cut_set(X: Any, y: np.ndarray) -> list[Any]:
    """Training and test rows, their features scaled by the training rows."""
    train, test, y_train, _ = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
    train, y_train, test = train[:MAX_TRAINING_ROWS], y_train[:MAX_TRAINING_ROWS], test[:MAX_TEST_ROWS]
    scaler = (MaxAbsScaler() if sp.issparse(X) else StandardScaler()).fit(train)
    return [scaler.transform(train), scaler.transform(test), y_train]


def clock(action: Any) -> tuple[float, Any]:
    """Seconds of CPU time, and what the action returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        outcome = action()
        return time.process_time() - began, outcome


def measure(name: str, label: str, machine: Any, train: Any, test: Any, y: np.ndarray) -> dict[str, Any]:
    """One machine on one set."""
    plain, asked = machine.__class__(**machine.get_params()), machine.__class__(**machine.get_params())
    asked.set_params(certify_labels=SHARE)
    seconds = np.full((2, TURNS), np.inf)
    for turn in range(TURNS):
        for k, each in enumerate((plain, asked)):
            seconds[k, turn], _ = clock(lambda each=each: each.fit(train, y))
    reference = machine.__class__(**machine.get_params()).set_params(tol=REFERENCE_TOL)
    clock(lambda: reference.fit(train, y))
    by_default, found = plain.certified_predict(test), asked.certified_predict(test)
    truth = reference.predict(test)
    flipped = sum(int(np.count_nonzero(each.certain & (each.labels != truth))) for each in (by_default, found))
    best = seconds.min(axis=1)
    return {
        "data": name, "machine": label, "rows": len(y), "test rows": test.shape[0],
        "certain by default, %": 100.0 * by_default.share, "certain, %": 100.0 * found.share, "flipped": flipped,
        "default fit, s": best[0], "times the default fit": best[1] / best[0],
        "prediction, s": clock(lambda: asked.predict(test))[0],
        "certified prediction, s": clock(lambda: asked.certified_predict(test))[0],
    }  # fmt: skip


def run(*, brief: bool) -> Report:
    """All machines on all sets."""
    rows = []
    for name, X, y in list_sets(brief):
        cut = cut_set(X, y)
        for label, machine in MACHINES:
            rows.append(measure(name, label, machine, *cut))
            row = rows[-1]
            print(f"  {name}, {label}: {row['certain, %']:.2f} % in {row['times the default fit']:.2f}", flush=True)
    shares, times = (np.array([row[column] for row in rows]) for column in ("certain, %", "times the default fit"))
    slow = times[np.array([row["default fit, s"] for row in rows]) >= 0.1]
    findings = [
        f"Certain labels that the fit at tol={REFERENCE_TOL:g} flips: {sum(row['flipped'] for row in rows)}.",
        f"At least 99 % of the test labels are certain in {np.count_nonzero(shares >= 99.0)} of {len(rows)} fits; "
        f"the least is {shares.min():.2f} %.",
        f"Within twice the time of the default fit: {np.count_nonzero(times <= 2.0)} of {len(rows)}, and "
        f"{np.count_nonzero(slow <= 2.0)} of {len(slow)} that take 0.1 s and more.",
    ]
    return Report("certified_labels", PURPOSE, [Table("Certain labels", COLUMNS, rows)], findings)
