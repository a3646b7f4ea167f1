"""How long small fits take beside scikit-learn's, and how far from optimal both are.

Both libraries fit in one process, warm, in turns; the best time of each counts. Each stops by its own default rule,
and both models are judged by `maxmargin.certify` where it knows them. Of the two kernel machines of growing size,
maxmargin fits once more to a gap no worse than scikit-learn's: the comparison at equal quality. A ratio is their
seconds over ours: above 1, ours is faster.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

import maxmargin

from ..linear.linear_fits import average
from ..measuring.clock import time_once
from ..measuring.data import make_clouds, make_friedman, standardise
from ..measuring.report import Report, Table

SIZES = (50, 100, 200, 500, 1000, 2000, 5000)
FIT_SECONDS, MOST_FITS, FEWEST_FITS = 4.0, 40, 3
NEW_ROWS = 10  # rows that are predicted
PURPOSE = (
    "Fits compared with scikit-learn's, one warm process, default parameters, the best of several, and `predict` of "
    f"{NEW_ROWS} rows. A ratio is their seconds over ours: above 1, ours is faster."
)
COLUMNS = {
    "data": "{}", "model": "{}", "n": "{:,}", "d": "{:,}", "classes": "{}",
    "ours, ms": "{:.2f}", "scikit-learn, ms": "{:.2f}", "ratio": "{:.2f}", "our gap": "{:.0e}", "their gap": "{:.0e}",
    "ours at their gap, ms": "{:.2f}", "ratio at equal gap": "{:.2f}", "predict ratio": "{:.2f}",
}  # fmt: skip


class SmallCase(NamedTuple):
    """A machine of both libraries and its data."""

    data: str
    name: str
    X: np.ndarray
    y: np.ndarray
    parameters: dict[str, Any] = {}  # noqa: RUF012 (never changed)
    growing: bool = False  # whether it is one of a series of sizes

    @property
    def label(self) -> str:
        """The machine as a user writes it."""
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.parameters.items())})"

    @property
    def classes(self) -> int | None:
        """The number of classes; None of a regression."""
        return None if self.name.endswith("SVR") else len(np.unique(self.y))

    def make(self, library: Any, **more: Any) -> Any:
        """The machine of a library."""
        return getattr(library, self.name)(**self.parameters, **more)


def list_cases(brief: bool) -> Iterator[SmallCase]:
    """Real sets that come with scikit-learn, then generated ones of growing size."""
    iris, wine, cancer, digits, diabetes = (
        load(return_X_y=True) for load in (load_iris, load_wine, load_breast_cancer, load_digits, load_diabetes)
    )
    sets = {
        "iris": iris, "wine": (standardise(wine[0]), wine[1]), "breast_cancer": (standardise(cancer[0]), cancer[1]),
        "digits": (digits[0] / 16.0, digits[1]), "diabetes": diabetes,
    }  # fmt: skip
    yield from (SmallCase(name, "SVC", *sets[name]) for name in ("iris", "wine", "breast_cancer", "digits"))
    yield SmallCase("iris", "NuSVC", *iris)
    yield SmallCase("breast_cancer", "OneClassSVM", *sets["breast_cancer"], {"nu": 0.1})
    yield SmallCase("diabetes", "SVR", *diabetes)
    yield from (SmallCase(name, "LinearSVC", *sets[name]) for name in ("iris", "breast_cancer", "digits"))
    yield SmallCase("breast_cancer", "LinearSVC", *sets["breast_cancer"], {"loss": "hinge"})
    yield SmallCase("diabetes", "LinearSVR", *diabetes)
    for n in SIZES[:2] if brief else SIZES:
        yield SmallCase("clouds", "SVC", *make_clouds(n), growing=True)
        yield SmallCase("friedman1", "SVR", *make_friedman(n), growing=True)


def time_in_turns(actions: list) -> list[float]:
    """The best time of each action, taken in turns so that a disturbance meets all of them alike."""
    for action in actions:
        time_once(action)
    seconds: list[list[float]] = [[] for _ in actions]
    while len(seconds[0]) < FEWEST_FITS or (len(seconds[0]) < MOST_FITS and sum(map(sum, seconds)) < FIT_SECONDS):
        for action, record in zip(actions, seconds, strict=True):
            record.append(time_once(action)[0])
    return [min(record) for record in seconds]


def compare(case: SmallCase) -> dict[str, Any]:
    """One row of the table."""
    X, y, new = case.X, case.y, case.X[:NEW_ROWS]
    ours, theirs = case.make(maxmargin), case.make(svm)
    _, theirs = time_once(lambda: theirs.fit(X, y))
    their_gap = None if case.name.startswith("Linear") else maxmargin.certify(theirs, X, y).relative_gap
    machines = [ours, theirs]
    if case.growing:
        machines.append(case.make(maxmargin, tol=max(their_gap, 1e-12)))
    seconds = time_in_turns([lambda machine=machine: machine.fit(X, y) for machine in machines])
    predict_seconds = time_in_turns([lambda machine=machine: machine.predict(new) for machine in machines[:2]])
    row = {
        "data": case.data, "model": case.label, "n": len(y), "d": X.shape[1], "classes": case.classes,
        "ours, ms": 1e3 * seconds[0], "scikit-learn, ms": 1e3 * seconds[1], "ratio": seconds[1] / seconds[0],
        "our gap": ours.certificate_.relative_gap, "their gap": their_gap,
        "predict ratio": predict_seconds[1] / predict_seconds[0],
    }  # fmt: skip
    if case.growing:
        row |= {"ours at their gap, ms": 1e3 * seconds[2], "ratio at equal gap": seconds[1] / seconds[2]}
    print(f"  {case.data}, {case.label}, n = {len(y)}: {row['ratio']:.2f}", flush=True)
    return row


def describe(row: dict[str, Any]) -> str:
    """Which fit a row is of."""
    return f"{row['model']} on {row['data']}, n = {row['n']:,}"


def summarise(rows: list[dict[str, Any]]) -> list[str]:
    """The geometric means and the least favourable ratios."""
    findings, real = [], [row for row in rows if "ratio at equal gap" not in row]
    for words, chosen, column in (
        ("Fits of real sets", real, "ratio"),
        ("All fits", rows, "ratio"),
        ("Fits at equal gap", [row for row in rows if "ratio at equal gap" in row], "ratio at equal gap"),
        (f"predict of {NEW_ROWS} rows", rows, "predict ratio"),
    ):
        least = min(chosen, key=lambda row: row[column])
        mean = average([row[column] for row in chosen])
        findings.append(
            f"{words}: geometric mean of the ratios {mean:.2f}, least {least[column]:.2f} ({describe(least)})."
        )
    slower = [f"{describe(row)} ({row['ratio']:.2f})" for row in rows if row["ratio"] < 1]
    return [*findings, f"Slower than scikit-learn: {'; '.join(slower) or 'none'}."]


def run(*, brief: bool) -> Report:
    """Time every case."""
    report = Report("small_fits", PURPOSE, [], [])
    began = time.perf_counter()
    rows = [compare(case) for case in list_cases(brief)]
    report.tables, report.findings = [Table("Fit times and certified relative gaps", COLUMNS, rows)], summarise(rows)
    print(f"  {time.perf_counter() - began:.0f} s", flush=True)
    return report
