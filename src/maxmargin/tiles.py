"""Kernel values in tiles of bounded memory, shared among all cores: scores, rows, and the square of all samples."""

from __future__ import annotations

from threading import local

import numpy as np

from .kernels import Kernel
from .samples import TILE, Dense, match
from .threads import STRIPS, heed_within_strip, run_strips, step_aside

ROWS = 384  # samples of a side of a tile: 1.2 MB in float64, within the second cache
SMALL_TILE = TILE // 8  # entries that are not worth sharing among cores


def evaluate_scores(kernel: Kernel, samples, support, coef: np.ndarray) -> np.ndarray:
    """f_i = sum_j coef_j k(x_i, s_j) for one or several columns of coef, in tiles of bounded memory, on all cores."""
    warm_norms(samples, support)
    if samples.n * support.n <= SMALL_TILE and not converts(samples, support):
        tile = match(samples, support)
        with step_aside():
            return kernel.write(tile, support, open_tile(tile.n, support.n, tile.dtype)) @ coef
    f = np.zeros((samples.n, *coef.shape[1:]))
    parts = [(part, support.take(part)) for part in cut_rows(support)]

    def evaluate(start: int, stop: int) -> None:
        tile = match(samples.take(slice(start, stop)), support)
        for part, columns in parts:
            heed_within_strip()
            f[start:stop] += kernel.write(tile, columns, open_tile(tile.n, columns.n, tile.dtype)) @ coef[part]

    run_strips(evaluate, samples.n, min(count_rows(samples), max(32, -(-samples.n // STRIPS))))
    return f


def evaluate_rows(kernel: Kernel, samples, others) -> np.ndarray:
    """K_ij = k(x_i, z_j), its columns shared among all cores."""
    if samples.n * others.n < SMALL_TILE and not converts(samples, others):
        return kernel.evaluate(samples, others)
    K = np.empty((samples.n, others.n))
    warm_norms(samples, others)

    def evaluate(start: int, stop: int) -> None:
        tile = others.take(slice(start, stop))
        for part in cut_rows(samples):
            heed_within_strip()
            rows = samples.take(part)
            K[part, start:stop] = kernel.write(rows, tile, open_tile(rows.n, tile.n, tile.dtype))

    step = int(np.clip(TILE // 16 // max(samples.n, 1), 256, 4096))
    run_strips(evaluate, others.n, min(step, count_rows(others)) if converts(others) else step)
    return K


def evaluate_square(kernel: Kernel, samples) -> np.ndarray:
    """K_ij = k(x_i, x_j), the lower half evaluated on all cores and mirrored."""
    if samples.n < 500 and not converts(samples):
        return kernel.evaluate(samples, samples)
    K = np.empty((samples.n, samples.n))
    warm_norms(samples)

    def evaluate(start: int, stop: int) -> None:
        tile = samples.take(slice(start, stop))
        for part in cut_rows(samples, start):
            rows = samples.take(part)
            K[part, start:stop] = kernel.write(rows, tile, open_tile(rows.n, tile.n, tile.dtype))
        K[start:stop, stop:] = K[stop:, start:stop].T

    run_strips(evaluate, samples.n, min(max(64, samples.n // 16), count_rows(samples)))
    return K


_tiles = local()


def open_tile(rows: int, columns: int, dtype, purpose: str = "tile") -> np.ndarray:
    """A tile of this thread, used again and again: memory touched for the first time costs more than arithmetic."""
    tiles = _tiles.__dict__
    if purpose not in tiles or tiles[purpose].nbytes < rows * columns * dtype.itemsize:
        tiles[purpose] = np.empty(rows * columns * dtype.itemsize, np.uint8)
    return tiles[purpose][: rows * columns * dtype.itemsize].view(dtype).reshape(rows, columns)


def converts(*parts) -> bool:
    """Whether some of these samples are held in another precision than they are multiplied in."""
    return any(isinstance(samples, Dense) and samples.X.dtype != samples.dtype for samples in parts)


def count_rows(samples) -> int:
    """Samples of a side of a tile; few enough that their conversion stays small."""
    return max(1, min(ROWS, TILE // 4 // max(samples.d, 1))) if converts(samples) else ROWS


def cut_rows(samples, start: int = 0) -> list[slice]:
    """Slices of so many rows, from `start` to the end."""
    step = count_rows(samples)
    return [slice(k, min(k + step, samples.n)) for k in range(start, samples.n, step)]


def warm_norms(*parts) -> None:
    """Evaluate |x_i|^2 before the strips share them."""
    for samples in parts:
        _ = getattr(samples, "norms", None)
