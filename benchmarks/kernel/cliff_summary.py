"""What the rows of `cliffs` say: ratios by machine, kernel, size and tol, the worst cases, and the agreement by tol."""

from __future__ import annotations

import numpy as np

from ..measuring.bounded import BoundedTable
from ..measuring.report import Table
from .cliff_cases import KERNELS, MACHINES, SIZES, TOLERANCES

SLOW_RATIO = 0.8  # ratio
WORST_CASES = 20
GROUPS = {"machine": MACHINES, "kernel": KERNELS, "n": SIZES, "tol": TOLERANCES}
SUMMARY = {
    "by": "{}", "cases": "{:,}", "converged": "{:.1%}", "mean ratio": "{:.2f}", "slower": "{:.1%}",
    f"below {SLOW_RATIO}": "{:.1%}", "worst": "{:.2f}",
}  # fmt: skip
COLUMNS = {
    "case": "{}", "ours, s": "{:.3g}", "scikit-learn, s": "{:.3g}", "ratio": "{:.2f}", "gap": "{:.1e}",
    "problems": "{:,}", "not converged": "{:,}", "same labels": "{:.2%}", "difference": "{:.1e}", "remark": "{}",
}  # fmt: skip


def summarise(title: str, rows: list[dict]) -> dict:
    """One row of the summary; cases without a ratio count among those that converged or did not, only."""
    ratios = np.array([row["ratio"] for row in rows if row.get("ratio") is not None])
    summary = {"by": title, "cases": len(rows), "converged": float(np.mean([row["converged"] for row in rows]))}
    if len(ratios):
        summary |= {
            "mean ratio": float(np.exp(np.log(ratios).mean())),
            "slower": float(np.mean(ratios < 1.0)),
            f"below {SLOW_RATIO}": float(np.mean(ratios < SLOW_RATIO)),
            "worst": float(ratios.min()),
        }
    return summary


def list_summaries(rows: list[dict]) -> list[dict]:
    """All cases, then by machine, kernel, size and tol."""
    summaries = [summarise("all", rows)]
    for axis, values in GROUPS.items():
        for value in values:
            chosen = [row for row in rows if row[axis] == value]
            title = f"{axis}: {value:,}" if axis == "n" else f"{axis}: {value}"
            summaries += [summarise(title, chosen)] if chosen else []
    return summaries


def list_tables(rows: list[dict]) -> list[Table]:
    """The summary, the worst cases, and those that did not converge."""
    timed = [row for row in rows if row.get("ratio") is not None]
    failed = [row for row in rows if not row["converged"]]
    return [
        Table("Ratios by machine, kernel, size and tol", SUMMARY, list_summaries(rows)),
        BoundedTable("The worst ratios", COLUMNS, sorted(timed, key=lambda row: row["ratio"])[:WORST_CASES]),
        BoundedTable("Cases that did not converge", COLUMNS, failed),
    ]


def compare_tolerances(rows: list[dict]) -> list[str]:
    """The least agreement with the optimum for each tol."""
    findings = []
    for tol in TOLERANCES:
        chosen = [row for row in rows if row["tol"] == tol and row["converged"]]
        labels = [row["same labels"] for row in chosen if "same labels" in row]
        differences = [row["difference"] for row in chosen if "difference" in row]
        parts = [f"labels agree on {min(labels):.2%} of rows or more"] if labels else []
        parts += [f"values differ by {max(differences):.1e} standard deviations at most"] if differences else []
        if parts:
            text = ", ".join(parts)
            findings.append(f"tol = {tol:.0e}, fits that converged, beside the optimum: {text}.")
    return findings
