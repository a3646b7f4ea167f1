"""Data in blocks: pieces of rows that are loaded one after another, and sums over them that do not depend on who adds.

A pass asks every block the same question and adds the answers, eight by eight in the order of the blocks: so the sum is
the same to the last bit on one process, on two workers, or on a hundred.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..model.sparse_format import check_sparse
from ..runtime.blas import single_threaded_blas
from ..runtime.interruptible import check_interrupt
from ..runtime.prefetch import fetch_ahead

SUM_FAN_IN = 8  # answers that are added at a time: a number of its own, or sums would depend on the number of workers
# Bytes of a block of one's own making: large for BLAS, and below the 32 MB from which on the C library maps memory anew
# for every block and has all its pages zeroed again: a quarter of a pass at 64 MB.
BLOCK_BYTES = 1 << 24


class Block(NamedTuple):
    """Some rows: X dense (C order) or CSR, in float32 or float64; targets or labels y; weights or None."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray | None
    weight: np.ndarray | None = None
    number: int = 0


class Blocks:
    """Blocks 0 .. n_blocks - 1, each loaded when it is asked for. A source of data gives `n_blocks` and `load`.

    Attributes
    ----------
    counters : Counter
        Passes over all blocks, and the bytes of questions and answers.
    seconds : float
        How long the last pass took.
    """

    n_blocks: int
    feature_names: list[str] | None = None

    def __init__(self):
        self.counters: Counter = Counter()
        self.seconds = 0.0

    def load(self, number: int) -> Block:
        """The rows of a block; asked by one thread at a time for each stream, not always the same one."""
        raise NotImplementedError

    def run(self, task: Callable[..., Any], *arguments) -> Any:
        """The sum over all blocks of task(block, *arguments), in a fixed order; what a task returns can be added.

        `task` is a function of a module, so that it can travel, and neither it nor what it returns is large.
        """
        began = time.perf_counter()
        tree_sum = TreeSum(add_all)
        with single_threaded_blas():  # as on workers: another number of threads would be another order of sums
            for block in self.stream():
                tree_sum.add(task(block, *arguments))
        self.seconds = time.perf_counter() - began
        self.counters["passes"] += 1
        return tree_sum.total()

    def stream(self) -> Iterator[Block]:
        """The blocks in order, the next one loaded while this one is worked on."""
        for block in fetch_ahead(map(self.load, range(self.n_blocks)), owner=self):
            check_interrupt()
            yield block


class TreeSum:
    """A sum of parts that arrive in order, FAN at a time: the tree depends on their number only."""

    def __init__(self, join: Callable[[list], Any]):
        self.join = join
        self.levels: list[list] = []

    def add(self, part, level: int = 0) -> None:
        """Take the next part, or the sum of the next FAN parts (level 1), of the next FAN such sums (level 2)..."""
        while level >= len(self.levels):
            self.levels.append([])
        self.levels[level].append(part)
        if len(self.levels[level]) == SUM_FAN_IN:
            whole, self.levels[level] = self.join(self.levels[level]), []
            self.add(whole, level + 1)

    def total(self):
        """The sum of all parts."""
        rest: list = []
        for level in self.levels:  # the higher ones hold the earlier parts
            if level or rest:
                rest = [self.join([*level, *rest])]
        return rest[0]


def add_all(parts: list):
    """The sum of some parts, from left to right."""
    return reduce(add, parts)


class ArrayBlocks(Blocks):
    """Blocks of rows of arrays: of memory-mapped ones, only the rows at hand are in memory.

    Parameters
    ----------
    X : ndarray, memmap or CSR matrix of shape (n, d)
    y : ndarray of shape (n,) or None
    weight : ndarray of shape (n,) or None
    rows : int, optional
        Rows of a block; by default as many as make 16 MB in float64.
    """

    def __init__(self, X, y=None, weight=None, rows: int | None = None):
        super().__init__()
        check_sparse(X)
        self.X, self.y, self.weight = X, y, weight
        n, d = X.shape
        width = 8 * (d if not sp.issparse(X) else 1 + 2 * X.nnz // max(n, 1))
        self.rows = max(1, BLOCK_BYTES // max(width, 1)) if rows is None else rows
        self.n, self.d = n, d
        self.n_blocks = max(1, -(-n // self.rows))

    def load(self, number: int) -> Block:
        """A copy of the rows in float64, made on the thread that loads."""
        part = slice(number * self.rows, min((number + 1) * self.rows, self.n))
        X = self.X[part]
        X = X if sp.issparse(X) else np.array(X, np.float64, order="C", subok=False)
        y, weight = (None if each is None else np.asarray(each[part]) for each in (self.y, self.weight))
        return Block(X, y, weight, number)
