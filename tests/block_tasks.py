"""Questions to blocks, in a module of their own: workers import it by its name."""

from __future__ import annotations

import os
import time

import numpy as np

from maxmargin.blocks import Block, Blocks

RNG = np.random.default_rng(0)
DATA, TARGET = RNG.normal(size=(2000, 6)), RNG.normal(size=2000)


def read_rows(values: str, block_info=None) -> np.ndarray:
    """Some rows of X or y, as a file would give them."""
    (start, stop), *_ = block_info[None]["array-location"]
    return (DATA if values == "X" else TARGET)[start:stop]


def add_products(block: Block, w: np.ndarray | None = None) -> np.ndarray:
    """sum_i s_i y_i x_i x_i', an array of floats whose last bits depend on the order of the sums."""
    X = block.X.toarray() if hasattr(block.X, "toarray") else block.X
    weight = np.ones(len(X)) if block.weight is None else block.weight
    return X.T @ ((weight * np.asarray(block.y, float))[:, None] * X)


def add_slowly(block: Block, seconds: float) -> np.ndarray:
    """The same after a while."""
    time.sleep(seconds)
    return add_products(block)


def describe(block: Block) -> list[tuple]:
    """What arrives in a task: number, rows, kinds and orders."""
    X = block.X
    dense = isinstance(X, np.ndarray)
    orderly = X.flags.c_contiguous if dense else X.has_sorted_indices
    labels = None if block.y is None else block.y.dtype.kind
    return [(block.number, X.shape[0], type(X).__name__, X.dtype.name, bool(orderly), labels)]


def list_labels(block: Block) -> list:
    """All targets, in order."""
    return list(block.y)


def refuse(block: Block, number: int) -> int:
    """An error of a task, in one block."""
    if block.number == number:
        raise ZeroDivisionError(f"block {number} cannot be divided")
    return 0


def leave_once(block: Block, flag: str) -> np.ndarray:
    """The worker that comes to block 3 first dies."""
    if block.number == 3 and not os.path.exists(flag):
        with open(flag, "w") as file:
            file.write("gone")
        os._exit(1)
    return add_products(block)


def sum_columns(block: Block) -> np.ndarray:
    """sum_i x_i."""
    return block.X.sum(axis=0)


def measure_arguments(block: Block, w: np.ndarray) -> float:
    """A question of many bytes with a small answer."""
    return float(w.sum()) * block.X.shape[0]


class Failing(Blocks):
    """A source whose second block cannot be read."""

    n_blocks = 3

    def load(self, number: int) -> Block:
        """Rows, or an error of the reader."""
        if number == 1:
            raise OSError("disk 7 is gone")
        return Block(np.ones((2, 2)), np.ones(2), None, number)
