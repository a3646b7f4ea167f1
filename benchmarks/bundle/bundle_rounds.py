"""How the rounds of cutting planes grow: with the number of samples, and with 1 / epsilon."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from maxmargin import Bundle
from maxmargin.solvers import OneSlack

from ..linear.linear_cases import LinearCase, make_labelled, read_labelled
from ..measuring.bounded import MORE, BoundedTable, fill
from ..measuring.clock import read_limit, time_once
from ..measuring.report import RESULTS, Report, Table
from .bundle_rounds_chart import draw_chart

ONE_SLACK = "1-slack"
METHODS = {"BMRM": "bmrm", "OCAS": "ocas", "proximal": "proximal-bundle", "level": "level-bundle"}
OVER_SAMPLES = (ONE_SLACK, "OCAS")
SIZES = {
    "covtype": (580, 1800, 5800, 18_000, 58_000, 180_000, 580_000),
    "clouds": (100, 1000, 10_000, 100_000, 1_000_000),
}
ROWS_FOR_EPSILON = {"covtype": 58_000, "clouds": 100_000}  # rows on which epsilon varies
BRIEF_SIZES, BRIEF_MIDDLE = (100, 300, 1000), 300
PENALTY_WEIGHT = 1e-3  # lambda = 1 / (n C), the same for every n
EPSILON = 1e-3  # where n varies
EPSILONS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
REFERENCE_GAP = 1e-6  # the gap of the fit that says what an epsilon is as a relative gap
PURPOSE = (
    "min lambda / 2 |w|^2 + 1/n sum_i max(0, 1 - y_i f_i) with lambda = 1e-3, that is C = 1 / (lambda n), and a "
    "regularised intercept. Rounds until a method is within epsilon of the optimum of that objective, by its own "
    "bound: OneSlack(epsilon) stops by the rule of Joachims, the others at the relative gap that is the same distance; "
    "`distance` is what the certificate says of it. Rows are drawn from the set without repetition. A slope is that of "
    "a straight line through log(rounds) against log(n) or log(1 / epsilon), and `rounds a decade` that of one through "
    "rounds against the logarithm to base 10. Joachims (2006) bounds the rounds by a number that grows with "
    "1 / epsilon^2 and not with n, Teo et al. (2010) by one that grows with 1 / epsilon. > stands where LIMIT ended a "
    "fit, which is then left out of the slope."
)
COLUMNS = {
    "method": "{}", "n": "{:,}", "epsilon": "{:.0e}", "rounds": "{:,}", "oracle calls": "{:,}", "seconds": "{:.3g}",
    "distance": "{:.1e}",
}  # fmt: skip
SLOPES = {
    "method": "{}", "against": "{}", "fits": "{:d}", "first, rounds": "{:,}", "last, rounds": "{:,}", "slope": "{:.2f}",
    "rounds a decade": "{:.1f}",
}  # fmt: skip


def shrink(whole: LinearCase, n: int) -> LinearCase:
    """The problem on n of its rows, the penalty as heavy against their mean loss as on any other number of them."""
    return replace(whole.take(n), C=1.0 / (PENALTY_WEIGHT * n))


def find_least(case: LinearCase) -> float:
    """The least value of the objective, P / (n C)."""
    _, model = time_once(lambda: case.make_ours(REFERENCE_GAP).fit(case.X, case.y))
    return model.certificate_.primal * PENALTY_WEIGHT


def count_rounds(case: LinearCase, method: str, epsilon: float, least: float) -> dict:
    """A row: one fit to within epsilon."""
    tol = min(epsilon / least, 0.99)
    solver = OneSlack(epsilon=epsilon) if method == ONE_SLACK else Bundle(METHODS[method])
    machine = case.make_ours(tol, solver=solver, max_seconds=read_limit())
    seconds, model = time_once(lambda: machine.fit(case.X, case.y))
    result = model.result_
    row = {
        "method": method, "n": case.n, "epsilon": epsilon, "oracle calls": result.counters["oracle_calls"],
        "seconds": seconds, "distance": model.certificate_.gap * PENALTY_WEIGHT, "reached": result.converged,
    }  # fmt: skip
    fill(row, "rounds", result.n_iter, "" if result.converged else MORE)
    print(f"bundle_rounds: {row}", flush=True)
    return row


def vary_samples(whole: LinearCase, sizes: tuple[int, ...]) -> list[dict]:
    """Rounds at EPSILON for every number of rows."""
    rows = []
    for n in sizes:
        case = shrink(whole, n)
        least = find_least(case)
        rows += [count_rounds(case, method, EPSILON, least) for method in OVER_SAMPLES]
    return rows


def vary_epsilon(case: LinearCase, epsilons: tuple[float, ...]) -> list[dict]:
    """Rounds of every method for every epsilon; once one was too long, the next ones would be too."""
    least, rows = find_least(case), []
    for method in (ONE_SLACK, *METHODS):
        for epsilon in epsilons:
            rows.append(count_rounds(case, method, epsilon, least))
            if not rows[-1]["reached"]:
                break
    return rows


def fit_slope(rows: list[dict], method: str, against: str) -> dict | None:
    """The slope of one method's rounds on logarithmic axes, None with fewer than three fits."""
    mine = [row for row in rows if row["method"] == method and row["reached"]]
    if len(mine) < 3:
        return None
    x = np.log10([row["n"] if against == "n" else 1.0 / row["epsilon"] for row in mine])
    rounds = [row["rounds"] for row in mine]
    return {
        "method": method, "against": against, "fits": len(mine), "first, rounds": rounds[0],
        "last, rounds": rounds[-1], "slope": float(np.polyfit(x, np.log10(rounds), 1)[0]),
        "rounds a decade": float(np.polyfit(x, rounds, 1)[0]),
    }  # fmt: skip


