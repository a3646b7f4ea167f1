"""Chains in parts whose arrays fit into bounded memory, whatever the number of classes, folds and values of C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from .kernel_chains import KernelChain

PLACE_BYTES = 14 * 8  # of a sample in a problem at a value of C: its row of five numbers and its weight, twice, a and f
PART_BYTES = 40 * 2**20  # of all places of a part; tests hold searches to cache_size + 150 MB
DECISION_BYTES = 3 * 8  # of a held-out row for one machine: its decision, and what that is the sum of
Item = TypeVar("Item")


class ChainSize(NamedTuple):
    """How much of a chain there is on one fold.

    Attributes
    ----------
    places : int
        Samples of all problems at one value of C, layer by layer.
    is_large : bool
        Whether cells are solved loosely first, and are then compared by their means over all folds.
    """

    places: int
    is_large: bool


def cut_chain(
    chain: KernelChain, folds: Sequence[Item], measure: Callable[[Item], ChainSize]
) -> list[tuple[KernelChain, list[Item]]]:
    """The cells of a chain on all folds as parts of bounded size; each part is a chain of its own on some folds.

    Small problems are cut between folds. Large ones are cut along C, so that the cells of a part have been solved on
    all folds when the best of them go on; the next part starts where the last cell of this one ends.
    """
    sizes = [measure(fold) for fold in folds]
    allowed = PART_BYTES // PLACE_BYTES
    most = sum if any(size.is_large for size in sizes) else max
    cells = max(1, allowed // max(1, most(size.places for size in sizes)))
    parts = []
    for start in range(0, len(chain.candidates), cells):
        stop = start + cells
        some = KernelChain(
            chain.candidates[start:stop], chain.machines[start:stop], start > 0, stop < len(chain.candidates)
        )
        weights = [size.places * len(some.candidates) for size in sizes]
        parts += [(some, group) for group in group_by_size(folds, weights, allowed)]
    return parts


def group_by_size(items: Sequence[Item], sizes: Sequence[int], allowed: int) -> list[list[Item]]:
    """Items in their order, in groups of which none but those of one item is larger than what is allowed."""
    groups: list[list[Item]] = []
    left = 0
    for item, size in zip(items, sizes, strict=True):
        if not groups or size > left:
            groups.append([])
            left = allowed
        groups[-1].append(item)
        left -= size
    return groups


def cut_cells(cells: Sequence[int], held_out: int, machines: int) -> list[list[int]]:
    """Cells in groups whose decisions of so many rows by so many machines fit into a part."""
    return group_by_size(cells, [DECISION_BYTES * held_out * machines] * len(cells), PART_BYTES)
