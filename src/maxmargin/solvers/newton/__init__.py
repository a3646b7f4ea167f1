"""Newton's method on the primal of linear machines, and the method of multipliers that gives it kinked losses."""

from __future__ import annotations

from dataclasses import dataclass

from ...blocks.problem import BlockProblem
from ...contracts.solvers import Solver
from ...model.problem import Point, Problem
from ..refusals import refuse_shape
from .absolute import ProximalNewton
from .blocks import BlockNewtonRun, refuse_blocks
from .run import NewtonRun
from .sifting import SiftingRun
from .system import NORMAL_MATRIX_MAX_FEATURES

__all__ = ["InteriorPoint", "Multipliers", "Newton", "ProximalNewton"]


@dataclass(frozen=True)
class Newton(Solver):
    """min P(w, b) for a smooth loss: (R + Z' diag(l'') Z) step = -gradient, and an exact line search.

    Only the rows that bend enter the matrix (for the squared hinge those within the margin). The system is that of
    the features, that of the bending rows, or is solved by conjugate gradients, whichever is least work.
    """

    name = "newton"
    formulation = "primal"
    forms = ("memory", "blocks")

    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot take the problem."""
        if isinstance(problem, BlockProblem):
            return refuse_blocks(problem, "Newton's method", kinked=False)
        reason = refuse_shape(problem, "Newton's method")
        if reason is None and problem.kinked:
            return f"Newton's method needs a smooth loss, and {problem.loss.name!r} has a kink; use 'multipliers'."
        return reason

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> NewtonRun | BlockNewtonRun:
        """A run at `warm`, or at zero."""
        kind = BlockNewtonRun if isinstance(problem, BlockProblem) else NewtonRun
        return kind(self, problem, tol, warm)

    def resume(self, problem: BlockProblem, tol: float, state: dict) -> BlockNewtonRun:
        """A run as it was packed."""
        return BlockNewtonRun(self, problem, tol, None, state)


@dataclass(frozen=True)
class Multipliers(Solver):
    """max D(a) - (width/2) sum_i (a_i - a0_i)^2 / span_i, a0 the last solution, width falling: each by Newton's method.

    The proximal method of multipliers (Rockafellar 1976) with semismooth Newton steps: a kink of the loss becomes a
    stretch of `width` over which its dual moves from bound to bound, and only the rows on that stretch enter the
    matrix: few, at the end.

    Parameters
    ----------
    hasty : bool
        Give up as soon as the steps go astray, which they do where many rows lie on one another: "auto" goes on with
        another solver then.
    """

    hasty: bool = False

    name = "multipliers"
    formulation = "primal and Wolfe dual"
    forms = ("memory", "blocks")

    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot take the problem."""
        if isinstance(problem, BlockProblem):
            return refuse_blocks(problem, "The method of multipliers", kinked=True)
        reason = refuse_shape(problem, "The method of multipliers")
        if reason is None and problem.row is None:
            return f"The method of multipliers needs a piecewise loss, not {problem.loss.name!r}; use 'newton'."
        return reason

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> NewtonRun | BlockNewtonRun:
        """A run at `warm`, or at zero."""
        kind = BlockNewtonRun if isinstance(problem, BlockProblem) else NewtonRun
        return kind(self, problem, tol, warm)

    def resume(self, problem: BlockProblem, tol: float, state: dict) -> BlockNewtonRun:
        """A run as it was packed."""
        return BlockNewtonRun(self, problem, tol, None, state)


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """(R + Z' diag(theta) Z) du = r: Mehrotra's predictor and corrector through the d + 1 normal equations.

    Its number of steps hardly depends on the data. Rows far from their kinks are replaced by their tangents, and
    looked at again when the others are solved.
    """

    name = "interior_point"
    formulation = "primal and Wolfe dual"

    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot take the problem."""
        reason = refuse_shape(problem, "Interior point")
        if reason is None and problem.row is None:
            return f"Interior point needs a piecewise loss, and {problem.loss.name!r} is smooth; use 'newton'."
        if reason is None and problem.features.samples.d > 2 * NORMAL_MATRIX_MAX_FEATURES:
            return (
                f"Interior point forms a matrix of the features, and {problem.features.samples.d} are too many; "
                "use 'coordinate'."
            )
        return reason

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> SiftingRun:
        """A run at `warm`, or amid the bounds."""
        return SiftingRun(self, problem, tol, warm)
