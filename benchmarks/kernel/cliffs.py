"""Fits over a grid beside scikit-learn: where ours is slower, does not converge, or predicts something else.

Cases are drawn at random from many sets, sizes, machines, kernels and parameters (`cliff_cases`). Both libraries fit in
one process, warm, in turns: scikit-learn at its default tol, ours at that of the case. scikit-learn has no Laplacian
kernel by name and is given its function `laplacian_kernel`. A ratio is their seconds over ours: above 1, ours is
faster. It is a bound, with > or < before it, where one of the two was cut off or did not converge, and it is left out
where neither came to an end. Predictions on the training rows are compared with those of our fit at tol = 1e-10.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import islice

import numpy as np
from sklearn import svm
from sklearn.metrics.pairwise import laplacian_kernel

import maxmargin

from ..measuring.bounded import Timing, fill, relate
from ..measuring.clock import time_once
from ..measuring.data import make_classes, make_clouds, make_friedman
from ..measuring.idle_cores import wait_for_idle_cores
from ..measuring.report import Report
from .agreement import largest_difference, share_equal
from .cliff_cases import KERNELS, MACHINES, SIZES, Case, draw_cases, list_sets
from .cliff_summary import compare_tolerances, list_tables

PURPOSE = (
    "Fits at cases sampled at random from a grid of sets, sizes, machines, kernels, C, nu, gamma and tol, beside "
    "scikit-learn at its default tol. A ratio is their seconds over ours: above 1, ours is faster; > and < are bounds."
)
CASES, BRIEF_CASES = 250, 8
LIMIT_SECONDS = 900.0  # for the whole run; a case that has begun is finished
MAX_SECONDS = 20.0  # for one fit of ours
MAX_ITERATIONS = 2_000_000  # for each binary problem of scikit-learn
SHORT_SECONDS = 0.5  # a shorter fit is timed twice
EXACT_TOL, EXACT_ROWS = 1e-10, 2000


def make_ours(case: Case, X, tol: float):
    """Our machine of a case."""
    kind = getattr(maxmargin, case.kind)
    return kind(kernel=case.kernel, tol=tol, max_seconds=MAX_SECONDS, **case.resolve_parameters(X))


def make_theirs(case: Case, X):
    """scikit-learn's machine of a case."""
    parameters = case.resolve_parameters(X)
    kernel = partial(laplacian_kernel, gamma=parameters["gamma"]) if case.kernel == "laplacian" else case.kernel
    return getattr(svm, case.kind)(kernel=kernel, max_iter=MAX_ITERATIONS, **parameters)


def try_fit(model, X, y):
    """The fitted model, or the error by which it refused: one bad fit must not end a run of half an hour."""
    try:
        return model.fit(X, y)
    except Exception as refusal:
        return refusal


def time_in_turns(fits: list[Callable]) -> tuple[list[float], list]:
    """Seconds of each fit, of the better of two if the first was short, and what each returned."""
    wait_for_idle_cores()
    seconds, outcomes = map(list, zip(*map(time_once, fits), strict=True))
    for place, fit in enumerate(fits):
        if seconds[place] < SHORT_SECONDS:
            seconds[place] = min(seconds[place], time_once(fit)[0])
    return seconds, outcomes


def describe_ours(model) -> dict:
    """How many binary problems there were, how many did not converge, and the relative gap where one is known."""
    if isinstance(model, Exception):
        return {"gap": None, "problems": None, "not converged": None, "converged": False}
    gap, failed = float(model.certificate_.relative_gap), sum(not result.converged for result in model.results_)
    return {
        "gap": gap if np.isfinite(gap) else None,
        "problems": len(model.results_),
        "not converged": failed,
        "converged": failed == 0,
    }


def is_cut(theirs) -> bool:
    """Whether scikit-learn refused, or came to its limit of iterations."""
    if isinstance(theirs, Exception):
        return True
    return bool(theirs.fit_status_ != 0 or np.max(theirs.n_iter_) >= MAX_ITERATIONS)


def remark(ours, theirs) -> str | None:
    """What went wrong other than a gap that is too large."""
    remarks = [f"ours: {ours}".replace("\n", " ")] if isinstance(ours, Exception) else []
    if isinstance(theirs, Exception):
        remarks.append("scikit-learn: " + str(theirs).partition(".")[0])
    elif is_cut(theirs):
        remarks.append("scikit-learn cut off")
    return "; ".join(remarks) or None


