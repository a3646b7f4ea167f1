"""What all pictures share: colours, marks, axes to draw on, and a legend that hides no data."""

from __future__ import annotations

import numpy as np

# Okabe and Ito 2008: told apart by people who are colour-blind; the marks tell apart on grey paper too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8C6D31")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
INK, FAINT, STAR = "#1f2937", "#9ca3af", "#F0E442"


def cycle(parts: tuple, place: int):
    """The colour, mark or dash at a place, from the beginning again where there are no more."""
    return parts[place % len(parts)]


def open_axes(ax):
    """The axes given, or the current ones."""
    import matplotlib.pyplot as plt

    return plt.gca() if ax is None else ax


def blend(*colours: str):
    """A colour map from one colour to the next."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("blend", colours)


def set_limits(ax, low: np.ndarray, high: np.ndarray, margin: float = 0.08) -> None:
    """Limits around the box [low, high], with a margin; a side without length gets one."""
    size = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    ax.set_xlim(low[0] - margin * size[0], high[0] + margin * size[0])
    ax.set_ylim(low[1] - margin * size[1], high[1] + margin * size[1])


def add_legend(ax, columns: int = 2, **style) -> float:
    """A legend above the data, with as many columns as its width allows; the share of the height that it takes."""
    if not ax.get_legend_handles_labels()[1]:
        return 0.0
    figure = ax.figure.figure
    if figure.get_layout_engine() is not None:  # sizes are those of the finished picture
        figure.get_layout_engine().execute(figure)
    for ncols in range(columns, 0, -1):
        legend = ax.legend(
            loc="upper center", ncols=ncols, framealpha=0.92, borderaxespad=0.3, columnspacing=1.2, **style
        )
        if legend.get_window_extent().width <= 0.98 * ax.get_window_extent().width:
            break
    share = min(legend.get_window_extent().height / ax.get_window_extent().height + 0.02, 0.5)
    make_room(ax, share)
    return share


def make_room(ax, share: float) -> None:
    """Raise the upper limit until a share of the height is free above the data."""
    scale = ax.yaxis.get_transform()
    low, high = scale.transform(np.array(ax.get_ylim(), float))
    ax.set_ylim(*scale.inverted().transform(np.array([low, low + (high - low) / (1.0 - share)])))


def draw_background(ax, values: np.ndarray, colours) -> None:
    """Values from -1 to 1 on a grid over the limits, as a picture behind everything."""
    limits = (*ax.get_xlim(), *ax.get_ylim())
    ax.imshow(values, extent=limits, origin="lower", aspect=ax.get_aspect(), cmap=colours, vmin=-1.0, vmax=1.0,
              interpolation="bilinear", alpha=0.35, zorder=0)  # fmt: skip


def make_grid(ax, resolution: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both axes of a grid over the limits, and its points as rows."""
    x, y = np.linspace(*ax.get_xlim(), resolution), np.linspace(*ax.get_ylim(), resolution)
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def check_resolution(resolution: int) -> None:
    """Refuse a grid of less than two points."""
    if isinstance(resolution, bool) or not isinstance(resolution, int | np.integer) or resolution < 2:
        raise ValueError(f"resolution must be a whole number of at least 2, got {resolution!r}.")
