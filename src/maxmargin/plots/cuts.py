"""The model of the cuts under a function of one variable, and the steps that bundle methods take on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .canvas import add_legend, find_palette, open_axes
from .subgradients import CURVE_POINTS, Function, evaluate_curve

if TYPE_CHECKING:
    from ..insight.step_trace import Trace


class Lines(NamedTuple):
    """Cuts offset_k + slope_k x of a function of one variable."""

    slopes: np.ndarray
    offsets: np.ndarray

    def heights(self, x: np.ndarray) -> np.ndarray:
        """Of every cut at every x, of shape (cuts, len(x))."""
        return self.offsets[:, None] + np.outer(self.slopes, x)

    def model(self, x) -> np.ndarray:
        """max_k offset_k + slope_k x."""
        return self.heights(np.ravel(np.asarray(x, float))).max(axis=0)

    def crossings(self) -> np.ndarray:
        """Where two cuts meet."""
        first, second = np.triu_indices(len(self.slopes), 1)
        apart = self.slopes[first] - self.slopes[second]
        kept = np.abs(apart) > 1e-12
        return (self.offsets[second] - self.offsets[first])[kept] / apart[kept]


def read_cuts(trace: Trace, step: int) -> Lines:
    """The cuts that rows 0 to `step` of a trace have made."""
    rows = [row for row in trace.steps[: step + 1] if "cut_slope" in row]
    slopes = np.array([np.ravel(row["cut_slope"]) for row in rows])
    if not len(rows) or slopes.shape[1] != 1:
        raise ValueError("trace must be that of a bundle method on a function of one variable.")
    return Lines(slopes[:, 0], np.array([row["cut_offset"] for row in rows]))


def check_step(trace: Trace, step: int) -> int:
    """The step as a number of a row, counted from the end where it is negative."""
    if not -len(trace) <= step < len(trace):
        raise ValueError(f"step must be that of one of the {len(trace)} rows of the trace, got {step!r}.")
    return step % len(trace)


def name_model(cuts: int) -> str:
    """model of 3 cuts."""
    return f"model of {cuts} cut{'s' * (cuts != 1)}"


def plot_cuts(trace: Trace, fun: Function | None = None, step: int = -1, *, limits=None, ax=None):
    """f(x), the cuts f(x_t) + <phi_t, x - x_t> so far, and their maximum: the model that rises under f.

    A method without a line search makes one cut each round, and then these are all of its cuts. A ridge is part of the
    model, and is drawn with it.

    Parameters
    ----------
    trace : Trace
        Of a function of one variable.
    fun : callable, optional
        fun(x) -> (value, subgradient); without it, the places that were asked stand for the function.
    step : int, default=-1
        The row after which the model is drawn.
    limits : pair of floats, optional
        Where it is drawn; by default around all places of the trace.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    step, ax = check_step(trace, step), open_axes(ax)
    palette = find_palette(ax)
    cuts, ridge = read_cuts(trace, step), float(trace.setting["ridge"])
    places = np.array([float(np.ravel(row["x_t"])[0]) for row in trace.steps])
    values = np.array([float(row["value"]) for row in trace.steps])
    low, high = limits or (places.min() - 0.15 * np.ptp(places) - 1e-3, places.max() + 0.15 * np.ptp(places) + 1e-3)
    grid = np.linspace(low, high, CURVE_POINTS)
    bowl = 0.5 * ridge * grid**2
    top = values.max()
    if fun is not None:
        curve = evaluate_curve(fun, grid) + bowl
        ax.plot(grid, curve, color=palette.ink, linewidth=2.4, label="f", zorder=3)
        top = curve.max()
    floor = min(values.min(), float(trace.primal.min())) - 0.6 * (top - values.min() + 1e-9)
    for height in cuts.heights(grid):
        ax.plot(grid, height + bowl, color=palette.faint, linewidth=0.9, zorder=1)
    ax.plot(grid, cuts.model(grid) + bowl, color=palette.bound, linewidth=2.2, label=name_model(len(cuts.slopes)))
    ax.plot(places[:step], values[:step], "o", color=palette.faint, markersize=5, zorder=4)
    ax.plot(
        places[step],
        values[step],
        "o",
        color=palette.step,
        markeredgecolor=palette.ink,
        markersize=8,
        zorder=5,
        label="newest cut",
    )
    bound = float(trace.dual[step])
    if np.isfinite(bound) and bound >= floor:
        ax.axhline(bound, color=palette.bound, linestyle="--", linewidth=1.4, label="bound before this cut")
    ax.set(xlabel="x", ylabel="f and its model", xlim=(low, high), ylim=(floor, top + 0.05 * (top - floor)))
    add_legend(ax, columns=4)
    return ax


