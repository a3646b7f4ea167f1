"""Regression curves and their tubes over one feature."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..contracts.estimators import Estimator
from ..model.losses import EpsilonInsensitive, SquaredEpsilonInsensitive
from ..runtime.frames import match_container
from .canvas import Palette, add_legend, check_resolution, find_palette, open_axes, set_limits
from .support import (
    Support,
    as_matrix,
    check_model,
    check_rows,
    final_estimator,
    find_loss,
    has_bounded_duals,
    has_support,
    has_tube,
    split_duals,
)

# of the spread of y: so near to the wall, a sample counts as being on it where the duals are not known
TUBE_TOLERANCE = 1e-3


def plot_regression_tube(model, x, y, *, ax=None, resolution: int = 400):
    """The curve f(x), the tube f(x) +- epsilon, and the support vectors: on its walls, and outside.

    Of a `NuSVR` the width is that which the fit found, or the residual of the free support vectors where the model does
    not tell. Losses without a tube are drawn as the curve alone.

    Parameters
    ----------
    model : fitted SVR, NuSVR, LinearSVR or any other regressor
        Ours or scikit-learn's, or a pipeline that ends in one.
    x : array-like of shape (n_samples,) or (n_samples, 1)
        The data of the fit.
    y : array-like of shape (n_samples,)
        Their targets.
    ax : matplotlib Axes, optional
        The current ones if not given.
    resolution : int, default=400
        Points of the curve.

    Returns
    -------
    matplotlib Axes
    """
    check_model(model, is_classifier=False)
    check_resolution(resolution)
    data, X = x, as_matrix(x)
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or X.shape[1] != 1 or getattr(model, "n_features_in_", 1) != 1:
        raise ValueError(f"x must have exactly one feature, that of the fit, to be drawn, got shape {X.shape}.")
    y = np.asarray(column_or_1d(y), float)
    check_rows(model, X, y, "x")
    ax = open_axes(ax)
    palette = find_palette(ax)
    residuals = y - model.predict(match_container(X, data))
    epsilon = find_width(model, residuals)
    places = np.linspace(X.min(), X.max(), resolution)
    curve = model.predict(match_container(places[:, None], data))
    spread = np.concatenate([y, curve])
    set_limits(ax, np.array([X.min(), spread.min()]), np.array([X.max(), spread.max()]), 0.05)
    draw_curve(ax, palette, places, curve, epsilon)
    draw_samples(ax, palette, X.ravel(), y, *choose_groups(model, residuals, epsilon, float(np.std(y))))
    add_legend(ax, columns=3)
    return ax


def find_width(model, residuals: np.ndarray) -> float | None:
    """epsilon: a parameter, what the fit found, or what the support vectors show; None where there is no tube."""
    machine = final_estimator(model)
    loss = find_loss(machine)
    tube = has_support(machine) if loss is None else has_tube(loss)  # SVR of scikit-learn has no parameter loss
    if not tube:
        return None
    if isinstance(loss, EpsilonInsensitive | SquaredEpsilonInsensitive) and loss is machine.loss:
        return float(loss.epsilon)
    if "epsilon" in machine.get_params():
        return float(machine.epsilon)
    point = machine.result_.point if isinstance(machine, Estimator) and machine.has_results else None
    if point is not None:  # a pickle has none
        walls = np.atleast_1d(point.b)  # b + epsilon and b - epsilon, or epsilon alone
        return abs(float(walls[0] - walls[1])) / 2.0 if len(walls) == 2 else abs(float(walls[0]))
    free, bounded = split_duals(machine)
    known = np.abs(residuals[free if len(free) else bounded])
    return float(np.median(known) if len(free) else known.min(initial=np.inf))


def choose_groups(
    model, residuals: np.ndarray, epsilon: float | None, spread: float
) -> tuple[Support, tuple[str, str]]:
    """The support vectors, on the walls and beyond them, and what they are called."""
    machine, none = final_estimator(model), np.zeros(0, int)
    if epsilon is None:
        return Support(none, none), ("", "")
    if not has_bounded_duals(machine):
        outside = np.flatnonzero(np.abs(residuals) > epsilon)
        return Support(none, outside), ("", "support vectors")
    if has_support(machine):
        return split_duals(machine), ("free support vectors", "at the bound")
    beyond = np.abs(residuals) - epsilon
    on, outside = np.abs(beyond) <= TUBE_TOLERANCE * spread, beyond > TUBE_TOLERANCE * spread
    return Support(np.flatnonzero(on), np.flatnonzero(outside)), ("on the tube", "outside")


def draw_curve(ax, palette: Palette, x: np.ndarray, f: np.ndarray, epsilon: float | None) -> None:
    """f, and the band between its walls."""
    ax.plot(x, f, color=palette.ink, linewidth=2.2, zorder=2, label="f(x)")
    if epsilon:
        label = f"tube f(x) ± {epsilon:.3g}"
        ax.fill_between(x, f - epsilon, f + epsilon, color=palette.tube, alpha=0.3, linewidth=0, zorder=1, label=label)
        for wall in (f - epsilon, f + epsilon):
            ax.plot(x, wall, color=palette.ink, linewidth=1.0, linestyle="--", zorder=2)


def draw_samples(ax, palette: Palette, x: np.ndarray, y: np.ndarray, support: Support, names: tuple[str, str]) -> None:
    """Small grey dots inside, and a colour and a mark for each kind of support vector."""
    inside = np.setdiff1d(np.arange(len(x)), np.concatenate(support))
    label = f"{len(inside)} inside" if any(names) else None
    ax.scatter(x[inside], y[inside], s=14, color=palette.faint, linewidths=0, zorder=3, label=label)
    colours = (palette.free, palette.bounded)
    for index, name, colour, mark, order in zip(support, names, colours, "os", (5, 4), strict=True):
        if name:
            ax.scatter(x[index], y[index], s=38, color=colour, marker=mark, edgecolors=palette.ink, linewidths=0.8,
                       zorder=order, label=f"{len(index)} {name}")  # fmt: skip
