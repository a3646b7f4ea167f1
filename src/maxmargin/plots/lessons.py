"""Pictures of arguments: why labels need a margin, and why C decides which vectors lie on it."""

from __future__ import annotations

import numpy as np

from .canvas import MARKS, add_legend, find_palette, open_axes, set_limits
from .support import split_duals
from .tubes import plot_regression_tube

CURVE_POINTS = 400  # of a function that is drawn
SHOWN_SCORE = 2.0  # the largest |f| that is drawn beside labels


def plot_dense_labels(regressor, classifier, x, y, *, axes=None):
    """The tube around labels beside the margin: a line cannot stay within epsilon of +-1, so nearly all are support.

    Parameters
    ----------
    regressor : fitted SVR
        On the labels -1 and +1 as targets.
    classifier : fitted SVC
        On the same data.
    x : array-like of shape (n,)
        One feature.
    y : array-like of shape (n,)
        Labels -1 and +1.
    axes : pair of matplotlib Axes, optional
        New ones if not given.

    Returns
    -------
    array of matplotlib Axes
    """
    import matplotlib.pyplot as plt

    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(13.0, 5.0), layout="constrained")
    x, y = np.asarray(x, float), np.asarray(y, float)
    plot_regression_tube(regressor, x, y, ax=axes[0])
    axes[0].set(xlabel="x", ylabel="f and the labels")
    axes[0].set_title(f"epsilon-insensitive: {len(regressor.support_)} of {len(x)} are support vectors")
    draw_margin_line(axes[1], classifier, x, y)
    axes[1].set_title(f"hinge: {len(classifier.support_)} of {len(x)} are support vectors")
    return axes


def draw_margin_line(ax, classifier, x: np.ndarray, y: np.ndarray) -> None:
    """f over one feature, its margins, and the labels: those of support vectors marked as in the picture of a tube."""
    grid = np.linspace(x.min() - 0.05 * np.ptp(x), x.max() + 0.05 * np.ptp(x), CURVE_POINTS)
    palette = find_palette(ax)
    scores, support = classifier.decision_function(grid[:, None]), split_duals(classifier)
    ax.plot(
        grid, np.where(np.abs(scores) <= SHOWN_SCORE, scores, np.nan), color=palette.ink, linewidth=2.0, label="f(x)"
    )
    for level in (-1.0, 1.0):
        ax.axhline(level, color=palette.faint, linestyle="--", linewidth=1.0, zorder=1)
    beyond = np.setdiff1d(np.arange(len(x)), np.concatenate(support))
    ax.plot(x[beyond], y[beyond], ".", color=palette.faint, markersize=6, label=f"{len(beyond)} beyond the margin")
    for place, (index, name) in enumerate(zip(support, ("free support vectors", "at the bound"), strict=True)):
        ax.plot(
            x[index],
            y[index],
            cycle_mark(place),
            color=(palette.free, palette.bounded)[place],
            markeredgecolor=palette.ink,
            markersize=7,
            zorder=4 - place,
            label=f"{len(index)} {name}",
        )
    ax.set(xlabel="x", ylabel="f and the labels", ylim=(-SHOWN_SCORE, SHOWN_SCORE), xlim=(grid[0], grid[-1]))
    add_legend(ax, columns=3)


def cycle_mark(place: int) -> str:
    """The mark of a class."""
    return MARKS[place % len(MARKS)]


def evaluate_shrinking(X: np.ndarray, y: np.ndarray, w: np.ndarray, b: float, penalty: float, scale) -> np.ndarray:
    """sum_i max(0, margin - y_i f(x_i)) + penalty |w|^2 at (s w, s b) for margins 0 and 1; of shape (2, len(scale))."""
    scores, s = y * (X @ w + b), np.ravel(np.asarray(scale, float))
    square = penalty * float(w @ w) * s**2
    return np.array([np.maximum(margin - np.outer(s, scores), 0.0).sum(axis=1) + square for margin in (0.0, 1.0)])


def plot_perceptron_collapse(X, y, w, b: float = 0.0, *, penalty: float = 0.1, axes=None):
    """sum_i max(0, -y_i f_i) + penalty |w|^2 along s (w, b), and the same with the margin: max(0, 1 - y_i f_i).

    Of a hyperplane that separates the data, the perceptron's objective is penalty s^2 |w|^2: the flattest f, w = 0, is
    the best, and separates nothing. A margin of 1 has its minimum at s > 0.

    Parameters
    ----------
    X : array-like of shape (n, 1)
        One feature, so that f can be drawn.
    y : array-like of shape (n,)
        Labels -1 and +1.
    w : array-like of shape (1,)
    b : float
    penalty : float, default=0.1
    axes : pair of matplotlib Axes, optional
        New ones if not given.

    Returns
    -------
    array of matplotlib Axes
    """
    import matplotlib.pyplot as plt

    X, y, w = np.asarray(X, float), np.asarray(y, float), np.ravel(np.asarray(w, float))
    if X.ndim != 2 or X.shape[1] != 1 or len(w) != 1:
        raise ValueError(f"X must have one feature and w one number, got shapes {X.shape} and {w.shape}.")
    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(13.0, 5.0), layout="constrained")
    scale = np.linspace(0.0, 2.0, CURVE_POINTS)
    perceptron, hinge = evaluate_shrinking(X, y, w, b, penalty, scale)
    palette = find_palette(axes[0])
    names = ("perceptron: max(0, -y f)", "hinge: max(0, 1 - y f)")
    for values, name, colour in zip((perceptron, hinge), names, palette.colours, strict=False):
        best = int(np.argmin(values))
        axes[0].plot(scale, values, color=colour, linewidth=2.2, label=name)
        axes[0].plot(
            scale[best], values[best], "o", color=colour, markersize=9, label=f"minimum at s = {scale[best]:.2f}"
        )
    axes[0].set(
        xlabel="s, where f = s (w x + b)", ylabel="objective", xlim=(-0.04, 2.0), ylim=(-0.03 * hinge.max(), None)
    )
    add_legend(axes[0], columns=2)
    draw_flattening(axes[1], X[:, 0], y, float(w[0]), b, float(scale[np.argmin(hinge)]))
    return axes


