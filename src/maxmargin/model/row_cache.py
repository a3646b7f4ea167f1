"""Kernel rows on demand, the least recently used evicted first, never more bytes than granted."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..contracts.features import KernelMatrix
from ..contracts.samples import Samples
from ..runtime.interruptible import Interrupted
from ..runtime.threads import STRIPS, run_strips
from .tiles import open_tile

MAX_SINGLE_ROWS = 512  # rows held where they are evaluated one at a time; what is missing costs microseconds
MIRROR_MIN_NANOSECONDS = 2.0  # nanoseconds of a kernel value above which a square is worth its mirror


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


class RowStore:
    """Rows K[i, :] for block updates f += sum_i step_i K[i, :]: evaluated in strips on all cores, kept if they fit.

    Rows are held in float32 where the kernel can be evaluated so with a small known error, else in float64. A row
    that finds no place is used and forgotten: it costs its evaluation, not memory. Copies of the data, in float32 or
    as sparse ones, are paid for out of `megabytes` too.
    """

    def __init__(self, features: KernelMatrix, megabytes: float, exact: bool = False):
        self.features = features
        samples = features.samples
        half = None if exact or samples is None else features.kernel.to_float32(samples, megabytes / 4)
        self.dtype = np.dtype(np.float64 if half is None else np.float32)
        spent = 0 if samples is None else samples.copied
        if half is not None and half.nbytes != samples.nbytes:
            spent += 2 * half.nbytes  # it is cut down by copying when samples are set aside
        room = int(megabytes * 2**20 - spent) // self.dtype.itemsize
        # Touched for the first time, an entry costs 19 ns of page faults: the buffer is laid out anew, never replaced.
        self.buffer = np.empty(min(max(room, features.n), features.n**2), self.dtype)
        self.counters = Counter(hits=0, misses=0)
        self.clock = 0
        self.reset(features, half)

    def reset(self, features: KernelMatrix, half: Samples | None) -> None:
        """Empty the store and lay its buffer out for rows over these samples."""
        self.features, self.half = features, half
        self.n = features.n if half is None else half.n
        capacity = min(self.n, self.buffer.size // self.n)
        self.rows = self.buffer[: capacity * self.n].reshape(capacity, self.n)
        self.slot, self.holder = np.full(self.n, -1), np.full(capacity, -1)
        self.stamp = np.full(capacity, -1)

    def switch_to_float64(self) -> None:
        """Hold rows in float64 from now on, in the same bytes."""
        self.dtype = np.dtype(np.float64)
        self.buffer = self.buffer[: self.buffer.size // 2 * 2].view(np.float64)
        if self.buffer.size < self.features.n:
            self.buffer = np.empty(self.features.n)

    def square(self, work: np.ndarray) -> np.ndarray:
        """K[work, work], evaluated anew: gathering it from long rows costs as much."""
        if self.half is None:
            return self.features.evaluate(work, work)
        K = open_tile(len(work), len(work), self.dtype, "square")
        part = self.half.take(work)

        def evaluate(start: int, stop: int) -> None:
            if self.features.cost < MIRROR_MIN_NANOSECONDS:  # to mirror one half costs more than to evaluate it
                self.features.kernel.write(part.take(slice(start, stop)), part, K[start:stop])
                return
            rows, columns = part.take(slice(start, stop)), part.take(slice(0, stop))
            tile = self.features.kernel.write(rows, columns, open_tile(rows.n, stop, self.dtype))
            K[start:stop, :stop] = tile
            K[:start, start:stop] = tile[:, :start].T

        run_strips(evaluate, len(work), max(128, -(-len(work) // STRIPS)))
        if self.features.offset:
            K += np.float32(self.features.offset)
        return K

    def add(self, f: np.ndarray, index: np.ndarray, steps: np.ndarray, keep: np.ndarray | None = None) -> None:
        """f += sum_k steps_k K[index_k, :]; rows that are not held are evaluated, and kept where `keep` says so.

        Interrupted within it, f is as it was, and no new row is held.
        """
        if not len(index):
            return
        keep = np.ones(len(index), bool) if keep is None else keep
        order = np.argsort(~keep, kind="stable")
        index, steps, keep = index[order], steps[order], keep[order]
        known = self.slot[index] >= 0
        new = index[~known]
        self.counters["hits"] += int(known.sum())
        self.counters["misses"] += len(new)
        self.clock += 1
        self.stamp[self.slot[index[known]]] = self.clock
        places = self.admit(new[keep[~known]])
        slots, weights, fresh = self.slot[index[known]], steps[known], steps[~known]
        part = None if self.half is None else self.half.take(new)

        def update(start: int, stop: int) -> None:
            from ..compiled.kernel_rows import add_stored_rows

            if len(slots):
                add_stored_rows(f, self.rows, slots, weights, start, stop)
            if len(new):
                tile = self.evaluate(new, part, start, stop)
                self.rows[places, start:stop] = tile[: len(places)]
                add_stored_rows(f[start:stop], tile, np.arange(len(new)), fresh, 0, stop - start)

        before = f.copy()
        try:
            run_strips(update, self.n, self.strip(len(new)))
        except Interrupted:
            f[:] = before
            self.slot[self.holder[places]] = self.holder[places] = self.stamp[places] = -1
            raise

    def strip(self, rows: int) -> int:
        """Columns of a strip: a tile of at most 1 MB, and at least two strips for each core on long rows."""
        return int(np.clip((1 << 18) // max(rows, 64), 256, 4096))

    def evaluate(self, new: np.ndarray, part, start: int, stop: int) -> np.ndarray:
        """K[new, start:stop]; in float32 into a buffer of this thread."""
        if part is None:
            return self.features.evaluate(new, slice(start, stop))
        tile = open_tile(len(new), stop - start, self.dtype)
        self.features.kernel.write(part, self.half.take(slice(start, stop)), tile)
        if self.features.offset:
            tile += np.float32(self.features.offset)
        return tile

    def admit(self, new: np.ndarray) -> np.ndarray:
        """Slots for as many of the new rows as may be kept: empty ones first, then those longest unused."""
        count = min(len(new), int((self.stamp < self.clock).sum()))
        if count == 0:
            return np.empty(0, np.int64)
        oldest = np.argpartition(self.stamp, count - 1)[:count]
        evicted = self.holder[oldest]
        self.slot[evicted[evicted >= 0]] = -1
        self.holder[oldest], self.stamp[oldest] = new[:count], self.clock
        self.slot[new[:count]] = oldest
        return oldest

    def restrict_to(self, keep: np.ndarray) -> None:
        """Cut every row down to the columns `keep`, in place, so that more rows fit into the same bytes."""
        width = len(keep)
        place = np.full(self.n, -1)
        place[keep] = np.arange(width)
        held = np.flatnonzero((self.holder >= 0) & (place[np.maximum(self.holder, 0)] >= 0))
        compact(self.buffer, self.rows, held, keep)
        holder, stamp = place[self.holder[held]], self.stamp[held]
        if self.half is None:
            self.reset(self.features.subset(keep), None)
        else:
            self.reset(self.features, self.half.take(keep))
        self.holder[: len(held)], self.stamp[: len(held)] = holder, stamp
        self.slot[holder] = np.arange(len(held))


def compact(flat: np.ndarray, rows: np.ndarray, held: np.ndarray, keep: np.ndarray) -> None:
    """Write rows[held][:, keep] one after the other to the front of the buffer that holds the rows themselves."""
    width = len(keep)
    for position, slot in enumerate(held):
        flat[position * width : (position + 1) * width] = rows[slot][keep]
