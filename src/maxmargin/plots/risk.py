"""Bounds on the risk along a parameter."""

from __future__ import annotations

import numpy as np

from .canvas import Palette, add_legend, find_palette, open_axes, style_curve


def plot_risk_bounds(values, bounds, *, name: str = "C", others: dict[str, np.ndarray] | None = None, ax=None):
    """xi-alpha, radius-margin, leave-one-out and training error over a parameter, both axes logarithmic.

    Each curve has a ring at its least value: the parameter it would choose. An error of zero is drawn at half a sample.

    Parameters
    ----------
    values : array-like of shape (m,)
        The parameter, positive.
    bounds : list of RiskBounds
        What `risk_bounds` returned at each of them; all of classifiers, or all of regressions.
    name : str, default="C"
        Of the parameter.
    others : dict of name -> array-like of shape (m,), optional
        More errors, of cross-validation or of test samples, say.
    ax : matplotlib Axes, optional
        The current ones if not given.

    Returns
    -------
    matplotlib Axes
    """
    values = check_values(values)
    if len(bounds) != len(values):
        raise ValueError(f"bounds must be as many as values, got {len(bounds)} for {len(values)}.")
    curves = collect_curves(bounds)
    for key, errors in (others or {}).items():
        if np.shape(errors) != values.shape:
            raise ValueError(f"others[{key!r}] must have the shape {values.shape} of values, got {np.shape(errors)}.")
        curves[key] = np.asarray(errors, float)
    order = np.argsort(values, kind="stable")
    classes = bounds[0].kind == "classification"
    floor = 0.5 / max(each.n for each in bounds) if classes else 0.0
    ax = open_axes(ax)
    palette = find_palette(ax)
    for place, (key, errors) in enumerate(curves.items()):
        if np.isfinite(errors).any():
            draw_curve(ax, palette, values[order], np.maximum(errors[order], floor), key, place)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.grid(True, color=palette.grid, zorder=0)
    if classes:
        ax.axhline(1.0, color=palette.ink, linewidth=0.8, linestyle=":")
    ax.set(xlabel=name, ylabel="share of errors" if classes else "mean absolute error")
    add_legend(ax, columns=3)
    return ax


def check_values(values) -> np.ndarray:
    """The values as an array; there is at least one, and all are positive."""
    values = np.asarray(values, float)
    if values.ndim != 1 or not len(values) or not (values > 0).all():
        raise ValueError(f"values must be a list of positive numbers, got {values.tolist()!r}.")
    return values


def collect_curves(bounds) -> dict[str, np.ndarray]:
    """The curves by name, always in the same places; where a number is missing it is NaN."""
    proven = all(each.proven for each in bounds)
    curves = {
        f"xi-alpha {'bound' if proven else 'estimate'}": [each.xi_alpha for each in bounds],
        "radius-margin": [each.radius_margin for each in bounds],
        "leave-one-out": [each.leave_one_out and each.leave_one_out.error for each in bounds],
        "training": [each.training for each in bounds],
    }
    return {key: np.array(errors, float) for key, errors in curves.items()}


def draw_curve(ax, palette: Palette, values: np.ndarray, errors: np.ndarray, key: str, place: int) -> None:
    """One curve with its marks, and a ring around the least value; the training error is for comparison only."""
    background, style = key == "training", style_curve(palette, place, len(values))
    if background:
        style["color"] = palette.faint
    ax.plot(values, errors, label=key, zorder=2, **style)
    if not background:
        least = int(np.nanargmin(errors))
        ax.plot(
            values[least],
            errors[least],
            "o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=style["color"],
            markeredgewidth=1.6,
            zorder=3,
        )
