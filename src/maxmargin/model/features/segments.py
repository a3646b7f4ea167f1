"""Samples packed in segments, from which compiled loops evaluate kernel rows one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np

from ..samples import Dense


class Segment(NamedTuple):
    """Samples packed for `compiled.single_rows`: blocks of one vector, feature by feature, and their squared norms."""

    packed: np.ndarray
    norms: np.ndarray

    def empty(self) -> Segment:
        """A segment without samples."""
        return Segment(self.packed[:0], self.norms[:0])

    @classmethod
    def pack(cls, samples: Dense) -> Segment:
        """The samples in blocks of 64 bytes per feature, the last one filled up with zeros."""
        width = 64 // samples.dtype.itemsize
        blocks = -(-samples.n // width)
        rows = np.zeros((blocks * width, samples.d), samples.dtype)
        rows[: samples.n] = samples.X
        packed = rows.reshape(blocks, width, samples.d).transpose(0, 2, 1)
        return cls(np.ascontiguousarray(packed), np.ascontiguousarray(samples.norms))


class Segments(Sequence[Segment]):
    """The segments [ends_k, ends_k+1) of the samples, each packed when it is first asked for."""

    def __init__(self, samples: Dense, ends: np.ndarray | list[int]):
        self.samples, self.ends = samples, [int(end) for end in ends]
        self.held: list[Segment | None] = [None] * (len(self.ends) - 1)

    @property
    def dtype(self) -> np.dtype:
        """The precision of the samples."""
        return self.samples.dtype

    def __len__(self) -> int:
        return len(self.held)

    @overload
    def __getitem__(self, k: int) -> Segment: ...
    @overload
    def __getitem__(self, k: slice) -> list[Segment]: ...
    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        segment = self.held[k]
        if segment is None:  # two threads that come at once pack it twice, and either is right
            segment = self.held[k] = Segment.pack(self.samples.take(slice(self.ends[k], self.ends[k + 1])))
        return segment
