"""Subgradients of functions of one variable, and functions whose derivatives differ by definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .canvas import DASHES, add_legend, blend, cycle, find_palette, open_axes

CURVE_POINTS = 801  # of a function that is drawn
SIDE_STEP = 1e-7  # of max(1, |x|): how far beside x the two slopes are taken
FAN_LINES = 5  # subgradients that are drawn at a kink

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


def evaluate_curve(fun: Function, x: np.ndarray) -> np.ndarray:
    """The values of a function of one variable."""
    return np.array([float(fun(np.array([each]))[0]) for each in x])


def find_subdifferential(fun: Function, x: float) -> tuple[float, float]:
    """[f'(x-), f'(x+)], all slopes of lines below a convex f through (x, f(x)), by subgradients on both sides of x."""
    aside = SIDE_STEP * max(1.0, abs(x))
    low, high = (float(np.ravel(fun(np.array([x + side]))[1])[0]) for side in (-aside, aside))
    return low, high


def plot_subgradients(fun: Function, x, *, limits: tuple[float, float], ax=None):
    """f, and at each x lines of slope g through (x, f(x)) with f(z) >= f(x) + g (z - x) for every z.

    Parameters
    ----------
    fun : callable
        fun(x) -> (value, subgradient), convex, of one variable.
    x : array-like of floats
        Where subgradients are drawn: one line where f is smooth, a fan where it has a kink.
    limits : pair of floats
        Where f is drawn.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = open_axes(ax)
    palette = find_palette(ax)
    grid = np.linspace(*limits, CURVE_POINTS)
    values = evaluate_curve(fun, grid)
    ax.plot(grid, values, color=palette.ink, linewidth=2.4, label="f", zorder=3)
    floor = values.min() - 0.25 * (values.max() - values.min())
    for place, at in enumerate(np.ravel(np.asarray(x, float))):
        low, high = find_subdifferential(fun, float(at))
        value, colour = float(fun(np.array([at]))[0]), cycle(palette.colours, place)
        kinked = high - low > 1e-4 * max(1.0, abs(high), abs(low))
        label = f"at {at:.3g}: slopes from {low:.3g} to {high:.3g}" if kinked else f"at {at:.3g}: slope {high:.3g}"
        for k, slope in enumerate(np.linspace(low, high, FAN_LINES) if kinked else [high]):
            line = value + slope * (grid - at)
            ax.plot(grid, np.where(line >= floor, line, np.nan), color=colour, linewidth=1.4,
                    linestyle=cycle(DASHES, place), label=label if k == 0 else None)  # fmt: skip
        ax.plot([at], [value], "o", color=colour, markersize=7, zorder=4)
    ax.set(xlabel="x", ylabel="f and lines below it", xlim=limits)
    ax.set_ylim(floor, values.max() + 0.05 * (values.max() - floor))
    add_legend(ax, columns=2)
    return ax


# ---- derivatives in all directions, and derivatives -----------------------------------------------------------


def bend(x, y):
    """x^3 / (x^2 + y^2), and 0 at the origin: a derivative in every direction, not linear in the direction."""
    square = np.asarray(x * x + y * y, float)
    return np.divide(x**3, square, out=np.zeros_like(square), where=square > 0)


def cliff(x, y):
    """x^3 y / (x^6 + y^2), and 0 at the origin: all derivatives there are 0, and it is not continuous."""
    square = np.asarray(x**6 + y * y, float)
    return np.divide(x**3 * y, square, out=np.zeros_like(square), where=square > 0)


def ridge(x, y):
    """x^2 y sqrt(x^2 + y^2) / (x^4 + y^2), and 0 at the origin: continuous, Gâteaux and not Fréchet differentiable."""
    square = np.asarray(x**4 + y * y, float)
    return np.divide(x * x * y, square, out=np.zeros_like(square), where=square > 0) * np.sqrt(x * x + y * y)


