"""Linear fits on rows that are never whole in memory: made by workers of a cluster, or read from mapped files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ..measuring.child import run_child
from ..measuring.report import Report, Table
from .scaling_cluster import begin_report, has_dask, open_cluster
from .scaling_data import FEATURES, Rows, cut_mapped, open_mapped
from .scaling_fit import make_machine

ROWS = 20_000_000
BRIEF_ROWS = 400_000
LOSSES = ("hinge", "squared_hinge", "logistic")
SHARES = (0.1, 0.25, 0.5)  # of ROWS, beside all of them: does memory depend on n?
WORKERS = 2
COMPARED_ROWS = 1_000_000  # rows of the fits in memory
PARTITIONS = (1, 2, 7, 64)  # 64 are asked eight at a time on one and on two workers, and one by one on three
WORKER_COUNTS = (1, 2, 3)  # workers
COMPARISON_GAP = 1e-6  # the gap of fits whose objectives are compared
ALLOWED_MEGABYTES = 1024  # megabytes above the map
CHILD_SECONDS = 3600.0  # for one child
PURPOSE = (
    "y = sign(<w, x> + noise), x Gaussian with 20 features in float32, C = 1, intercept free, to a certified relative "
    "gap of 1e-3; the optimum misclassifies a part of the rows, so the problem is not separable. On the cluster, two "
    "processes of one thread with 2 GB each make each block of 100,000 rows anew in each pass, from the number of the "
    "block; making them stands for reading them. The scheduler is a part of the driver. Mapped: one process reads "
    "X.npy and y.npy (float32), warm in the cache of the system or not as memory allows. Each fit in a process of its "
    "own, after a small one that compiles. Bytes are those of questions and answers of a pass that forms the matrix "
    "of the features; the sample, drawn once, is apart. Memory is the peak as the kernel counts it (VmHWM, with "
    "imports and compiled code), and for mapped files the peak of anonymous pages above what was there before the fit."
)
FITS = {
    "source": "{}", "loss": "{}", "n": "{:,}", "fit, s": "{:.1f}", "gap": "{:.1e}", "passes": "{:d}",
    "s / pass": "{:.2f}", "outside passes, s": "{:.1f}", "bytes out / pass": "{:,.0f}", "bytes in / pass": "{:,.0f}",
    "sample, MB": "{:.0f}", "driver, MB": "{:,.0f}", "worker, MB": "{:,.0f}", "above the map, MB": "{:,.0f}",
    "restarts": "{:d}",
}  # fmt: skip
COMPARISONS = {
    "loss": "{}", "partitions": "{:d}", "objective": "{:.6f}", "difference": "{:.1e}", "gap": "{:.1e}",
    "same bits on 1, 2 and 3 workers": "{}",
}  # fmt: skip


def read_rows(brief: bool) -> int:
    """The number of rows: that of the environment variable ROWS, or the usual one."""
    return int(float(os.environ.get("ROWS", BRIEF_ROWS if brief else ROWS)))


def fit_apart(loss: str, n: int, folder: str | None = None) -> dict:
    """One fit in a process of its own: a row of the table."""
    row = {"source": "cluster" if folder is None else "mapped", "loss": loss, "n": n}
    asked = json.dumps({"loss": loss, "n": n, "folder": folder, "workers": WORKERS})
    found = run_child(f"{__package__}.scaling_fit", asked, seconds=CHILD_SECONDS)
    if isinstance(found, str):
        return row | {"failed": found}
    row |= {name: found[name] for name in FITS if name in found} | {"each": found["each"], "primal": found["primal"]}
    row |= {"fit, s": found["seconds"], "outside passes, s": found["seconds"] - found["seconds of passes"]}
    if folder is None:
        row |= {"bytes out / pass": found["bytes out"], "bytes in / pass": found["bytes in"]}
        row |= {"sample, MB": found["sample"] / 2**20}
    print(f"scaling_rows: {row}", flush=True)
    return row


def fit_all(n: int, folder: str) -> list[dict]:
    """Every loss on the cluster and from the files, and the hinge loss on fewer rows too."""
    rows = [fit_apart("hinge", max(1, int(share * n))) for share in SHARES]
    rows += [fit_apart(loss, n) for loss in LOSSES]
    return rows + [fit_apart(loss, n, folder) for loss in LOSSES]


def compare_fits(n: int, folder: Path) -> list[dict]:
    """The same rows in memory, and in several partitions on several workers."""
    Rows(n).write(folder)
    X, y = (np.array(each, np.float64) for each in open_mapped(folder))
    whole = {loss: make_machine(loss, COMPARISON_GAP).fit(X, y).certificate_ for loss in LOSSES}
    rows = [{"loss": loss, "objective": found.primal, "gap": found.relative_gap} for loss, found in whole.items()]
    fits: dict = {(loss, parts): [] for loss in LOSSES for parts in PARTITIONS}
    for workers in WORKER_COUNTS:
        with open_cluster(workers):
            for (loss, parts), machines in fits.items():
                print(f"scaling_rows: {loss}, {parts} partitions, {workers} workers", flush=True)
                machines.append(make_machine(loss, COMPARISON_GAP).fit(*cut_mapped(folder, parts)))
    return rows + [compare_fit(*key, machines, whole[key[0]].primal) for key, machines in fits.items()]


def compare_fit(loss: str, parts: int, machines: list, first: float) -> dict:
    """A row: how far objectives are from that in memory, and whether all numbers of workers found the same bits."""
    bits = {each.coef_.tobytes() + np.asarray(each.intercept_).tobytes() for each in machines}
    primals = [each.certificate_.primal for each in machines]
    return {
        "loss": loss, "partitions": parts, "objective": primals[0],
        "difference": max(abs(primal - first) / first for primal in primals),
        "gap": max(each.certificate_.relative_gap for each in machines),
        "same bits on 1, 2 and 3 workers": "yes" if len(bits) == 1 else "no",
    }  # fmt: skip


def summarise(fits: list[dict], compared: list[dict]) -> list[str]:
    """The tables in words."""
    findings = [
        f"{row['source']}, {row['loss']}, n = {row['n']:,}: {row['failed']}." for row in fits if "failed" in row
    ]
    fits = [row for row in fits if "failed" not in row]
    memory = [row for row in fits if row["source"] == "cluster" and row["loss"] == "hinge"]
    if len(memory) > 1:
        findings.append(
            f"Driver, hinge: {memory[0]['driver, MB']:.0f} MB at {memory[0]['n']:,} rows, "
            f"{memory[-1]['driver, MB']:.0f} MB at {memory[-1]['n']:,}; a worker {memory[0]['worker, MB']:.0f} and "
            f"{memory[-1]['worker, MB']:.0f} MB."
        )
    mapped = [row["above the map, MB"] for row in fits if row["source"] == "mapped"]
    if mapped:
        findings.append(
            f"Mapped files: at most {max(mapped):.0f} MB above the map, where {ALLOWED_MEGABYTES} MB are allowed."
        )
    findings.append(f"Workers that were started again: {sum(row.get('restarts', 0) for row in fits)}.")
    apart = [row for row in compared if "partitions" in row]
    same = sum(row["same bits on 1, 2 and 3 workers"] == "yes" for row in apart)
    findings.append(
        f"Partitions: objectives differ from that in memory by at most {max(row['difference'] for row in apart):.1e}. "
        f"The coefficients have the same bits on 1, 2 and 3 workers in {same} of {len(apart)} cases."
    )
    return findings


def run(*, brief: bool) -> Report:
    """Fits on all rows, and the comparison with fits in memory."""
    report = begin_report("scaling_rows", PURPOSE)
    if not has_dask():
        report.findings.append("Skipped: Dask is not installed (pip install 'maxmargin[cluster]').")
        return report
    n = read_rows(brief)
    with TemporaryDirectory() as folder:
        Rows(n).write(Path(folder))
        fits = fit_all(n, folder)
    with TemporaryDirectory() as folder:
        compared = compare_fits(min(n, COMPARED_ROWS), Path(folder))
    report.tables = [
        Table(f"Fits, {FEATURES} features", FITS, fits),
        Table(
            f"{min(n, COMPARED_ROWS):,} rows, tol = {COMPARISON_GAP:g}: in memory (first), and over partitions",
            COMPARISONS,
            compared,
        ),
    ]
    report.findings = summarise(fits, compared)
    return report
