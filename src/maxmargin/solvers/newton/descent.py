"""A run that takes one step after another until its own gap is within the tolerance."""

from __future__ import annotations

import time
from abc import abstractmethod

from ...contracts.solvers import Outcome, Run
from ..stalling import StallDetector


class DescentRun(Run):
    """Steps that lower P; before the run calls itself done, its duals are balanced and the gap is measured again."""

    stall_detector: StallDetector

    @property
    @abstractmethod
    def gap(self) -> float:
        """P - D as the run sees them."""

    @abstractmethod
    def take_step(self) -> None:
        """One step; `n_iter` grows by one."""

    @abstractmethod
    def balance_duals(self) -> None:
        """Bring the duals to balance, which changes D."""

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Steps for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while True:
            if self.reached():
                self.balance_duals()
                if self.reached():
                    return Outcome.DONE
            if self.n_iter >= last or time.perf_counter() >= end:
                return Outcome.GOING
            self.take_step()
            if self.stall_detector.is_stalled(self.gap):
                return Outcome.STALLED
