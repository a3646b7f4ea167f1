"""I_up and I_down, m and M closing, and the pairs that selection rules choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .canvas import DASHES, MARKS, add_legend, cycle, find_palette, open_axes

if TYPE_CHECKING:
    from ..insight.step_trace import Trace
    from ..model.problem import Problem

SMOOTHING_WINDOWS = 12  # in a curve of means
MIN_CURVATURE = 1e-12  # of a pair whose step is taken to its bound


class Rates(NamedTuple):
    """D rises at the rate up_i as a_i rises, and falls at the rate low_i as a_i falls; nan where a bound forbids it."""

    up: np.ndarray
    low: np.ndarray

    @property
    def m(self) -> float:
        """The largest rate over I_up."""
        return float(np.nanmax(self.up))

    @property
    def M(self) -> float:
        """The smallest rate over I_down."""
        return float(np.nanmin(self.low))


def find_rates(problem: Problem, a: np.ndarray) -> Rates:
    """up_i = -f_i - p_i - d_i a_i - e_i sign(a_i + 0) where a_i < hi_i, and low_i where a_i > lo_i, with f = K a."""
    row, f = problem.row, problem.features.scores(problem.features.combine(a))
    base = -f - row.p - row.d * a
    up = np.where(a < row.hi, base - np.where(a >= 0, row.e, -row.e), np.nan)
    return Rates(up, np.where(a > row.lo, base - np.where(a > 0, row.e, -row.e), np.nan))


def check_pairs(trace: Trace) -> None:
    """Refuse a trace of anything but pair steps on one layer."""
    if "m" not in trace.columns or "i" not in trace.columns:
        raise ValueError(f"trace must be one of SMO's pair steps, with m and M, got one of {trace.solver!r}.")


def plot_violation(trace: Trace, *, ax=None):
    """m = max of the rates over I_up and M = min over I_down, step by step: at the optimum they meet.

    Parameters
    ----------
    trace : Trace
        Of SMO.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    check_pairs(trace)
    ax, n_iter = open_axes(ax), trace.n_iter[1:]
    palette = find_palette(ax)
    m, M = trace.column("m")[1:], trace.column("M")[1:]
    ax.plot(n_iter, m, color=palette.colours[0], linewidth=1.8, label="m, over I_up")
    ax.plot(n_iter, M, color=palette.colours[1], linewidth=1.8, linestyle="--", label="M, over I_down")
    ax.fill_between(n_iter, M, m, color=palette.faint, alpha=0.3, label="m - M")
    ax.set(xlabel="pair steps", ylabel="rate at which D rises", xlim=(0, max(float(n_iter[-1]), 1.0)))
    add_legend(ax, columns=3)
    return ax


def name_step(steps: int) -> str:
    """after 3 pair steps."""
    return f"after {steps} pair step{'s' * (steps != 1)}"


