"""Kernel rows on demand, the least recently used evicted first, never more bytes than granted."""

from __future__ import annotations

import numpy as np

from .features import Gram


class RowCache:
    """Rows K[i, :] of a Gram matrix in one buffer of at most `megabytes`, at least two rows.

    `rows[slot[i]]` is row i where slot[i] >= 0, and `stamp[slot]` the time of its last use. Compiled loops read
    these arrays directly and write the stamps; only `fetch` changes what is held.
    """

    def __init__(self, features: Gram, megabytes: float):
        self.features, self.megabytes = features, megabytes
        n = features.n
        whole = features.form()
        self.capacity = n if whole is not None else int(np.clip(megabytes * 2**20 // (8 * n), min(2, n), n))
        self.rows = whole if whole is not None else np.empty((self.capacity, n))
        self.slot = np.arange(n) if whole is not None else np.full(n, -1)
        self.holder = np.full(self.capacity, -1)
        self.stamp = np.full(self.capacity, -1)

    def fetch(self, wanted: np.ndarray, clock: int) -> None:
        """Evaluate the rows `wanted`, the most urgent first, in one block; the oldest make room."""
        oldest = np.argpartition(self.stamp, len(wanted) - 1)[: len(wanted)]
        evicted = self.holder[oldest]
        self.slot[evicted[evicted >= 0]] = -1
        self.rows[oldest] = self.features.block(wanted)
        self.holder[oldest] = wanted
        self.slot[wanted] = oldest
        self.stamp[oldest] = clock - 1
        self.stamp[oldest[0]] = clock

    def narrow(self, keep: np.ndarray) -> None:
        """Cut every row down to the columns `keep`, in place, so that more rows fit into the same bytes."""
        width = len(keep)
        features = self.features.subset(keep)
        if features.whole is not None or width <= 2:
            self.__init__(features, self.megabytes)
            return
        place = np.full(self.features.n, -1)
        place[keep] = np.arange(width)
        held = np.flatnonzero((self.holder >= 0) & (place[np.maximum(self.holder, 0)] >= 0))
        flat = self.rows.reshape(-1)
        for position, slot in enumerate(held):
            flat[position * width : (position + 1) * width] = self.rows[slot][keep]
        capacity = int(min(width, flat.size // width))
        holder, stamp = np.full(capacity, -1), np.full(capacity, -1)
        holder[: len(held)], stamp[: len(held)] = place[self.holder[held]], self.stamp[held]
        self.features, self.capacity, self.holder, self.stamp = features, capacity, holder, stamp
        self.rows = flat[: capacity * width].reshape(capacity, width)
        self.slot = np.full(width, -1)
        self.slot[holder[: len(held)]] = np.arange(len(held))
