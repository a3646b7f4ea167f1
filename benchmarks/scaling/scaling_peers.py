"""Objective against seconds over blocks of rows on two workers: ours, dask-ml and SGD by partial_fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from ..linear.linear_cases import LinearCase, read_labelled
from ..measuring.clock import read_limit
from ..measuring.report import RESULTS, Report, Table
from .scaling_cluster import begin_report, has_dask, open_cluster
from .scaling_data import Rows
from .scaling_peers_chart import draw_chart
from .scaling_routes import OURS, Spread, list_routes

ROWS = 2_000_000
BRIEF_ROWS = 100_000
REAL = "covtype"
LOSSES = ("logistic", "hinge")
WORKERS = 2
MAX_FIT_SECONDS = 20.0  # seconds of a fit, unless LIMIT says less
OPTIMUM_GAP = 1e-9  # the gap of the fit that says where the optimum is
TARGETS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
PURPOSE = (
    "P = 1/2 |w|^2 + 1/2 b^2 + C sum_i l(y_i f_i), C = 1, on rows that lie on two workers of one thread each, in "
    "float64 and blocks of 100,000 rows. Seconds of the clock until P is within a relative distance of the optimum, P "
    "being evaluated outside the clock; the optimum is the dual value of a fit of ours to 1e-9. Ours: fits to tol = "
    "1e-1 ... 1e-8, each from nothing, certificate included, on the workers and in the memory of one process of two "
    "threads. dask-ml: fits with 1, 2, 4, 8 ... iterations, each from nothing, columns not scaled and the constant one "
    "given, which makes its objective this one; its newton and gradient_descent know no penalty. SGD: epochs of "
    "partial_fit over the blocks in memory, one process, alpha = 1 / (C n), named by its learning rate. Each fit is "
    "timed once, and the first of a route that comes to a target counts. A route ends where its next fit would take "
    "longer than 20 s."
)


def list_cases(n: int, *, brief: bool) -> Iterator[LinearCase]:
    """Generated rows, and those of a file where it is there, for every loss."""
    made = [Rows(n).make(number) for number in range(Rows(n).n_blocks)]
    X, y = (np.concatenate(each).astype(np.float64) for each in zip(*made, strict=True))
    yield from (LinearCase("generated", loss, X, y) for loss in LOSSES)
    found = None if brief else read_labelled(REAL)
    if found is not None:
        order = np.random.default_rng(0).permutation(len(found[1]))  # SGD and ADMM should see every block alike
        X, y = np.ascontiguousarray(found[0][order]), found[1][order]
        yield from (LinearCase(REAL, loss, X, y) for loss in LOSSES)


def find_least(case: LinearCase) -> float:
    """A lower bound of P that is next to its least value."""
    return case.make_ours(OPTIMUM_GAP).fit(case.X, case.y).certificate_.dual


def follow_routes(case: LinearCase, cap: float) -> list[dict]:
    """A row for each route: its points, and the seconds to every target."""
    least, spread, rows = find_least(case), Spread.lay(case), []
    case.make_ours(1e-3).fit(spread.X, spread.y)  # compiled on the workers
    for name, follow in list_routes(case.loss).items():
        if name.startswith("dask-ml") and find_spec("dask_ml") is None:
            continue
        points = [
            {"rung": point.rung, "s": point.seconds, "P": case.primal(point.w, point.b)}
            for point in follow(spread, cap)
        ]
        for point in points:
            point["distance"] = point["P"] / least - 1.0
        row = {"data": case.name, "n": case.n, "d": case.X.shape[1], "loss": case.loss, "route": name}
        rows.append(row | reach_targets(points) | {"points": points})
        print(f"scaling_peers: {rows[-1]}", flush=True)
    return rows


def reach_targets(points: list[dict]) -> dict:
    """The seconds of the first point at every target, not the luckiest, and how near the route came."""
    row = {}
    for target in TARGETS:
        row[f"{target:.0e}"] = next((point["s"] for point in points if point["distance"] <= target), None)
    nearest = min(points, key=lambda point: point["distance"])
    return row | {"nearest": max(nearest["distance"], 0.0), "after, s": nearest["s"]}


COLUMNS = {
    "data": "{}", "loss": "{}", "route": "{}", **{f"{target:.0e}": "{:.2f}" for target in TARGETS},
    "nearest": "{:.0e}", "after, s": "{:.1f}",
}  # fmt: skip


def summarise(rows: list[dict]) -> list[str]:
    """For each problem, who comes to 1e-3 and to 1e-6 first, and how long the others take."""
    findings = []
    for data, loss in dict.fromkeys((row["data"], row["loss"]) for row in rows):
        mine = [row for row in rows if (row["data"], row["loss"]) == (data, loss)]
        for target in ("1e-03", "1e-06"):
            there = sorted((row for row in mine if row[target] is not None), key=lambda row: row[target])
            told = ", ".join(f"{row['route']} {row[target]:.2f} s" for row in there[:4]) or "none"
            findings.append(f"{data}, {loss}, to {target}: {told}; {len(there)} of {len(mine)} routes reach it.")
    return findings


def run(*, brief: bool) -> Report:
    """Every route on every problem, and the chart."""
    report = begin_report("scaling_peers", PURPOSE)
    if not has_dask():
        report.findings.append("Skipped: Dask is not installed (pip install 'maxmargin[cluster]').")
        return report
    n = int(float(os.environ.get("ROWS", BRIEF_ROWS if brief else ROWS)))
    cap, rows = min(MAX_FIT_SECONDS, read_limit()), []
    with open_cluster(WORKERS):
        for case in list_cases(n, brief=brief):
            rows += follow_routes(case, cap)
    sizes = ", ".join(dict.fromkeys(f"{row['data']} {row['n']:,} x {row['d']}" for row in rows))
    report.tables = [Table(f"Seconds until (P - P*) / P* is reached: {sizes}", COLUMNS, rows)]
    report.findings = summarise(rows)
    if find_spec("dask_ml") is None:
        report.findings.append("dask-ml was skipped: it is not installed.")
    if not brief and not os.environ.get("ROWS"):
        report.figure = draw_chart(rows, RESULTS / "scaling_peers.png", OURS).name
    return report
