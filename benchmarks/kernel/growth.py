"""How the cost of a fit grows with the number of samples, beside the peers that end in time; and one large fit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

import maxmargin

from ..measuring.clock import read_limit, time_best
from ..measuring.data import make_clouds, read_file, standardise
from ..measuring.footprint import OURS, measure_apart
from ..measuring.report import RESULTS, Report, Table
from ..peers import Peer, Skip, find_peers, guard, transcribe
from .cases import Case, pose
from .comparison import make_ours, warm_up
from .growth_chart import draw_chart

SIZES = (5000, 10000, 20000, 40000, 80000)
LARGE_ROWS, LARGE_CACHE, LARGE_TOL, LARGE_SECONDS = 100_000, 1000, 1e-3, 3600.0
TOLERANCES = (1e-3, 1e-5)  # of ours: one where the peers stop, and the default
PURPOSE = (
    "Seconds of a fit by the number of samples n, drawn from the whole set, features standardised; the exponent is the "
    "slope of a straight line through log(seconds) against log(n). Peers stop by their own default tolerance, and are "
    "left out from the size on at which they would take longer than the limit."
)
COLUMNS = {"data": "{}", "library": "{}", "n": "{:,}", "fit, s": "{:.3g}", "gap": "{:.0e}", "SVs": "{:,}"}
EXPONENTS = {"data": "{}", "library": "{}", "sizes": "{}", "exponent": "{:.2f}", "last doubling": "{:.2f}"}
LARGE_FIT_COLUMNS = {"data": "{}", "n": "{:,}", "tol": "{:.0e}", "cache_size": "{:,}", "fit, s": "{:.3g}",
    "gap": "{:.1e}",
           "SVs": "{:,}", "peak above the input, MB": "{:,.0f}"}  # fmt: skip


def read_growing(brief: bool) -> list[Case]:
    """covtype, class 2 against the rest, and skin_nonskin, whole; generated clouds where they are not there."""
    cases = []
    for name, gamma in () if brief else (("covtype", 0.1), ("skin_nonskin", 1.0)):
        found = read_file(f"{name}/{name}")
        if found is not None:
            X, y = standardise(found[0]), (found[1] == 2).astype(int)
            order = np.random.default_rng(0).permutation(len(y))[: max(LARGE_ROWS, *SIZES)]
            cases.append(pose(name, "SVC", X[order], y[order], C=10.0, gamma=gamma))
    return cases or [pose("clouds", "SVC", *make_clouds(400 if brief else LARGE_ROWS), C=10.0, gamma=0.1)]


def take(case: Case, n: int) -> Case:
    """The first n samples, which come in random order."""
    return pose(case.name, case.kind, case.X[:n], case.y[:n], C=case.parameters["C"], gamma=case.parameters["gamma"])


def list_runs(peers: list[Peer]) -> dict[str, tuple[Callable, Peer | None]]:
    """Every line of the chart: a function that fits a case and returns seconds and a model to judge."""
    runs = {}
    for tol in TOLERANCES:
        runs[f"{OURS}, tol={tol:g}"] = (lambda case, tol=tol: time_ours(case, tol), None)
    for peer in peers:
        runs[peer.name] = (lambda case, peer=peer: time_peer(case, peer), peer)
    return runs


def time_ours(case: Case, tol: float) -> tuple[float, object]:
    """Ours to a gap of tol."""
    return time_best(lambda: make_ours(case, tol).fit(case.X, case.y))


def time_peer(case: Case, peer: Peer) -> tuple[float, object]:
    """A peer at its own tolerance."""
    X, y = case.give(peer.choose_forms(case)[0], peer.dtype), peer.give_targets(case)
    seconds, model = time_best(lambda: peer.fit(case, X, y))
    return seconds, transcribe(model, case)


def measure_growth(case: Case, name: str, fit: Callable, peer: Peer | None, sizes: tuple[int, ...]) -> list[dict]:
    """Rows of one library, size by size, until the next one would take too long."""
    rows = []
    for n in sizes:
        if predict_seconds(rows, n) > read_limit():
            break
        part = take(case, n)
        try:
            with nullcontext() if peer is None else guard(peer, part, trial=not rows):
                seconds, model = fit(part)
        except Skip as reason:
            print(f"growth: {name} on {case.name}, n = {n:,}: {reason}", flush=True)
            break
        gap = maxmargin.certify(model, part.X, part.y).relative_gap
        rows.append(
            {"data": case.name, "library": name, "n": n, "fit, s": seconds, "gap": gap, "SVs": len(model.support_)}
        )
        print(f"growth: {name} on {case.name}, n = {n:,}: {seconds:.3g} s, gap {gap:.1e}", flush=True)
    return rows


def predict_seconds(rows: list[dict], n: int) -> float:
    """What the next size would take, by the last two; the cost at least of n^2 where only one is known."""
    if not rows:
        return 0.0
    slope = measure_slope(rows[-2:]) if len(rows) > 1 else 2.0
    return rows[-1]["fit, s"] * (n / rows[-1]["n"]) ** max(slope, 1.0)


def measure_slope(rows: list[dict]) -> float:
    """The exponent of n that fits the seconds best."""
    return float(np.polyfit(np.log([row["n"] for row in rows]), np.log([row["fit, s"] for row in rows]), 1)[0])


def lay_exponents(rows: list[dict]) -> list[dict]:
    """The exponent of every library on every set."""
    table = []
    for data, library in dict.fromkeys((row["data"], row["library"]) for row in rows):
        mine = [row for row in rows if (row["data"], row["library"]) == (data, library)]
        if len(mine) > 1:
            sizes = f"{mine[0]['n']:,} to {mine[-1]['n']:,}"
            slopes = {"exponent": measure_slope(mine), "last doubling": measure_slope(mine[-2:])}
            table.append({"data": data, "library": library, "sizes": sizes, **slopes})
    return table


def fit_large(case: Case, n: int) -> dict:
    """covtype at 100,000 rows in a process of its own: seconds and peak memory."""
    part = take(case, n)
    found = measure_apart(part, OURS, LARGE_TOL, LARGE_CACHE, LARGE_SECONDS)
    row = {"data": case.name, "n": part.n, "tol": LARGE_TOL, "cache_size": LARGE_CACHE}
    if isinstance(found, str):
        return row | {"failed": found}
    return row | {
        "fit, s": found["seconds"], "gap": found["gap"], "SVs": found["SVs"], "peak above the input, MB": found["above"]
    }  # fmt: skip


def run(*, brief: bool) -> Report:
    """Every library on every size, the exponents, the chart and the large fit."""
    report = Report("growth", PURPOSE, [], [])
    peers, reasons = find_peers()
    warm_up(peers)
    sizes = (200, 400) if brief else SIZES
    cases, rows = read_growing(brief), []
    for case in cases:
        for name, (fit, peer) in list_runs(peers).items():
            rows += measure_growth(case, name, fit, peer, sizes)
    exponents, hundred = lay_exponents(rows), fit_large(cases[0], 400 if brief else LARGE_ROWS)
    report.tables = [
        Table("Exponents", EXPONENTS, exponents),
        Table("Fits", COLUMNS, rows),
        Table(f"{hundred['n']:,} rows, in a process of its own", LARGE_FIT_COLUMNS, [hundred]),
    ]
    report.findings = [
        f"{row['data']}: seconds grow as n^{row['exponent']:.2f} with {row['library']} ({row['sizes']})."
        for row in exponents
    ]
    report.findings += [f"The large fit failed: {hundred['failed']}."] if "failed" in hundred else []
    report.findings += [f"{name} was skipped: {reason}." for name, reason in reasons.items()]
    if not brief:
        report.figure = draw_chart(rows, exponents, RESULTS / "growth.png").name
    return report
