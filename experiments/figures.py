"""Figures 1 to 8: hyperplanes, tubes, and loss surfaces with the ways of the optimisers on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from maxmargin import SVC, SVR, AdaGrad, GradientDescent, solve
from maxmargin.insight.traces import Trajectory, record
from maxmargin.model.features import Design
from maxmargin.model.losses import LOSSES
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.plots import plot_decision_boundary, plot_loss_surface, plot_regression_tube

from .clouds import make_clouds, make_four_clouds, make_line, make_sine
from .fits import COEF0, MOMENTUM, Setting, Task, make_solver
from .page import Chapter, Figure, Table, Text
from .panels import open_panels

EPSILON = 0.1  # of the tables
WIDE_EPSILON = 10.0  # half the tube that the noise on the line needs
OWN = {
    "gradient descent": GradientDescent(), "Polyak": GradientDescent("polyak"),
    "Nesterov": GradientDescent("nesterov"), "AdaGrad": AdaGrad(),
}  # fmt: skip
OWN_STEPS = 60  # of the library's own rules that are drawn
INTRODUCTION = """
The eight figures of the report, drawn again. Rings and coloured marks are support vectors: strong rings and dots are
free, with 0 < |a| < C, and lie on the margin or on a wall of the tube; thin rings and squares are at the bound.

