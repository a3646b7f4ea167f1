"""Seconds asked for and seconds taken: every estimator and every solver with max_seconds, idle and on a busy machine.

The fits of `long_fits` need minutes. Those of kernel machines with many rows need a certificate of about ten seconds at
the end. On the busy machine four processes compute beside.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sklearn.base import clone

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from ..measuring.report import Report, Table
from .long_fits import LONG, fit_quietly, make_clouds

PURPOSE = "`max_seconds` asked for, and seconds that `fit` took; idle, and with four busy processes beside."
BUSY_PROCESSES = 4
SHORT_SECONDS, LARGE_FIT_SECONDS, LONGER_SECONDS = 0.5, 1.5, 20.0  # seconds asked for
ROWS = 100_000
COLUMNS = {
    "fit": "{}", "n": "{:,}", "asked, s": "{:.1f}", "idle, s": "{:.2f}", "gap, idle": "{}", "busy, s": "{:.2f}",
    "gap, busy": "{}",
}  # fmt: skip
MANY_ROWS: dict[str, Callable] = {
    "SVC": lambda: SVC(C=1e3),
    "SVR": lambda: SVR(C=1e2),
    "NuSVC": lambda: NuSVC(nu=0.3),
    "NuSVR": lambda: NuSVR(nu=0.3),
    "OneClassSVM": lambda: OneClassSVM(nu=0.5),
    "SVC, gradient_descent": lambda: SVC(solver="gradient_descent"),
    "SVC, adagrad": lambda: SVC(solver="adagrad"),
}


def list_fits(brief: bool) -> Iterator[tuple[str, Callable, float]]:
    """(name, what makes model, X and y, seconds asked for)."""
    for name, make in list(LONG.items())[: 3 if brief else None]:
        yield name, make, SHORT_SECONDS
    n = 20_000 if brief else ROWS
    for name, make in MANY_ROWS.items():
        for budget in (LARGE_FIT_SECONDS,) if brief else (LARGE_FIT_SECONDS, LONGER_SECONDS):
            yield name, lambda make=make: (make(), *make_clouds(n, 20)), budget


def spin() -> None:
    """Compute until the process is ended."""
    while True:
        sum(range(100_000))


@contextmanager
def keep_busy() -> Iterator[None]:
    """Within this context other processes compute."""
    others = [multiprocessing.get_context("spawn").Process(target=spin, daemon=True) for _ in range(BUSY_PROCESSES)]
    for other in others:
        other.start()
    time.sleep(2.0)  # until all of them have begun
    try:
        yield
    finally:
        for other in others:
            other.kill()


def measure(make: Callable, budget: float) -> tuple[float, str]:
    """Seconds of a fit with a budget, and its gap; what it compiles or loads is not its time."""
    model, X, y = make()
    fit_quietly(clone(model).set_params(max_seconds=0.1), X[:3000], y[:3000])
    model = clone(model).set_params(max_seconds=budget)
    began = time.perf_counter()
    fit_quietly(model, X, y)
    seconds, gap = time.perf_counter() - began, model.certificate_.relative_gap
    return seconds, f"{gap:.1g}" if gap < float("inf") else "not judged"


def run(*, brief: bool) -> Report:
    """Every fit, first idle and then busy."""
    rows = []
    for name, make, budget in list_fits(brief):
        seconds, gap = measure(make, budget)
        rows.append({"fit": name, "n": len(make()[2]), "asked, s": budget, "idle, s": seconds, "gap, idle": gap})
    with keep_busy():
        for row, (_, make, budget) in zip(rows, list_fits(brief), strict=True):
            row["busy, s"], row["gap, busy"] = measure(make, budget)
    findings = []
    for state in ("idle", "busy"):
        late = [row[f"{state}, s"] - 1.1 * row["asked, s"] for row in rows]
        findings.append(
            f"{state.capitalize()}: {sum(each <= 0.5 for each in late)} of {len(rows)} fits within 10 % + 0.5 s of "
            f"what was asked; the latest {max(late):.2f} s after 110 % of it."
        )
    return Report("budgets", PURPOSE, [Table("Seconds asked for and taken", COLUMNS, rows)], findings)
