"""How time and memory of linear fits grow with the number of samples, streamed from a memory-mapped file."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ..measuring.child import run_child
from ..measuring.report import RESULTS, Report, Table
from .linear_growth_chart import draw_chart

SIZES = (200, 2000, 20_000, 200_000, 2_000_000)
LOSSES = ("hinge", "squared_hinge", "logistic")
FEATURES = 50
BLOCK_ROWS = 100_000  # rows that are made at a time
CHILD_SECONDS = 3600.0  # for one child
PURPOSE = (
    "Generated data, 50 features in float64, on a memory-mapped file; LinearSVC and RiskClassifier(loss='logistic'), "
    "C = 1, intercept free, to a certified relative gap of 1e-6. Each fit in a process of its own, warm: the best of "
    "three, or one that took longer than 5 s. Memory is the peak of the anonymous pages above what the process had "
    "before the fit: pages of the mapped file are the data, and the kernel may drop them. The exponent is the slope of "
    "a straight line through log(seconds) against log(n)."
)
COLUMNS = {
    "loss": "{}", "n": "{:,}", "data, MB": "{:,.1f}", "fit, s": "{:.3g}", "gap": "{:.0e}", "solver": "{}",
    "iterations": "{:,}", "s / iteration": "{:.2e}", "memory, MB": "{:,.1f}", "bytes / sample": "{:,.0f}",
}  # fmt: skip
EXPONENTS = {
    "loss": "{}", "exponent of a fit": "{:.2f}", "of an iteration": "{:.2f}", "last step, fit": "{:.2f}",
    "last step, iteration": "{:.2f}",
}  # fmt: skip


def write_data(folder: Path, rows: int) -> None:
    """Samples and labels of all sizes in one file: the first n rows are the data of size n."""
    kind = {"dtype": np.float64, "mode": "w+"}
    X = np.lib.format.open_memmap(folder / "X.npy", shape=(rows, FEATURES), **kind)
    y = np.lib.format.open_memmap(folder / "y.npy", shape=(rows,), **kind)
    w = np.random.default_rng(0).standard_normal(FEATURES)
    for block, start in enumerate(range(0, rows, BLOCK_ROWS)):
        random = np.random.default_rng([1, block])
        part = random.standard_normal((BLOCK_ROWS, FEATURES))
        noise = random.logistic(scale=2.0, size=BLOCK_ROWS)
        labels = np.where(part @ w + noise > 0, 1.0, -1.0)
        stop = min(start + BLOCK_ROWS, rows)
        X[start:stop], y[start:stop] = part[: stop - start], labels[: stop - start]
    X.flush()
    y.flush()


def fit_apart(folder: Path, loss: str, n: int) -> dict:
    """One loss and size in a process of its own: a row of the table."""
    row = {"loss": loss, "n": n, "data, MB": n * FEATURES * 8 / 2**20}
    found = run_child(f"{__package__}.streamed_fit", str(folder), loss, str(n), seconds=CHILD_SECONDS)
    return row | ({"failed": found} if isinstance(found, str) else found)


def measure_slope(rows: list[dict], column: str) -> float:
    """The exponent of n that fits a column best."""
    return float(np.polyfit(np.log([row["n"] for row in rows]), np.log([row[column] for row in rows]), 1)[0])


def lay_exponents(rows: list[dict]) -> list[dict]:
    """The exponents of every loss: over all sizes but the first, which costs what a call costs, and the last two."""
    table = []
    for loss in LOSSES:
        mine = [row for row in rows if row["loss"] == loss and "fit, s" in row]
        if len(mine) > 2:
            values = [
                measure_slope(part, column) for part in (mine[1:], mine[-2:]) for column in ("fit, s", "s / iteration")
            ]
            table.append({"loss": loss, **dict(zip([*EXPONENTS][1:], values, strict=True))})
    return table


def run(*, brief: bool) -> Report:
    """Every loss at every size, the exponents and the chart."""
    report = Report("linear_growth", PURPOSE, [], [])
    sizes = (200, 400, 800) if brief else SIZES
    rows = []
    with TemporaryDirectory() as folder:
        write_data(Path(folder), max(sizes))
        for loss in LOSSES:
            for n in sizes:
                rows.append(fit_apart(Path(folder), loss, n))
                print(f"linear_growth: {loss}, n = {n:,}: {rows[-1]}", flush=True)
    exponents = lay_exponents(rows)
    report.tables = [Table("Exponents", EXPONENTS, exponents), Table("Fits", COLUMNS, rows)]
    report.findings = [
        f"{row['loss']}: from {sizes[1]:,} rows on, seconds of a fit grow as n^{row['exponent of a fit']:.2f}, "
        f"those of an iteration as n^{row['of an iteration']:.2f}."
        for row in exponents
    ]
    report.findings += [f"{row['loss']}, n = {row['n']:,}: {row['failed']}." for row in rows if "failed" in row]
    if not brief:
        report.figure = draw_chart([row for row in rows if "fit, s" in row], RESULTS / "linear_growth.png").name
    return report
