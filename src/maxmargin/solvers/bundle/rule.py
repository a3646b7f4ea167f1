"""The contract of a rule: where the next cut of a bundle is made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from .descent import Descent
from .model import Step

STATE_NAMES = ("proximity", "least", "run", "radius", "scope")  # what rules change as they go
IDLE_ROUNDS_LIMIT = 25  # rounds that a cut may be without weight


class Rule(ABC):
    """Where the next cut is made, and what the rule has learned for the one after.

    Attributes
    ----------
    name : str
    proximity : float
        The weight of |x - centre|^2 / 2 in the last step.
    idle_rounds_limit, idle_rounds_limit_without_ridge : float
        Rounds that a cut may be without weight before it is let go.
    """

    name: ClassVar[str]
    proximity: float = 0.0
    idle_rounds_limit: ClassVar[float] = IDLE_ROUNDS_LIMIT
    idle_rounds_limit_without_ridge: ClassVar[float] = IDLE_ROUNDS_LIMIT

    @abstractmethod
    def begin(self, descent: Descent) -> None:
        """The first cut is there."""

    @abstractmethod
    def step(self, descent: Descent) -> None:
        """One step: its cuts, its bound, and the best place if it is better."""

    def pack(self) -> dict:
        """What the rule has learned."""
        return {name: value for name, value in vars(self).items() if name in STATE_NAMES}

    def unpack(self, state: dict) -> None:
        """As it was packed."""
        vars(self).update(state)


def measure_scope(step: Step, descent: Descent) -> float:
    """How far from the best place the minimum of the cuts was: the next one will be as far or nearer."""
    x = descent.best.x
    return max(float(np.abs(step.x - x).max()), 1e-8 * (1.0 + float(np.abs(x).max())))
