"""Kernel machines beside their peers: fit and predict seconds, certified gaps, kernel rows, and the physical floor.

Every peer fits at its own default tolerance, and we fit to a gap no worse than that peer's. All are judged by
`certify` in float64. Mostly zero data are timed dense and as CSR for the peers, and the better time counts; we take
them as their owner would have them.
"""

from __future__ import annotations

import math

from ..measuring.data import find_folder
from ..measuring.report import Report, Table
from ..peers import PEERS, find_peers
from .cases import list_cases, list_chosen
from .comparison import BAD, REPLACED, Comparison, Entry, compare, warm_up

PURPOSE = (
    "Kernel machines and their peers in one warm process: the best of three fits, or one that took longer than 5 s. "
    "Each peer stops by its own default tolerance and we at a gap no worse than that peer's: every ratio, their "
    "seconds over ours, has a fit of ours of its own. Gaps are certified relative duality gaps. `ours, s`, our gap, "
    "rows / SV (kernel rows evaluated for each support vector of each binary problem) and floor belong to our fit at "
    "scikit-learn's gap. Floor is the ratio of its time to that of evaluating the kernel rows of the support vectors "
    "once, on all cores. scikit-learn is LIBSVM as scikit-learn wraps it, LIBSVM its own package."
)
MAIN = {
    "data": "{}", "n": "{:,}", "d": "{:,}", "SVs": "{:,}", "ours, s": "{:.3g}",
    "scikit-learn, s": "{:.3g}", "ratio": "{:.2f}", "their gap": "{:.0e}", "our gap": "{:.0e}",
    "oneDAL, s": "{:.3g}", "oneDAL ratio": "{:.2f}",
    "oneDAL f32, s": "{:.3g}", "oneDAL f32 gap": "{:.0e}", "oneDAL f32 ratio": "{:.2f}",
    "LIBSVM, s": "{:.3g}", "LIBSVM ratio": "{:.2f}", "thundersvm, s": "{:.3g}", "thundersvm ratio": "{:.2f}",
    "predict ratio": "{:.1f}", "oneDAL predict ratio": "{:.1f}", "rows / SV": "{:.2f}", "floor": "{:.1f}",
}  # fmt: skip
COLUMNS = {  # of a peer: seconds, ratio, gap, ratio of predictions
    "scikit-learn": ("scikit-learn, s", "ratio", "their gap", "predict ratio"),
    "oneDAL float64": ("oneDAL, s", "oneDAL ratio", "oneDAL gap", "oneDAL predict ratio"),
    "oneDAL float32": ("oneDAL f32, s", "oneDAL f32 ratio", "oneDAL f32 gap", "oneDAL f32 predict ratio"),
    "LIBSVM": ("LIBSVM, s", "LIBSVM ratio", "LIBSVM gap", "LIBSVM predict ratio"),
    "thundersvm": ("thundersvm, s", "thundersvm ratio", "thundersvm gap", "thundersvm predict ratio"),
}
DETAILS = {
    "data": "{}", "peer": "{}", "form": "{}", "fit, s": "{:.3g}", "gap": "{:.1e}", "SVs": "{:,}",
    "predict, s": "{:.3g}", "our tol": "{:.1e}", "our fit, s": "{:.3g}", "our gap": "{:.1e}", "our SVs": "{:,}",
    "our predict, s": "{:.3g}", "fit ratio": "{:.2f}", "predict ratio": "{:.2f}",
    "kernel rows": "{:,}", "cache hits": "{:,}", "cache misses": "{:,}",
}  # fmt: skip
MARK = "*"


def lay_main(found: Comparison) -> dict:
    """One set in one row."""
    first = found.entries.get("scikit-learn")
    ours = first.ours if first and first.ours else found.default
    row = {"data": found.name, "n": found.n, "d": found.d, "SVs": ours.support, "ours, s": ours.seconds, "marks": {}}
    for name, entry in found.entries.items():
        if entry.theirs is not None:
            values = entry.theirs.seconds, entry.ratio, entry.theirs.gap, entry.predict_ratio
            row |= dict(zip(COLUMNS[name], values, strict=True))
            row["marks"] |= {COLUMNS[name][1]: MARK} if entry.bad else {}
    row["our gap"], row["floor"] = ours.gap, ours.seconds / found.floor
    row["floor, s"], row["rows / SV"] = found.floor, ours.counters["rows"] / max(ours.needed, 1)
    return row


