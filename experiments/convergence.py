"""Convergence: how P comes down to its minimum, solver by solver, over iterations and over seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np

from maxmargin import GradientDescent, LagrangianDual, solve
from maxmargin.insight.traces import Trajectory, record
from maxmargin.model.features import Design, Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import Hinge, SquaredHinge
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.plots import plot_convergence
from maxmargin.plots.canvas import COLOURS, DASHES
from maxmargin.solvers import SOLVERS

from .cells import show_float
from .clouds import make_clouds, make_four_clouds
from .page import Chapter, Figure, Table, Text
from .panels import open_panel

LEVELS = (1e-3, 1e-6)  # of (P - P*) / P*
STEPS = 20_000  # iterations at most
REPEATED_SECONDS = 0.5  # seconds of a run that is repeated
OPTIMUM_GAP = 1e-10  # relative gap of P*
SETTINGS = {
    **{name: solver() for name, solver in SOLVERS.items() if "structures" not in getattr(solver, "forms", ())},
    **{f"gradient_descent, {momentum}": GradientDescent(momentum) for momentum in ("polyak", "nesterov")},
    "lagrangian_dual, plain": LagrangianDual("plain"),
}
# solvers of a kind, which share panels: in one picture all of them would be a tangle
FAMILIES = {
    "steps along gradients": (
        "gradient_descent", "gradient_descent, polyak", "gradient_descent, nesterov", "adagrad",
        "lagrangian_dual, plain",
    ),
    "few duals at a time, and cutting planes": ("smo", "coordinate", "bundle", "one_slack"),
    "a linear system in each step": ("newton", "multipliers", "interior_point", "qp", "lagrangian_dual"),
}  # fmt: skip
OTHERS = "others"  # solvers that no family names
INTRODUCTION = """
Every solver that takes the problem, with its default settings, one step at a time. After each step the judge evaluates
P; the seconds are those of the solver alone, {runs}. The curves show the least P so far. P* is the dual value at a
certified relative gap of {gap:g}.