def compare_exact(case: Case, ours, X, y) -> dict[str, float]:
    """Same labels, or the largest difference over the standard deviation of y; empty where the optimum is not known."""
    if case.n > EXACT_ROWS or isinstance(ours, Exception):
        return {}
    _, exact = time_once(partial(try_fit, make_ours(case, X, EXACT_TOL), X, y))
    if not describe_ours(exact)["converged"]:
        return {}
    if case.kind in ("SVR", "NuSVR"):
        return {"difference": largest_difference(ours.predict(X), exact.predict(X), y)}
    return {"same labels": share_equal(ours.predict(X), exact.predict(X), y)}


def measure(case: Case, X, y) -> dict:
    """One row: both fits in turns, ours judged, and compared with the optimum."""
    models = make_ours(case, X, case.tol), make_theirs(case, X)
    (our_seconds, their_seconds), (ours, theirs) = time_in_turns([partial(try_fit, model, X, y) for model in models])
    row = {"case": case.name, **asdict(case), "ours, s": our_seconds, "scikit-learn, s": their_seconds}
    row |= {**describe_ours(ours), "cut off": is_cut(theirs), "remark": remark(ours, theirs)}
    if not isinstance(ours, Exception) and not isinstance(theirs, Exception):
        reached = Timing(their_seconds, not row["cut off"]), Timing(our_seconds, row["converged"])
        fill(row, "ratio", *relate(*reached))
    return {**row, **compare_exact(case, ours, X, y)}


def warm_up() -> None:
    """Small fits of every machine and kernel, so that none is timed while it loads code or compiles it."""
    samples = {"two classes": make_clouds, "many classes": make_classes, "values": make_friedman}
    for name, machine in MACHINES.items():
        X, y = samples[machine.targets[0]](SIZES[0])
        for kernel in KERNELS:
            case = Case(name, "", len(y), kernel, None if kernel == "linear" else 1.0, 1.0, 0.2, 1e-3)
            for model in (make_ours(case, X, case.tol), make_theirs(case, X)):
                time_once(partial(try_fit, model, X, y))


def measure_all(cases: int, limit_seconds: float, *, brief: bool) -> list[dict]:
    """One row for each case, told as they come, until there are enough or the time is over."""
    sets = list(list_sets(brief=brief))
    warm_up()
    began, rows = time.perf_counter(), []
    for case, X, y in islice(draw_cases(sets), cases):
        if time.perf_counter() - began > limit_seconds:
            break
        row = measure(case, X, y)
        rows.append(row)
        state = "" if row["converged"] else ", not converged"
        print(f"{case.name}: ours {row['ours, s']:.3g} s, theirs {row['scikit-learn, s']:.3g} s{state}", flush=True)
    return rows


def list_findings(rows: list[dict], cases: int, limit_seconds: float) -> list[str]:
    """How much was measured, what did not converge, and how far predictions are from the optimum."""
    late = f"; the limit of {limit_seconds:g} s ended the run" if len(rows) < cases else ""
    cut, failed = sum(row["cut off"] for row in rows), sum(not row["converged"] for row in rows)
    unknown = sum(row.get("ratio") is None for row in rows)
    return [
        f"{len(rows)} of {cases} cases{late}.",
        f"Ours did not converge in {failed} cases within {MAX_SECONDS:g} s; scikit-learn was cut off or refused in "
        f"{cut}; {unknown} have no ratio.",
        *compare_tolerances(rows),
    ]


def list_options(cases: int, limit_seconds: float) -> str:
    """The options by which a run differs from the usual one."""
    words = [f"--cases {cases}"] if cases != CASES else []
    return " ".join(words + ([f"--limit {limit_seconds:g}"] if limit_seconds != LIMIT_SECONDS else []))


def run(*, brief: bool, cases: int | None = None, limit_seconds: float = LIMIT_SECONDS) -> Report:
    """Measure as many cases as asked for, or as there is time for."""
    cases = cases or (BRIEF_CASES if brief else CASES)
    report = Report("cliffs", PURPOSE, [], [], options=list_options(cases, limit_seconds))
    report.part = cases < CASES or limit_seconds < LIMIT_SECONDS
    rows = measure_all(cases, limit_seconds, brief=brief)
    if not rows:
        raise SystemExit("There was no case to measure: no set, or no time.")
    report.tables, report.findings = list_tables(rows), list_findings(rows, cases, limit_seconds)
    report.details = rows
    return report
