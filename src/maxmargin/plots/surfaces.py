"""The objective over two coordinates, and the ways of solvers down to its minimum."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from ..model.problem import Point, Problem
from ..solvers.loop import solve
from ..solvers.paths import find_coefficients
from ..solvers.trajectory import Trajectory
from .canvas import (
    MARKS,
    Palette,
    add_legend,
    blend,
    check_resolution,
    cycle,
    find_palette,
    make_grid,
    open_axes,
    set_limits,
)

OPTIMUM_GAP = 1e-10  # relative gap of the optimum
OPTIMUM_SECONDS = 20.0  # for finding it
N_LEVELS = 22  # lines, spaced geometrically above the optimum
LOWEST_LEVEL_SHARE = 1e-5  # of the highest value in sight: the lowest line above the optimum
MAX_MARKED_STEPS = 40  # steps of a path up to which each has its mark


def plot_loss_surface(
    problem: Problem, paths: dict, *, ax=None, axes: tuple[int, int] = (0, 1), resolution: int = 120,
    surface3d: bool = False,
):  # fmt: skip
    """P over two coordinates of (w, b), the others held at the optimum, and the ways of solvers on it.

    Levels are spaced geometrically above the minimum, so that the valley is seen as well as the walls. Where there are
    two coordinates in all, such as two features without an intercept, the picture is the whole truth; else paths are
    seen in projection.

    Parameters
    ----------
    problem : Problem
        With linear features and one score per sample.
    paths : dict of name -> Trajectory or array of shape (m, 2)
        What `record` returned, or the two coordinates of each step.
    ax : matplotlib Axes, optional
        The current ones if not given.
    axes : pair of int, default=(0, 1)
        Which coordinates: j is w_j of feature j; the number of features stands for the intercept, which is b if it is
        free and the coefficient of the constant feature if it is regularised.
    resolution : int, default=120
        Points on each axis of the grid.
    surface3d : bool, default=False
        Draw P as a surface in space beside the lines.

    Returns
    -------
    matplotlib Axes
        Those of the lines.
    """
    check_resolution(resolution)
    names = name_coordinates(problem)
    axes = check_axes(axes, len(names))
    tracks = read_tracks(problem, paths, axes)
    best = find_optimum(problem)
    ax = open_axes(ax)
    palette = find_palette(ax)
    if surface3d and ax.get_subplotspec() is None:
        raise ValueError("ax must be one of a grid, as plt.subplots makes them, to be split for surface3d=True.")
    all_points = np.concatenate([best[list(axes)][None], *tracks.values()])
    set_limits(ax, all_points.min(axis=0), all_points.max(axis=0), 0.12)
    draw_tracks(ax, palette, tracks, best[list(axes)])
    ax.set(xlabel=names[axes[0]], ylabel=names[axes[1]])
    add_legend(ax, columns=3)
    x, y, grid = make_grid(ax, resolution)
    least = evaluate(problem, best, axes, best[list(axes)][None])[0]
    excess = (evaluate(problem, best, axes, grid) - least).reshape(resolution, resolution)
    draw_levels(ax, palette, x, y, excess)
    if surface3d:
        heights = {name: evaluate(problem, best, axes, track) - least for name, track in tracks.items()}
        draw_surface(split_panel(ax), palette, x, y, excess, tracks, heights, (names[axes[0]], names[axes[1]]))
    return ax


# ---- coordinates ----------------------------------------------------------------------------------------------


def name_coordinates(problem: Problem) -> list[str]:
    """One name for each coordinate: those of w, and that of the intercept if there is one."""
    features = problem.features
    traits = problem.traits
    if not traits.linear or traits.vector or traits.layers > 1:
        raise ValueError(
            "problem must have linear features and one score per sample: a surface needs coordinates of w."
        )
    last = ["$b$"] if problem.balance is not None else ["$w_0$ (intercept)"] if features.scaling else []
    return [f"$w_{{{j + 1}}}$" for j in range(features.samples.d)] + last


def check_axes(axes, n_coordinates: int) -> tuple[int, int]:
    """Two different coordinates that there are."""
    pair = tuple(axes) if isinstance(axes, tuple | list) else ()
    fits = len(pair) == 2 and all(isinstance(j, Integral) and 0 <= j < n_coordinates for j in pair)
    if not fits or pair[0] == pair[1]:
        raise ValueError(f"axes must be two different numbers from 0 to {n_coordinates - 1}, got {axes!r}.")
    return pair


def get_coordinates(problem: Problem, point: Point) -> np.ndarray:
    """(w, w_0), or (w, b) where the intercept is free."""
    coef, b = find_coefficients(problem, point)
    return np.append(coef[:-1], b) if problem.balance is not None else coef


def find_optimum(problem: Problem) -> np.ndarray:
    """The coordinates of the minimum."""
    return get_coordinates(problem, solve(problem, tol=OPTIMUM_GAP, max_seconds=OPTIMUM_SECONDS).point)


def evaluate(problem: Problem, best: np.ndarray, axes: tuple[int, int], places: np.ndarray) -> np.ndarray:
    """P at places of the two coordinates, all others as in `best`."""
    values, nothing, free = np.empty(len(places)), np.zeros(problem.n), problem.balance is not None
    for k, pair in enumerate(places):
        u = best.copy()
        u[list(axes)] = pair
        b = float(u[-1]) if free else 0.0
        values[k] = problem.primal(Point(nothing, b, np.append(u[:-1], 0.0) if free else u))
    return values


def read_tracks(problem: Problem, paths: dict, axes: tuple[int, int]) -> dict[str, np.ndarray]:
    """The two coordinates of every step of every path."""
    if not isinstance(paths, dict) or not paths:
        raise ValueError(f"paths must be a dict with at least one path, got {paths!r}.")
    tracks = {}
    for name, path in paths.items():
        steps = path
        if isinstance(path, Trajectory):
            steps = [get_coordinates(problem, point)[list(axes)] for point in path.points]
        track = np.asarray(steps, float)
        if track.ndim != 2 or track.shape[1] != 2 or not len(track):
            raise ValueError(f"paths[{name!r}] must be a Trajectory or have shape (m, 2), got shape {track.shape}.")
        if not np.isfinite(track).all():
            raise ValueError(f"paths[{name!r}] must be finite: the run has diverged.")
        tracks[str(name)] = track
    return tracks


# ---- drawing --------------------------------------------------------------------------------------------------


def draw_tracks(ax, palette: Palette, tracks: dict[str, np.ndarray], best: np.ndarray) -> None:
    """One line for each path, with marks at its steps; where they start, and where they should end."""
    from matplotlib.patheffects import Normal, Stroke

    for number, (name, track) in enumerate(tracks.items()):
        # Where two ways are one, what lies below is wider, and the marks take turns.
        width, every = 1.4 + 0.6 * (len(tracks) - 1 - number), max(1, len(track) // MAX_MARKED_STEPS)
        ax.plot(*track.T, color=cycle(palette.colours, number), marker=cycle(MARKS, number), markersize=3.2 + width,
                markevery=(number * every // len(tracks), every), linewidth=width, zorder=4 + 0.1 * number, label=name,
                path_effects=[Stroke(linewidth=width + 1.2, foreground=palette.ground), Normal()])  # fmt: skip
    starts = np.unique([track[0] for track in tracks.values()], axis=0)
    ax.scatter(
        *starts.T,
        marker="o",
        s=90,
        color=palette.ground,
        edgecolors=palette.ink,
        linewidths=1.6,
        zorder=6,
        label="start",
    )
    ax.scatter(
        *best, marker="*", s=230, color=palette.star, edgecolors=palette.ink, linewidths=1.2, zorder=7, label="optimum"
    )


def draw_levels(ax, palette: Palette, x: np.ndarray, y: np.ndarray, excess: np.ndarray) -> None:
    """Lines of P - P*, spaced geometrically, and a bar that says how high they are."""
    from matplotlib.colors import LogNorm

    levels = space_levels(excess)
    shown = np.clip(excess, levels[0], None)
    filled = ax.contourf(x, y, shown, levels=levels, norm=LogNorm(levels[0], levels[-1]), cmap=blend(*palette.surface),
                         extend="min", zorder=0)  # fmt: skip
    ax.contour(x, y, shown, levels=levels, colors=palette.ink, linewidths=0.5, alpha=0.5, zorder=1)
    ax.figure.colorbar(filled, ax=ax, label="$P - P^*$", ticks=spread_ticks(levels), format="%g")


def space_levels(excess: np.ndarray) -> np.ndarray:
    """From the lowest that the grid shows, or DEEPEST of the highest, to the highest."""
    high = max(float(excess.max()), np.finfo(float).tiny)
    low = max(float(np.quantile(excess, 0.002)), LOWEST_LEVEL_SHARE * high)
    return np.geomspace(min(low, 0.5 * high), high, N_LEVELS)


def spread_ticks(levels: np.ndarray) -> np.ndarray:
    """Powers of ten among the levels, or both ends where there are less than two."""
    powers = 10.0 ** np.arange(np.ceil(np.log10(levels[0])), np.floor(np.log10(levels[-1])) + 1)
    return powers if len(powers) > 1 else levels[[0, -1]]


def split_panel(ax):
    """Axes in space in the left half of the panel of `ax`, which keeps the right one."""
    halves = ax.get_subplotspec().subgridspec(1, 2)
    space = ax.figure.add_subplot(halves[0], projection="3d")
    ax.set_subplotspec(halves[1])
    return space


def draw_surface(space, palette: Palette, x, y, excess, tracks, heights, names) -> None:
    """P - P* in space, with the paths on it."""
    from matplotlib.colors import LogNorm

    levels = space_levels(excess)
    shown = np.clip(excess, levels[0], None)
    heights_to_colours = LogNorm(levels[0], levels[-1])
    space.plot_surface(*np.meshgrid(x, y), excess, cmap=blend(*palette.surface), norm=heights_to_colours, alpha=0.8,
                       rcount=60, ccount=60, linewidth=0, zorder=0)  # fmt: skip
    space.contour(x, y, shown, levels=levels, colors=palette.ink, linewidths=0.4, offset=0.0)
    for number, (name, track) in enumerate(tracks.items()):
        space.plot(
            *track.T,
            heights[name],
            color=cycle(palette.colours, number),
            marker=cycle(MARKS, number),
            markersize=3,
            linewidth=1.8,
            zorder=10,
            markevery=max(1, len(track) // MAX_MARKED_STEPS),
        )
    space.set(xlabel=names[0], ylabel=names[1], zlabel="$P - P^*$")
    space.view_init(elev=35, azim=-60)
