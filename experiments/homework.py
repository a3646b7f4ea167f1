"""The exercises of Wu (2014): SMO beside a general QP solver, the kernel cache, and the choice of the working set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin import SMO, Result, solve
from maxmargin.contracts.kernels import Kernel
from maxmargin.model.kernels import RBF, Linear
from maxmargin.plots.canvas import COLOURS

from .growth import FIT_SECONDS, TOL, compare_with_general, count_growth_ticks
from .page import Chapter, Figure, Table, Text
from .panels import open_panel, open_panels
from .two_clouds import pose

ROWS = {True: 2500, False: 4000}  # samples of the experiment with the cache
SHARES = {True: (0.01, 0.1, 0.5, 1.0), False: (0.005, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0)}  # of the matrix, as cache
CACHE_TOL, CACHE_COST = 1e-3, 10.0
COSTS = {True: (1.0, 10.0), False: (0.1, 1.0, 10.0, 100.0, 1000.0)}
N_SELECTION = {True: 400, False: 1000}  # samples of the experiment with the choice of the pair
SELECTIONS = ("mvp", "keerthi", "second-order")
N_RUNS, LONG_SECONDS = 3, 2.0  # runs of which the quickest counts; one that is longer is not repeated
WARM_UP_SAMPLES = 60


def count_ticks(quick: bool) -> int:
    """How often `write_chapter` says what it does."""
    return count_growth_ticks(quick) + len(SHARES[quick]) + 2 * len(COSTS[quick])


def write_chapter(quick: bool, tick: Callable[[str], None]) -> Chapter:
    """The three exercises of Wu (2014) on SMO, answered by runs."""
    warm_up()
    blocks = [
        *compare_with_general(quick, tick),
        *measure_cache(quick, tick),
        *compare_selections(quick, tick),
    ]
    return Chapter("The exercises of Wu (2014): SMO, its cache, its pairs", blocks)


def warm_up() -> None:
    """Everything that is timed below, once on a few samples: what must be compiled is compiled now."""
    solve(pose(WARM_UP_SAMPLES, CACHE_COST), make_plain_smo(WARM_UP_SAMPLES, 0.1), tol=CACHE_TOL)
    for selection in SELECTIONS:
        for kernel in (RBF("scale"), Linear()):
            run_selection(WARM_UP_SAMPLES, 1.0, kernel, selection)


def take_quickest(run: Callable[[], Result]) -> Result:
    """The quickest of some runs, since other work on the machine only adds to their seconds."""
    results = [run()]
    while len(results) < N_RUNS and results[0].seconds < LONG_SECONDS:
        results.append(run())
    return min(results, key=lambda result: result.seconds)


# ---- the kernel cache -------------------------------------------------------------------------------------------


def measure_cache(quick: bool, tick: Callable[[str], None]) -> list:
    """ "How much is the speedup?": seconds, rows evaluated and hit rate as the cache grows."""
    n, rows = ROWS[quick], []
    for share in SHARES[quick]:
        tick(f"kernel cache of {share:.1%} of the matrix, n = {n}")
        solver = make_plain_smo(n, share)
        result = take_quickest(
            lambda solver=solver: solve(pose(n, CACHE_COST), solver, tol=CACHE_TOL, max_seconds=FIT_SECONDS)
        )
        hits, misses = result.counters["hits"], result.counters["misses"]
        speed_up = rows[0][2] / result.seconds if rows else 1.0
        rows.append([solver.cache_size, share, result.seconds, speed_up, result.counters["rows"], hits,
                     hits / max(hits + misses, 1), result.n_iter, result.certificate.relative_gap])  # fmt: skip
    support = int(np.count_nonzero(result.point.a))
    names = ("rows: evaluated", "rows: found in the cache", "rows: hit rate", "iterations", "gap")
    return [
        Text(f"<b>The kernel cache.</b> {say_cache(n, rows, support)}"),
        Table(
            "homework_cache",
            "<b>The kernel cache</b>: the same fit as the cache grows.",
            ["cache, MB", "share of the matrix", "seconds", "speed-up", *names],
            rows,
        ),
        Figure("homework_cache", "Hit rate and speed-up as the cache grows.", [draw_cache(rows)]),
    ]


def make_plain_smo(n: int, share: float) -> SMO:
    """A pair at a time, a row at a time, without shrinking; the cache has room for a share of the matrix."""
    return SMO(working_set=2, batch=1, shrinking=False, cache_size=share * 8.0 * n * n / 2**20)


def say_cache(n: int, rows: list[list], support: int) -> str:
    """What more room does, from the rows of the table: share, seconds, speed-up, rows evaluated, hits, hit rate."""
    first, last, best = rows[0], rows[-1], max(rows, key=lambda row: row[3])
    enough = next((row for row in rows if row[1] >= support / n), last)
    return (
        f"The plain algorithm, a pair at a time, without shrinking, on n = {n:,} samples at C = {CACHE_COST:g}: the "
        f"whole matrix takes {last[0] / last[1]:,.0f} MB. With room for {first[1]:.1%} of it {first[6]:.0%} of the "
        f"rows that are asked for are there, and {first[4]:,} are evaluated; with room for {last[1]:.0%} these are "
        f"{last[6]:.0%} and {last[4]:,}. The quickest fit has room for {best[1]:.0%} and takes 1/{best[3]:.1f} of the "
        f"time. The {support:,} support vectors have {support / n:.0%} of the rows: with room for {enough[1]:.0%} "
        f"{enough[4]:,} rows are evaluated. Rows leave in the order in which they were last used."
    )


def draw_cache(rows: list[list]):
    """Hit rate and speed-up against the share of the matrix that the cache holds."""
    figure, ax = open_panel()
    share, speed, rate = (np.array([row[k] for row in rows]) for k in (1, 3, 6))
    ax.semilogx(share, rate, "o-", color=COLOURS[0])
    ax.set(xlabel="cache, as a share of the whole matrix", ylim=(0, 1.05))
    ax.set_ylabel("hit rate", color=COLOURS[0])
    other = ax.twinx()
    other.semilogx(share, speed, "s--", color=COLOURS[1])
    other.set(ylim=(0, None))
    other.set_ylabel("speed-up over the smallest cache (dashed)", color=COLOURS[1])
    ax.grid(alpha=0.3)
    return figure


# ---- the choice of the working set ------------------------------------------------------------------------------


def compare_selections(quick: bool, tick: Callable[[str], None]) -> list:
    """Maximal violating pair, Keerthi's two thresholds, and second-order choice, over C and two kernels."""
    n, rows = N_SELECTION[quick], []
    for name, kernel in (("Gaussian", RBF("scale")), ("linear", Linear())):
        for cost in COSTS[quick]:
            tick(f"working sets, {name} kernel, C = {cost:g}")
            runs = [run_selection(n, cost, kernel, selection) for selection in SELECTIONS]
            steps, seconds = [run.n_iter for run in runs], [run.seconds for run in runs]
            gap = max(run.certificate.relative_gap for run in runs)
            rows.append([name, cost, *steps, *seconds, steps[0] / steps[2], gap])
    columns = [f"{what}: {name}" for what in ("iterations", "seconds") for name in SELECTIONS]
    ratios, thresholds = [row[-2] for row in rows], [row[3] / row[2] for row in rows]
    return [
        Text(
            f"<b>The choice of the pair.</b> n = {n}, the plain algorithm to a certified gap of {TOL:g}. The maximal "
            f"violating pair takes {min(ratios):.1f} to {max(ratios):.1f} times the iterations of the second-order "
            f"choice (Fan, Chen and Lin 2005), {average(ratios):.1f} times in the geometric mean. Keerthi's two "
            f"thresholds look at the free duals first, and take {average(thresholds):.1f} times those of the maximal "
            f"violating pair."
        ),
        Table(
            "homework_selection",
            "<b>The choice of the pair</b>: iterations and seconds of three rules.",
            ["kernel", "C", *columns, "mvp over second-order", "gap"],
            rows,
        ),
        Figure("homework_selection", "Iterations of the three rules as C grows.", draw_selections(rows)),
    ]


def average(ratios: list[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def run_selection(n: int, cost: float, kernel: Kernel, selection: str) -> Result:
    """The quickest of some fits by the plain algorithm."""
    solver = SMO(selection=selection, working_set=2)
    return take_quickest(lambda: solve(pose(n, cost, kernel), solver, tol=TOL, max_seconds=FIT_SECONDS))


def draw_selections(rows: list[list]) -> list:
    """Iterations against C, one panel for each kernel."""
    kernels = list(dict.fromkeys(row[0] for row in rows))
    figures, axes = open_panels(len(kernels))
    steps = [step for row in rows for step in row[2:5]]
    for ax, kernel in zip(axes, kernels, strict=True):
        part = [row for row in rows if row[0] == kernel]
        for k, (name, colour, marker) in enumerate(zip(SELECTIONS, COLOURS, "os^", strict=False)):
            ax.loglog([row[1] for row in part], [row[2 + k] for row in part], marker=marker, color=colour, label=name)
        ax.set(title=f"{kernel} kernel", xlabel="C", ylabel="iterations", ylim=(0.7 * min(steps), 1.4 * max(steps)))
        ax.grid(alpha=0.3)
        ax.legend(loc="upper left")
    return figures
