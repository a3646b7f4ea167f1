"""The Lagrangian dual of the Wolfe dual: its bounds and its equality relaxed by multipliers, and those driven up."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from ...contracts.solvers import Solver
from ...model.problem import Point, Problem
from ..quadratic_program import refuse_program
from .augmented import AugmentedRun
from .plain import PlainRun

__all__ = ["LagrangianDual"]

METHODS = {"augmented": AugmentedRun, "plain": PlainRun}


@dataclass(frozen=True)
class LagrangianDual(Solver):
    """max over mu, above, below of min over v of 1/2 v'Qv + q'v - mu (sign'v - balance) + above'(v - upper) - below'v.

    Where Q is singular the inner minimum is -infinity but for the multipliers of a subspace. "augmented" adds the
    squares that make it finite, and reaches the optimum. "plain" takes a least-squares solution for the minimum
    and climbs by AdaGrad: it reaches the optimum where Q is regular, which squared losses make it, and lands far off
    elsewhere.

    Parameters
    ----------
    method : {"augmented", "plain"}
        The proximal method of multipliers with Newton steps, or projected AdaGrad over MINRES.
    step : float
        Of AdaGrad, for the plain method.
    """

    method: str = "augmented"
    step: float = 0.5
    name: ClassVar[str] = "lagrangian_dual"
    formulation: ClassVar[str] = "Lagrangian dual"

    def __post_init__(self):
        if self.method not in METHODS:
            raise ValueError(f"LagrangianDual's method must be one of {sorted(METHODS)}, got {self.method!r}.")
        if not (isinstance(self.step, Real) and 0 < self.step < np.inf):
            raise ValueError(f"LagrangianDual's step must be a positive number, got {self.step!r}.")

    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot take the problem."""
        return refuse_program(problem, "The Lagrangian dual")

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> AugmentedRun | PlainRun:
        """A run; the augmented one begins at `warm`, the plain one with multipliers that are zero."""
        return METHODS[self.method](self, problem, tol, warm)
