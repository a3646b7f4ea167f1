"""Kernel rows on demand, the least recently used evicted first, never more bytes than granted."""

from __future__ import annotations

import numpy as np

from ..contracts.features import KernelMatrix
from .tiles import open_tile

MAX_SINGLE_ROWS = 512  # rows held where they are evaluated one at a time; what is missing costs microseconds


class RowCache:
    """Rows K[i, :] of a Gram matrix in one buffer of at most `megabytes`, at least two rows.

    `rows[slot[i]]` is row i where slot[i] >= 0, and `stamp[slot]` the time of its last use. Compiled loops read
    these arrays directly and write the stamps. What is held changes by `fetch`, or within the loop where rows are
    evaluated one at a time (`source`). With `whole`, all rows of a small matrix are there at once, if they fit.
    """

    def __init__(self, features: KernelMatrix, megabytes: float, whole: bool = False):
        self.megabytes = megabytes
        self.reset(features, whole)

    def reset(self, features: KernelMatrix, whole: bool = False) -> None:
        """Empty the cache and lay it out for rows over these samples."""
        self.features, n = features, features.n
        self.source = None if whole and self.fits_whole(features) else features.source()
        matrix = None if self.evaluates_single_rows or not self.fits_whole(features) else features.form()
        self.capacity = n if matrix is not None else int(np.clip(self.megabytes * 2**20 // (8 * n), min(2, n), n))
        if self.evaluates_single_rows:
            self.capacity = min(self.capacity, MAX_SINGLE_ROWS)
            dtype = features.segments[0].packed.dtype
            # Pairs of classes come by the hundred: memory that was touched before is quicker than memory of their own.
            many = len(features.segments) == 2
            self.rows = open_tile(self.capacity, n, dtype, "rows") if many else np.empty((self.capacity, n), dtype)
        else:
            self.rows = matrix if matrix is not None else np.empty((self.capacity, n))
        self.slot = np.arange(n) if matrix is not None else np.full(n, -1)
        self.holder = np.full(self.capacity, -1)
        self.stamp = np.full(self.capacity, -1)

    def fits_whole(self, features: KernelMatrix) -> bool:
        """Whether the whole matrix is there already, or is no larger than what was granted."""
        return features.whole is not None or 8 * features.n**2 <= self.megabytes * 2**20

    @property
    def evaluates_single_rows(self) -> bool:
        """Whether compiled loops evaluate the rows they miss by themselves."""
        return self.source is not None

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

    def restrict_to(self, keep: np.ndarray) -> None:
        """Cut every row down to the columns `keep`, in place, so that more rows fit into the same bytes."""
        width = len(keep)
        features = self.features.subset(keep)
        features.counters = self.features.counters  # a row of a part counts as one of the whole
        source = features.source() if self.evaluates_single_rows else None
        if features.whole is not None or width <= 2 or (self.evaluates_single_rows and source is None):
            self.reset(features)
            return
        self.source = source
        place = np.full(self.features.n, -1)
        place[keep] = np.arange(width)
        held = np.flatnonzero((self.holder >= 0) & (place[np.maximum(self.holder, 0)] >= 0))
        flat = self.rows.reshape(-1)
        compact(flat, self.rows, held, keep)
        capacity = int(min(width, flat.size // width))
        holder, stamp = np.full(capacity, -1), np.full(capacity, -1)
        holder[: len(held)], stamp[: len(held)] = place[self.holder[held]], self.stamp[held]
        self.features, self.capacity, self.holder, self.stamp = features, capacity, holder, stamp
        self.rows = flat[: capacity * width].reshape(capacity, width)
        self.slot = np.full(width, -1)
        self.slot[holder[: len(held)]] = np.arange(len(held))


def compact(flat: np.ndarray, rows: np.ndarray, held: np.ndarray, keep: np.ndarray) -> None:
    """Write rows[held][:, keep] one after the other to the front of the buffer that holds the rows themselves."""
    width = len(keep)
    for position, slot in enumerate(held):
        flat[position * width : (position + 1) * width] = rows[slot][keep]
