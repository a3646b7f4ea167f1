"""Curves of the loss table."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from ..model.losses import LOSSES, Loss
from .canvas import DASHES, add_legend, cycle, find_palette, open_axes

TARGET_OF_TASK = {"classification": "label", "regression": "real"}
AXIS_LABELS = {
    "label": "margin z = y f", "real": "residual r = f - y", "count": "score f, at y = 1", "none": "score f",
}  # fmt: skip


def plot_losses(losses=None, *, ax=None, reach: float = 3.0):
    """l(z) over the margin z = y f for labels, or l(r) over the residual r = f - y for real targets.

    Parameters
    ----------
    losses : list of names or Loss objects, "classification", "regression" or None
        One kind of losses; None is "classification". A name stands for the loss with its default parameters.
    ax : matplotlib Axes, optional
        The current ones if not given.
    reach : float, default=3
        The curves go from -reach to reach.

    Returns
    -------
    matplotlib Axes
        With names and formulas in the legend.
    """
    losses = list_losses(losses)
    if not (np.isscalar(reach) and 0 < reach < np.inf):
        raise ValueError(f"reach must be a positive number, got {reach!r}.")
    ax = open_axes(ax)
    palette = find_palette(ax)
    x = np.unique(np.append(np.linspace(-reach, reach, 1201), [0.0, 1.0]))  # the kinks that have no parameter
    y = np.zeros_like(x) if losses[0].target == "real" else np.ones_like(x)
    curves = [loss.value(x, y) for loss in losses]
    top = min(1.5 * reach, max(curve.max() for curve in curves))
    for place, (loss, curve) in enumerate(zip(losses, curves, strict=True)):
        shown = np.where(curve <= top, curve, np.nan)  # the legend is above
        ax.plot(
            x,
            shown,
            color=cycle(palette.colours, place),
            linestyle=cycle(DASHES, place),
            linewidth=2.2,
            label=describe(loss),
        )
    ax.axvline(0.0, color=palette.faint, linewidth=0.8, zorder=0)
    ax.axhline(0.0, color=palette.faint, linewidth=0.8, zorder=0)
    ax.set_xlim(-reach, reach)
    ax.set_ylim(min(0.0, *(curve.min() for curve in curves)) - 0.04 * top, 1.02 * top)
    ax.set(xlabel=AXIS_LABELS[losses[0].target], ylabel="loss l")
    add_legend(ax, columns=1)
    return ax


def list_losses(losses) -> list[Loss]:
    """The losses as objects, all of one kind of target."""
    if losses is None or (isinstance(losses, str) and losses in TARGET_OF_TASK):
        target = TARGET_OF_TASK[losses or "classification"]
        return [loss() for loss in LOSSES.values() if loss.target == target]
    found = [find_loss(loss) for loss in ([losses] if isinstance(losses, str | Loss) else losses)]
    if not found:
        raise ValueError("losses must name at least one loss, got none.")
    first = found[0]
    other = next((loss for loss in found if loss.target != first.target), None)
    if other is not None:
        raise ValueError(
            f"losses must be of one kind, and {first.name!r} is a function of the {AXIS_LABELS[first.target]}, "
            f"{other.name!r} "
            f"of the {AXIS_LABELS[other.target]}."
        )
    return found


def find_loss(loss) -> Loss:
    """The loss of a name, or the loss itself if it has one score per sample."""
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]()
    if isinstance(loss, Loss) and loss.target in AXIS_LABELS:
        return loss
    raise ValueError(f"losses must be names of {sorted(LOSSES)} or Loss objects of one score, got {loss!r}.")


def describe(loss: Loss) -> str:
    """Name, parameters and formula: "huber(threshold=1): r^2/(2h) if |r| <= h else |r| - h/2"."""
    parameters = ", ".join(f"{part.name}={getattr(loss, part.name):g}" for part in fields(loss))
    return f"{loss.name}{f'({parameters})' if parameters else ''}: {read_formula(loss)}"


def read_formula(loss: Loss) -> str:
    """The formula that opens the docstring: up to the first comma or colon outside of brackets, or the full stop."""
    depth = 0
    text = (loss.__doc__ or "").strip().split("\n")[0].rstrip(".")
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter in ",:":
            return text[:place]
    return text
