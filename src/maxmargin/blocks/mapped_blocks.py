"""Blocks whose rows go through a transformer on their way, and samples of rows to fit one on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contracts.blocks import Block, Blocks
from ..model.sparse_format import check_sparse


class MappedBlocks(Blocks):
    """Block k of a source with transformer.transform(X) in place of X, mapped where the block is, in each pass.

    Parameters
    ----------
    source : Blocks
    transformer : a fitted transformer of scikit-learn
        It travels with each question.
    """

    def __init__(self, source: Blocks, transformer):
        self.source, self.transformer = source, transformer
        self.n_blocks = source.n_blocks

    @property
    def counters(self):
        """Those of the source."""
        return self.source.counters

    @property
    def seconds(self) -> float:
        """How long the last pass over the source took."""
        return self.source.seconds

    def load(self, number: int) -> Block:
        """The mapped rows of a block."""
        return map_block(self.source.load(number), self.transformer)

    def run(self, task: Callable[..., Any], *arguments) -> Any:
        """The sum over all blocks of task(mapped block, *arguments)."""
        return self.source.run(run_mapped, self.transformer, task, *arguments)


def run_mapped(block: Block, transformer, task: Callable[..., Any], *arguments) -> Any:
    """Map a block, then ask it."""
    return task(map_block(block, transformer), *arguments)


def map_block(block: Block, transformer) -> Block:
    """A block with mapped rows."""
    return block._replace(X=map_rows(block.X, transformer))


def map_rows(X, transformer) -> np.ndarray | sp.csr_array:
    """transformer.transform(X), C-ordered or CSR; of no rows, which scikit-learn refuses, none."""
    mapped = transformer.transform(X if X.shape[0] else np.zeros((1, X.shape[1])))
    mapped = sp.csr_array(mapped) if sp.issparse(mapped) else np.ascontiguousarray(mapped)
    return mapped if X.shape[0] else mapped[:0]


class StackedRows:
    """Rows of several blocks, one below the other; y is None where blocks have none."""

    def __init__(self, X, y: np.ndarray | None):
        self.X, self.y = X, y

    def __add__(self, other: StackedRows) -> StackedRows:
        sparse = sp.issparse(self.X) or sp.issparse(other.X)
        X = sp.csr_array(sp.vstack([self.X, other.X])) if sparse else np.concatenate([self.X, other.X])
        return StackedRows(X, None if self.y is None else np.concatenate([self.y, other.y]))


def sample_rows(blocks: Blocks, n_rows: int, seed: int) -> StackedRows:
    """About the same share of rows of each block, n_rows in all, or all if there are fewer.

    Which rows are sampled depends on the blocks and the seed only, not on the workers. Two passes: one counts, one
    samples.
    """
    counts = np.cumsum([0, *blocks.run(count_rows)])
    if counts[-1] == 0:
        raise ValueError("X has no rows in any block, and at least 1 is required.")
    shares = np.diff(counts * min(n_rows, int(counts[-1])) // counts[-1])
    return blocks.run(draw_rows, shares, seed)


def count_rows(block: Block) -> list[int]:
    """How many rows a block has, as a list of one number: such lists add up to one of all blocks."""
    check_sparse(block.X, f"X of block {block.number}")
    return [block.X.shape[0]]


def draw_rows(block: Block, shares: np.ndarray, seed: int) -> StackedRows:
    """As many rows of a block as its share says, in their order."""
    rng = np.random.default_rng([seed, block.number])
    index = np.sort(rng.choice(block.X.shape[0], shares[block.number], replace=False))
    return StackedRows(block.X[index], None if block.y is None else block.y[index])
