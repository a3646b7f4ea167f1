"""The chart of `growth`: seconds against samples on logarithmic axes, one panel for each set."""

from __future__ import annotations

from pathlib import Path

COLOURS = {
    "maxmargin, tol=0.001": "#c2410c", "maxmargin, tol=1e-05": "#f59e0b", "scikit-learn": "#1d4ed8",
    "oneDAL float64": "#15803d", "oneDAL float32": "#65a30d", "LIBSVM": "#0891b2", "thundersvm": "#7c3aed",
}  # fmt: skip
INK, FAINT = "#1f2937", "#e5e7eb"


def draw_chart(rows: list[dict], exponents: list[dict], path: Path) -> Path:
    """Draw every line, its exponent beside its name, and write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    sets = list(dict.fromkeys(row["data"] for row in rows))
    figure, panels = pyplot.subplots(1, len(sets), figsize=(6.2 * len(sets), 4.8), squeeze=False, layout="constrained")
    for panel, data in zip(panels[0], sets, strict=True):
        mine = [row for row in rows if row["data"] == data]
        slopes = {row["library"]: row["exponent"] for row in exponents if row["data"] == data}
        draw_panel(panel, mine, slopes)
        panel.set_title(data, loc="left", color=INK, fontweight="bold")
    panels[0][0].set_ylabel("seconds of a fit", color=INK)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path


def draw_panel(panel, rows: list[dict], slopes: dict[str, float]) -> None:
    """The lines of one set, named from the highest to the lowest."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    ends = {}
    for library in dict.fromkeys(row["library"] for row in rows):
        mine = [row for row in rows if row["library"] == library]
        n, seconds = [row["n"] for row in mine], [row["fit, s"] for row in mine]
        ours, name = library.startswith("maxmargin"), library
        if library in slopes:
            name += f"  $n^{{{slopes[library]:.2f}}}$"
        (line,) = panel.plot(n, seconds, "o-", color=COLOURS.get(library, INK), label=name, ms=5, zorder=2 + ours)
        line.set_linewidth(2.6 if ours else 1.6)
        # A line that ended early is named where it would have gone.
        ends[line] = seconds[-1] * (max(row["n"] for row in rows) / n[-1]) ** slopes.get(library, 2.0)
    panel.legend(handles=sorted(ends, key=ends.get, reverse=True), frameon=False, fontsize=8.5, labelcolor="linecolor")
    label_axes(panel, sorted({row["n"] for row in rows}))


def label_axes(panel, sizes: list[int]) -> None:
    """Ticks at the sizes that were measured, and as little ink as possible."""
    panel.set_xticks(sizes, [f"{n:,}" for n in sizes])
    panel.minorticks_off()
    panel.grid(True, color=FAINT, zorder=0)
    panel.set_xlabel("samples", color=INK)
    panel.tick_params(colors=INK, length=0)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        panel.spines[side].set_color(FAINT)
