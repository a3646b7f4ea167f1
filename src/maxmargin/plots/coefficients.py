"""Coefficients along a path of C."""

from __future__ import annotations

import numpy as np

from .canvas import add_legend, find_palette, make_room, open_axes, style_curve


def plot_path(path, *, ax=None, most: int = 10):
    """The coefficients w_j(C) over C on a logarithmic axis; the `most` largest are named.

    Parameters
    ----------
    path : Path
        What `maxmargin.path` returned.
    ax : matplotlib Axes, optional
        The current ones if not given.
    most : int, default=10
        How many coefficients are drawn in colour; the others are grey.

    Returns
    -------
    matplotlib Axes
        With a second axis for the certified relative gap at every C.
    """
    ax = open_axes(ax)
    palette = find_palette(ax)
    order = np.argsort(path.Cs)
    Cs, coefs = path.Cs[order], path.coefs[order]
    largest = np.argsort(-np.abs(coefs).max(axis=0), kind="stable")
    for place, feature in enumerate(largest[:300]):
        named = place < most
        style = style_curve(palette, place) if named else {"color": palette.faint, "alpha": 0.6, "linewidth": 0.6}
        ax.plot(Cs, coefs[:, feature], zorder=2 if named else 1, label=f"feature {feature}" if named else None, **style)
    ax.set_xscale("log")
    ax.set(xlabel="C", ylabel="coefficient", title=f"{path.loss}: {len(Cs)} certified fits")
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    gaps = ax.twinx()
    tiny = 1e-16
    gaps.plot(Cs, [max(path.certificates[k].relative_gap, tiny) for k in order], ".", color=palette.ink, markersize=4,
              alpha=0.6)  # fmt: skip
    gaps.set_yscale("log")
    gaps.set_ylabel("certified relative gap (dots)")
    make_room(gaps, add_legend(ax, columns=5, fontsize="small"))
    return ax
