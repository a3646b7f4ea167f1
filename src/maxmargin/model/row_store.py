"""Kernel rows for block updates: evaluated on all cores, those worth keeping kept in one buffer."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..contracts.features import KernelMatrix
from ..contracts.samples import Samples
from ..runtime.interruptible import Interrupted
from ..runtime.threads import STRIPS, run_strips
from .tiles import open_tile

MIRROR_MIN_NANOSECONDS = 2.0  # nanoseconds of a kernel value above which a square is worth its mirror
LOOSE_FACTOR = 1.25  # times their length that rows may lie apart before they are moved together to make room
START_MEGABYTES = 128  # of rows, before more memory has to be worth its while
# of an entry in float32 that is touched for the first time: 1.4 where the system has the memory at hand, 9 and more
# where it does not
TOUCH_NANOSECONDS = 8.0
ENTRIES_CUT_AT_A_TIME = 1 << 20  # about a millisecond of work


class RowStore:
    """Rows K[i, :] for block updates f += sum_i step_i K[i, :]: evaluated in strips on all cores, kept if they fit.

    Rows are held in float32 where the kernel can be evaluated so with a small known error, else in float64. A row
    that finds no place is used and forgotten: it costs its evaluation, not memory. Copies of the data, in float32 or
    as sparse ones, are paid for out of `megabytes` too.

    The row of `holder[k]` begins at k `stride` of the buffer. When samples are set aside no row is touched: a row is
    cut down to the columns that are left, where it lies, when it is next used. `columns[layout[k]]` are the places of
    those columns in row k as it is now. Only before memory would be touched for the first time are rows moved together.

    Memory is not taken because it is granted: to touch it for the first time may cost more than to evaluate a row
    again. START_MEGABYTES are taken at once. More is touched as soon as rows that were evaluated before, and found no
    place, have cost as much as that, so that both together cost at most twice what had to be paid anyway.
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
        # Memory that is touched for the first time costs more than the arithmetic on it, and only what is used is
        # touched: rows come to the front of the buffer, which is laid out anew, never replaced.
        self.buffer = np.empty(min(max(room, features.n), features.n**2), self.dtype)
        self.counters = Counter(hits=0, misses=0)
        self.clock = self.touched = 0  # entries at the front of the buffer that hold or have held a row
        self.allowed = START_MEGABYTES * 2**20 / self.dtype.itemsize  # entries that may be touched
        self.reset(features, half)

    def reset(self, features: KernelMatrix, half: Samples | None) -> None:
        """Empty the store and lay its buffer out for rows over these samples."""
        self.features, self.half = features, half
        self.n = features.n if half is None else half.n
        self.slot, self.wanted = np.full(self.n, -1), np.zeros(self.n, bool)
        self.lay_out(self.n)

    def lay_out(self, stride: int) -> None:
        """Empty places for rows, so many entries apart."""
        self.stride = stride
        capacity = min(self.n, self.buffer.size // stride)
        self.rows = self.buffer[: capacity * stride].reshape(capacity, stride)
        self.holder, self.stamp = np.full(capacity, -1), np.full(capacity, -1)
        self.layout, self.columns = np.zeros(capacity, np.int64), [np.arange(self.n, dtype=np.uint32)]

    def switch_to_float64(self) -> None:
        """Hold rows in float64 from now on, in the same bytes."""
        self.dtype = np.dtype(np.float64)
        self.buffer = self.buffer[: self.buffer.size // 2 * 2].view(np.float64)
        self.touched, self.allowed = self.touched // 2, self.allowed / 2
        if self.buffer.size < self.features.n:
            self.buffer, self.touched = np.empty(self.features.n), 0

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
        part = None if self.half is None else self.half.take(new)
        places = self.admit(self.ask_for_room(new[keep[~known]]))
        slots, weights, fresh = self.slot[index[known]], steps[known], steps[~known]

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
            self.cut(slots)
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
        room = max(1, int(max(self.allowed, self.touched)) // self.stride)
        stamp = self.stamp[:room]
        count = min(len(new), int((stamp < self.clock).sum()))
        if count == 0:
            return np.empty(0, np.int64)
        empty = np.flatnonzero(self.holder[:room] < 0)[:count]
        if (len(empty) < count or (empty[-1] + 1) * self.stride > self.touched) and self.is_loose():
            self.pack()
            return self.admit(new)
        oldest = empty
        if len(empty) < count:
            stamp = np.where(stamp < 0, self.clock, stamp)
            oldest = np.concatenate([empty, np.argpartition(stamp, count - len(empty) - 1)[: count - len(empty)]])
            self.slot[self.holder[oldest[len(empty) :]]] = -1
        self.touched = max(self.touched, (int(oldest.max()) + 1) * self.stride)
        self.holder[oldest], self.stamp[oldest] = new[:count], self.clock
        self.layout[oldest] = len(self.columns) - 1
        self.slot[new[:count]] = oldest
        return oldest

    def ask_for_room(self, new: np.ndarray) -> np.ndarray:
        """The rows, which are to be kept; those that were to be kept before are a reason to touch more memory."""
        again = np.count_nonzero(self.wanted[new])
        cost = self.features.cost * (1 if self.dtype == np.float32 else 2)
        self.allowed += again * self.n * cost / TOUCH_NANOSECONDS
        self.wanted[new] = True
        return new

    def is_loose(self) -> bool:
        """Whether rows are so much shorter than the places they lie in that a move makes room for more."""
        return self.stride > LOOSE_FACTOR * self.n and bool((self.holder >= 0).any())

    def restrict_to(self, keep: np.ndarray) -> None:
        """Go on with the columns `keep`; the rows of other samples are forgotten, those of kept ones cut when used."""
        place = np.full(self.n, -1)
        place[keep] = np.arange(len(keep))
        holder = np.where(self.holder >= 0, place[np.maximum(self.holder, 0)], -1)
        self.holder, self.stamp = holder, np.where(holder >= 0, self.stamp, -1)
        self.columns = [columns[keep] for columns in self.columns] + [np.arange(len(keep), dtype=np.uint32)]
        if self.half is None:
            self.features = self.features.subset(keep)
        else:
            self.half = self.half.take(keep)
        self.n = len(keep)
        self.slot, self.wanted = np.full(self.n, -1), self.wanted[keep]
        held = np.flatnonzero(holder >= 0)
        self.slot[holder[held]] = held

    def cut(self, slots: np.ndarray) -> None:
        """Cut these rows down to the columns that are left, where they lie, on all cores."""
        from ..compiled.kernel_rows import cut_row

        stale = slots[self.layout[slots] < len(self.columns) - 1]

        def cut(start: int, stop: int) -> None:
            for slot in stale[start:stop]:
                cut_row(self.rows[slot], self.columns[self.layout[slot]])
                self.layout[slot] = len(self.columns) - 1

        if len(stale):
            run_strips(cut, len(stale), max(1, ENTRIES_CUT_AT_A_TIME // self.n))

    def pack(self) -> None:
        """Move all rows together, to the front of the buffer, and the places of rows with them."""
        held = np.flatnonzero(self.holder >= 0)
        self.cut(held)
        holder, stamp, rows = self.holder[held], self.stamp[held], self.rows
        self.lay_out(self.n)
        for place, slot in enumerate(held):  # never behind where it was, so that no row is written over
            self.rows[place] = rows[slot, : self.n]
        self.holder[: len(held)], self.stamp[: len(held)] = holder, stamp
        self.slot[holder] = np.arange(len(held))

    def row(self, i: int) -> np.ndarray:
        """The row of a sample that is held."""
        self.cut(self.slot[i : i + 1])
        return self.rows[self.slot[i], : self.n]
