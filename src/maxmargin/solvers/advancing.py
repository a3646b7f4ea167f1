"""What the loop advances, slice by slice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .result import Outcome, Status


class Advancing(ABC):
    """Steps that the loop asks for: of the solvers of a plan, of a minimisation, or of a run that is recorded.

    The loop owns the clock, the limits, the callback and Ctrl-C. Whether the steps have led to their goal is for
    `decide` to say.

    Attributes
    ----------
    n_iter : int
        Iterations so far, in the unit that `max_iter` limits.
    """

    n_iter: int

    @abstractmethod
    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Work for about `seconds`, at most `max_steps` iterations, and say how it stands."""

    @abstractmethod
    def progress(self, seconds: float, watched: bool) -> Any:
        """The line of the history, `seconds` after the start; `watched` if a callback will see it."""

    @abstractmethod
    def decide(self, outcome: Outcome) -> Status | None:
        """Why it ends here, or None; asked with GOING before the first step, then with the outcome of each slice."""

    def save_periodically(self) -> None:  # noqa: B027 (most keep no checkpoints)
        """Keep the state on disk, if the last time is long ago."""
