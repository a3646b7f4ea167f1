"""The physical floor of a fit: the time to evaluate the rows of its support vectors once, on all cores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from maxmargin.model.kernels import RBF
from maxmargin.model.samples import choose_storage_format
from maxmargin.model.tiles import open_tile
from maxmargin.runtime.blas import single_threaded_blas
from maxmargin.runtime.threads import run_strips

from ..measuring.clock import time_best
from .cases import Case


def list_blocks(model, case: Case) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(support vectors, samples) of every binary problem; all of them where there is one problem only."""
    support = np.asarray(model.support_)
    if case.kind != "SVC" or len(model.classes_) == 2:
        yield support, np.arange(case.n)
        return
    table = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    ends = np.concatenate([[0], np.cumsum(model.n_support_)])
    for i, j in combinations(range(len(model.classes_)), 2):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        used = support[first][table[j - 1, first] != 0], support[second][table[i, second] != 0]
        yield np.concatenate(used), np.flatnonzero((case.y == i) | (case.y == j))


def measure_floor(model, case: Case) -> float:
    """Seconds to evaluate K[support, samples] of every binary problem once, in tiles that are used and forgotten.

    With the solver's own row code: sparse where the data are, in float32 where the kernel's bound allows it.
    """
    kernel = RBF(case.parameters["gamma"]).bind(case.X)
    samples = choose_storage_format(kernel.samples(case.X))
    samples = kernel.to_float32(samples) or samples
    blocks = [(samples.take(rows), samples.take(index)) for rows, index in list_blocks(model, case) if len(rows)]
    tiles = [tile for rows, others in blocks for tile in cut_tiles(rows, others, alone=len(blocks) == 1)]

    def evaluate(first: int, last: int) -> None:
        for rows, others in tiles[first:last]:
            kernel.write(rows, others, open_tile(rows.n, others.n, rows.dtype))

    with single_threaded_blas():
        return time_best(lambda: run_strips(evaluate, len(tiles), 1))[0]


def cut_tiles(rows, others, *, alone: bool) -> Iterator[tuple]:
    """Tiles of 256 rows and 1,024 columns, as a round of the solver has them; a small pair is one tile."""
    if not alone and rows.n * others.n <= 1 << 20:
        yield rows, others
        return
    columns = [others.take(slice(k, k + 1024)) for k in range(0, others.n, 1024)]
    for k in range(0, rows.n, 256):
        part = rows.take(slice(k, k + 256))
        yield from ((part, column) for column in columns)