The loss surfaces show P over all the coordinates there are, so that nothing is hidden: two features without an
intercept for classification, one feature with a regularised intercept for regression. First panels take the steps of
the report: AdaGrad 0.5, gradient descent 0.001 along the gradient of P / n with momentum 0.4, and an end after 5
iterations without a lower P. Second panels take the library's own rules, 1/L where the loss is smooth and
(P - D) / |g|^2 where it has kinks, and show the first {steps} iterations at most. C is 1, and 10 in figure 4. A
table below the figures says where the ways end.
"""


class PathEnd(NamedTuple):
    """Where a way down a surface ended: iterations, and (P - P*) / P*."""

    loss: str
    steps: str
    optimiser: str
    n_iter: int
    excess: float


class Drawing(NamedTuple):
    """Panels, what is to be seen in them, and where the ways on them end."""

    panels: list
    caption: str
    ends: tuple[PathEnd, ...] = ()


def count_ticks(quick: bool) -> int:
    """Eight figures."""
    return len(DRAWINGS)


def write_chapter(quick: bool, tick: Callable[[str], None]) -> Chapter:
    """Figures 1 to 8, each with what is to be seen in it.

    Parameters
    ----------
    quick : bool
        Coarser grids.
    tick : callable
        Told before each figure which one it is.

    Returns
    -------
    Chapter
    """
    chapter = Chapter("The eight figures of Meoli (2021), drawn again", [Text(INTRODUCTION.format(steps=OWN_STEPS))])
    ends: list[PathEnd] = []
    for number, (draw, subject) in enumerate(DRAWINGS, start=1):
        tick(f"figure {number}")
        drawing = draw(subject, 150 if quick else 300)
        ends += drawing.ends
        chapter.blocks.append(Figure(f"figure_{number}", f"Figure {number}: {drawing.caption}", drawing.panels))
    chapter.blocks.append(list_ends(ends))
    return chapter


# ---- hyperplanes and tubes ------------------------------------------------------------------------------------


def draw_planes(kernel: str, resolution: int) -> Drawing:
    """Linear machines on the separable and on the overlapping clouds."""
    figures, panels = open_panels(2)
    machines = []
    for panel, separable in zip(panels, (True, False), strict=True):
        X, y = make_clouds(separable=separable)
        machine = SVC(kernel=kernel).fit(X, y)
        plot_decision_boundary(machine, X, y, ax=panel, resolution=resolution)
        panel.set_title(f"{'separable' if separable else 'overlapping'} clouds, margin {machine.margin_width_[0]:.2f}")
        machines.append(machine)
    apart, mixed = (len(machine.support_) for machine in machines)
    return Drawing(
        figures,
        f"linear SVC hyperplane. {apart} of 200 samples are support vectors where the clouds are separable, {mixed} "
        "where they overlap.",
    )


def draw_line(kernel: str, resolution: int) -> Drawing:
    """The line with the tube of the tables, and with one that suits its noise."""
    figures, panels = open_panels(2)
    x, y = make_line()
    counts = []
    for panel, epsilon in zip(panels, (EPSILON, WIDE_EPSILON), strict=True):
        machine = SVR(kernel=kernel, C=10.0, epsilon=epsilon).fit(x, y)
        plot_regression_tube(machine, x, y, ax=panel, resolution=resolution)
        panel.set_title(f"C = 10, epsilon = {epsilon:g}")
        counts.append(len(machine.support_))
    return Drawing(
        figures,
        f"linear SVR hyperplane. The noise has a standard deviation of 10: the tube of the tables is thinner than the "
        f"line, and {counts[0]} of 100 samples are support vectors; with epsilon = {WIDE_EPSILON:g} "
        f"there are {counts[1]}.",
    )


def draw_kernel(kernel: str, resolution: int) -> Drawing:
    """A kernel on the four clouds and on the sine."""
    figures, panels = open_panels(2)
    X, y = make_four_clouds()
    x, t = make_sine()
    shape = {"kernel": kernel, "degree": 3, "gamma": "scale"}
    classifier = SVC(**shape, coef0=COEF0["four clouds"]).fit(X, y)
    regressor = SVR(**shape, coef0=COEF0["sine"], epsilon=EPSILON).fit(x, t)
    plot_decision_boundary(classifier, X, y, ax=panels[0], resolution=resolution)
    plot_regression_tube(regressor, x, t, ax=panels[1], resolution=resolution)
    panels[0].set_title(f"SVC, accuracy {classifier.score(X, y):.3f}")
    panels[1].set_title(f"SVR, $R^2$ = {regressor.score(x, t):.3f}")
    words = "polynomial SVM hyperplanes, degree 3" if kernel == "poly" else "Gaussian SVM hyperplanes"
    return Drawing(
        figures,
        f"{words}. {len(classifier.support_)} of 400 and {len(regressor.support_)} of 100 samples are support vectors; "
        f"the certified relative gaps are {classifier.certificate_.relative_gap:.0e} and "
        f"{regressor.certificate_.relative_gap:.0e}.",
    )


# ---- surfaces -------------------------------------------------------------------------------------------------


def draw_surface(loss: str, resolution: int) -> Drawing:
    """P over its two coordinates, with the ways of four optimisers: steps of the report, and the library's own."""
    problem, task = pose(loss)
    best = solve(problem, tol=1e-9).certificate.dual
    ways = {"report": follow_report(problem, task), "library": follow_own(problem)}
    figures, panels = open_panels(2)
    for panel, (whose, paths) in zip(panels, ways.items(), strict=True):
        plot_loss_surface(problem, paths, ax=panel, resolution=resolution // 3)
        panel.set_title(f"steps of the {whose}")
    nearest = [f"{say_nearest(paths)} with the steps of the {whose}" for whose, paths in ways.items()]
    words = loss.replace("_", " ").replace("epsilon ", "epsilon-")
    return Drawing(
        figures,
        f"{'SVC' if task.classifies else 'SVR'} {words} loss with optimisation steps. "
        f"Nearest to the minimum come {' and '.join(nearest)}.",
        tuple(
            PathEnd(loss, whose, name, int(path.n_iter[-1]), float((path.primal[-1] - best) / abs(best)))
            for whose, paths in ways.items()
            for name, path in paths.items()
        ),
    )


def pose(loss: str) -> tuple[Problem, Task]:
    """The problem of two coordinates, and the task of the tables that it belongs to."""
    if LOSSES[loss].target == "label":
        X, y = make_clouds()
        task = Task("clouds", loss, 1.0, intercept="none")
        return Problem(Design(wrap(X)), y.astype(float), np.ones(len(y)), LOSSES[loss](), None), task
    x, y = make_line()
    task = Task("line", loss, 1.0, epsilon=EPSILON, intercept="regularised")
    return Problem(Design(wrap(x), 1.0), y, np.ones(len(y)), LOSSES[loss](EPSILON), None), task


def follow_report(problem: Problem, task: Task) -> dict[str, Trajectory]:
    """The ways of the report's optimisers, with its steps and its rule of stopping."""
    settings = {name: Setting(task, "gd", momentum) for name, momentum in zip(OWN, MOMENTUM, strict=False)}
    settings["AdaGrad"] = Setting(task, "adagrad")
    return {name: record(problem, **make_solver(setting, problem.n)) for name, setting in settings.items()}


def follow_own(problem: Problem) -> dict[str, Trajectory]:
    """The same optimisers with the library's own steps."""
    return {name: record(problem, solver, tol=1e-6, max_iter=OWN_STEPS) for name, solver in OWN.items()}


def say_nearest(paths: dict[str, Trajectory]) -> str:
    """Whose way ended lowest, and after how many iterations."""
    name, path = min(paths.items(), key=lambda pair: pair[1].primal[-1])
    return f"{name} after {path.n_iter[-1]:,} iterations"


def list_ends(ends: list[PathEnd]) -> Table:
    """One row for each optimiser and its steps, two columns for each loss."""
    losses = list(dict.fromkeys(end.loss for end in ends))
    rows: dict[tuple[str, str], list] = {}
    for end in ends:
        rows.setdefault((end.steps, end.optimiser), []).extend([end.n_iter, end.excess])
    columns = [f"{loss.replace('_', ' ')}: {name}" for loss in losses for name in ("iterations", "(P - P*) / P*")]
    caption = "Where the ways of figures 2, 3, 5 and 6 end: iterations, and how far P is above its minimum."
    return Table("surface_ends", caption, ["steps", "optimiser", *columns], [[*key, *row] for key, row in rows.items()])


DRAWINGS = (
    (draw_planes, "linear"), (draw_surface, "hinge"), (draw_surface, "squared_hinge"), (draw_line, "linear"),
    (draw_surface, "epsilon_insensitive"), (draw_surface, "squared_epsilon_insensitive"), (draw_kernel, "poly"),
    (draw_kernel, "rbf"),
)  # fmt: skip
