"""The chart of `linear_growth`: seconds of a fit and of an iteration against samples, on logarithmic axes."""

from __future__ import annotations

from pathlib import Path

from ..kernel.growth_chart import FAINT, INK, label_axes

COLOURS = {"hinge": "#c2410c", "squared_hinge": "#1d4ed8", "logistic": "#15803d"}
PANELS = {"fit, s": "seconds of a fit", "s / iteration": "seconds of an iteration"}


def draw_chart(rows: list[dict], path: Path) -> Path:
    """One panel for fits, one for iterations, a line of slope 1 in both; write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(PANELS), figsize=(6.2 * len(PANELS), 4.8), layout="constrained")
    for panel, (column, title) in zip(panels, PANELS.items(), strict=True):
        panel.set_xscale("log")
        panel.set_yscale("log")
        for loss in dict.fromkeys(row["loss"] for row in rows):
            mine = [row for row in rows if row["loss"] == loss]
            n, seconds = [row["n"] for row in mine], [row[column] for row in mine]
            panel.plot(n, seconds, "o-", color=COLOURS[loss], label=loss.replace("_", " "), ms=5, lw=2.0, zorder=3)
        draw_guide(panel, rows, column)
        panel.legend(frameon=False, fontsize=9, labelcolor="linecolor", loc="upper left")
        label_axes(panel, sorted({row["n"] for row in rows}))
        panel.set_title(title, loc="left", color=INK, fontweight="bold")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path


def draw_guide(panel, rows: list[dict], column: str) -> None:
    """A dashed line of slope 1 that ends below the fastest of the largest fits."""
    first, last = min(row["n"] for row in rows), max(row["n"] for row in rows)
    end = 0.5 * min(row[column] for row in rows if row["n"] == last)
    lowest = 0.5 * min(row[column] for row in rows)
    begin = max(first, last * lowest / end)
    panel.plot([begin, last], [end * begin / last, end], "--", color=INK, lw=1.2, label="slope 1", zorder=2)
    panel.set_facecolor("white")
    panel.grid(True, color=FAINT)
