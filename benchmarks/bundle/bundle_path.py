"""Thirty values of C from one bundle of cuts: oracle calls and seconds beside single fits, each from nothing."""

from __future__ import annotations

import numpy as np

import maxmargin
from maxmargin import Bundle

from ..linear.linear_cases import LinearCase, list_labelled, make_labelled
from ..linear.linear_fits import average
from ..linear.linear_path import CS, TOL
from ..measuring.clock import read_limit, time_best, time_once
from ..measuring.report import Report, Table

SETS = ("a9a", "ijcnn1", "w8a")
BRIEF_CS = CS[5::6]
PURPOSE = (
    "maxmargin.path(solver=Bundle()) over 30 values of C from 1e-3 to 1e2, every one to a certified relative gap of "
    "1e-4: a cut of the losses serves every C, so that they are all found from one bundle. Beside it single fits by "
    "the same method, each from nothing: that at the largest C, the costliest of all, and all of them added up. Hinge "
    "loss, intercept free. An oracle call is a cut: two products with the data. LIMIT is for a single fit."
)
COLUMNS = {
    "data": "{}", "n": "{:,}", "d": "{:,}", "path, calls": "{:,}", "fit at the largest C, calls": "{:,}",
    "costliest fit, calls": "{:,}", "its C": "{:.3g}", "all fits, calls": "{:,}", "path / largest C, calls": "{:.2f}",
    "path / costliest, calls": "{:.2f}", "all fits / path, calls": "{:.2f}", "worst gap of the path": "{:.0e}",
    "worst gap of the fits": "{:.0e}",
}  # fmt: skip
SECONDS = {
    "data": "{}", "path, s": "{:.3g}", "fit at the largest C, s": "{:.3g}", "slowest fit, s": "{:.3g}",
    "slowest C": "{:.3g}", "all fits, s": "{:.3g}", "path / largest C, s": "{:.2f}", "path / slowest, s": "{:.2f}",
    "all fits / path, s": "{:.2f}", "path with auto, s": "{:.3g}", "path / with auto, s": "{:.2f}",
}  # fmt: skip
RATIOS = (
    "path / largest C, calls", "path / costliest, calls", "all fits / path, calls", "path / largest C, s",
    "path / slowest, s", "all fits / path, s", "path / with auto, s",
)  # fmt: skip


def run_path(case: LinearCase, Cs: np.ndarray, solver):
    """The path itself."""
    budget = len(Cs) * read_limit()
    return maxmargin.path(case.X, case.y, Cs=Cs, loss=case.loss, tol=TOL, solver=solver, max_seconds=budget)


def fit_alone(case: LinearCase, C: float):
    """One fit from nothing."""
    one = LinearCase(case.name, case.loss, case.X, case.y, float(C), "free")
    return one.make_ours(TOL, solver=Bundle(), max_seconds=read_limit()).fit(one.X, one.y)


def count_calls(result) -> int:
    """The cuts of one solve."""
    return int(result.counters["oracle_calls"])


def fit_all(case: LinearCase, Cs: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Seconds and calls of a fit at every C, and the worst of their gaps; the slowest fit and the last are timed again.

    Thirty fits are timed once each: the two that ratios are made of deserve more.
    """
    seconds, calls, gaps = [], [], []
    for C in Cs:
        took, model = time_once(lambda C=C: fit_alone(case, C))
        seconds.append(took)
        calls.append(count_calls(model.result_))
        gaps.append(model.certificate_.relative_gap)
    seconds = np.array(seconds)
    for place in {int(np.argmax(seconds)), len(Cs) - 1}:
        seconds[place] = min(seconds[place], time_best(lambda place=place: fit_alone(case, Cs[place]))[0])
    return seconds, np.array(calls), max(gaps)


def measure(case: LinearCase, Cs: np.ndarray) -> dict:
    """A row: the path, the fits alone, and the path by the solver that we choose ourselves."""
    took, found = time_best(lambda: run_path(case, Cs, Bundle()))
    total = sum(map(count_calls, found.results))
    print(f"bundle_path: {case.name}, path {took:.3g} s, {total:,} oracle calls", flush=True)
    seconds, calls, worst = fit_all(case, Cs)
    quick, _ = time_best(lambda: run_path(case, Cs, "auto"))
    costliest, slowest = int(np.argmax(calls)), int(np.argmax(seconds))
    row = {
        "data": case.name, "n": case.n, "d": case.X.shape[1], "path, calls": total,
        "fit at the largest C, calls": calls[-1], "costliest fit, calls": calls[costliest], "its C": Cs[costliest],
        "all fits, calls": calls.sum(), "path / largest C, calls": total / calls[-1],
        "path / costliest, calls": total / calls[costliest], "all fits / path, calls": calls.sum() / total,
        "worst gap of the path": found.certificate.relative_gap, "worst gap of the fits": worst,
        "path, s": took, "fit at the largest C, s": seconds[-1], "slowest fit, s": seconds[slowest],
        "slowest C": Cs[slowest], "all fits, s": seconds.sum(), "path / largest C, s": took / seconds[-1],
        "path / slowest, s": took / seconds[slowest], "all fits / path, s": seconds.sum() / took,
        "path with auto, s": quick, "path / with auto, s": took / quick,
        "calls at every C": [count_calls(result) for result in found.results],
    }  # fmt: skip
    row = {key: value.item() if isinstance(value, np.generic) else value for key, value in row.items()}
    print(f"bundle_path: {row}", flush=True)
    return row


def summarise(rows: list[dict]) -> list[str]:
    """The geometric mean and the worst of every ratio, and gaps above tol."""
    findings = []
    for beside in RATIOS:
        worst = (min if beside.startswith("all") else max)(rows, key=lambda row, beside=beside: row[beside])
        mean = average([row[beside] for row in rows])
        findings.append(f"{beside}: geometric mean {mean:.2f}, worst {worst[beside]:.2f} ({worst['data']}).")
    missed = [row["data"] for row in rows if max(row["worst gap of the path"], row["worst gap of the fits"]) > TOL]
    return findings + ([f"A gap is above {TOL:g} on: {', '.join(missed)}."] if missed else [])


def run(*, brief: bool) -> Report:
    """Every set, or those that SETS names."""
    report = Report("bundle_path", PURPOSE, [], [])
    Cs = BRIEF_CS if brief else CS
    for name in ("clouds", "words"):
        few = LinearCase(name, "hinge", *make_labelled(name, 400))
        for solver in (Bundle(), "auto"):
            run_path(few, BRIEF_CS[:3], solver)
    rows, missing = [], []
    for name, found in list_labelled(SETS, brief=brief):
        if found is None:
            missing.append(name)
            continue
        rows.append(measure(LinearCase(name, "hinge", *found), Cs))
    report.tables = [Table("Oracle calls", COLUMNS, rows), Table("Seconds", SECONDS, rows)]
    report.findings = summarise(rows) if rows else []
    report.findings += [f"Not in the folder of data: {', '.join(missing)}."] if missing else []
    return report
