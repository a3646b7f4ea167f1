"""The chart of `scaling_peers`: distance to the optimum against seconds, on logarithmic axes, a panel a problem."""

from __future__ import annotations

from pathlib import Path

from ..kernel.growth_chart import FAINT, INK

FLOOR = 1e-9  # distances below are drawn there: the optimum is not known better
STYLES = {
    "maxmargin": ("#c2410c", "o", "-"),
    "maxmargin in memory": ("#f59e0b", "o", "--"),
    "dask-ml lbfgs": ("#1e3a8a", "s", "-"), "dask-ml newton": ("#2563eb", "^", "-"),
    "dask-ml admm": ("#0891b2", "D", "--"), "dask-ml gradient_descent": ("#60a5fa", "v", "--"),
    "dask-ml proximal_grad": ("#7dd3fc", "x", ":"),
    "SGD optimal": ("#14532d", "P", ":"), "SGD optimal, averaged": ("#15803d", "s", "-."),
    "SGD 1e-3, averaged": ("#65a30d", "^", "--"), "SGD 0.1 / sqrt(t), averaged": ("#a3e635", "v", "--"),
}  # fmt: skip


def draw_chart(rows: list[dict], path: Path, ours: str) -> Path:
    """A panel for each data set and loss; write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    problems = list(dict.fromkeys((row["data"], row["loss"]) for row in rows))
    height = -(-len(problems) // 2)
    figure, panels = pyplot.subplots(height, 2, figsize=(12.4, 4.8 * height), squeeze=False, layout="constrained")
    for panel, problem in zip(panels.flat, problems, strict=False):
        mine = [row for row in rows if (row["data"], row["loss"]) == problem]
        draw_panel(panel, mine, ours)
    for panel in panels.flat[len(problems) :]:
        panel.set_visible(False)
    names = list(dict.fromkeys(row["route"] for row in rows))
    lines = {line.get_label(): line for panel in panels.flat for line in panel.get_lines()}
    figure.legend(
        handles=[lines[name] for name in names], loc="outside lower center", ncols=4, frameon=False,
        labelcolor="linecolor", handlelength=3.0,
    )  # fmt: skip
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path


def draw_panel(panel, rows: list[dict], ours: str) -> None:
    """The routes of one problem."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    for row in rows:
        colour, mark, line = STYLES[row["route"]]
        points = sorted(row["points"], key=lambda point: point["s"])
        seconds = [point["s"] for point in points]
        distances = [max(point["distance"], FLOOR) for point in points]
        bold = row["route"] == ours
        style = {"lw": 2.8 if bold else 1.5, "ms": 7 if bold else 5, "zorder": 4 if bold else 3}
        panel.plot(seconds, distances, color=colour, marker=mark, ls=line, label=row["route"], **style)
    first = rows[0]
    title = f"{first['data']}, {first['n']:,} x {first['d']}, {first['loss'].replace('_', ' ')}"
    panel.set_title(title, loc="left", color=INK, fontweight="bold")
    panel.set_ylim(0.5 * FLOOR, 10.0)
    panel.grid(True, color=FAINT, zorder=0)
    panel.set_xlabel("seconds", color=INK)
    panel.set_ylabel("(P - P*) / P*", color=INK)
    panel.tick_params(colors=INK, length=0, which="both")
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
