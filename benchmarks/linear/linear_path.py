"""Thirty values of C in one path: its time beside that of single fits, each from nothing."""

from __future__ import annotations

import numpy as np

import maxmargin

from ..measuring.clock import time_best, time_once
from ..measuring.report import Report, Table
from .linear_cases import LinearCase, list_labelled, make_labelled
from .linear_fits import average

SETS = ("a9a", "ijcnn1", "w8a", "covtype")
LOSSES = ("hinge", "squared_hinge", "logistic")
CS = np.logspace(-3, 2, 30)
TOL = 1e-4
PURPOSE = (
    "maxmargin.path over 30 values of C from 1e-3 to 1e2, every one to a certified relative gap of 1e-4, beside fits "
    "one by one, each from nothing: that at the median C, the costliest of the 30, and all 30 added up. Intercept free."
)
COLUMNS = {
    "data": "{}", "n": "{:,}", "d": "{:,}", "loss": "{}", "path, s": "{:.3g}", "worst gap": "{:.0e}",
    "fit at the median C, s": "{:.3g}", "costliest fit, s": "{:.3g}", "its C": "{:.3g}", "all fits, s": "{:.3g}",
    "path / median fit": "{:.2f}", "path / costliest fit": "{:.2f}", "all fits / path": "{:.2f}",
}  # fmt: skip


def run_path(case: LinearCase):
    """The path itself."""
    return maxmargin.path(case.X, case.y, Cs=CS, loss=case.loss, tol=TOL)


def fit_alone(case: LinearCase, C: float) -> float:
    """Seconds of one fit from nothing."""
    one = LinearCase(case.name, case.loss, case.X, case.y, float(C), "free")
    return time_best(lambda: one.make_ours(TOL).fit(one.X, one.y))[0]


def measure(case: LinearCase) -> dict:
    """A row: the path, and thirty fits alone."""
    time_once(lambda: run_path(case))
    seconds, found = time_best(lambda: run_path(case))
    alone = np.array([fit_alone(case, C) for C in CS])
    costliest, median = int(np.argmax(alone)), alone[len(CS) // 2]
    row = {
        "data": case.name, "n": case.n, "d": case.X.shape[1], "loss": case.loss, "path, s": seconds,
        "worst gap": max(certificate.relative_gap for certificate in found.certificates),
        "fit at the median C, s": median, "costliest fit, s": alone[costliest], "its C": CS[costliest],
        "all fits, s": alone.sum(), "path / median fit": seconds / median,
        "path / costliest fit": seconds / alone[costliest], "all fits / path": alone.sum() / seconds,
    }  # fmt: skip
    print(f"linear_path: {row}", flush=True)
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in row.items()}


def run(*, brief: bool) -> Report:
    """Every set and loss."""
    report = Report("linear_path", PURPOSE, [], [])
    for loss in LOSSES:
        for name in ("clouds", "words"):
            run_path(LinearCase(name, loss, *make_labelled(name, 400)))
    rows, missing = [], []
    for name, found in list_labelled(SETS, brief=brief):
        if found is None:
            missing.append(name)
            continue
        rows += [measure(LinearCase(name, loss, *found)) for loss in LOSSES]
    report.tables = [Table("A path of 30", COLUMNS, rows)]
    for beside in ("path / median fit", "path / costliest fit", "all fits / path"):
        worst = (min if beside.startswith("all") else max)(rows, key=lambda row: row[beside])
        report.findings.append(
            f"{beside}: geometric mean {average([row[beside] for row in rows]):.2f}, worst {worst[beside]:.2f} "
            f"({worst['data']}, {worst['loss']})."
        )
    report.findings += [f"Not in the folder of data: {', '.join(missing)}."] if missing else []
    return report
