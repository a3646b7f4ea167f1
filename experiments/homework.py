"""The exercises of Wu (2014): SMO beside a general QP solver, the kernel cache, and the choice of the working set."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from sklearn.svm import SVC as TheirSVC

from maxmargin import QP, SMO, certify, solve
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem
from maxmargin.plots.canvas import COLOURS

from .page import Chapter, Figure, Table, Text

FEATURES = 10
TOL = 1e-6  # relative gap that SMO and the QP solver are asked for
SIZES = {True: (50, 100, 200, 400), False: (50, 100, 200, 400, 800, 1600)}
ROWS = {True: 2500, False: 4000}  # samples of the experiment with the cache: more than are kept as a whole matrix
SHARES = {True: (0.01, 0.1, 0.5, 1.0), False: (0.005, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0)}  # of the matrix, as cache
COSTS = {True: (1.0, 100.0), False: (0.1, 1.0, 10.0, 100.0, 1000.0)}
SELECTIONS = ("mvp", "keerthi", "second-order")
N_RUNS = 3  # runs of which the middle one counts
FIT_SECONDS = 60.0  # seconds of a fit at most


def count_ticks(quick: bool) -> int:
    """How often `write_chapter` says what it does."""
    return len(SIZES[quick]) + len(SHARES[quick]) + 2 * len(COSTS[quick])


def write_chapter(quick: bool, tick: Callable[[str], None]) -> Chapter:
    """The three exercises of Wu (2014) on SMO, answered by runs."""
    solve(pose(60, 1.0), SMO(), tol=TOL)  # compiles what is timed below
    solve(pose(60, 1.0), SMO(working_set=2), tol=TOL)
    blocks = [
        *compare_with_general(quick, tick),
        *measure_cache(quick, tick),
        *compare_selections(quick, tick),
    ]
    return Chapter("The exercises of Wu (2014)", blocks)


def generate_clouds(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping Gaussian clouds in ten dimensions."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, FEATURES)) + 0.4 * y[:, None], y


def pose(n: int, cost: float, kernel=None) -> Problem:
    """SVC on the clouds, with a free intercept."""
    X, y = generate_clouds(n)
    return Problem(Gram.from_data(RBF("scale") if kernel is None else kernel, X), y, np.full(n, cost), Hinge(), 0.0)


def take_median(run: Callable[[], float]) -> float:
    """The middle of a few measurements; one is enough where it is long."""
    first = run()
    return first if first > 2.0 else median([first, *(run() for _ in range(N_RUNS - 1))])


# ---- SMO beside a general QP solver -----------------------------------------------------------------------------


def compare_with_general(quick: bool, tick: Callable[[str], None]) -> list:
    """ "Compare the running time of SMO with that of CVX": seconds as n grows, to certified gaps."""
    rows = []
    for n in SIZES[quick]:
        tick(f"SMO beside cvxopt, n = {n}")
        rows.append([n, *time_smo(n), *time_general(n), *time_libsvm(n)])
    seconds = np.array([[row[k] for k in (1, 3, 5)] for row in rows], float)
    growth = [fit_growth(SIZES[quick], column) for column in seconds.T]
    ratio = seconds[-1, 1] / seconds[-1, 0]
    return [
        Text(
            f"<b>SMO beside a general QP solver.</b> An SVC with the Gaussian kernel, C = 1, on two overlapping clouds "
            f"in {FEATURES} dimensions, solved by SMO and by cvxopt's interior point to a certified gap of {TOL:g}; "
            f"LIBSVM in scikit-learn stops by its own rule at 1e-3. At n = {rows[-1][0]} SMO is {ratio:,.0f} times as "
            f"fast as cvxopt. Fitted over the larger sizes, the seconds grow as n^{growth[0]:.1f} (SMO), "
            f"n^{growth[1]:.1f} (cvxopt) and n^{growth[2]:.1f} (LIBSVM): an interior point method factors an n by n "
            f"matrix in each of its steps, SMO only ever looks at two rows."
        ),
        Table(
            "homework_general",
            "Seconds to solve the dual as n grows, and the certified relative gap of each answer.",
            ["n", "SMO: seconds", "SMO: gap", "cvxopt: seconds", "cvxopt: gap", "LIBSVM: seconds", "LIBSVM: gap"],
            rows,
        ),
        Figure("homework_general", "Seconds against n, both on logarithmic axes.", draw_growth(SIZES[quick], seconds)),
    ]


def time_smo(n: int) -> tuple[float, float]:
    """Seconds and certified gap of SMO."""
    result = solve(pose(n, 1.0), SMO(), tol=TOL)
    return take_median(lambda: solve(pose(n, 1.0), SMO(), tol=TOL).seconds), result.certificate.relative_gap


def time_general(n: int) -> tuple[float, float]:
    """Seconds and certified gap of cvxopt."""
    result = solve(pose(n, 1.0), QP(), tol=TOL, max_seconds=FIT_SECONDS)
    return take_median(lambda: solve(pose(n, 1.0), QP(), tol=TOL, max_seconds=FIT_SECONDS).seconds), (
        result.certificate.relative_gap
    )


def time_libsvm(n: int) -> tuple[float, float]:
    """Seconds of scikit-learn's SVC, and the gap that our judge finds."""
    X, y = generate_clouds(n)

    def run() -> float:
        began = time.perf_counter()
        TheirSVC().fit(X, y)
        return time.perf_counter() - began

    return take_median(run), certify(TheirSVC().fit(X, y), X, y).relative_gap