def draw_flattening(ax, x: np.ndarray, y: np.ndarray, w: float, b: float, best: float) -> None:
    """f for smaller and smaller s, and the one that the hinge chooses."""
    palette = find_palette(ax)
    for place, label in enumerate((-1.0, 1.0)):
        ax.plot(
            x[y == label],
            y[y == label],
            cycle_mark(place),
            color=palette.ink,
            markerfacecolor=("none", palette.ink)[place],
            label=f"label {label:+g}",
        )
    grid = np.linspace(x.min(), x.max(), CURVE_POINTS)
    f = best * (w * grid + b)
    for s, shade in ((0.5, 0.9), (0.25, 0.6), (0.1, 0.35)):
        ax.plot(grid, s * f, color=palette.colours[0], alpha=shade, linewidth=1.6,
                label="perceptron, smaller and smaller s" if s == 0.5 else None)  # fmt: skip
    ax.plot(
        grid,
        np.where(np.abs(f) <= SHOWN_SCORE, f, np.nan),
        color=palette.colours[1],
        linewidth=2.4,
        label="hinge, its best s",
    )
    ax.axhline(0.0, color=palette.faint, linewidth=1.0)
    ax.set(xlabel="x", ylabel="f")
    set_limits(ax, np.array([x.min(), -SHOWN_SCORE]), np.array([x.max(), SHOWN_SCORE]))
    add_legend(ax, columns=2)


def count_support(models) -> dict[str, np.ndarray]:
    """C, and the numbers of free and of bounded support vectors, of fitted models."""
    parts = [split_duals(model) for model in models]
    return {
        "C": np.array([model.C for model in models], float),
        "free": np.array([len(part.free) for part in parts]),
        "bounded": np.array([len(part.bounded) for part in parts]),
    }


def plot_support_counts(models, *, ax=None):
    """The numbers of free and of bounded support vectors over C: as C grows, fewer samples lie within the margin.

    Parameters
    ----------
    models : list of fitted SVC or SVR
        On the same data, with different C.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if not len(models):
        raise ValueError("models must hold at least one fitted model, got none.")
    ax, counts = open_axes(ax), count_support(models)
    palette, order = find_palette(ax), np.argsort(counts["C"])
    for place, (name, where) in enumerate((("free", "on the margin"), ("bounded", "within it"))):
        ax.plot(
            counts["C"][order],
            counts[name][order],
            color=(palette.free, palette.bounded)[place],
            marker=cycle_mark(place),
            linewidth=1.8,
            label=f"{name}, {where}",
        )
    ax.set(xlabel="C", ylabel="support vectors", xscale="log")
    ax.set_ylim(bottom=0)
    add_legend(ax)
    return ax


def plot_kernel_time(seconds: dict[str, tuple[float, float]], *, ax=None):
    """The seconds that kernel values take as a share of all seconds, one bar for each way to solve.

    Parameters
    ----------
    seconds : dict of name -> (kernel, all)
        Measured.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    for name, (kernel, total) in seconds.items():
        if not 0.0 <= kernel <= total or total <= 0.0:
            raise ValueError(f"seconds[{name!r}] must be (kernel, all) with 0 <= kernel <= all, got {(kernel, total)}.")
    ax, names = open_axes(ax), list(seconds)
    share = np.array([kernel / total for kernel, total in seconds.values()])
    place, palette = np.arange(len(names)), find_palette(ax)
    ax.barh(place, 100.0 * share, color=palette.colours[0], label="kernel values")
    ax.barh(place, 100.0 * (1.0 - share), left=100.0 * share, color=palette.faint, label="all else")
    for at, (kernel, total) in zip(place, seconds.values(), strict=True):
        ax.text(50.0, at, f"{kernel:.2f} s of {total:.2f} s", ha="center", va="center", color=palette.ground,
                bbox={"facecolor": palette.ink, "edgecolor": "none", "alpha": 0.75, "pad": 3})  # fmt: skip
    ax.set_yticks(place, names)
    ax.set(xlabel="per cent of the time", xlim=(0.0, 100.0))
    ax.set_ylim(-0.6, len(names) - 0.4)
    add_legend(ax)
    return ax
