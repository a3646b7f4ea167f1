"""The chart of `structured_fits`: gaps over seconds and over passes of the oracle, both solvers, every problem."""

from __future__ import annotations

from pathlib import Path

from ..kernel.growth_chart import FAINT, INK

COLOURS = {"bundle": "#1e3a8a", "Frank-Wolfe": "#ea580c"}
STYLES = (("--", "white"), ("-", None))  # line and filling of a dot, of the smaller and of the larger C
AXES = {"seconds": "seconds of a fit", "rounds": "rounds: passes of the oracle, without looks at the gap"}


def draw_chart(courses: list, path: Path) -> Path:
    """A column for each set, a row for each measure; write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sets = list(dict.fromkeys(course.case.name for course in courses))
    size = (4.7 * len(sets), 7.8)
    figure, panels = pyplot.subplots(2, len(sets), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for column, name in zip(panels.T, sets, strict=True):
        mine = [course for course in courses if course.case.name == name]
        for panel, measure in zip(column, AXES, strict=True):
            draw_panel(panel, mine, measure)
        column[0].set_title(f"{name}, {len(mine[0].case.part.y):,} sequences", loc="left", color=INK, fontweight="bold")
    for panel in panels[:, 0]:
        panel.set_ylabel("relative duality gap", color=INK)
        panel.set_ylim(3e-5, 1.5)
    lines, names = panels[0, 0].get_legend_handles_labels()
    style = {"frameon": False, "labelcolor": "linecolor", "handlelength": 3.0, "ncols": len(names)}
    figure.legend(lines, names, loc="outside upper left", **style)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path


def draw_panel(panel, courses: list, measure: str) -> None:
    """The solvers' beliefs as lines, certified fits as dots."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    values = sorted({course.case.C for course in courses})
    for course in courses:
        colour, (line, filling) = COLOURS[course.solver], STYLES[values.index(course.case.C)]
        name = f"{course.solver}, C = {course.case.C:g}"
        panel.plot(getattr(course, measure), course.gaps, color=colour, ls=line, lw=1.8, label=name, zorder=3)
        dots = [(row[measure], row["gap"]) for row in course.rows if row["reached"]]
        if dots:
            panel.plot(*zip(*dots, strict=True), "o", color=colour, mfc=filling or colour, ms=5, zorder=4)
    panel.set_xlabel(AXES[measure], color=INK)
    panel.minorticks_off()
    panel.grid(True, color=FAINT, zorder=0)
    panel.tick_params(colors=INK, length=0, which="both")
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        panel.spines[side].set_color(FAINT)
