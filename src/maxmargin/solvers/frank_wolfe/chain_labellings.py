"""The labellings kept for chains, packed in arrays for compiled steps."""

from __future__ import annotations

import numpy as np

from ...structures.labellings import WeightedLabelling
from ...structures.problem import StructuredProblem
from .kept_labellings import KeptLabellings

LABELS_PER_CHUNK = 4096  # labels of the sequences between two looks at the clock: a few milliseconds
LABELLING_MEMORY_BYTES = 1 << 28  # for kept labellings; beyond that, the lightest of a sample makes room for a new one


class ChainLabellings(KeptLabellings):
    """The kept labellings of chains as sheets: slot s of sequence i weighs a[s, i]; used[i] slots are in use."""

    def __init__(self, problem: StructuredProblem, patience: int):
        self.examples, self.c, self.patience = problem.examples, problem.c, patience
        self.chunk = max(1, LABELS_PER_CHUNK * problem.n // len(problem.examples.right))
        self.w, self.buffer = np.zeros(problem.size), np.zeros(problem.size)
        self.kept, self.a, self.idle, self.G = self.allocate(4)
        self.kept[0], self.a[0] = self.examples.right, self.c
        self.used = np.ones(problem.n, np.int64)
        self.gaps = np.full(problem.n, np.inf)

    @property
    def limit(self) -> int:
        """Slots that there is memory for."""
        n, tokens = len(self.c), len(self.examples.right)
        by_labels = LABELLING_MEMORY_BYTES // (2 * tokens + 10 * n)
        return max(8, min(by_labels, int((LABELLING_MEMORY_BYTES / (8 * n)) ** 0.5)))

    def allocate(self, slots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Room for labellings, weights, idle visits and products, of so many slots per sequence if memory allows."""
        n, tokens, slots = len(self.c), len(self.examples.right), min(slots, self.limit)
        kept, idle = np.zeros((slots, tokens), np.int16), np.zeros((slots, n), np.int16)
        return kept, np.zeros((slots, n)), idle, np.zeros((n, slots, slots))

    def reserve(self, slots: int) -> None:
        """Room for so many labellings per sequence."""
        old, (kept, a, idle, G) = len(self.kept), self.allocate(slots)
        kept[:old], a[:old], idle[:old], G[:, :old, :old] = self.kept, self.a, self.idle, self.G
        self.kept, self.a, self.idle, self.G = kept, a, idle, G

    def visit(self, order: np.ndarray, first: int, last: int, asked: bool, negligible_gap: np.ndarray, sums) -> None:
        """Block steps for the sequences order[first:last]."""
        from ...compiled.chains import pass_over_chains

        while first < last:
            first += pass_over_chains(
                self.examples.chains, self.w, self.c, self.kept, self.a, self.idle, self.G, self.used, order, first,
                last, asked, len(self.kept) >= self.limit, self.patience, negligible_gap, self.gaps, self.buffer, sums,
            )  # fmt: skip
            if first < last:
                self.reserve(2 * len(self.kept))

    def sheets(self) -> list[WeightedLabelling]:
        """The labellings that have weight; slots that a sequence does not use hold its labels."""
        found, free = [], ~np.repeat(np.arange(len(self.kept))[:, None] < self.used, self.lengths, axis=1)
        for s in range(int(self.used.max())):
            if self.a[s].any():
                found.append(WeightedLabelling(np.where(free[s], self.examples.right, self.kept[s]), self.a[s].copy()))
        return found

    @property
    def support(self) -> int:
        """Slots in use."""
        return int(self.used.max())

    @property
    def lengths(self) -> np.ndarray:
        """Labels of each sequence."""
        return np.diff(self.examples.chains.starts)

    def set_labellings(self, sheets) -> None:
        """Stand at these labellings, each kept once, with weights that sum to c_i."""
        starts = self.examples.chains.starts[:-1]
        self.a[:], self.used[:] = 0.0, 0
        for labelling, weight in sheets:
            z, weight = self.examples.from_labelling(labelling), np.maximum(weight, 0.0)
            left = weight > 0
            for s in range(int(self.used.max(initial=0))):
                same = np.logical_and.reduceat(self.kept[s] == z, starts) & (s < self.used) & left
                self.a[s] += np.where(same, weight, 0.0)
                left &= ~same
            if left.any() and self.used[left].max() >= len(self.kept):
                self.reserve(2 * len(self.kept))
                left &= self.used < len(self.kept)
            for s in np.unique(self.used[left]):
                these = left & (self.used == s)
                tokens = np.repeat(these, self.lengths)
                self.kept[s, tokens], self.a[s, these] = z[tokens], weight[these]
            self.used[left] += 1
        bare = self.used == 0
        tokens = np.repeat(bare, self.lengths)
        self.kept[0, tokens], self.a[0, bare], self.used[bare] = self.examples.right[tokens], 1.0, 1
        self.a *= self.c / self.a.sum(axis=0)
        self.multiply()
        self.recompute()

    def multiply(self) -> None:
        """The products of all labellings that are kept."""
        from ...compiled.chains import fill_all_products

        fill_all_products(self.examples.chains, self.kept, self.used, self.buffer, self.G)

    def recompute(self) -> float:
        """w afresh from the weights; returns sum_i sum_z alpha_i(z) Delta(y_i, z)."""
        total, linear = np.zeros_like(self.w), 0.0
        for labelling, weight in self.sheets():
            self.examples.combine(labelling, weight, total)
            linear += float(weight @ self.examples.losses(labelling))
        self.w[:] = total
        return linear

    def pack(self) -> dict:
        """All that is kept."""
        slots = int(self.used.max())
        return {
            **self.examples.store(list(self.kept[:slots])), "G": self.G[:, :slots, :slots],
            "alpha": self.a[:slots], "idle": self.idle[:slots],
            "used": self.used, "w": self.w, "gaps": self.gaps,
        }  # fmt: skip

    def unpack(self, state: dict) -> None:
        """As it was packed."""
        slots = len(state["alpha"])
        self.reserve(max(slots, 4))
        self.kept[:slots], self.a[:slots], self.idle[:slots] = state["sheets"], state["alpha"], state["idle"]
        self.used[:], self.w[:], self.gaps[:] = state["used"], state["w"], state["gaps"]
        self.G[:, :slots, :slots] = state["G"]
