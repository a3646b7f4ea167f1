"""Samples strip by strip on all cores, and in tiles that are small enough to be converted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ...contracts.samples import VectorSamples
from ...runtime.threads import STRIPS, run_strips

if TYPE_CHECKING:
    from .dense import Dense

TILE_ENTRIES = 1 << 21  # entries of a working tile (16 MB in float64): large for BLAS, small beside any cache_size

Part = TypeVar("Part")


def fits_into_tile(X: np.ndarray) -> bool:
    """Whether a matrix is no larger than a working tile."""
    return X.size <= TILE_ENTRIES


def strip_rows(samples: VectorSamples) -> int:
    """Rows of a strip that a core takes at a time: an eighth of all, but not a few, and no more than a tile of them."""
    entries = max(1, int(samples.entries_per_sample))
    least = TILE_ENTRIES // 16 if samples.sparse else TILE_ENTRIES // 4  # a quarter of a millisecond, of either kind
    fewest, most = (max(1, size // entries) for size in (least, TILE_ENTRIES))
    return min(max(-(-samples.n // STRIPS), fewest), most)


def fill_strips(samples: VectorSamples, shape: tuple, fill: Callable[[slice, np.ndarray], None]) -> np.ndarray:
    """One number (or `shape` of them) for each sample, strip by strip on all cores: fill(rows, out[rows])."""
    out = np.empty((samples.n, *shape))
    run_strips(lambda start, stop: fill(slice(start, stop), out[start:stop]), samples.n, strip_rows(samples))
    return out


def list_strips(samples: VectorSamples, work: Callable[[slice], Part]) -> list[Part]:
    """work(rows) for each strip, on all cores, in order."""
    step = strip_rows(samples)
    parts: list = [None] * -(-samples.n // step)

    def run(start: int, stop: int) -> None:
        parts[start // step] = work(slice(start, stop))

    run_strips(run, samples.n, step)
    return parts


def add_strips(samples: VectorSamples, add: Callable[[slice], np.ndarray]) -> np.ndarray:
    """The sum over strips of add(rows), evaluated on all cores and added in order."""
    parts = list_strips(samples, add)
    return sum(parts[1:], parts[0]) if parts else add(slice(0, 0))


def tile_rows(samples: Dense) -> int:
    """Rows of a piece that is small enough to be converted."""
    return max(1, TILE_ENTRIES // max(samples.d, 1))


def cut_tiles(samples: Dense) -> Iterator[Dense]:
    """The rows in pieces small enough to be converted, one after the other."""
    step = tile_rows(samples)
    return (samples.take(slice(k, k + step)) for k in range(0, max(samples.n, 1), step))