class BundleSteps(NamedTuple):
    """Where three bundle methods ask next, from the same cuts and the same centre."""

    proximal: float
    trust_region: float
    level: float


def find_bundle_steps(cuts: Lines, centre: float, proximity: float, radius: float, level: float) -> BundleSteps:
    """argmin model + proximity/2 (x - centre)^2, argmin model in the radius, the nearest x with model(x) <= level.

    In closed form: minima of piecewise functions lie at kinks, at ends or at stationary points.
    """
    kinks = cuts.crossings()
    places = np.append(kinks, centre - cuts.slopes / proximity)
    proximal = places[np.argmin(cuts.model(places) + 0.5 * proximity * (places - centre) ** 2)]
    inside = np.append(kinks[np.abs(kinks - centre) <= radius], [centre - radius, centre + radius])
    trust_region = inside[np.argmin(cuts.model(inside))]
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = (level - cuts.offsets) / cuts.slopes
    low, high = ends[cuts.slopes < 0].max(initial=-np.inf), ends[cuts.slopes > 0].min(initial=np.inf)
    if low > high or (level < cuts.offsets[cuts.slopes == 0]).any():
        raise ValueError(f"level must be at least the minimum of the model, got {level!r}.")
    return BundleSteps(float(proximal), float(trust_region), float(np.clip(centre, low, high)))


def plot_bundle_steps(
    fun: Function, asked, *, proximity: float, radius: float, level: float, limits: tuple[float, float], axes=None
):
    """The same cuts and the same centre, and where proximity, a radius or a level leads from there.

    Parameters
    ----------
    fun : callable
        fun(x) -> (value, subgradient), convex, of one variable.
    asked : array-like of floats
        Where cuts were made; the centre is the best of them.
    proximity, radius, level : float
        The weight of (x - centre)^2 / 2; how far a step may go; how low the model is to be.
    limits : pair of floats
    axes : array of three matplotlib Axes, optional
        New ones if not given.

    Returns
    -------
    array of matplotlib Axes
    """
    import matplotlib.pyplot as plt

    if axes is None:
        _, axes = plt.subplots(1, 3, figsize=(14.4, 4.8), layout="constrained")
    asked = np.asarray(asked, float)
    answers = [fun(np.array([x])) for x in asked]
    values = np.array([float(value) for value, _ in answers])
    slopes = np.array([float(np.ravel(slope)[0]) for _, slope in answers])
    cuts, centre = Lines(slopes, values - slopes * asked), float(asked[np.argmin(values)])
    steps = find_bundle_steps(cuts, centre, proximity, radius, level)
    grid = np.linspace(*limits, CURVE_POINTS)
    curve, model = evaluate_curve(fun, grid), cuts.model(grid)
    held = model + 0.5 * proximity * (grid - centre) ** 2
    held[held > curve.max()] = np.nan
    floor = min(float(cuts.model(np.append(cuts.crossings(), grid)).min()), level)
    floor -= 0.1 * (curve.max() - floor)
    titles = (f"proximity {proximity:g}", f"trust region of radius {radius:g}", f"level {level:g}")
    palette = find_palette(axes[0])
    aid = palette.colours[6]
    for ax, step, title in zip(axes, steps, titles, strict=True):
        ax.plot(grid, curve, color=palette.ink, linewidth=2.2, label="f")
        ax.plot(grid, model, color=palette.bound, linewidth=2.0, label="model")
        ax.plot([centre], [values.min()], "s", color=palette.ink, markersize=8, zorder=5, label="centre")
        ax.plot(
            [step],
            cuts.model(step),
            "o",
            color=palette.step,
            markeredgecolor=palette.ink,
            markersize=9,
            zorder=6,
            label="step",
        )
        ax.vlines(step, floor, cuts.model(step), color=palette.step, linewidth=1.2, linestyle=":")
        ax.set(title=title, xlabel="x", xlim=limits, ylim=(floor, curve.max()))
    axes[0].plot(grid, held, color=aid, linewidth=1.8, linestyle="--", label="model and proximity")
    axes[1].axvspan(centre - radius, centre + radius, color=aid, alpha=0.15, label="within the radius")
    axes[2].axhline(level, color=aid, linewidth=1.8, linestyle="--", label="level")
    axes[0].set_ylabel("f and its model")
    for ax in axes:
        add_legend(ax, columns=3)
    return axes
