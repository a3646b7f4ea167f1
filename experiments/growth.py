"""SMO beside solvers of general quadratic programs: seconds as n grows, and the sentences that follow from them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.svm import SVC as TheirSVC

from maxmargin import QP, SMO, certify, solve
from maxmargin.certificates.certificate import judge
from maxmargin.plots.canvas import COLOURS

from .modelling import has_modelling_language, solve_model
from .page import Figure, Table, Text
from .panels import open_panel
from .two_clouds import FEATURES, generate_clouds, pose

TOL = 1e-6  # relative gap that SMO and cvxopt are asked for
SIZES = {True: (100, 178, 316, 562, 1000), False: (100, 178, 316, 562, 1000, 1778)}
CACHE_SHARE = 0.5  # of the kernel matrix that SMO may hold
N_RUNS, LONG_SECONDS = 5, 0.5  # runs of which the quickest counts; one that is longer is not repeated
CALL_SAMPLES, NOISE_FACTOR = 10, 2.0  # a fit takes long enough to count from twice that of ten samples on
CALL_ROUNDS = 5  # rounds of runs on ten samples: all else is measured by them
MIN_FIT_SIZES = 3  # sizes through which an exponent is fitted, at least
CLOSE_EXPONENTS = 0.15  # exponents that differ by less are called equal
PARAGRAPH = "\n\n"
FIT_SECONDS = 60.0  # of a fit at most


class Fit(NamedTuple):
    """Seconds, certified relative gap, and what SMO counted."""

    seconds: float
    gap: float
    counters: dict[str, int] | None = None


@dataclass(frozen=True)
class Growth:
    """The seconds of one program over the sizes, those of a call on ten samples, and the exponent of n."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    call_seconds: float

    @property
    def above_noise(self) -> list[int]:
        """The places of the sizes whose fits take more than the call itself."""
        return [k for k, seconds in enumerate(self.seconds) if seconds >= NOISE_FACTOR * self.call_seconds]

    @property
    def exponent(self) -> float | None:
        """p of seconds = const n^p, by least squares in logarithms; None where too few sizes are above noise."""
        places = self.above_noise
        if len(places) < MIN_FIT_SIZES:
            return None
        n, seconds = (np.log(np.array(values, float)[places]) for values in (self.sizes, self.seconds))
        return float(np.polyfit(n, seconds, 1)[0])


def compare_with_general(quick: bool, tick: Callable[[str], None]) -> list:
    """ "Compare the running time of SMO with that of CVX": seconds as n grows, to certified gaps."""
    programs = list_programs()
    tick("SMO beside general solvers: the cost of a call")
    calls = {name: min(program(CALL_SAMPLES).seconds for _ in range(CALL_ROUNDS)) for name, program in programs.items()}
    fits: dict[str, list[Fit]] = {name: [] for name in programs}
    for n in SIZES[quick]:
        tick(f"SMO beside general solvers, n = {n}")
        for name, program in programs.items():
            fits[name].append(program(n))
    growths = [Growth(name, SIZES[quick], tuple(fit.seconds for fit in fits[name]), calls[name]) for name in programs]
    sentences = [say_setting(), say_growth(growths), say_rows(SIZES[quick][-1], fits["SMO"])]
    return [
        Text(f"<b>SMO beside a general solver.</b> {PARAGRAPH.join(sentences)}"),
        tabulate(SIZES[quick], fits),
        Figure("homework_general", "Seconds against n, both on logarithmic axes.", [draw_growth(growths)]),
    ]


def count_growth_ticks(quick: bool) -> int:
    """How often `compare_with_general` calls `tick`."""
    return 1 + len(SIZES[quick])


# ---- programs -------------------------------------------------------------------------------------------------


def list_programs() -> dict[str, Callable[[int], Fit]]:
    """SMO, cvxopt, CVXPY where it is installed, and LIBSVM."""
    modelling = {"CVXPY": time_modelling} if has_modelling_language() else {}
    return {"SMO": time_smo, "cvxopt": time_cvxopt, **modelling, "LIBSVM": time_libsvm}


def time_smo(n: int) -> Fit:
    """SMO with kernel rows on demand: its cache has room for half of them."""
    solver = SMO(batch=1, cache_size=CACHE_SHARE * 8.0 * n * n / 2**20)
    solve(pose(n, 1.0), solver, tol=TOL)  # compiles what is timed
    seconds, result = take_quickest(lambda: solve(pose(n, 1.0), solver, tol=TOL, max_seconds=FIT_SECONDS))
    return Fit(seconds, result.certificate.relative_gap, dict(result.counters))


def time_cvxopt(n: int) -> Fit:
    """cvxopt's interior point on the whole matrix, which it forms."""
    seconds, result = take_quickest(lambda: solve(pose(n, 1.0), QP(), tol=TOL, max_seconds=FIT_SECONDS))
    return Fit(seconds, result.certificate.relative_gap)


def time_modelling(n: int) -> Fit:
    """CVXPY: the matrix, the translation into a cone program, and Clarabel, which solves it."""
    seconds, point = take_quickest(lambda: solve_model(pose(n, 1.0)))
    return Fit(seconds, judge(pose(n, 1.0), point).relative_gap)


def time_libsvm(n: int) -> Fit:
    """scikit-learn's SVC, which stops by its own rule, and the gap that our judge finds."""
    X, y = generate_clouds(n)
    seconds, model = take_quickest(lambda: TheirSVC().fit(X, y))
    return Fit(seconds, certify(model, X, y).relative_gap)


