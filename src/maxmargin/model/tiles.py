"""Kernel values in tiles of bounded memory, shared among all cores: scores, rows, and the square of all samples."""

from __future__ import annotations

from itertools import accumulate, pairwise
from threading import local

import numpy as np

from ..runtime.interpreter import release_interpreter
from ..runtime.rounding import BOUND_INFLATION, UNIT, bound_sum
from ..runtime.threads import STRIPS, check_interrupt_within_strip, run_strips
from .kernels import Kernel, has_formula, read_formula
from .samples import GROUP_ROWS, TILE_ENTRIES, UNDERFLOW_ALLOWANCE, match_storage_format

TILE_SIDE_SAMPLES = 384  # samples of a side of a tile: 1.2 MB in float64, within the second cache
# support vectors at a time, in twice the precision: tens of milliseconds for a strip of samples
DOUBLED_PRECISION_SUPPORT_VECTORS = 4096
OWN_SCORE_STRIPS = 16  # each with scores of its own
SMALL_TILE = TILE_ENTRIES // 8  # entries that are not worth sharing among cores


def evaluate_scores(kernel: Kernel, samples, support, coef: np.ndarray) -> np.ndarray:
    """f_i = sum_j coef_j k(x_i, s_j) for one or several columns of coef, in tiles of bounded memory, on all cores."""
    precompute_norms(samples, support)
    if samples.n * support.n <= SMALL_TILE and not needs_conversion(samples, support):
        tile = match_storage_format(samples, support)
        with release_interpreter():
            return kernel.write(tile, support, open_tile(tile.n, support.n, tile.dtype)) @ coef
    f = np.zeros((samples.n, *coef.shape[1:]))
    parts = [(part, support.take(part)) for part in cut_rows(support)]

    def evaluate(start: int, stop: int) -> None:
        tile = match_storage_format(samples.take(slice(start, stop)), support)
        for part, columns in parts:
            check_interrupt_within_strip()
            f[start:stop] += kernel.write(tile, columns, open_tile(tile.n, columns.n, tile.dtype)) @ coef[part]

    run_strips(evaluate, samples.n, min(count_rows(samples), max(32, -(-samples.n // STRIPS))))
    return f


def evaluate_own_scores(kernel: Kernel, samples, coef: np.ndarray) -> np.ndarray:
    """f_i = sum_j coef_j k(x_i, x_j) over the samples themselves, every kernel value evaluated once for both of its i.

    A strip is made of the first and the last rows that are left, so that all strips are of one length. Each adds to
    scores of its own, which are added up in order.
    """
    precompute_norms(samples)
    parts = cut_rows(samples)
    strips = min(OWN_SCORE_STRIPS, -(-len(parts) // 2))
    sums = np.zeros((strips, samples.n))

    def evaluate(strip: int, _: int) -> None:
        for place in range(len(parts)):
            if place % (2 * strips) not in (strip, 2 * strips - 1 - strip):
                continue
            rows = samples.take(parts[place])
            for other in parts[: place + 1]:
                check_interrupt_within_strip()
                columns = samples.take(other)
                K = kernel.write(rows, columns, open_tile(rows.n, columns.n, rows.dtype))
                sums[strip, parts[place]] += K @ coef[other]
                if other != parts[place]:
                    sums[strip, other] += coef[parts[place]] @ K

    run_strips(evaluate, strips, 1)
    return sums.sum(axis=0)


def count_own_terms(samples) -> float:
    """Additions in a row behind one of these scores: of a tile, of the tiles of a strip, and of the strips."""
    rows = count_rows(samples)
    return min(samples.n, rows + samples.n / rows + 1) + min(OWN_SCORE_STRIPS, samples.n / rows)


def evaluate_scores_by_segment(kernel: Kernel, samples, support, coef: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """f_kij = sum_s coef_sj k(x_i, s) over the s of segment k alone, which are counts_k support vectors in a row."""
    ends = [0, *accumulate(counts.tolist())]
    parts = np.empty((len(counts), samples.n, coef.shape[1]))
    precompute_norms(samples, support)
    if samples.n * support.n <= SMALL_TILE and not needs_conversion(samples, support):
        tile = match_storage_format(samples, support)
        K = kernel.write(tile, support, open_tile(tile.n, support.n, tile.dtype))
        for k, (start, stop) in enumerate(pairwise(ends)):
            np.dot(K[:, start:stop], coef[start:stop], out=parts[k])
    else:
        for k, (start, stop) in enumerate(pairwise(ends)):
            parts[k] = evaluate_scores(kernel, samples, support.take(slice(start, stop)), coef[start:stop])
    return parts


def evaluate_scores_closely(kernel: Kernel, samples, support, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f_i = sum_j coef_j k(x_i, s_j) for one vector coef, as if in twice the precision, and bounds on their errors.

    |f_i - sum_j coef_j k(x_i, s_j)| <= errors_i in real arithmetic for the data as given: of samples that were moved
    to another origin, for those before that. Products, differences and sums are exact or known to gamma_k^2 (Ogita,
    Rump and Oishi, 2005); exp and tanh are known to EXP_ERROR and TANH_ERROR of `compiled.double_double`. What remains
    is u |f_i| for the last rounding. Of a kernel of the user's own, and of a matrix, the values as evaluated are the
    kernel, and only their sum is bounded. Where numbers overflow the error is infinite.
    """
    sums = np.zeros((samples.n, 4))  # two numbers for f, errors of kernel values, sizes of the terms
    coef = np.ascontiguousarray(coef, np.float64)
    if has_formula(kernel):
        add_formula(kernel, samples, support, coef, sums)
    else:
        add_evaluated(kernel, samples, support, coef, sums)
    with np.errstate(over="ignore", invalid="ignore"):
        f = sums[:, 0] + sums[:, 1]
        square = bound_sum(2 * support.n + 64) ** 2
        errors = (sums[:, 2] + square * sums[:, 3] + UNIT * np.abs(f)) * BOUND_INFLATION + (
            support.n + 8
        ) * UNDERFLOW_ALLOWANCE
        errors[~np.isfinite(f + errors)] = np.inf
    return f, errors


def add_formula(kernel: Kernel, samples, support, coef: np.ndarray, sums: np.ndarray) -> None:
    """Add the scores of a kernel with a formula of ours: support vectors a tile at a time, samples in strips."""
    from ..compiled.close_scores import add_close_scores

    relative = bound_sum(samples.terms + support.terms + 16) ** 2
    formula = (*read_formula(kernel), relative)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes, z_sizes = kernel.norm_bounds(samples), kernel.norm_bounds(support)
        slacks, z_slacks = samples.rounding * sizes, support.rounding * z_sizes
    step = min(
        DOUBLED_PRECISION_SUPPORT_VECTORS, max(1, TILE_ENTRIES // GROUP_ROWS // max(support.terms, 1)) * GROUP_ROWS
    )
    rows = max(1, min(TILE_SIDE_SAMPLES, TILE_ENTRIES // max(samples.terms, 1)))
    for first in range(0, support.n, step):
        part = slice(first, min(first + step, support.n))
        group = (*support.take(part).pack_groups(), *pad_groups(z_sizes[part], z_slacks[part]))
        (weights,) = pad_groups(coef[part])

        def add(start: int, stop: int, group=group, weights=weights) -> None:
            row = (*samples.take(slice(start, stop)).entries, sizes[start:stop], slacks[start:stop])
            add_close_scores(formula, row, group, weights, sums[start:stop])

        run_strips(add, samples.n, min(rows, max(8, -(-samples.n // STRIPS))))


def pad_groups(*parts: np.ndarray) -> list[np.ndarray]:
    """The arrays with zeros up to whole groups."""
    return [np.pad(part, (0, -len(part) % GROUP_ROWS)) for part in parts]


def add_evaluated(kernel: Kernel, samples, support, coef: np.ndarray, sums: np.ndarray) -> None:
    """Add the scores of a kernel whose values are exact as they are evaluated."""
    from ..compiled.close_scores import add_given_values

    precompute_norms(samples, support)
    parts = [(part, support.take(part)) for part in cut_rows(support)]

    def add(start: int, stop: int) -> None:
        tile = match_storage_format(samples.take(slice(start, stop)), support)
        for part, columns in parts:
            check_interrupt_within_strip()
            K = kernel.write(tile, columns, open_tile(tile.n, columns.n, tile.dtype))
            add_given_values(np.ascontiguousarray(K, np.float64), coef[part], sums[start:stop])

    run_strips(add, samples.n, min(count_rows(samples), max(32, -(-samples.n // STRIPS))))


def evaluate_rows(kernel: Kernel, samples, others) -> np.ndarray:
    """K_ij = k(x_i, z_j), its columns shared among all cores."""
    if samples.n * others.n < SMALL_TILE and not needs_conversion(samples, others):
        return kernel.evaluate(samples, others)
    K = np.empty((samples.n, others.n))
    precompute_norms(samples, others)

    def evaluate(start: int, stop: int) -> None:
        tile = others.take(slice(start, stop))
        for part in cut_rows(samples):
            check_interrupt_within_strip()
            rows = samples.take(part)
            K[part, start:stop] = kernel.write(rows, tile, open_tile(rows.n, tile.n, tile.dtype))

    step = int(np.clip(TILE_ENTRIES // 16 // max(samples.n, 1), 256, 4096))
    run_strips(evaluate, others.n, min(step, count_rows(others)) if needs_conversion(others) else step)
    return K


def evaluate_square(kernel: Kernel, samples) -> np.ndarray:
    """K_ij = k(x_i, x_j), the lower half evaluated on all cores and mirrored."""
    if samples.n < 500 and not needs_conversion(samples):
        return kernel.evaluate(samples, samples)
    K = np.empty((samples.n, samples.n))
    precompute_norms(samples)

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


def needs_conversion(*parts) -> bool:
    """Whether some of these samples are held in another precision than they are multiplied in."""
    return any(samples.needs_conversion for samples in parts)


def count_rows(samples) -> int:
    """Samples of a side of a tile; few enough that their conversion stays small."""
    return (
        max(1, min(TILE_SIDE_SAMPLES, TILE_ENTRIES // 4 // max(samples.d, 1)))
        if needs_conversion(samples)
        else TILE_SIDE_SAMPLES
    )


def cut_rows(samples, start: int = 0) -> list[slice]:
    """Slices of so many rows, from `start` to the end."""
    step = count_rows(samples)
    return [slice(k, min(k + step, samples.n)) for k in range(start, samples.n, step)]


def precompute_norms(*parts) -> None:
    """Evaluate |x_i|^2, and the largest of them, before the strips share them; a given matrix has none."""
    for samples in parts:
        samples.precompute_norms()
