"""The regions of classes in the plane, with borders that are smoother than the grid they are found on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .canvas import Palette, cycle

# A Fibonacci lattice: 55 places in a square, no two of which share a coordinate.
PLACES = 2.0 * (np.column_stack([np.arange(55), 34 * np.arange(55) % 55]) + 0.5) / 55.0 - 1.0


def find_lead(predict: Callable[[np.ndarray], np.ndarray], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """lead_k = share_k - max_{m != k} share_m, in the four cells around each point of the grid.

    share_k is the part of the cells in which class k is predicted: 0 or 1 far from the borders, and counted at 55
    places near them. The share changes by a half from one point of the grid to the next where a border lies between
    them, so lead_k = 0 is where the border runs, whatever the model.

    Parameters
    ----------
    predict : callable
        predict(points) -> numbers of classes from 0 on.
    x, y : ndarray
        The axes of the grid, at equal distances.

    Returns
    -------
    ndarray of shape (classes, len(y), len(x))
    """
    chosen = predict(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(len(y), len(x))
    shares = (chosen == np.arange(chosen.max() + 1)[:, None, None]).astype(float)
    rows, columns = np.nonzero(is_near_border(chosen))
    if len(rows):
        centres = np.column_stack([x[columns], y[rows]])
        places = centres[:, None] + PLACES * (x[1] - x[0], y[1] - y[0])
        counted = predict(places.reshape(-1, 2)).reshape(len(rows), len(PLACES))
        for k in range(len(shares)):
            shares[k, rows, columns] = (counted == k).mean(axis=1)
    return np.array([share - np.delete(shares, k, axis=0).max(axis=0, initial=0.0) for k, share in enumerate(shares)])


def is_near_border(chosen: np.ndarray) -> np.ndarray:
    """Points of a grid with a point of another class among the eight around them."""
    framed = np.pad(chosen, 1, mode="edge")
    height, width = chosen.shape
    around = [framed[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return (np.min(around, axis=0) != chosen) | (np.max(around, axis=0) != chosen)


def draw_regions(ax, palette: Palette, axes, lead: np.ndarray) -> None:
    """The region of each class in a light tone of its colour, and the lines between them."""
    for place, height in enumerate(lead):
        if height.max() <= 0.0:
            continue  # predicted nowhere here
        ax.contourf(*axes, height, levels=[0.0, 2.0], colors=[cycle(palette.colours, place)], alpha=0.25, zorder=0)
        if height.min() < 0.0 and place:
            ax.contour(*axes, height, levels=[0.0], colors=palette.ink, linewidths=1.0, zorder=2)
