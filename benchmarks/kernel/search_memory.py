"""Peak memory of a search above its input, each in a process of its own: python -m benchmarks search_memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

import maxmargin
import maxmargin.compiled.compiler  # with it Numba, which the first fit would import
from maxmargin.model_selection import GridSearchCV

from ..measuring.child import run_child
from ..measuring.footprint import read_megabytes
from ..measuring.report import Report, Table
from .memory import ALLOWED_MEGABYTES

FOLDS, FEATURES, FEW_ROWS, LIMIT_SECONDS = 3, 20, 300, 600.0
SHAPES = {16: "float64, distances beside it", 8: "float64", 4: "float32", 0: "none"}
PURPOSE = (
    "Peak memory (VmHWM) of a process that runs one `GridSearchCV` over SVC or SVR with a Gaussian kernel, "
    f"{FOLDS} folds and {FEATURES} features, refit included, above its memory after making the data and importing "
    "the library with Numba, in MB. `code` is what a first search over a few rows adds. `matrix` is what of the kernel "
    f"matrix fits into cache_size. Allowed is cache_size + {ALLOWED_MEGABYTES} MB."
)
COLUMNS = {
    "rows": "{:,}", "classes": "{}", "C x gamma": "{}", "cache_size": "{:,}", "matrix": "{}",
    "above the input": "{:.0f}", "code": "{:.0f}", "allowed": "{:,}",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One search."""

    rows: int
    classes: int | None  # None is a regression
    costs: int
    gammas: int
    cache_size: int

    @property
    def matrix(self) -> str:
        """What of the kernel matrix fits."""
        return next(name for size, name in SHAPES.items() if size * self.rows**2 <= self.cache_size * 2**20 or not size)

    @property
    def allowed(self) -> int:
        """Megabytes."""
        return self.cache_size + ALLOWED_MEGABYTES


def list_cases(brief: bool) -> list[Case]:
    """Caches that hold the matrix and caches that do not; many classes, and a regression."""
    if brief:
        return [Case(1000, 3, 2, 2, 20)]
    caches = [Case(4000, 2, 4, 3, cache) for cache in (400, 250, 200, 100, 50)]
    return [*caches, Case(8000, 2, 2, 1, 200), Case(3000, 26, 10, 3, 200), Case(3000, None, 4, 2, 200)]


def make_data(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Clouds around random centres, one for each class; or a smooth function with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((case.rows, FEATURES))
    if case.classes is None:
        return X, np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.standard_normal(case.rows)
    y = np.arange(case.rows) % case.classes
    X += 0.6 * rng.standard_normal((case.classes, FEATURES))[y]
    return X, y


def measure_here(case: Case) -> dict[str, float]:
    """One search in this process, which has done nothing else."""
    X, y = make_data(case)
    machine = (maxmargin.SVR if case.classes is None else maxmargin.SVC)(cache_size=case.cache_size)
    grid = {"C": list(np.logspace(-1, 2, case.costs)), "gamma": list(np.logspace(-2, -1, case.gammas))}
    search = GridSearchCV(machine, grid, cv=FOLDS)
    before = read_megabytes("VmRSS")
    search.fit(X[:FEW_ROWS], y[:FEW_ROWS])
    code = read_megabytes("VmRSS") - before
    search.fit(X, y)
    return {"above the input": read_megabytes("VmHWM") - before, "code": code}


def measure(case: Case) -> dict[str, float] | str:
    """What a child found about one search, or the reason why there is nothing."""
    return run_child(f"{__package__}.search_memory", json.dumps(asdict(case)), seconds=LIMIT_SECONDS)


def list_rows(brief: bool) -> Iterator[dict]:
    """The table, told as it comes."""
    for case in list_cases(brief):
        found = measure(case)
        row = {
            "rows": case.rows, "classes": case.classes or "-", "C x gamma": f"{case.costs} x {case.gammas}",
            "cache_size": case.cache_size, "matrix": case.matrix, "allowed": case.allowed,
        }  # fmt: skip
        row |= {"failed": found} if isinstance(found, str) else found
        print(f"search_memory: {row}", flush=True)
        yield row


def run(*, brief: bool) -> Report:
    """Measure every search."""
    rows = list(list_rows(brief))
    measured = [row for row in rows if "failed" not in row]
    findings = [f"{row['rows']} rows: {row['failed']}." for row in rows if "failed" in row]
    if measured:
        most = max(measured, key=lambda row: row["above the input"] - row["allowed"])
        spare = most["allowed"] - most["above the input"]
        findings.append(
            f"At most {most['above the input'] - most['cache_size']:.0f} MB above cache_size ({most['rows']:,} rows, "
            f"{most['classes']} classes, cache_size = {most['cache_size']}): {abs(spare):.0f} MB "
            f"{'to spare' if spare >= 0 else 'too much'}."
        )
    return Report("search_memory", PURPOSE, [Table("Peak memory of searches, MB", COLUMNS, rows)], findings)


if __name__ == "__main__":
    print(json.dumps(measure_here(Case(**json.loads(sys.argv[1])))))