def lay_details(found: Comparison) -> list[dict]:
    """One row for each peer, and one for our default tolerance."""
    rows = [lay_entry(found.name, entry) for entry in found.entries.values() if entry.theirs is not None]
    default = found.default
    rows.append({
        "data": found.name, "peer": "(our default)", "form": default.form, "our fit, s": default.seconds,
        "our gap": default.gap, "our SVs": default.support, "our predict, s": default.predict_seconds,
        **name_counters(default.counters),
    })  # fmt: skip
    return rows


def lay_entry(data: str, entry: Entry) -> dict:
    """One peer on one set."""
    theirs, ours = entry.theirs, entry.ours
    return {
        "data": data, "peer": entry.peer, "form": theirs.form, "fit, s": theirs.seconds, "gap": theirs.gap,
        "SVs": theirs.support, "predict, s": theirs.predict_seconds, "our tol": entry.tol, "our fit, s": ours.seconds,
        "our gap": ours.gap, "our SVs": ours.support, "our predict, s": ours.predict_seconds, "fit ratio": entry.ratio,
        "predict ratio": entry.predict_ratio, **name_counters(ours.counters),
        "marks": {"fit ratio": MARK} if entry.bad else {}, "other forms": entry.other_forms,
    }  # fmt: skip


def name_counters(counters: dict[str, int]) -> dict[str, int]:
    """The counters under the names of their columns."""
    return {"kernel rows": counters["rows"], "cache hits": counters["hits"], "cache misses": counters["misses"]}


def summarise(comparisons: list[Comparison]) -> list[str]:
    """Geometric means and least ratios of every peer; those at a bad gap are left out."""
    findings = []
    for name in PEERS:
        entries = [(found.name, found.entries[name]) for found in comparisons if name in found.entries]
        fair = [(data, entry) for data, entry in entries if entry.ratio is not None and not entry.bad]
        for words, value in (("fit", "ratio"), ("predict", "predict_ratio")):
            if fair:
                ratios = {data: getattr(entry, value) for data, entry in fair}
                least = min(ratios, key=ratios.get)
                findings.append(
                    f"{name}, {words}: geometric mean of the ratios {average(ratios.values()):.2f} over {len(ratios)} "
                    f"sets, least {ratios[least]:.2f} ({least})."
                )
        bad = [data for data, entry in entries if entry.bad]
        if bad:
            findings.append(
                f"{name} returns a gap above {BAD:g} on {', '.join(bad)}: the ratio, to our fit at {REPLACED:g}, "
                f"is marked {MARK} and left out of the mean."
            )
    return [*findings, tell_worse(comparisons)]


def tell_worse(comparisons: list[Comparison]) -> str:
    """Whether any of our fits has a larger gap than the peer it stands beside."""
    worse = [
        f"{found.name} beside {entry.peer}"
        for found in comparisons
        for entry in found.entries.values()
        if entry.theirs and entry.ours.gap > max(entry.theirs.gap, entry.tol)
    ]
    return f"Our gap is larger than theirs on: {', '.join(worse) or 'no set'}."


def average(ratios) -> float:
    """The geometric mean."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))


def tell_skipped(comparisons: list[Comparison], reasons: dict[str, str], missing: list[str]) -> list[str]:
    """What is not in the table, and why."""
    lines = [f"{name} was skipped: {reason}." for name, reason in reasons.items()]
    lines += [
        f"{entry.peer} was skipped on {found.name}: {entry.skipped}."
        for found in comparisons
        for entry in found.entries.values()
        if entry.skipped
    ]
    return lines + ([f"Not in the folder of data: {', '.join(missing)}."] if missing else [])


def run(*, brief: bool) -> Report:
    """Compare on every set, or on those that SETS names."""
    report = Report("large_fits", PURPOSE, [], [])
    peers, reasons = find_peers()
    warm_up(peers)
    comparisons, missing = [], []
    for name, case in list_cases(brief=brief):
        if case is None:
            missing.append(name)
            continue
        comparisons.append(compare(case, peers))
        print(Table(name, DETAILS, lay_details(comparisons[-1])).markdown(), flush=True)
    rows = [lay_main(found) for found in comparisons]
    details = [row for found in comparisons for row in lay_details(found)]
    report.tables = [Table("Sets", drop_empty(MAIN, rows), rows), Table("Every fit", DETAILS, details)]
    report.findings = summarise(comparisons) + tell_skipped(comparisons, reasons, missing)
    if brief or find_folder() is None:
        report.findings.append("The sets are generated: no folder of data was read.")
    if list_chosen():
        report.findings.append(f"Only some of the sets: {', '.join(list_chosen())}.")
    return report


def drop_empty(columns: dict[str, str], rows: list[dict]) -> dict[str, str]:
    """The columns that some row fills; a peer that is not installed has none."""
    return {column: form for column, form in columns.items() if any(row.get(column) is not None for row in rows)}
