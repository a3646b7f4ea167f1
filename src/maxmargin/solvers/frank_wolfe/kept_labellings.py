"""The labellings that are kept for each sample, with their weights alpha_i(z): what a step of Frank-Wolfe moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np

from ...structures.labellings import WeightedLabelling


class KeptLabellings(ABC):
    """alpha_i(z) of the labellings z kept for sample i, and w = sum_i sum_z alpha_i(z) (phi(x_i, y_i) - phi(x_i, z)).

    Attributes
    ----------
    w : ndarray of shape (size,)
    a : ndarray of shape (slots, n)
        The weights alpha_i(z), one row per slot.
    gaps : ndarray of shape (n,)
        The gap of each sample when it was last visited.
    chunk : int
        Samples between two looks at the clock.
    """

    w: np.ndarray
    a: np.ndarray
    gaps: np.ndarray
    chunk: int = 1

    @abstractmethod
    def visit(
        self, order: np.ndarray, first: int, last: int, asked: bool, negligible_gap: np.ndarray, sums: np.ndarray
    ) -> None:
        """Steps for the samples order[first:last]; `asked` if the oracle is to find another labelling of each.

        `sums` takes up the gaps, the rise of D and the work. A sample whose gap is negligible is left alone.
        """

    @property
    @abstractmethod
    def support(self) -> int:
        """Slots in use."""

    @abstractmethod
    def sheets(self) -> list[WeightedLabelling]:
        """The labellings that have weight, one for each sample on a sheet."""

    @abstractmethod
    def set_labellings(self, sheets: Iterable[WeightedLabelling]) -> None:
        """Stand at these labellings, each kept once, with weights that sum to c_i."""

    @abstractmethod
    def recompute(self) -> float:
        """w afresh from the weights; returns sum_i sum_z alpha_i(z) Delta(y_i, z)."""

    @abstractmethod
    def pack(self) -> dict:
        """All that is kept, as arrays."""

    @abstractmethod
    def unpack(self, state: dict) -> None:
        """As it was packed."""