An iteration is what the solver calls one: a step along a gradient, a pair of duals, a pass over all of them, a Newton
step, a round of cuts. Only the seconds compare them, and on samples as few as these they are mostly the cost of a call.
"""


def pose_problems() -> dict[str, Problem]:
    """One problem of each kind, on the data of the report with C = 1."""
    X, y = make_clouds()
    Z, z = make_four_clouds()
    return {
        "linear squared hinge": Problem(Design(wrap(X), 1.0), y.astype(float), np.ones(len(y)), SquaredHinge(), None),
        "linear hinge": Problem(Design(wrap(X), 1.0), y.astype(float), np.ones(len(y)), Hinge(), None),
        "Gaussian hinge": Problem(Gram.from_data(RBF("scale"), Z), z.astype(float), np.ones(len(z)), Hinge(), 0.0),
    }


@cache
def list_solvers(kind: str) -> dict[str, object]:
    """All solvers that take the problem."""
    problem = pose_problems()[kind]
    return {name: solver for name, solver in SETTINGS.items() if solver.accepts(problem) is None}


def group_solvers(names: Iterable[str]) -> dict[str, list[str]]:
    """The families that have any of these solvers, and those that they have."""
    names = list(names)
    families = {family: [name for name in members if name in names] for family, members in FAMILIES.items()}
    known = {name for members in FAMILIES.values() for name in members}
    families[OTHERS] = [name for name in names if name not in known]
    return {family: members for family, members in families.items() if members}


def choose_styles() -> dict[str, dict]:
    """A colour and a dash for each solver, the same in every figure, and other ones within a family."""
    families = group_solvers(name for kind in pose_problems() for name in list_solvers(kind))
    return {
        name: {"color": COLOURS[place % len(COLOURS)], "linestyle": DASHES[place % len(DASHES)]}
        for members in families.values()
        for place, name in enumerate(members)
    }


def count_ticks(quick: bool) -> int:
    """One for each solver and problem."""
    return sum(len(list_solvers(kind)) for kind in pose_problems())


def write_chapter(quick: bool, tick: Callable[[str], None]) -> Chapter:
    """Panels, a sentence and a table for each kind of problem.

    Parameters
    ----------
    quick : bool
        One run of at most half a second for each solver; else at most five, and the quickest of three if it is short.
    tick : callable
        Told before each run what it is.

    Returns
    -------
    Chapter
    """
    runs, seconds = (1, 0.5) if quick else (3, 5.0)
    repeated = "of one run" if quick else "of the quickest of three runs"
    chapter = Chapter("How fast each solver converges", [Text(INTRODUCTION.format(runs=repeated, gap=OPTIMUM_GAP))])
    for number, kind in enumerate(pose_problems(), start=1):
        best = solve(pose_problems()[kind], tol=OPTIMUM_GAP).certificate.dual
        trajectories = {}
        for name, solver in list_solvers(kind).items():
            tick(f"{kind}: {name}")
            trajectories[name] = follow(kind, solver, runs, seconds)
        reached = [[kind, name, *measure(each, best)] for name, each in trajectories.items()]
        findings = Text(say_findings(kind, reached))
        chapter.blocks += [draw(number, kind, trajectories, best), findings, tabulate(number, kind, reached)]
    return chapter


def follow(kind: str, solver, runs: int, seconds: float) -> Trajectory:
    """The quickest of some runs, each on a problem of which nothing is formed yet; one only where it takes long.

    What must be compiled is compiled before.
    """
    record(pose_problems()[kind], solver, max_iter=200, max_seconds=0.3)
    tried: list[Trajectory] = []
    while len(tried) < runs and (not tried or tried[0].seconds[-1] < REPEATED_SECONDS):
        problem = pose_problems()[kind]
        tried.append(record(problem, solver, tol=0.01 * LEVELS[-1], max_iter=STEPS, max_seconds=seconds))
    return min(tried, key=lambda trajectory: trajectory.seconds[-1])


def measure(trajectory: Trajectory, best: float) -> list:
    """Iterations and seconds to each level, None where it was not reached, and how near the run came."""
    excess = (trajectory.primal - best) / abs(best)
    places = [next(iter(np.flatnonzero(excess <= level)), None) for level in LEVELS]
    n_iter = [None if place is None else int(trajectory.n_iter[place]) for place in places]
    seconds = [None if place is None else float(trajectory.seconds[place]) for place in places]
    return [*n_iter, *seconds, max(float(excess.min()), 0.0)]


def draw(number: int, kind: str, trajectories: dict[str, Trajectory], best: float) -> Figure:
    """P - P* over iterations and over seconds, two panels for each family of solvers, on the same heights."""
    panels, axes = [], []
    for family, members in group_solvers(trajectories).items():
        for against in ("iterations", "seconds"):
            figure, ax = open_panel()
            draw_panel(ax, family, {name: trajectories[name] for name in members}, best, against)
            panels.append(figure)
            axes.append(ax)
    heights = [height for ax in axes for height in ax.get_ylim()]
    for ax in axes:
        ax.set_ylim(min(heights), max(heights))
    caption = (
        f"{kind.capitalize()}: P above its minimum over iterations and over seconds. The table's levels are dashed."
    )
    return Figure(f"convergence_{number}", caption, panels)


def draw_panel(ax, family: str, trajectories: dict[str, Trajectory], best: float, against: str) -> None:
    """The curves of a family, and above them who they are."""
    styles = choose_styles()
    plot_convergence(trajectories, optimum=best, against=against, relative=True, best_so_far=True, ax=ax)
    ax.get_legend().remove()
    for line in ax.get_lines():
        line.set(**styles[line.get_label()])
    ax.autoscale(axis="y")  # there is no legend to make room for
    for level in LEVELS:
        ax.axhline(level, color="#6b7280", linewidth=1.0, linestyle=(0, (6, 4)))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize="small", title=family)


def say_findings(kind: str, rows: list[list]) -> str:
    """Who is quickest, who needs the fewest iterations, and who does not come near."""
    arrived, late = [row for row in rows if row[3] is not None], [row for row in rows if row[3] is None]
    sentences = [f"<b>{kind.capitalize()}.</b> {len(arrived)} of {len(rows)} come within {LEVELS[-1]:g} of P*."]
    if arrived:
        quick, few = min(arrived, key=lambda row: row[5]), min(arrived, key=lambda row: row[3])
        other = "it" if few is quick else f"<code>{few[1]}</code>"
        sentences += [
            f"<code>{quick[1]}</code> is the quickest, after {1e3 * quick[5]:.2g} ms; {other} needs the fewest "
            f"iterations, {few[3]:,}."
        ]
    if late:
        ends = ", ".join(f"<code>{row[1]}</code> {show_float(row[6])}" for row in late)
        sentences += [f"The others come as near as this: {ends}."]
    return " ".join(sentences)


def tabulate(number: int, kind: str, rows: list[list]) -> Table:
    """All solvers of a problem, those of a family together."""
    columns = [f"{what}: to {level:g}" for what in ("iterations", "seconds") for level in LEVELS]
    caption = (
        f"<b>{kind.capitalize()}</b>: iterations and seconds until (P - P*) / P* is within 0.001 and within a "
        "millionth, and its least value. A dash stands where the level was not reached."
    )
    found = {row[1]: row[1:] for row in rows}
    order = [name for members in group_solvers(found).values() for name in members]
    return Table(
        f"convergence_{number}", caption, ["solver", *columns, "least (P - P*) / P*"], [found[name] for name in order]
    )
