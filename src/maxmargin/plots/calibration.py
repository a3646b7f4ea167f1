"""Reliability diagrams: how often what was given a probability came true."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .canvas import add_legend, find_palette, open_axes


class CalibrationBins(NamedTuple):
    """Rows by the probability they were given.

    Attributes
    ----------
    edges : ndarray of shape (bins + 1,)
    counts : ndarray of shape (bins,)
    mean_probability, share_true : ndarray of shape (bins,)
        NaN in empty bins.
    expected_error : float
        sum_k counts_k / n |share_true_k - mean_probability_k| (Naeini et al. 2015, Guo et al. 2017).
    """

    edges: np.ndarray
    counts: np.ndarray
    mean_probability: np.ndarray
    share_true: np.ndarray
    expected_error: float


def bin_calibration(y_true, probabilities, *, bins: int = 10, classes=None) -> CalibrationBins:
    """Expected calibration error sum_k counts_k / n |share_true_k - mean_probability_k| over bins of equal width.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    probabilities : array-like of shape (n,) or (n, n_classes)
        Of one column those that y_true is 1, or True. Of several, those of the classes in sorted order, or as `classes`
        lists them: then the largest of each row counts, and whether that class is the right one.
    bins : int, default=10
    classes : array-like of shape (n_classes,), optional

    Returns
    -------
    CalibrationBins
    """
    p, y = np.asarray(probabilities, float), np.asarray(y_true)
    if p.ndim not in (1, 2) or len(p) != len(y) or not len(y):
        raise ValueError(f"probabilities must have a row for each of y_true, got shapes {p.shape} and {y.shape}.")
    if not (np.isfinite(p).all() and p.min() >= 0.0 and p.max() <= 1.0):
        raise ValueError("probabilities must be between 0 and 1.")
    if not (isinstance(bins, int | np.integer) and bins >= 1):
        raise ValueError(f"bins must be a whole number of at least 1, got {bins!r}.")
    if p.ndim == 2:
        labels = np.unique(y) if classes is None else np.asarray(classes)
        if len(labels) != p.shape[1]:
            raise ValueError(f"probabilities have {p.shape[1]} columns for {len(labels)} classes; give classes.")
        came_true, p = labels[p.argmax(axis=1)] == y, p.max(axis=1)
    else:
        came_true = y.astype(bool)
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(place, weights=p, minlength=bins) / counts
        share = np.bincount(place, weights=came_true, minlength=bins) / counts
    error = float(np.nansum(counts * np.abs(share - mean)) / len(y))
    return CalibrationBins(edges, counts, mean, share, error)


def plot_calibration(y_true, probabilities, *, bins: int = 10, classes=None, label: str | None = None, ax=None):
    """Reliability diagram: share of rows that came true over the mean probability they were given, bin by bin.

    On the diagonal, probabilities are calibrated. Grey bars are the shares of rows in the bins, each with its count;
    the title has the expected calibration error.

    Parameters
    ----------
    y_true, probabilities, bins, classes
        As of `bin_calibration`.
    label : str, optional
        Of the curve, for a legend.
    ax : matplotlib Axes, optional
        The current ones if not given.

    Returns
    -------
    matplotlib Axes
    """
    found = bin_calibration(y_true, probabilities, bins=bins, classes=classes)
    ax, filled = open_axes(ax), found.counts > 0
    palette = find_palette(ax)
    width = np.diff(found.edges)
    ax.bar(found.edges[:-1], found.counts / found.counts.sum(), width, align="edge", color=palette.grid, zorder=1)
    for left, wide, count in zip(found.edges[:-1], width, found.counts, strict=True):
        if count:
            ax.annotate(f"{count}", (left + 0.5 * wide, 0.01), ha="center", va="bottom", fontsize=7, color=palette.ink)
    ax.plot([0, 1], [0, 1], color=palette.ink, linewidth=0.8, linestyle=":", zorder=2)
    ax.plot(
        found.mean_probability[filled],
        found.share_true[filled],
        color=palette.colours[0],
        marker="o",
        label=label,
        zorder=3,
    )
    ax.set(
        xlim=(0, 1), ylim=(0, 1), xlabel="probability", ylabel="share that came true",
        title=f"expected calibration error {found.expected_error:.3f}",
    )  # fmt: skip
    if label is not None:
        add_legend(ax)
    return ax
