"""The Lagrangian dual of the Wolfe dual: multipliers relax its bounds and its equality, and are maximised over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar

import numpy as np

from ...contracts.solvers import Solver
from ...contracts.traits import Takes
from ...model.problem import Point, Problem
from ..quadratic_program import TAKES, refuse_size
from .augmented import AugmentedRun
from .plain import PlainRun
from .run import LagrangianRun

__all__ = ["LagrangianDual"]

METHODS = {"augmented": AugmentedRun, "plain": PlainRun}
INNER_SOLVERS = ("minres", "normal_equations")


@dataclass(frozen=True)
class LagrangianDual(Solver):
    """max over mu, above, below of min over v of 1/2 v'Qv + q'v - mu (sign'v - balance) + above'(v - upper) - below'v.

    If Q is singular, the inner minimum is -infinity except for multipliers in a subspace. "augmented" adds squares that
    make it finite, and reaches the optimum. "plain" takes a least-squares solution for the minimum and ascends by
    AdaGrad, as Meoli (2021) does: it reaches the optimum if Q is regular, as it is for squared losses, and ends far
    from it otherwise.

    Parameters
    ----------
    method : {"augmented", "plain"}
        The proximal method of multipliers with Newton steps, or projected AdaGrad over MINRES.
    step : float
        Step of AdaGrad, for the plain method.
    inner : {"minres", "normal_equations"}
        Where Q is singular, the least-squares solution that the plain method takes for the minimum: MINRES on Q v = r,
        to the letter of Meoli (2021, equations 32 and 67), or the solution of least norm, by MINRES on Q Q v = Q r.

    See Also
    --------
    QP : The Wolfe dual by a general solver.
    SMO : The Wolfe dual, two duals at a time.

    References
    ----------
    - Meoli (2021). Support Vector Machines. Project report, University of Pisa.
    - Choi, Paige and Saunders (2011). MINRES-QLP: a Krylov subspace method for indefinite or singular symmetric
      systems. SIAM Journal on Scientific Computing 33, 1810-1836.
    - Rockafellar (1976). Augmented Lagrangians and applications of the proximal point algorithm in convex
      programming. Mathematics of Operations Research 1, 97-116.

    Examples
    --------
    >>> from maxmargin import SVC, LagrangianDual
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> SVC(kernel="linear", solver=LagrangianDual("augmented")).fit(X, y).predict([[1.5], [2.5]])
    array([0, 1])
    >>> LagrangianDual("plain", inner="normal_equations").inner
    'normal_equations'
    """

    method: str = "augmented"
    step: float = 0.5
    inner: str = "minres"
    name: ClassVar[str] = "lagrangian_dual"
    formulation: ClassVar[str] = "Lagrangian dual"
    takes: ClassVar[Takes] = replace(TAKES, subject="The Lagrangian dual")

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"LagrangianDual's method must be one of {sorted(METHODS)}, got {self.method!r}.")
        if not (isinstance(self.step, Real) and 0 < self.step < np.inf):
            raise ValueError(f"LagrangianDual's step must be a positive number, got {self.step!r}.")

        if self.inner not in INNER_SOLVERS:
            raise ValueError(f"LagrangianDual's inner must be one of {list(INNER_SOLVERS)}, got {self.inner!r}.")

    def refuse(self, problem: Problem) -> str | None:
        """Refuse too many duals for a matrix of all pairs, or no duals at all."""
        return refuse_size(problem)

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> LagrangianRun:
        """A run; the augmented one begins at `warm`, the plain one with zero multipliers."""
        return METHODS[self.method](self, problem, tol, warm)
