"""Samples packed in segments, from which compiled loops evaluate kernel rows one at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

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


def pack_segments(samples: Dense, ends: np.ndarray | list[int]) -> list[Segment]:
    """The segments [ends_k, ends_k+1) of the samples."""
    return [Segment.pack(samples.take(slice(start, stop))) for start, stop in pairwise(ends)]
