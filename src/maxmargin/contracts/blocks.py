"""The contract of data in blocks: a source says how many blocks it has, and loads them one by one.

A pass asks every block the same question and adds the answers, eight by eight in the order of the blocks: so the sum is
the same to the last bit on one process, on two workers, or on a hundred.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..runtime.blas import single_threaded_blas
from ..runtime.interruptible import check_interrupt
from ..runtime.prefetch import fetch_ahead
from ..runtime.tree_sum import TreeSum, add_all


class Block(NamedTuple):
    """Some rows of the data.

    Attributes
    ----------
    X : ndarray in C order, or CSR array, of shape (rows, d), in float32 or float64
    y : ndarray of shape (rows,) or None
        Targets or labels; None where the source has none.
    weight : ndarray of shape (rows,) or None
        Sample weights; None where all of them are 1.
    number : int
        The place of the block in its source, from 0 on.
    """

    X: np.ndarray | sp.csr_array
    y: np.ndarray | None
    weight: np.ndarray | None = None
    number: int = 0


class Blocks(ABC):
    """Blocks 0 .. n_blocks - 1, each loaded when it is asked for.

    Required are `n_blocks` and `load`. A source that travels to the workers of a cluster is pickled once: what must not
    travel, such as open files or mapped arrays, is left out by its `__getstate__`.

    Attributes
    ----------
    n_blocks : int
        Required; 1 or more.
    n, d : int or None
        Rows and features of all blocks together, where they are known before the first pass; None by default.
    feature_names : list of str or None
        The names of the d features, where they have names; None by default.
    first_index : int or None
        In LIBSVM text, the index of the first feature, 0 or 1; None by default, and for all other sources.
    counters : Counter
        Passes over all blocks, and the bytes of questions and answers where they travel.
    seconds : float
        How long the last pass took.
    """

    n_blocks: int
    n: int | None = None
    d: int | None = None
    feature_names: list[str] | None = None
    first_index: int | None = None

    def __init__(self) -> None:
        self.counters: Counter[str] = Counter()
        self.seconds = 0.0

    @abstractmethod
    def load(self, number: int) -> Block:
        """The rows of a block; called by one thread at a time for each stream, not always by the same one."""

    def run(self, task: Callable[..., Any], *arguments: Any) -> Any:
        """The sum over all blocks of task(block, *arguments), in a fixed order.

        Parameters
        ----------
        task : callable
            A function of a module, so that it can travel. What it returns is small and can be added with `+`.
        *arguments
            Small; they travel with the task.
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
