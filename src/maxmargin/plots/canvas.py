"""What all pictures share: colours that mean the same everywhere, marks, axes, and a legend that hides no data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Palette(NamedTuple):
    """Colours on a light or a dark ground.

    Attributes
    ----------
    colours : tuple of str
        Of classes, and of curves that have names, in turn. The first is the side of f < 0, the second that of f > 0.
    ink : str
        Lines of f and of the values of an objective; dashed, margins and walls of a tube.
    faint, grid, ground : str
        What stands back: other samples, grid lines, and what is behind everything.
    star : str
        The optimum, and what was chosen.
    step : str
        The newest step: the next point, cut or pair.
    surface, scores : tuple of str
        From low to high: values of an objective, pale, since paths lie on them; and scores of a search.
    """

    colours: tuple[str, ...]
    ink: str
    faint: str
    grid: str
    ground: str
    star: str
    step: str
    surface: tuple[str, ...]
    scores: tuple[str, ...]

    @property
    def bound(self) -> str:
        """Of lower bounds: the dual value, models of cuts, what certified tuning proves."""
        return self.colours[2]

    @property
    def bounded(self) -> str:
        """Of support vectors at the bound."""
        return self.colours[4]

    @property
    def tube(self) -> str:
        """Of tubes and other intervals."""
        return self.colours[5]

    @property
    def free(self) -> str:
        """Of free support vectors."""
        return self.colours[6]


# The hues of Okabe and Ito (2008), which colour-blind readers tell apart, with lightness spread for grey paper.
LIGHT = Palette(
    ("#00558f", "#e8722a", "#00805f", "#d98cb8", "#e3a600", "#64bdf0", "#5d3a8c", "#8c6d31"),
    "#1f2937", "#9ca3af", "#e5e7eb", "#ffffff", "#F0E442", "#b0125b", ("#fdfdfb", "#a3b4ca"),
    ("#f7fafc", "#64bdf0", "#00558f", "#0b2545"),
)  # fmt: skip
DARK = Palette(
    ("#3a8fd9", "#ffa763", "#2bb48d", "#f2abd2", "#ffd34d", "#a8dbfa", "#b08be0", "#c7a566"),
    "#e5e7eb", "#8b93a1", "#374151", "#000000", "#F0E442", "#ff7db0", ("#10151f", "#46566f"),
    ("#10151f", "#00558f", "#64bdf0", "#f7fafc"),
)  # fmt: skip
DARK_BELOW = 0.5  # of the luminance of the axes
COLOURS, INK, STAR = LIGHT.colours, LIGHT.ink, LIGHT.star  # of pictures that have a light ground of their own
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
MARK_SPACING = 0.13  # of the diagonal of the axes, between two marks on a curve


def find_palette(ax) -> Palette:
    """The colours that stand out from the ground of the axes."""
    from matplotlib.colors import to_rgba

    red, green, blue, opacity = to_rgba(ax.get_facecolor())
    if opacity == 0.0:  # what is seen is the figure
        red, green, blue, _ = to_rgba(ax.figure.get_facecolor())
    ground = (red, green, blue)
    chosen = DARK if 0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK_BELOW else LIGHT
    return chosen._replace(ground="#" + "".join(f"{round(255 * part):02x}" for part in ground))


def cycle(parts: tuple, place: int):
    """The colour, mark or dash at a place, from the beginning again where there are no more."""
    return parts[place % len(parts)]


def style_curve(palette: Palette, place: int, points: int = 0) -> dict:
    """Colour, marks at equal distances and, from the ninth curve on, dashes; every point has its mark if there are few.

    Each curve is known by its marks where colours are not seen.
    """
    start = 0.3 * MARK_SPACING * (place % 3)  # marks of curves that lie on one another take turns
    return {
        "color": cycle(palette.colours, place),
        "marker": cycle(MARKS, place),
        "markevery": 1 if 0 < points <= 40 else (start, MARK_SPACING),
        "markersize": 4.5,
        "linestyle": cycle(DASHES, place // len(palette.colours)),
        "linewidth": 1.8,
    }


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
