"""A trace as a picture: what is natural for its solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .canvas import add_legend, find_palette, open_axes
from .cuts import plot_cuts
from .violations import plot_violation

if TYPE_CHECKING:
    from ..insight.step_trace import Trace


def plot_trace(trace: Trace, *, ax=None):
    """m and M of SMO; the cuts of a function of one variable; of all else P and D, or value and bound, over iterations.

    Parameters
    ----------
    trace : Trace
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if "m" in trace.columns and len(trace) > 1:
        return plot_violation(trace, ax=ax)
    if trace.setting.get("kind") == "function" and trace.setting.get("n") == 1:
        return plot_cuts(trace, ax=ax)
    return plot_bounds(trace, ax=ax)


def plot_bounds(trace: Trace, *, ax=None):
    """P of every step, D of every step, and what lies between the best of both."""
    ax = open_axes(ax)
    palette = find_palette(ax)
    primal, dual = np.asarray(trace.primal, float), np.asarray(trace.dual, float)
    known = np.isfinite(dual)
    best = np.maximum.accumulate(np.where(known, dual, -np.inf))
    seen = np.isfinite(best)
    ax.fill_between(trace.n_iter[seen], best[seen], np.fmin.accumulate(primal)[seen], color=palette.faint, alpha=0.3,
                    label="where the optimum is")  # fmt: skip
    ax.plot(trace.n_iter, primal, color=palette.ink, linewidth=1.8, label="P")
    ax.plot(trace.n_iter[known], dual[known], color=palette.bound, linewidth=1.8, label="D")
    ax.set(xlabel="iterations", ylabel="P and D", xlim=(0, max(float(trace.n_iter[-1]), 1.0)))
    add_legend(ax, columns=3)
    return ax
