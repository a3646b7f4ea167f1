"""How solvers come down to the optimum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..solvers.result import Result
from .canvas import add_legend, find_palette, open_axes, style_curve

X_AXES = {"iterations": "iterations", "seconds": "seconds"}
ROUNDING_SHARE = 4e-15  # of |P*|: a difference of two values that agree so far is none


class Descent(NamedTuple):
    """Values of P over iterations and seconds, and the largest certified D."""

    iterations: np.ndarray
    seconds: np.ndarray
    primal: np.ndarray
    bound: float


def plot_convergence(
    trajectories,
    *,
    optimum: float | None = None,
    against: str = "iterations",
    relative: bool = False,
    best_so_far: bool = False,
    ax=None,
):
    """P(w_k, b_k) - P* over iterations or seconds, both on logarithmic axes.

    P* is the largest dual value that the judge has seen in any of the runs, which is no more than the minimum: so the
    curves are never too low. A curve that reaches the rounding errors of P* ends there.

    Parameters
    ----------
    trajectories : dict of name -> Trajectory or Result, a list of them, or one
        What `record` or `solve` returned; all of one problem.
    optimum : float, optional
        P*, if it is known.
    against : {"iterations", "seconds"}
    relative : bool, default=False
        Draw (P - P*) / |P*|.
    best_so_far : bool, default=False
        Draw the least P so far, for runs that go up and down.
    ax : matplotlib Axes, optional
        The current ones if not given.

    Returns
    -------
    matplotlib Axes
    """
    if not isinstance(against, str) or against not in X_AXES:
        raise ValueError(f"against must be one of {list(X_AXES)}, got {against!r}.")
    descents = {name: read_descent(each) for name, each in name_runs(trajectories).items()}
    best = find_optimum(descents) if optimum is None else float(optimum)
    if not np.isfinite(best):
        raise ValueError(f"optimum must be a finite number, got {best!r}.")
    scale = abs(best) if relative and best != 0 else 1.0
    ax = open_axes(ax)
    palette = find_palette(ax)
    for place, (name, descent) in enumerate(descents.items()):
        if best_so_far:
            descent = descent._replace(primal=np.fmin.accumulate(descent.primal))
        x, excess = truncate_descent(descent, against, best)
        ax.plot(x, excess / scale, label=name, **style_curve(palette, place, len(x)))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.grid(True, color=palette.grid, zorder=0)
    ax.set(xlabel=X_AXES[against], ylabel="(P - P*) / |P*|" if relative else "P - P*")
    add_legend(ax, columns=3)
    return ax


def name_runs(trajectories) -> dict[str, object]:
    """The runs by name; those of a list by their solvers, numbered where two have the same."""
    if isinstance(trajectories, dict):
        named = {str(name): each for name, each in trajectories.items()}
    else:
        runs = list(trajectories) if isinstance(trajectories, list | tuple) else [trajectories]
        names = [each.solver if isinstance(each.solver, str) else each.solver.name for each in runs]
        twice = [
            f"{name} {names[:k].count(name) + 1}" if names.count(name) > 1 else name for k, name in enumerate(names)
        ]
        named = dict(zip(twice, runs, strict=True))
    if not named:
        raise ValueError("trajectories must hold at least one run, got none.")
    return named


def read_descent(run) -> Descent:
    """The numbers of a Trajectory, or of the history of a Result."""
    if isinstance(run, Result):
        steps = [step for step in run.history if np.isfinite(step.primal)]
        n_iter = np.array([step.n_iter for step in steps], float)
        seconds = np.array([step.seconds for step in steps], float)
        return Descent(n_iter, seconds, np.array([step.primal for step in steps], float), run.certificate.dual)
    return Descent(run.n_iter, run.seconds, run.primal, float(np.max(run.dual)))


def find_optimum(descents: dict[str, Descent]) -> float:
    """The largest certified lower bound."""
    return max(descent.bound for descent in descents.values())


def truncate_descent(descent: Descent, against: str, best: float) -> tuple[np.ndarray, np.ndarray]:
    """x and P - P* from the first step on, up to where the difference is rounding."""
    x = descent.iterations if against == "iterations" else descent.seconds
    excess = descent.primal - best
    level = ROUNDING_SHARE * max(abs(best), np.finfo(float).tiny)
    ended = np.flatnonzero(excess <= level)
    last = ended[0] + 1 if len(ended) else len(x)
    shown = (x[:last] > 0) & np.isfinite(excess[:last])
    return x[:last][shown], np.maximum(excess[:last][shown], level)
