"""Cutting planes and bundles on the hinge loss: seconds, rounds and oracle calls to a certified gap."""

from __future__ import annotations

from ..linear.linear_cases import LinearCase, list_labelled
from ..linear.linear_fits import average
from ..linear.linear_race import find_bound
from ..measuring.bounded import MORE, BoundedTable, Timing, fill, relate
from ..measuring.clock import read_limit
from ..measuring.report import Report
from .bundle_race import METHODS, BundleRace, run_bundles

SETS = ("a9a", "ijcnn1", "w8a", "news20", "covtype")
LARGE = ("covtype", "clouds")  # to LOOSE as well; the second stands in for the first
CS = (1.0, 10.0)
TOL, LOOSE = 1e-4, 1e-3
PURPOSE = (
    "LinearSVC(loss='hinge', solver=Bundle(method)) with a regularised intercept, to a certified relative gap of tol. "
    "BMRM makes its next cut at the minimum of the model, OCAS on the line to it; the others stay near a centre. An "
    "oracle call is a cut: two products with the data. auto is solver='auto', which takes other methods. LIBLINEAR is "
    "the fastest of its routes to the same primal value, as in `linear_fits`. Seconds are the least of three fits, or "
    "of one that took longer than 5 s. > stands where LIMIT ended a fit before its target, < where it ended the one "
    "that is divided by."
)
SECONDS = {
    "data": "{}", "n": "{:,}", "d": "{:,}", "C": "{:g}", **dict.fromkeys(METHODS, "{:.3g}"), "auto": "{:.3g}",
    "LIBLINEAR": "{:.3g}",
}  # fmt: skip
DETAILS = {
    "data": "{}", "C": "{:g}", "method": "{}", "seconds": "{:.3g}", "rounds": "{:,}", "oracle calls": "{:,}",
    "gap": "{:.0e}", "BMRM / method": "{:.2f}", "LIBLINEAR / method": "{:.2f}", "method / auto": "{:.2f}",
}  # fmt: skip


def lay_seconds(found: BundleRace) -> dict:
    """One problem in one row: everybody's seconds."""
    case = found.case
    row = {"data": case.name, "n": case.n, "d": case.X.shape[1], "C": case.C}
    for name, timing in {**found.cuttings, "auto": found.auto, "LIBLINEAR": found.liblinear}.items():
        if timing is not None:
            fill(row, name, timing.seconds, "" if timing.reached else MORE)
    return row


def lay_details(found: BundleRace) -> list[dict]:
    """One row for each method."""
    rows = []
    for method, cutting in found.cuttings.items():
        row = {
            "data": found.case.name, "C": found.case.C, "method": method, "rounds": cutting.rounds,
            "oracle calls": cutting.calls, "gap": cutting.gap,
        }  # fmt: skip
        fill(row, "seconds", cutting.seconds, "" if cutting.reached else MORE)
        fill(row, "BMRM / method", *relate(found.cuttings["BMRM"], cutting))
        fill(row, "LIBLINEAR / method", *relate(found.liblinear, cutting))
        fill(row, "method / auto", *relate(cutting, found.auto))
        rows.append(row)
    return rows


def make_tables(races: list[BundleRace]) -> list[BoundedTable]:
    """Two tables for each tolerance."""
    tables = []
    for tol in dict.fromkeys(found.tol for found in races):
        mine = [found for found in races if found.tol == tol]
        details = [row for found in mine for row in lay_details(found)]
        tables += [
            BoundedTable(f"Seconds to a relative gap of {tol:g}", SECONDS, [lay_seconds(found) for found in mine]),
            BoundedTable(f"Rounds and oracle calls to a relative gap of {tol:g}", DETAILS, details),
        ]
    return tables


def tell_ratio(races: list[BundleRace], name: str, pairs: list[tuple[Timing | None, Timing | None]]) -> list[str]:
    """The geometric mean of a ratio, bounds taken for what they say, and the least and the largest of them."""
    known = {}
    for found, pair in zip(races, pairs, strict=True):
        ratio, sign = relate(*pair)
        if ratio is not None:
            known[f"{found.case.name}, C = {found.case.C:g}"] = (ratio, sign)
    if not known:
        return []
    ratios, signs = zip(*known.values(), strict=True)
    least, most = min(known, key=known.get), max(known, key=known.get)
    ends = ", ".join(
        f"{word} {(known[problem][1] + ' ').lstrip()}{known[problem][0]:.2f} ({problem})"
        for word, problem in (("least", least), ("most", most))
    )
    note = f"; {sum(map(bool, signs))} of them only bounds" if any(signs) else ""
    return [f"{name}: geometric mean {average(ratios):.2f} over {len(ratios)} problems{note}; {ends}."]


def summarise(races: list[BundleRace], tol: float) -> list[str]:
    """BMRM's time over each method's, LIBLINEAR's over that of OCAS, and OCAS beside our own choice."""
    races = [found for found in races if found.tol == tol]
    findings = []
    for method in [*METHODS][1:]:
        pairs = [(found.cuttings["BMRM"], found.cuttings[method]) for found in races]
        findings += tell_ratio(races, f"To {tol:g}, seconds of BMRM / {method}", pairs)
    pairs = [(found.liblinear, found.cuttings["OCAS"]) for found in races]
    findings += tell_ratio(races, f"To {tol:g}, seconds of LIBLINEAR / OCAS", pairs)
    pairs = [(found.cuttings["OCAS"], found.auto) for found in races]
    return findings + tell_ratio(races, f"To {tol:g}, seconds of OCAS / auto", pairs)


def tell_missed(races: list[BundleRace]) -> list[str]:
    """Who did not come to the gap, and how near."""
    missed = [
        f"{method} on {found.case.name}, C = {found.case.C:g}, tol {found.tol:g} (gap {cutting.gap:.0e} after "
        f"{cutting.seconds:.0f} s)"
        for found in races
        for method, cutting in found.cuttings.items()
        if not cutting.reached
    ]
    return [f"Not within tol in {read_limit():.0f} s: {'; '.join(missed)}."] if missed else []


def race_set(name: str, X, y) -> list[BundleRace]:
    """Both values of C; a large set at two tolerances."""
    races = []
    for C in CS:
        case = LinearCase(name, "hinge", X, y, C)
        bound = find_bound(case)
        print(f"bundle_fits: {name}, C = {C:g}", flush=True)
        races.append(run_bundles(case, TOL, bound))
        if name in LARGE:
            races.append(run_bundles(case, LOOSE, bound, least_cap=read_limit()))
    return races


def run(*, brief: bool) -> Report:
    """Every set, or those that SETS names."""
    report = Report("bundle_fits", PURPOSE, [], [])
    races, missing = [], []
    for name, found in list_labelled(SETS, brief=brief):
        if found is None:
            missing.append(name)
            continue
        races += race_set(name, *found)
    report.tables = make_tables(races)
    report.findings = [line for tol in (TOL, LOOSE) for line in summarise(races, tol)] + tell_missed(races)
    report.findings += [f"Not in the folder of data: {', '.join(missing)}."] if missing else []
    return report
