"""Rows for the benchmarks of scaling: made block by block from the number of the block, never whole in memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from maxmargin.blocks import Block, Blocks

FEATURES = 20
BLOCK = 100_000  # rows: 8 MB as they are made, 16 MB as they are worked on
NOISE = 2.0  # the scale of the logistic noise; <w, x> has a standard deviation of about 4.5


@dataclass(frozen=True)
class Rows:
    """y = sign(<w, x> + noise) with x Gaussian, in float32; block k depends on k and on nothing else."""

    n: int
    d: int = FEATURES
    block: int = BLOCK

    @property
    def n_blocks(self) -> int:
        """Blocks, the last of which may be short."""
        return -(-self.n // self.block)

    def measure(self, number: int) -> int:
        """Rows of a block."""
        return min(self.block, self.n - number * self.block)

    def make(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """X and y of a block."""
        random = np.random.default_rng([1, number])
        X = random.standard_normal((self.measure(number), self.d), dtype=np.float32)
        w = np.random.default_rng(0).standard_normal(self.d).astype(np.float32)
        noise = random.logistic(scale=NOISE, size=len(X))
        return X, np.where(X @ w + noise > 0, np.float32(1), np.float32(-1))

    def lay_out(self):
        """X and y as Dask arrays, made only when they are asked for."""
        import dask
        import dask.array as da

        parts = [dask.delayed(self.make, nout=2, pure=True)(number) for number in range(self.n_blocks)]
        sizes = [self.measure(number) for number in range(self.n_blocks)]
        X = [da.from_delayed(part[0], (m, self.d), np.float32) for part, m in zip(parts, sizes, strict=True)]
        y = [da.from_delayed(part[1], (m,), np.float32) for part, m in zip(parts, sizes, strict=True)]
        return da.concatenate(X), da.concatenate(y)

    def write(self, folder: Path) -> None:
        """X.npy and y.npy, written block by block."""
        X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(self.n, self.d))
        y = np.lib.format.open_memmap(folder / "y.npy", mode="w+", dtype=np.float32, shape=(self.n,))
        for number in range(self.n_blocks):
            start = number * self.block
            part = slice(start, start + self.measure(number))
            X[part], y[part] = self.make(number)
        X.flush()
        y.flush()


class MadeBlocks(Blocks):
    """The same rows as a source of blocks of this process."""

    def __init__(self, rows: Rows):
        super().__init__()
        self.rows, self.n_blocks = rows, rows.n_blocks

    def load(self, number: int) -> Block:
        """Make a block."""
        return Block(*self.rows.make(number), None, number)


def open_mapped(folder: Path, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """X and y of a folder, mapped and not read."""
    X, y = (np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in ("X", "y"))
    return X[:n], y[:n]


def cut_mapped(folder: Path, parts: int):
    """X and y of a folder as Dask arrays of several partitions, each of which reads its rows when it is asked."""
    import dask
    import dask.array as da

    X, y = open_mapped(folder)
    ends = np.linspace(0, len(X), parts + 1).astype(int)
    pieces = [dask.delayed(read_part, nout=2)(folder, *map(int, pair)) for pair in pairwise(ends)]
    sizes = np.diff(ends)
    rows = [da.from_delayed(piece[0], (m, X.shape[1]), X.dtype) for piece, m in zip(pieces, sizes, strict=True)]
    labels = [da.from_delayed(piece[1], (m,), y.dtype) for piece, m in zip(pieces, sizes, strict=True)]
    return da.concatenate(rows), da.concatenate(labels)


def read_part(folder: Path, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of the files, in memory."""
    X, y = open_mapped(folder)
    return np.array(X[start:stop]), np.array(y[start:stop])