def plot_rates(problem: Problem, trace: Trace, step: int = 0, *, ax=None):
    """The rate of every sample after a step: I_up with m, I_down with M, and the pair that is chosen next.

    Parameters
    ----------
    problem : Problem
        That of the trace.
    trace : Trace
        Of SMO on one layer.
    step : int, default=0
        The row after which the rates are drawn.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    check_pairs(trace)
    step = range(len(trace))[step]
    rates, ax = find_rates(problem, trace.states[step].a), open_axes(ax)
    place, palette = np.arange(problem.n), find_palette(ax)
    ax.plot(place, rates.up, "^", color=palette.colours[0], markersize=7, label="I_up")
    ax.plot(place, rates.low, "v", color=palette.colours[1], markersize=7, markerfacecolor="none", label="I_down")
    ax.axhline(rates.m, color=palette.colours[0], linewidth=1.6, label=f"m = {rates.m:.3g}")
    ax.axhline(rates.M, color=palette.colours[1], linewidth=1.6, linestyle="--", label=f"M = {rates.M:.3g}")
    if rates.m > rates.M:
        ax.axhspan(rates.M, rates.m, color=palette.faint, alpha=0.2)
    if step + 1 < len(trace) and trace.steps[step + 1].get("i") is not None:
        chosen = trace.steps[step + 1]
        ax.plot([chosen["i"], chosen["j"]], [chosen["g_i"], chosen["g_j"]], "o", markersize=14, color=palette.step,
                markerfacecolor="none", markeredgewidth=2.0, label="next pair")  # fmt: skip
    ax.set(xlabel="sample", ylabel="rate at which D rises", title=name_step(int(trace.n_iter[step])))
    add_legend(ax, columns=5)
    return ax


class Gains(NamedTuple):
    """What the steps of a trace added to D, and what the best of all pairs would have added from there."""

    n_iter: np.ndarray
    taken: np.ndarray
    best: np.ndarray


def find_best_gain(K: np.ndarray, problem: Problem, a: np.ndarray) -> float:
    """max over all pairs (i, j) of the rise of D by the exact step along e_i - e_j, clipped to the box."""
    row, rates = problem.row, find_rates(problem, a)
    curvature = np.diag(K)[:, None] + np.diag(K) + row.d[:, None] + row.d - 2.0 * K
    slope = np.nan_to_num(rates.up, nan=-np.inf)[:, None] - np.nan_to_num(rates.low, nan=np.inf)
    room = np.minimum((row.hi - a)[:, None], a - row.lo)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.minimum(slope / np.maximum(curvature, MIN_CURVATURE), room)
        gain = np.where(slope > 0, slope * t - 0.5 * curvature * t * t, 0.0)
    np.fill_diagonal(gain, 0.0)
    return float(gain.max())


def compare_gains(problem: Problem, trace: Trace) -> Gains:
    """The gain of each pair step beside that of the best of all pairs at the same duals.

    For losses without a kink at zero: there the exact step has one formula.
    """
    check_pairs(trace)
    if problem.row.e.any():
        raise ValueError("problem must have a loss without a kink at zero duals, such as the hinge.")
    K, kept = problem.features.block(np.arange(problem.n)), [k for k, step in enumerate(trace.steps) if "i" in step]
    values = [problem.dual_value(s.a, 0.5 * float(s.a @ K @ s.a)) for s in trace.states]
    taken = np.array([values[k] - values[k - 1] for k in kept])
    best = np.array([find_best_gain(K, problem, trace.states[k - 1].a) for k in kept])
    return Gains(trace.n_iter[kept], taken, best)


def smooth(values: np.ndarray) -> np.ndarray:
    """Means over a window of a twelfth of the values around each; narrower at both ends."""
    width = 2 * (len(values) // (2 * SMOOTHING_WINDOWS)) + 1
    ones = np.ones(width)
    return np.convolve(values, ones, "same") / np.convolve(np.ones(len(values)), ones, "same")


def plot_working_sets(problem: Problem, traces: dict[str, Trace], *, ax=None):
    """The gain of each pair step as a share of what the best of all n (n - 1) pairs would have gained.

    Parameters
    ----------
    problem : Problem
        That of the traces.
    traces : dict of name -> Trace
        Of SMO with different selections.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if not traces:
        raise ValueError("traces must hold at least one trace, got none.")
    ax = open_axes(ax)
    palette = find_palette(ax)
    for place, (name, trace) in enumerate(traces.items()):
        gains = compare_gains(problem, trace)
        share = gains.taken / np.maximum(gains.best, np.finfo(float).tiny)
        label = f"{name}: {int(gains.n_iter[-1])} steps, mean share {share.mean():.2f}"
        ax.plot(gains.n_iter, share, cycle(MARKS, place), color=cycle(palette.colours, place), markersize=4, alpha=0.35)
        ax.plot(
            gains.n_iter,
            smooth(share),
            color=cycle(palette.colours, place),
            linewidth=2.2,
            linestyle=cycle(DASHES, place),
            label=label,
        )
    ax.axhline(1.0, color=palette.faint, linewidth=1.2)
    ax.set(xlabel="pair steps", ylabel="gain / gain of the best pair", xlim=(0, None), ylim=(0.0, 1.08))
    add_legend(ax, columns=1)
    return ax