def plot_derivatives(axes=None):
    """Three functions at the origin: derivatives in every direction, Gâteaux and Fréchet, each without the next.

    Above, the functions, with the curve along which they fail; below, what fails. First df(0; d) over the angle of d
    beside its best linear function; then f along the curve and along lines; then f(h)/|h| along the curve and along
    lines, which is to vanish for a Fréchet derivative of 0.

    Parameters
    ----------
    axes : ndarray of matplotlib Axes of shape (2, 3), optional
        New ones if not given.

    Returns
    -------
    ndarray of matplotlib Axes
    """
    import matplotlib.pyplot as plt

    if axes is None:
        _, axes = plt.subplots(2, 3, figsize=(13.5, 7.6), layout="constrained")
    titles = (
        "x³ / (x² + y²)\nnot Gâteaux differentiable",
        "x³y / (x⁶ + y²)\nGâteaux differentiable, not continuous",
        "x²y √(x² + y²) / (x⁴ + y²)\nGâteaux, not Fréchet differentiable",
    )
    t = np.linspace(-1.0, 1.0, CURVE_POINTS)
    for ax, fun, curve, title in zip(axes[0], (bend, cliff, ridge), (None, t**3, t**2), titles, strict=True):
        draw_levels(ax, fun, curve, t)
        ax.set_title(title, fontsize="medium")
    draw_directional(axes[1, 0])
    draw_along_curves(axes[1, 1], cliff, 3, "f(h)", divide=False)
    draw_along_curves(axes[1, 2], ridge, 2, "f(h) / |h|", divide=True)
    return axes


def draw_levels(ax, fun, curve: np.ndarray | None, t: np.ndarray) -> None:
    """The function by its levels, and a curve through the origin."""
    x, y = np.meshgrid(t, t)
    values = fun(x, y)
    top, palette = float(np.abs(values).max()), find_palette(ax)
    colours = blend(palette.colours[0], palette.ground, palette.colours[1])
    shown = ax.contourf(x, y, values, levels=np.linspace(-top, top, 21), cmap=colours)
    ax.contour(x, y, values, levels=np.linspace(-top, top, 11), colors=palette.ink, linewidths=0.4, alpha=0.7,
               linestyles=["dashed"] * 5 + ["solid"] * 6)  # fmt: skip
    ax.figure.colorbar(shown, ax=ax, shrink=0.85, ticks=np.linspace(-top, top, 5), format="%.2f")
    if curve is not None:
        ax.plot(t, curve, color=palette.ink, linewidth=2.0)
    ax.plot([0.0], [0.0], "o", color=palette.ink, markersize=5)
    ax.set(xlabel="x", ylabel="y", aspect="equal", xlim=(-1, 1), ylim=(-1, 1))


def draw_directional(ax) -> None:
    """df(0; d) = d_1^3 / |d|^2 over the angle of d, and the linear function nearest to it."""
    palette = find_palette(ax)
    angle = np.linspace(0.0, 2.0 * np.pi, CURVE_POINTS)
    ax.plot(
        np.degrees(angle), bend(np.cos(angle), np.sin(angle)), color=palette.colours[0], linewidth=2.2, label="df(0; d)"
    )
    nearest = 0.75 * np.cos(angle)  # cos^3 = (3 cos + cos of three times the angle) / 4
    ax.plot(
        np.degrees(angle), nearest, "--", color=palette.colours[1], linewidth=1.8, label="nearest linear function of d"
    )
    ax.set(xlabel="angle of d in degrees", ylabel="derivative along d", xlim=(0, 360), xticks=range(0, 361, 90))
    add_legend(ax, columns=2)


def draw_along_curves(ax, fun, power: int, label: str, divide: bool) -> None:
    """f, or f / |h|, along h = (t, t^power) and along two lines."""
    palette = find_palette(ax)
    t = np.logspace(-3.0, 0.0, CURVE_POINTS)
    for place, (name, y) in enumerate(
        ((f"along y = x{'²³'[power - 2]}", t**power), ("along y = x", t), ("along y = x/4", t / 4))
    ):
        values = fun(t, y) / (np.hypot(t, y) if divide else 1.0)
        ax.plot(
            t, values, color=cycle(palette.colours, place), linestyle=cycle(DASHES, place), linewidth=2.0, label=name
        )
    ax.axhline(0.0, color=palette.faint, linewidth=1.0)
    ax.set_xscale("log")
    ax.set(xlabel="x", ylabel=label, xlim=(1e-3, 1.0), ylim=(-0.05, 0.75))
    add_legend(ax, columns=3)