def take_quickest(run: Callable) -> tuple[float, object]:
    """Seconds of the quickest of some runs, since other work on the machine only adds to them; and the last answer."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < N_RUNS and seconds[-1] < LONG_SECONDS):
        began = time.perf_counter()
        answer = run()
        seconds.append(time.perf_counter() - began)
    return min(seconds), answer


# ---- words ----------------------------------------------------------------------------------------------------


def say_setting() -> str:
    """What is solved, by whom, and how far."""
    modelling = (
        "CVXPY, a modelling language as CVX is, translates the same dual for Clarabel, and its seconds have both parts."
        if has_modelling_language()
        else "A modelling language is left out: CVXPY is not installed."
    )
    return (
        f"An SVC with the Gaussian kernel, C = 1, on two overlapping clouds in {FEATURES} dimensions, solved by SMO "
        f"and by cvxopt's interior point to a certified gap of {TOL:g}. {modelling} LIBSVM in scikit-learn stops by "
        f"its own rule at 1e-3. The quickest of {N_RUNS} runs counts."
    )


def say_growth(growths: list[Growth]) -> str:
    """How the seconds grow, and what becomes of the lead of the first program over each other one."""
    first, others = growths[0], growths[1:]
    fitted = ", ".join(f"n^{growth.exponent:.1f} ({growth.name})" for growth in growths if growth.exponent is not None)
    unknown = [growth.name for growth in growths if growth.exponent is None]
    sentences = [
        f"Over the sizes where a fit takes at least {NOISE_FACTOR:g} times as long as one of {CALL_SAMPLES} samples, "
        f"seconds grow as {fitted}."
        if fitted
        else "No fit takes long enough for an exponent of n."
    ]
    if fitted and unknown:
        sentences.append(f"Too few of the fits by {', '.join(unknown)} take that long.")
    return " ".join([*sentences, *(say_lead(first, other) for other in others)])


def say_lead(first: Growth, other: Growth) -> str:
    """Who is quicker at the largest n and at the smallest, and what the exponents say of it."""
    small, large = (say_ratio(other.seconds[k] / first.seconds[k]) for k in (0, -1))
    return (
        f"At n = {first.sizes[-1]:,} {first.name} {large} as {other.name}, and at n = {first.sizes[0]:,} it "
        f"{small}{say_slopes(first, other)}."
    )


def say_ratio(ratio: float) -> str:
    """2.0 -> is 2.0 times as fast; 0.5 -> takes 2.0 times as long."""
    return f"is {ratio:,.1f} times as fast" if ratio >= 1.0 else f"takes {1.0 / ratio:,.1f} times as long"


def say_slopes(first: Growth, other: Growth) -> str:
    """What the two exponents say of larger n, if the seconds at the smallest and at the largest n say so too."""
    if first.exponent is None or other.exponent is None:
        return ""
    apart = other.exponent - first.exponent
    if abs(apart) < CLOSE_EXPONENTS:
        return "; both grow alike with n"
    lead = (other.seconds[-1] / first.seconds[-1]) / (other.seconds[0] / first.seconds[0])
    if (lead > 1.0) != (apart > 0):
        return "; which of them grows faster with n is not settled by these sizes"
    return f"; {other.name} grows {'faster' if apart > 0 else 'more slowly'} with n"


def say_rows(n: int, fits: list[Fit]) -> str:
    """How much of the kernel matrix SMO has looked at, where the others form all of it, at the largest n."""
    counters = fits[-1].counters or {}
    asked = counters["hits"] + counters["misses"]
    return (
        f"An interior point method forms the whole kernel matrix and factors an n by n system in each step. SMO here "
        f"has room for {CACHE_SHARE:.0%} of the matrix and evaluates rows on demand: {counters['rows']:,} "
        f"at n = {n:,}, while {counters['hits'] / max(asked, 1):.0%} of {asked:,} requests find theirs in the cache."
    )


# ---- table and figure -----------------------------------------------------------------------------------------


def tabulate(sizes: tuple[int, ...], fits: dict[str, list[Fit]]) -> Table:
    """Seconds and gap of every program, and what SMO's cache did."""
    columns = ["n", *(f"{name}: {what}" for name in fits for what in ("seconds", "gap"))]
    columns += [f"SMO's kernel rows: {what}" for what in ("evaluated", "found in the cache")]
    rows = [
        [n, *(value for name in fits for value in fits[name][k][:2])]
        + [fits["SMO"][k].counters[what] for what in ("rows", "hits")]
        for k, n in enumerate(sizes)
    ]
    caption = (
        "<b>SMO beside general solvers</b>: seconds to solve the dual, and the certified relative gap of each answer."
    )
    return Table("homework_general", caption, columns, rows)


def draw_growth(growths: list[Growth]):
    """Seconds against n; open marks are not above noise."""
    figure, ax = open_panel()
    for growth, colour, marker in zip(growths, COLOURS, "osD^", strict=False):
        ax.loglog(growth.sizes, growth.seconds, marker=marker, color=colour)
        faint = [k for k in range(len(growth.sizes)) if k not in growth.above_noise]
        ax.plot([growth.sizes[k] for k in faint], [growth.seconds[k] for k in faint], marker, color=colour, mfc="white")
        ax.annotate(
            growth.name, (growth.sizes[-1], growth.seconds[-1]), (6, 0), textcoords="offset points", color=colour,
            va="center",
        )  # fmt: skip
    ax.set(xlabel="n", ylabel="seconds", xlim=(0.9 * growths[0].sizes[0], 1.9 * growths[0].sizes[-1]))
    ax.set_xticks(growths[0].sizes, [str(n) for n in growths[0].sizes])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    return figure
