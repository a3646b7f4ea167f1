"""Panels: drawings of one pair of axes each, which the page puts side by side, or below each other on a phone."""

from __future__ import annotations

PANEL_INCHES = (5.6, 4.5)  # as wide as a phone, with letters that can still be read there


def open_panel():
    """A drawing and its only axes.

    Returns
    -------
    figure : matplotlib.figure.Figure
    ax : matplotlib.axes.Axes
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=PANEL_INCHES, layout="constrained")
    return figure, figure.subplots()


def open_panels(count: int) -> tuple[list, list]:
    """Some drawings, and the axes of each."""
    figures, axes = zip(*(open_panel() for _ in range(count)), strict=True)
    return list(figures), list(axes)