def lay_slopes(over_samples: list[dict], over_epsilon: list[dict]) -> list[dict]:
    """Every slope there is."""
    slopes = [fit_slope(over_samples, method, "n") for method in OVER_SAMPLES]
    slopes += [fit_slope(over_epsilon, method, "1 / epsilon") for method in (ONE_SLACK, *METHODS)]
    return [slope for slope in slopes if slope is not None]


def summarise(slopes: list[dict], sizes: tuple[int, ...], middle: int) -> list[str]:
    """The slopes in words."""
    findings = []
    for row in slopes:
        where = f"from {sizes[0]:,} to {sizes[-1]:,} rows" if row["against"] == "n" else f"on {middle:,} rows"
        findings.append(
            f"{row['method']}, {where}: from {row['first, rounds']:,} to {row['last, rounds']:,} rounds, "
            f"{row['rounds a decade']:+.0f} for ten times {row['against']}; slope {row['slope']:.2f}."
        )
    return findings


def choose_set(*, brief: bool) -> LinearCase:
    """covtype, or generated data where it is not there or SETS asks for them."""
    chosen = os.environ.get("SETS") or ("clouds" if brief else "covtype")
    if chosen not in SIZES:
        raise SystemExit(f"SETS may name one of: {', '.join(SIZES)}.")
    found = read_labelled(chosen) if chosen == "covtype" else None
    if found is not None:
        return LinearCase(chosen, "hinge", *found)
    return LinearCase("clouds", "hinge", *make_labelled("clouds", max(BRIEF_SIZES if brief else SIZES["clouds"])))


def run(*, brief: bool) -> Report:
    """Rounds over n, rounds over 1 / epsilon, their slopes and the chart."""
    report = Report("bundle_rounds", PURPOSE, [], [])
    whole = choose_set(brief=brief)
    sizes = BRIEF_SIZES if brief else SIZES[whole.name]
    middle = BRIEF_MIDDLE if brief else ROWS_FOR_EPSILON[whole.name]
    over_samples = vary_samples(whole, sizes)
    over_epsilon = vary_epsilon(shrink(whole, middle), EPSILONS[:5:2] if brief else EPSILONS)
    slopes = lay_slopes(over_samples, over_epsilon)
    report.tables = [
        Table("Slopes on logarithmic axes", SLOPES, slopes),
        BoundedTable(f"{whole.name}: rounds over samples", COLUMNS, over_samples),
        BoundedTable(f"{whole.name}: rounds over epsilon", COLUMNS, over_epsilon),
    ]
    report.findings = summarise(slopes, sizes, middle)
    if not brief and not os.environ.get("SETS"):
        report.figure = draw_chart(over_samples, over_epsilon, RESULTS / "bundle_rounds.png").name
    return report
