"""The chart of `bundle_rounds`: rounds against samples and against 1 / epsilon, on logarithmic axes."""

from __future__ import annotations

from pathlib import Path

from ..kernel.growth_chart import FAINT, INK, label_axes

# Dark to light as well as hue by hue, and a mark of its own for each: they are told apart on grey paper too.
STYLES = {
    "1-slack": ("#7f1d1d", "s", "-"), "BMRM": ("#ea580c", "x", "--"), "OCAS": ("#1e3a8a", "o", "-"),
    "proximal": ("#0d9488", "^", "-."), "level": ("#a855f7", "D", ":"),
}  # fmt: skip


def draw_chart(over_samples: list[dict], over_epsilon: list[dict], path: Path) -> Path:
    """One panel for samples, one for 1 / epsilon with a line of slope 1; write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12.4, 4.8), sharey=True, layout="constrained")
    draw_lines(left, over_samples, lambda row: row["n"])
    draw_lines(right, over_epsilon, lambda row: 1.0 / row["epsilon"])
    draw_guide(right, over_epsilon)
    label_samples(left, over_samples)
    label_epsilons(right, over_epsilon)
    label_rounds(left, [row["rounds"] for row in (*over_samples, *over_epsilon) if row["reached"]])
    style = {"frameon": False, "fontsize": 9, "labelcolor": "linecolor", "handlelength": 3.2}
    left.legend(loc="upper left", **style)
    right.legend(loc="center right", bbox_to_anchor=(1.0, 0.57), **style)  # between the plain methods and the others
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path


def draw_lines(panel, rows: list[dict], place) -> None:
    """One line for each method, through the fits that reached their target."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method and row["reached"]]
        colour, mark, line = STYLES[method]
        x, rounds = [*map(place, mine)], [row["rounds"] for row in mine]
        panel.plot(x, rounds, color=colour, marker=mark, ls=line, lw=2.0, ms=6, label=method, zorder=3)


def draw_guide(panel, rows: list[dict]) -> None:
    """A faint line of slope 1, from the most rounds at the largest epsilon."""
    reached = [row for row in rows if row["reached"]]
    first, last = max(row["epsilon"] for row in reached), min(row["epsilon"] for row in reached)
    begin = 1.3 * max(row["rounds"] for row in reached if row["epsilon"] == first)
    top = 3.0 * max(row["rounds"] for row in reached)
    end = min(1.0 / last, top / (begin * first))
    panel.plot([1.0 / first, end], [begin, begin * first * end], "--", color="#6b7280", lw=1.2, label="1 / epsilon")


def label_rounds(panel, rounds: list[int]) -> None:
    """Plain numbers on the axis that both panels share, and room below for the names."""
    lowest, highest = 0.4 * min(rounds), 4.0 * max(rounds)
    ticks = [k * 10**power for power in range(7) for k in (1, 2, 5) if lowest <= k * 10**power <= highest]
    panel.set_ylim(lowest, highest)
    panel.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    panel.set_ylabel("rounds of a fit", color=INK)


def label_samples(panel, rows: list[dict]) -> None:
    """Words for the left panel."""
    label_axes(panel, sorted({row["n"] for row in rows}))
    panel.set_xlabel("samples, the penalty weighing the same against the mean loss", color=INK)
    panel.set_title(f"rounds over samples, epsilon = {rows[0]['epsilon']:g}", loc="left", color=INK, fontweight="bold")


def label_epsilons(panel, rows: list[dict]) -> None:
    """Words for the right panel; ticks at powers of ten."""
    tens = [10**k for k in range(1, 7) if any(abs(row["epsilon"] * 10**k - 1.0) < 1e-9 for row in rows)]
    label_axes(panel, tens)
    panel.set_xlabel("1 / epsilon: how near to the least value is near enough", color=INK)
    panel.set_title(f"rounds over 1 / epsilon, {rows[0]['n']:,} samples", loc="left", color=INK, fontweight="bold")
    panel.grid(True, color=FAINT)
