"""Rules for the step length: given, from the dual value, or by a line search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .objective import Iterate

if TYPE_CHECKING:
    from .run import FirstOrderRun

MAX_HALVINGS = 60  # of a step in the line search


class GivenSteps:
    """A constant step: one number, or one per coordinate."""

    def __init__(self, step: float | np.ndarray):
        self.step = step

    def choose(self, run: FirstOrderRun, here: Iterate) -> float | np.ndarray:
        """The step."""
        return self.step


class DualSteps:
    """(P - D) / |grad P|^2: Polyak's step for kinked losses, with the dual value in place of the unknown optimum.

    Without momentum it is the exact line search of Frank and Wolfe's method on the dual. With momentum the same
    steps add up to 1 / (1 - beta) times as much, so they are shortened by that factor.
    """

    def choose(self, run: FirstOrderRun, here: Iterate) -> float:
        """The step from the current iterate."""
        bound = run.raise_bound(run.problem.feasible(run.average))
        step = (1.0 - run.mover.beta) * (here.value - bound) / max(here.steepness, 1e-300)
        return float(np.clip(step, 0.0, run.mover.longest))


class SearchedSteps:
    """The longest step, halved from a little more than the last one, with P(u - step g) <= P(u) - step/2 |g|^2.

    For losses that grow exponentially: they are smooth, but no L holds everywhere.
    """

    def __init__(self):
        self.step = 1.0

    def choose(self, run: FirstOrderRun, here: Iterate) -> float:
        """The step from the current iterate."""
        self.step *= 1.5
        for _ in range(MAX_HALVINGS):
            there = run.objective.place(here.u - self.step * here.gradient)
            if there.value <= here.value - 0.5 * self.step * here.steepness * (1.0 - 1e-9):
                break
            self.step *= 0.5
        return self.step