def fit_growth(sizes: tuple[int, ...], seconds: np.ndarray) -> float:
    """The exponent of n in the seconds, over the larger half of the sizes."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(seconds[half:]), 1)[0])


def draw_growth(sizes: tuple[int, ...], seconds: np.ndarray):
    """Seconds against n."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name, column, colour, marker in zip(("SMO", "cvxopt", "LIBSVM"), seconds.T, COLOURS, "os^", strict=False):
        ax.loglog(sizes, column, marker=marker, color=colour, label=name)
    ax.set(xlabel="n", ylabel="seconds")
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend()
    return figure


# ---- the kernel cache -------------------------------------------------------------------------------------------


def measure_cache(quick: bool, tick: Callable[[str], None]) -> list:
    """ "How much is the speedup?": seconds, rows evaluated and hit rate as the cache grows."""
    n, rows = ROWS[quick], []
    whole = 8.0 * n * n / 2**20
    for share in SHARES[quick]:
        tick(f"kernel cache of {share:.1%} of the matrix, n = {n}")
        solver = SMO(working_set=2, batch=1, shrinking=False, cache_size=share * whole)
        result = solve(pose(n, 10.0), solver, tol=1e-3, max_seconds=FIT_SECONDS)
        seconds = take_median(
            lambda solver=solver: solve(pose(n, 10.0), solver, tol=1e-3, max_seconds=FIT_SECONDS).seconds
        )
        asked = result.counters["hits"] + result.counters["misses"]
        hit_rate = result.counters["hits"] / max(asked, 1)
        rows.append([share * whole, share, seconds, rows[0][2] / seconds if rows else 1.0, hit_rate,
                     result.counters["rows"], result.n_iter, result.certificate.relative_gap])  # fmt: skip
    first, last = rows[0], rows[-1]
    return [
        Text(
            f"<b>The kernel cache.</b> The plain algorithm, a pair at a time, without shrinking, on n = {n:,} samples "
            f"at C = 10: the whole matrix takes {whole:,.0f} MB. With room for {first[1]:.1%} of it {first[4]:.0%} "
            f"of the rows that are asked for are there; with room for all of it {last[4]:.0%} are, and the fit takes "
            f"{last[3]:.1f} times less time. More room than the support vectors need does not help. Rows leave in the "
            f"order in which they were last used."
        ),
        Table(
            "homework_cache",
            "The same fit with a growing cache.",
            [
                "cache, MB",
                "share of the matrix",
                "seconds",
                "speed-up",
                "hit rate",
                "rows evaluated",
                "iterations",
                "gap",
            ],
            rows,
        ),
        Figure("homework_cache", "Hit rate and speed-up as the cache grows.", draw_cache(rows)),
    ]


def draw_cache(rows: list[list]):
    """Hit rate and speed-up against the share of the matrix that the cache holds."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    share, speed, rate = (np.array([row[k] for row in rows]) for k in (1, 3, 4))
    (first,) = ax.semilogx(share, rate, "o-", color=COLOURS[0], label="hit rate")
    ax.set(xlabel="cache, as a share of the whole matrix", ylabel="hit rate", ylim=(0, 1.05))
    other = ax.twinx()
    (second,) = other.semilogx(share, speed, "s--", color=COLOURS[1], label="speed-up")
    other.set(ylabel="speed-up over the smallest cache", ylim=(0, None))
    ax.grid(alpha=0.3)
    ax.legend(handles=[first, second], loc="lower right")
    return figure


# ---- the choice of the working set ------------------------------------------------------------------------------


def compare_selections(quick: bool, tick: Callable[[str], None]) -> list:
    """Maximal violating pair, Keerthi's two thresholds, and second-order choice, over C and two kernels."""
    n, rows = 400 if quick else 1000, []
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
            "Iterations and seconds of the three ways to choose the pair.",
            ["kernel", "C", *columns, "mvp over second-order", "gap"],
            rows,
        ),
        Figure("homework_selection", "Iterations over C.", draw_selections(rows)),
    ]


def average(ratios: list[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def run_selection(n: int, cost: float, kernel, selection: str):
    """A fit by the plain algorithm."""
    return solve(pose(n, cost, kernel), SMO(selection=selection, working_set=2), tol=TOL, max_seconds=FIT_SECONDS)


def draw_selections(rows: list[list]):
    """Iterations against C, one panel for each kernel."""
    import matplotlib.pyplot as plt

    kernels = list(dict.fromkeys(row[0] for row in rows))
    figure, axes = plt.subplots(1, len(kernels), figsize=(9.6, 4.0), layout="constrained", sharey=True)
    for ax, kernel in zip(axes, kernels, strict=True):
        part = [row for row in rows if row[0] == kernel]
        for k, (name, colour, marker) in enumerate(zip(SELECTIONS, COLOURS, "os^", strict=False)):
            ax.loglog([row[1] for row in part], [row[2 + k] for row in part], marker=marker, color=colour, label=name)
        ax.set(title=f"{kernel} kernel", xlabel="C")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("iterations")
    axes[0].legend()
    return figure
