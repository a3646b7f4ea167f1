"""How long a fit takes beside scikit-learn's, and how far from optimal both are.

Both libraries fit in one process, warm, in turns; the best time of each counts. Each stops by its own default rule,
and both models are judged by `maxmargin.certify`. Then maxmargin fits once more to a gap no worse than
scikit-learn's: the comparison at equal quality. A ratio is their seconds over ours: above 1, ours is faster.
"""

from __future__ import annotations

import time

from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_digits

import maxmargin

from ..measuring.data import make_clouds, make_friedman, standardise
from ..measuring.report import Report, Table

CLASS_SIZES = (100, 200, 500, 1000, 2000, 5000, 10000, 20000)
REGRESSION_SIZES = (100, 200, 500, 1000, 2000, 5000, 10000)
FIT_SECONDS, MOST_FITS, FEWEST_FITS = 4.0, 25, 3
PURPOSE = (
    "Fits beside scikit-learn's, one process, warm, default parameters, the best of several. "
    "A ratio is their seconds over ours: above 1, ours is faster."
)
LARGE, SMALL = 2000, (100, 500)  # rows

COLUMNS = {
    "data": "{}", "model": "{}", "n": "{:,}",
    "ours, s": "{:.4f}", "scikit-learn, s": "{:.4f}", "ratio": "{:.2f}", "our gap": "{:.0e}", "their gap": "{:.0e}",
    "ours at their gap, s": "{:.4f}", "ratio at equal gap": "{:.2f}", "our SVs": "{:,}", "their SVs": "{:,}",
}  # fmt: skip


def list_problems(brief: bool):
    """(data, class name, X, y)."""
    cancer, digits = load_breast_cancer(return_X_y=True), load_digits(return_X_y=True)
    yield "breast_cancer", "SVC", standardise(cancer[0]), cancer[1]
    yield "digits", "SVC", digits[0] / 16.0, digits[1]
    for n in CLASS_SIZES[:3] if brief else CLASS_SIZES:
        yield "clouds", "SVC", *make_clouds(n)
    for n in REGRESSION_SIZES[:3] if brief else REGRESSION_SIZES:
        yield "friedman1", "SVR", *make_friedman(n)


def time_fits(models: list, X, y) -> list[float]:
    """The best time of each model, fitted in turns so that a disturbance meets all of them alike."""
    for model in models:
        model.fit(X, y)
    seconds = [[] for _ in models]
    while len(seconds[0]) < FEWEST_FITS or (len(seconds[0]) < MOST_FITS and sum(map(sum, seconds)) < FIT_SECONDS):
        for model, record in zip(models, seconds, strict=True):
            began = time.perf_counter()
            model.fit(X, y)
            record.append(time.perf_counter() - began)
    return [min(record) for record in seconds]


def compare(data: str, name: str, X, y) -> dict:
    """One row of the table."""
    ours, theirs = getattr(maxmargin, name)(), getattr(svm, name)()
    their_gap = maxmargin.certify(theirs.fit(X, y), X, y).relative_gap
    equal = getattr(maxmargin, name)(tol=max(their_gap, 1e-12))
    our_seconds, their_seconds, equal_seconds = time_fits([ours, theirs, equal], X, y)
    return {
        "data": data,
        "model": name,
        "n": len(y),
        "ours, s": our_seconds,
        "scikit-learn, s": their_seconds,
        "ratio": their_seconds / our_seconds,
        "our gap": maxmargin.certify(ours, X, y).relative_gap,
        "their gap": their_gap,
        "ours at their gap, s": equal_seconds,
        "ratio at equal gap": their_seconds / equal_seconds,
        "our SVs": len(ours.support_),
        "their SVs": len(theirs.support_),
    }


def summarise(rows: list[dict]) -> list[str]:
    """The least favourable ratios, by size."""
    findings = []
    for words, chosen in (
        ("All problems", rows),
        (f"{LARGE:,} rows or more", [row for row in rows if row["n"] >= LARGE]),
        (f"{SMALL[0]} to {SMALL[1]} rows", [row for row in rows if SMALL[0] <= row["n"] <= SMALL[1]]),
    ):
        for column in ("ratio", "ratio at equal gap"):
            if chosen:
                row = min(chosen, key=lambda row: row[column])
                findings.append(
                    f"{words}: {column} at least {row[column]:.2f} ({row['model']} on {row['data']}, n = {row['n']:,})."
                )
    return findings


def run(*, brief: bool) -> Report:
    """Time every problem."""
    report = Report("small_fits", PURPOSE, [], [])
    rows = [compare(*problem) for problem in list_problems(brief)]
    report.tables, report.findings = [Table("Fit times and certified relative gaps", COLUMNS, rows)], summarise(rows)
    return report
