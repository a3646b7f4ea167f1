"""Peak memory of a fit above its input: every fit in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import scipy.sparse as sp

import maxmargin

from ..measuring.clock import read_limit
from ..measuring.data import find_folder
from ..measuring.footprint import OURS, measure_apart
from ..measuring.report import Report, Table
from ..peers import find_peers
from .cases import Case, make_case, read_case

SETS = ("a9a", "ijcnn1", "mnist", "letter", "cadata")
STAND_INS = ("words", "clouds", "five classes", "friedman1")
CACHES = (50, None, 1000)  # megabytes; None is the default
DEFAULT_CACHE = maxmargin.SVC().cache_size
ALLOWED_MEGABYTES = 150  # megabytes above the cache
PURPOSE = (
    "Peak memory (VmHWM) of a process that fits once, above its memory after reading the data and importing the "
    "library with Numba, in MB. `code` is what the first small fit adds: compiled code and its compiler. Allowed is "
    f"cache_size + {ALLOWED_MEGABYTES} MB for ours. Peers have their default caches."
)
COLUMNS = {
    "data": "{}", "n": "{:,}", "input": "{:.0f}", "library": "{}", "cache_size": "{:,}", "above the input": "{:.0f}",
    "code": "{:.0f}", "allowed": "{:,}", "fit, s": "{:.3g}", "gap": "{:.0e}",
}  # fmt: skip


def list_problems(brief: bool) -> Iterator[Case]:
    """Sets of the folder, or generated ones."""
    if brief or find_folder() is None:
        yield from (make_case(name, 800 if brief else None) for name in STAND_INS[: 1 if brief else None])
        return
    yield from (case for case in map(read_case, SETS) if case is not None)


def measure_size(case: Case) -> float:
    """Megabytes of X and y."""
    parts = (case.X.data, case.X.indices, case.X.indptr) if sp.issparse(case.X) else (case.X,)
    return sum(part.nbytes for part in (*parts, case.y)) / 2**20


def measure_case(case: Case, caches: tuple, peers: list[str]) -> Iterator[dict]:
    """Ours with every cache, then the peers."""
    runs = [(OURS, cache, cache or DEFAULT_CACHE) for cache in caches] + [(name, None, None) for name in peers]
    for library, given, cache in runs:
        found = measure_apart(case, library, None, given, read_limit())
        row = {"data": case.name, "n": case.n, "input": measure_size(case), "library": library, "cache_size": cache}
        row["allowed"] = None if cache is None else cache + ALLOWED_MEGABYTES
        if isinstance(found, str):
            yield row | {"failed": found}
        else:
            row |= {"above the input": found["above"], "code": found["code"]}
            yield row | {"fit, s": found["seconds"], "gap": found["gap"]}


def judge_ours(rows: list[dict]) -> list[str]:
    """How close the worst of our fits comes to what is allowed."""
    if not rows:
        return []
    most = max(rows, key=lambda row: row["above the input"] - row["allowed"])
    spare = most["allowed"] - most["above the input"]
    return [
        f"Ours is at most {most['above the input']:.0f} MB above the input where {most['allowed']} MB are allowed "
        f"({most['data']}, cache_size = {most['cache_size']}): {abs(spare):.0f} MB "
        f"{'to spare' if spare >= 0 else 'too much'}."
    ]


def run(*, brief: bool) -> Report:
    """Measure ours with several caches, and the peers with theirs."""
    report = Report("memory", PURPOSE, [], [])
    peers, reasons = find_peers()
    names, caches = [peer.name for peer in peers], CACHES
    if brief:
        names, caches = names[:1], CACHES[:1]
    rows = []
    for case in list_problems(brief):
        for row in measure_case(case, caches, names):
            rows.append(row)
            print(
                f"memory: {row['library']} on {row['data']}: {row.get('above the input', row.get('failed'))}",
                flush=True,
            )
    report.tables = [Table("Peak memory, MB", COLUMNS, rows)]
    report.findings += judge_ours([row for row in rows if row["library"] == OURS and "failed" not in row])
    failed = [row for row in rows if "failed" in row]
    report.findings += [f"{row['library']} on {row['data']}: {row['failed']}." for row in failed]
    report.findings += [f"{name} was skipped: {reason}." for name, reason in reasons.items()]
    return report
