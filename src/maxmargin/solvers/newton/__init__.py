"""Newton's method on the primal of linear machines, and the method of multipliers for kinked losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...blocks.problem import BlockProblem
from ...contracts.solvers import Solver
from ...contracts.traits import Takes
from ...model.problem import Point, Problem
from .absolute import ProximalNewton
from .blocks import BlockNewtonRun, refuse_width
from .fused import FusedRun, can_fuse
from .run import NewtonRun
from .sifting import SiftingRun
from .system import NORMAL_MATRIX_MAX_FEATURES

__all__ = ["InteriorPoint", "Multipliers", "Newton", "ProximalNewton"]


class NewtonSolver(Solver):
    """Newton steps on the primal of linear machines, in memory or in blocks: what Newton and Multipliers share."""

    forms = ("memory", "blocks")

    def refuse(self, problem: Problem | BlockProblem) -> str | None:
        """Refuse too many features for a matrix that is summed over blocks."""
        return refuse_width(problem.traits)

    def start(self, problem: Any, tol: float, warm: Any = None) -> NewtonRun | FusedRun | BlockNewtonRun:
        """A run at `warm`, or at zero."""
        if problem.traits.form == "blocks":
            return BlockNewtonRun(self, problem, tol, warm)
        return (FusedRun if can_fuse(problem) else NewtonRun)(self, problem, tol, warm)

    def resume(self, problem: BlockProblem, tol: float, state: dict[str, Any]) -> BlockNewtonRun:
        """A run in the state that `pack` returned."""
        return BlockNewtonRun(self, problem, tol, None, state)


@dataclass(frozen=True)
class Newton(NewtonSolver):
    """min P(w, b) for a smooth loss: (R + Z' diag(l'') Z) step = -gradient, and an exact line search.

    Only rows whose second derivative is not zero enter the matrix (for the squared hinge those within the margin). The
    step solves the system of the features or that of these rows, or runs conjugate gradients, whichever is cheapest.

    See Also
    --------
    Multipliers : For losses with kinks.
    Coordinate : For many features.

    References
    ----------
    - Keerthi and DeCoste (2005). A modified finite Newton method for fast solution of large scale linear SVMs.
      Journal of Machine Learning Research 6, 341-361.
    - Nocedal and Wright (2006). Numerical Optimization. Springer, second edition.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Newton, RiskClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RiskClassifier("logistic", solver=Newton()).fit(X, y == 1)
    >>> model.result_.solver.name, model.result_.converged
    ('newton', True)
    """

    hasty = False  # does not give up after failed rounds
    name = "newton"
    formulation = "primal"
    takes = Takes("Newton's method", features="linear", loss="smooth")


@dataclass(frozen=True)
class Multipliers(NewtonSolver):
    """max D(a) - (width/2) sum_i (a_i - a0_i)^2 / span_i, a0 the last solution, width falling: each by Newton's method.

    The proximal method of multipliers (Rockafellar 1976) with semismooth Newton steps: a kink of the loss becomes an
    interval of length `width` on which its dual moves from bound to bound. Only rows on that interval enter the
    matrix, and at the end these are few.

    Parameters
    ----------
    hasty : bool
        Give up once several rounds of steps have failed, as happens where many rows coincide. "auto" then goes on with
        another solver.

    See Also
    --------
    Newton : For smooth losses.
    InteriorPoint : For the same losses.

    References
    ----------
    - Rockafellar (1976). Augmented Lagrangians and applications of the proximal point algorithm in convex
      programming. Mathematics of Operations Research 1, 97-116.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC, Multipliers
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", solver=Multipliers()).fit(X, y == 1)
    >>> model.result_.solver.name, model.result_.converged
    ('multipliers', True)
    """

    hasty: bool = False

    name = "multipliers"
    formulation = "primal and Wolfe dual"
    takes = Takes("The method of multipliers", features="linear", loss="piecewise")


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """(R + Z' diag(theta) Z) du = r: Mehrotra's predictor and corrector through the d + 1 normal equations.

    The number of steps hardly depends on the data. Rows far from their kinks are replaced by their tangents, and
    checked again once the others are solved.

    See Also
    --------
    Newton : For smooth losses.
    Multipliers : For the same losses, with many rows.

    References
    ----------
    - Mehrotra (1992). On the implementation of a primal-dual interior point method. SIAM Journal on Optimization 2,
      575-601.
    - Gondzio (1996). Multiple centrality corrections in a primal-dual method for linear programming. Computational
      Optimization and Applications 6, 137-156.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import InteriorPoint, LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", solver=InteriorPoint()).fit(X, y == 1)
    >>> model.result_.solver.name, model.result_.converged
    ('interior_point', True)
    """

    name = "interior_point"
    formulation = "primal and Wolfe dual"
    takes = Takes("Interior point", features="linear", loss="piecewise")

    def refuse(self, problem: Problem) -> str | None:
        """Refuse too many features for their matrix."""
        d = problem.traits.d
        if d > 2 * NORMAL_MATRIX_MAX_FEATURES:
            return f"forms a matrix of the features, and {d} are too many; use 'coordinate'"
        return None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> SiftingRun:
        """A run at `warm`, or from duals between their bounds."""
        return SiftingRun(self, problem, tol, warm)
