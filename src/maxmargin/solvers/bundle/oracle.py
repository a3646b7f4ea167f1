"""What a bundle method asks a risk: its value at a place, and a cut there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from .cuts import Cuts
    from .model import Model


class Place(Protocol):
    """x, and the risk r(x) there; an oracle adds whatever else it needs for a cut."""

    @property
    def x(self) -> np.ndarray:
        """The coordinates, of shape (size,)."""

    @property
    def value(self) -> float:
        """r(x); infinite where it is beyond all numbers."""


class Oracle(ABC):
    """A convex risk r(x), known by its values and by its cuts r(y) >= offset + <phi, y>.

    Attributes
    ----------
    grows_exponentially : bool
        Whether values may be beyond all numbers a short way off.
    n_calls : int
        Places or cuts that were paid for so far.
    """

    grows_exponentially: bool = False
    n_calls: int = 0

    @abstractmethod
    def locate(self, x: np.ndarray) -> Any:
        """The place x."""

    @abstractmethod
    def cut(self, place: Any) -> tuple[np.ndarray, float, Any]:
        """phi, its offset, and a key: what is kept of the cut besides."""

    def between(self, one: Any, other: Any, t: float) -> Any:
        """The place one + t (other - one)."""
        if t == 0.0:
            return one
        return other if t == 1.0 else self.locate(one.x + t * (other.x - one.x))

    def search(self, one: Any, other: Any, model: Model) -> Any:
        """The place of the least F on the line from one to the other."""
        raise NotImplementedError("This risk is not searched along lines.")

    def slope_along(self, place: Any, one: Any, other: Any) -> float:
        """<phi, other - one> of the cut at a place."""
        raise NotImplementedError("This risk is not searched along lines.")

    def seen_on_line(self) -> list:
        """The places of the last search that are worth a cut, since they have been paid for."""
        return []

    def check(self, best: Any, place: Any, slope: np.ndarray, cuts: Cuts) -> None:  # noqa: B027 (most are convex)
        """Refuse a cut that no convex function has."""

    def aggregate(self, keys: list, shares: np.ndarray) -> list | None:
        """The key of a weighted mean of cuts: the parts of all their keys, with their shares."""
        return [(share * weight, each) for share, key in zip(shares, keys, strict=True) for weight, each in key]
