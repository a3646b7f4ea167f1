"""The lower bound of the cross-validated error over C."""

from __future__ import annotations

import numpy as np

from .canvas import add_legend, find_palette, open_axes


def plot_certified_tuning(tuning, *, ax=None):
    """The errors of the fits over C, the lower bound that holds between them, and error - eps.

    Parameters
    ----------
    tuning : CertifiedTuning
        What `certify_tuning` returned.
    ax : matplotlib Axes, optional
        The current ones if not given.

    Returns
    -------
    matplotlib Axes
    """
    ax = open_axes(ax)
    palette = find_palette(ax)
    ax.fill_between(
        tuning.edges,
        np.append(tuning.lower_bounds, tuning.lower_bounds[-1]),
        step="post",
        color=palette.faint,
        alpha=0.25,
        linewidth=0,
        label="excluded",
        zorder=1,
    )
    ax.stairs(tuning.lower_bounds, tuning.edges, baseline=None, color=palette.bound, linewidth=1.6, label="lower bound",
              zorder=2)  # fmt: skip
    ax.plot(tuning.Cs, tuning.errors, "o", color=palette.ink, markersize=4, label="errors of the fits", zorder=3)
    ax.plot(tuning.C, tuning.error, "*", markersize=17, color=palette.star, markeredgecolor=palette.ink,
            label=f"chosen: C = {tuning.C:.4g}", zorder=4)  # fmt: skip
    ax.axhline(max(tuning.error - tuning.asked_eps, 0.0), color=palette.ink, linewidth=0.8, linestyle=":",
               label=f"least error - {tuning.asked_eps:g}")  # fmt: skip
    if tuning.high > tuning.low:
        ax.set(xscale="log", xlim=(tuning.low, tuning.high))
    ax.set(xlabel="C", ylabel="cross-validated error", ylim=(0.0, None))
    ax.grid(True, color=palette.grid, zorder=0)
    add_legend(ax, columns=2)
    return ax
