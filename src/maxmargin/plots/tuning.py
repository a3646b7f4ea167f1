"""The scores of a search over its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .canvas import Palette, add_legend, blend, find_palette, open_axes

LEVELS = 14  # of a surface
WORST_SHARE = 0.5  # of the candidates of a surface, that are not told apart
MARGIN = 0.06  # of the width and the height, around the candidates
PREFERRED = ("C", "gamma")  # the first axes, where they vary


def plot_tuning(search: Any, *, metric: str = "score", ax: Any = None) -> Any:
    """The mean score over C and gamma as a surface, or over one parameter as a curve with error bars.

    Dots are the candidates, the star is the chosen one. Error bars are one standard deviation over the folds. Where
    other parameters vary too, the best of them is drawn.

    Parameters
    ----------
    search : fitted search, or SVCCV and its like
        Whatever has `cv_results_`; one of scikit-learn's too.
    metric : str, default="score"
        Of a search with several scorers.
    ax : matplotlib Axes, optional
        The current ones if not given.

    Returns
    -------
    matplotlib Axes
    """
    results = check_results(search, metric)
    axes = choose_axes(results)
    mean, deviation = (np.asarray(results[f"{kind}_test_{metric}"], float) for kind in ("mean", "std"))
    best = vars(search).get("best_index_")
    best = int(np.nanargmax(mean)) if best is None else int(best)
    places = np.column_stack([read_numbers(results, name) for name in axes])
    kept = np.isfinite(places).all(axis=1) & np.isfinite(mean)
    if not kept.any():
        raise ValueError("search has no candidate with a finite score.")
    kept = np.flatnonzero(kept)
    kept = kept[keep_best(places[kept], mean[kept], np.flatnonzero(kept == best))]
    ax = open_axes(ax)
    palette = find_palette(ax)
    draw = draw_curve if len(axes) == 1 else draw_surface
    draw(ax, palette, places[kept], mean[kept], deviation[kept], metric)
    if best in kept:
        ends = (places[best, 0], mean[best]) if len(axes) == 1 else tuple(places[best])
        ax.plot(
            *ends,
            "*",
            markersize=17,
            markerfacecolor=palette.star,
            markeredgecolor=palette.ink,
            linestyle="none",
            zorder=5,
            label=f"chosen: {mean[best]:.4g}",
        )
    for name, letter, column in zip(axes, "xy", places[kept].T, strict=False):
        set_axis(ax, letter, shorten(name), column)
    add_legend(ax)
    return ax


def set_axis(ax: Any, letter: str, name: str, column: np.ndarray) -> None:
    """The name and the limits of an axis; logarithmic where the values span more than a factor of three."""
    low, high = float(column.min()), float(column.max())
    is_logarithmic = low > 0 and high > 3.0 * low
    if is_logarithmic:
        getattr(ax, f"set_{letter}scale")("log")
        margin = (high / low) ** MARGIN
        limits = low / margin, high * margin
    else:
        margin = MARGIN * (high - low)
        limits = low - margin, high + margin
    getattr(ax, f"set_{letter}lim")(*limits)
    getattr(ax, f"set_{letter}label")(name)


def check_results(search: Any, metric: str) -> Mapping[str, Any]:
    """cv_results_, with the scores that are to be drawn."""
    results = getattr(search, "cv_results_", None)
    if results is None:
        raise ValueError(f"search must be fitted and have cv_results_, got {type(search).__name__}.")
    if f"mean_test_{metric}" not in results:
        known = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
        raise ValueError(f"metric must be one of {', '.join(known)}, got {metric!r}.")
    return results


def shorten(name: str) -> str:
    """param_svc__C -> C."""
    return name.removeprefix("param_").rpartition("__")[2]


def read_numbers(results: Mapping[str, Any], name: str) -> np.ndarray:
    """A column of parameters as numbers; NaN where a candidate has none."""
    values = [
        np.nan if isinstance(value, str | bool) else value
        for value in np.ma.filled(results[name].astype(object), np.nan)
    ]
    try:
        return np.array(values, float)
    except (TypeError, ValueError):
        return np.full(len(values), np.nan)


def choose_axes(results: Mapping[str, Any]) -> list[str]:
    """One or two parameters that are numbers and vary, C and gamma before others."""
    columns = {name: read_numbers(results, name) for name in results if name.startswith("param_")}
    varying = [name for name, column in columns.items() if len(np.unique(column[np.isfinite(column)])) > 1]
    if not varying:
        raise ValueError("search must have a parameter that is a number and has several values.")
    order = sorted(varying, key=lambda name: PREFERRED.index(shorten(name)) if shorten(name) in PREFERRED else 2)
    return order[:2]


def keep_best(places: np.ndarray, mean: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """One candidate for each place: the best, or the chosen one where it is there."""
    rank = mean.copy()
    rank[chosen] = np.inf
    order = np.argsort(-rank, kind="stable")
    _, first = np.unique(places[order], axis=0, return_index=True)
    return np.sort(order[first])


def draw_curve(
    ax: Any, palette: Palette, places: np.ndarray, mean: np.ndarray, deviation: np.ndarray, metric: str
) -> None:
    """Means with error bars, in the order of the parameter."""
    order = np.argsort(places[:, 0], kind="stable")
    ax.errorbar(
        places[order, 0],
        mean[order],
        deviation[order],
        color=palette.colours[0],
        ecolor=palette.faint,
        capsize=3,
        marker="o",
        markersize=5,
        linewidth=1.8,
        label="mean, ± one deviation over folds",
        zorder=2,
    )
    ax.set_ylabel(f"mean {metric}")
    ax.grid(True, color=palette.grid, zorder=0)


def draw_surface(
    ax: Any, palette: Palette, places: np.ndarray, mean: np.ndarray, deviation: np.ndarray, metric: str
) -> None:
    """Means between the candidates, which may lie on any places; the candidates as dots of the same colours."""
    colours = blend(*palette.scores)
    # The worst candidates share one colour: they would leave none for those that matter.
    low, high = float(np.quantile(mean, WORST_SHARE)), float(mean.max())
    low = float(mean.min()) if low == high else low
    limits = {"cmap": colours, "vmin": low, "vmax": high if high > low else low + 1.0}
    logarithms = np.where((places > 0).all(axis=0), np.log(np.maximum(places, 1e-300)), places)
    if len(np.unique(places[:, 0])) > 1 and len(np.unique(places[:, 1])) > 1 and not is_line(logarithms) and high > low:
        from matplotlib.tri import Triangulation

        triangles = Triangulation(*logarithms.T).triangles
        ax.tricontourf(*places.T, triangles, mean, levels=np.linspace(low, high, LEVELS), extend="min", **limits,
                       zorder=1)  # fmt: skip
    dots = ax.scatter(*places.T, c=mean, s=34, edgecolors=palette.ink, linewidths=0.7, **limits, zorder=3)
    ax.figure.colorbar(dots, ax=ax, label=f"mean {metric}", extend="min" if low > mean.min() else "neither")
    ax.set_facecolor(palette.grid)


def is_line(places: np.ndarray) -> bool:
    """Whether all places lie on one line, which has no surface."""
    spread = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    return bool(spread[-1] <= 1e-9 * max(spread[0], 1e-300))
