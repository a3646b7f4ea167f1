"""Arrays that grow at their end."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

FAST_GROWTH_BYTES = 1 << 24  # bytes up to which an array grows by half, and not by an eighth


class GrowingArray:
    """An array that grows at its end; where the C library moves pages and not bytes, at no cost of memory."""

    def __init__(self, dtype):
        self.array, self.size = np.empty(0, dtype), 0

    def reserve(self, length: float) -> None:
        """Room for so many numbers; pages that are not written to cost nothing."""
        with suppress(MemoryError):  # it was a guess
            self.array = np.empty(int(length), self.array.dtype)

    def extend(self, length: int) -> np.ndarray:
        """Room for so many more numbers, to be written."""
        start, self.size = self.size, self.size + length
        if self.size > len(self.array):
            more = len(self.array) // (2 if self.array.nbytes < FAST_GROWTH_BYTES else 8)
            self.array.resize(max(self.size, len(self.array) + more), refcheck=False)
        return self.array[start : self.size]

    def append(self, part: np.ndarray) -> None:
        """Put some numbers behind those that are there."""
        self.extend(len(part))[:] = part

    def finish(self) -> np.ndarray:
        """The numbers, in an array of their size."""
        self.array.resize(self.size, refcheck=False)
        return self.array
