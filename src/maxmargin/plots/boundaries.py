"""Decision boundaries in the plane."""

from __future__ import annotations

import numpy as np

from ..model.problem import TINY
from ..runtime.frames import match_container
from .canvas import (
    MARKS,
    Palette,
    add_legend,
    blend,
    check_resolution,
    cycle,
    draw_background,
    find_palette,
    make_grid,
    open_axes,
    set_limits,
)  # fmt: skip
from .regions import draw_regions, find_lead
from .support import (
    MARGIN_TOLERANCE,
    Support,
    as_matrix,
    check_model,
    check_rows,
    draw_rings,
    final_estimator,
    find_loss,
    has_bounded_duals,
    has_classes,
    has_margin,
    has_support,
    split_duals,
)  # fmt: skip

SHADE_SCALE = 1.5  # scores at which the shade is three quarters of the darkest: a little beyond the margin


def plot_decision_boundary(model, X, y=None, *, ax=None, resolution: int = 300):
    """The line f(x) = 0 with the margins f(x) = +-1, the samples, and the support vectors: free and bounded.

    Linear machines do not keep their duals: of them the samples on and within the margin are marked. With more than
    two classes the regions of `predict` are drawn, without margins; of one class the line alone.

    Parameters
    ----------
    model : fitted classifier or OneClassSVM
        Ours or scikit-learn's, or a pipeline that ends in one.
    X : array-like of shape (n_samples, 2)
        The data of the fit.
    y : array-like of shape (n_samples,)
        Their labels; None for one class.
    ax : matplotlib Axes, optional
        The current ones if not given.
    resolution : int, default=300
        Points on each axis of the grid.

    Returns
    -------
    matplotlib Axes
    """
    check_model(model, is_classifier=True)
    check_resolution(resolution)
    data, X = X, as_matrix(X)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must have exactly 2 features to be drawn, got shape {X.shape}.")
    y = None if y is None else np.asarray(y)
    check_rows(model, X, y, "X")
    labels = find_labels(model, y)
    ax = open_axes(ax)
    palette = find_palette(ax)
    set_limits(ax, X.min(axis=0), X.max(axis=0))
    draw_samples(ax, palette, X, y, labels)
    mark_support(ax, palette, model, data, X, y)
    add_legend(ax, columns=2 if len(labels) <= 4 else 4)
    *axes, grid = make_grid(ax, resolution)
    if len(labels) <= 2 and hasattr(model, "decision_function"):
        paint_scores(ax, palette, axes, model.decision_function(match_container(grid, data)), model)
    else:
        lead = find_lead(lambda points: np.searchsorted(labels, model.predict(match_container(points, data))), *axes)
        draw_regions(ax, palette, axes, lead)
    return ax


def find_labels(model, y: np.ndarray | None) -> np.ndarray:
    """The classes of the model, none for one class; refuses labels that it does not know."""
    classes = np.asarray(model.classes_ if has_classes(model) else [])
    if y is None or not len(classes):
        if len(classes):
            raise ValueError("y must be given for a classifier, got None.")
        return classes
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y must hold labels of the fit, {list(classes.tolist())}, got {y[unknown][0]!r}.")
    return classes


def has_margins(model) -> bool:
    """Whether f = +-1 has a meaning: for machines with support vectors and for hinges."""
    machine = final_estimator(model)
    return has_classes(model) and (has_support(machine) or has_margin(find_loss(machine)))


def draw_samples(ax, palette: Palette, X: np.ndarray, y: np.ndarray | None, labels: np.ndarray) -> None:
    """One colour and one mark for each class."""
    if not len(labels):
        ax.scatter(*X.T, color=palette.colours[0], s=22, linewidths=0, zorder=3, label="samples")
    for place, label in enumerate(labels):
        colour = cycle(palette.colours, place)
        mark = cycle(MARKS, place + place // len(palette.colours))  # the ninth class has a pair of its own
        ax.scatter(*X[y == label].T, color=colour, marker=mark, s=22, linewidths=0, zorder=3, label=f"class {label}")


def mark_support(ax, palette: Palette, model, data, X: np.ndarray, y: np.ndarray | None) -> None:
    """Rings around the support vectors, where there are any."""
    machine = final_estimator(model)
    if has_support(machine):
        support = split_duals(machine)
        if has_bounded_duals(machine):
            draw_rings(ax, palette, X, support, ("free support vectors", "at the bound"))
        else:
            draw_rings(ax, palette, X, Support(support.bounded, support.free), ("", "support vectors"))
    elif has_margins(model) and len(model.classes_) == 2:
        margins = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(data)
        on, within = (
            np.flatnonzero(np.abs(margins - 1.0) <= MARGIN_TOLERANCE),
            np.flatnonzero(margins < 1.0 - MARGIN_TOLERANCE),
        )
        names = ("on the margin" if has_bounded_duals(machine) else "", "within the margin")
        draw_rings(ax, palette, X, Support(on, within), names)


def paint_scores(ax, palette: Palette, axes, f: np.ndarray, model) -> None:
    """f(x) from the colour of one side over the ground to that of the other, the line f = 0, and the margins."""
    f = f.reshape(len(axes[1]), len(axes[0]))
    if has_classes(model):
        shade = np.tanh(f / SHADE_SCALE) if has_margins(model) else f / max(np.abs(f).max(), TINY)
        draw_background(ax, shade, blend(palette.colours[0], palette.ground, palette.colours[1]))
    else:  # one class: f is much smaller inside than it may be outside
        inside, outside = np.maximum(f, 0.0), np.minimum(f, 0.0)
        shade = inside / max(f.max(), TINY) + outside / max(-f.min(), TINY)
        draw_background(ax, shade, blend(palette.faint, palette.ground, palette.colours[0]))
    if has_margins(model):
        ax.contour(*axes, f, levels=[-1, 1], colors=palette.ink, linewidths=1.2, linestyles="--", zorder=2)
    ax.contour(*axes, f, levels=[0], colors=palette.ink, linewidths=2.2, zorder=2)
