"""Multivariate least squares: M = V diag(m) V', and in the coordinates V'f the equations of the targets separate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...contracts.solvers import Run, Solver
from ...contracts.traits import Takes
from ...model.normal_equations import factor_semidefinite, form_normal_matrix
from ...model.problem import Point, Problem
from ...runtime.scipy_functions import cho_solve
from ..result import Outcome, Progress

MAX_FEATURES = 2500  # features up to which the matrix is formed
MAX_REFINEMENTS = 5  # solves for the residual


@dataclass(frozen=True)
class VectorRidge(Solver):
    """(R / m_j + Z' diag(c) Z) u_j = Z' diag(c) (V'y)_j for every eigenvalue m_j of M; w = V u.

    See Also
    --------
    maxmargin.RiskRegressor : With the loss "multivariate".
    maxmargin.Newton : For losses of one score.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. JMLR 11, 311-365.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import RiskRegressor
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = RiskRegressor("multivariate").fit(X[:, :2], X[:, 2:])
    >>> model.result_.solver.name, model.result_.converged
    ('vector_ridge', True)
    """

    name = "vector_ridge"
    formulation = "primal"
    takes = Takes("Vector ridge regression", scores="many", features="linear", structure="quadratic")

    def refuse(self, problem: Problem) -> str | None:
        """Refuse too many features for their matrix."""
        d = problem.traits.d
        return f"forms a matrix of the features, and {d} are too many; use 'bundle'" if d > MAX_FEATURES else None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> VectorRidgeRun:
        """A run from zero: linear equations need no start."""
        return VectorRidgeRun(self, problem, tol)


class VectorRidgeRun(Run):
    """The coefficients U, one row per target, the last column the intercept: one solve, then refinements."""

    def __init__(self, solver: VectorRidge, problem: Problem, tol: float):
        self.solver, self.problem, self.tol = solver, problem, tol
        features = problem.features
        self.samples, self.free = features.samples, problem.balance is not None
        self.constant = 1.0 if self.free else features.scaling
        self.ridge = np.ones(self.samples.d + 1)
        self.ridge[-1] = 0.0 if self.free else 1.0
        self.eigenvalues, self.V = np.linalg.eigh(problem.loss.M)
        self.U = np.zeros((features.n_classes, self.samples.d + 1))
        self.n_iter, self.gram = 0, None
        self.place()

    def place(self) -> None:
        """Scores, duals, gradient, P and D at U."""
        f = self.samples.project(np.ascontiguousarray(self.U[:, :-1].T)).T + self.constant * self.U[:, -1:]
        self.a = np.ascontiguousarray(self.problem.terms.response(f)[0])
        pull = np.column_stack([self.samples.combine(self.a), self.constant * self.a.sum(axis=1)])
        self.gradient = self.ridge * self.U - pull
        penalty = 0.5 * float(np.sum(self.ridge * self.U**2))
        self.primal = penalty + float(self.problem.terms.value(f).sum())
        slope = self.gradient[:, :-1] if self.free else self.gradient
        self.dual = self.primal - 0.5 * float(np.sum(slope * slope))

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """The solve, and refinements while the gap is above tol."""
        for _ in range(min(max_steps, MAX_REFINEMENTS)):
            if self.reached():
                return Outcome.DONE
            self.take_step()
        return Outcome.DONE if self.reached() else Outcome.STALLED if self.n_iter >= MAX_REFINEMENTS else Outcome.GOING

    def take_step(self) -> None:
        """Newton's step, which is exact: target by target in the coordinates of the eigenvectors of M."""
        if self.gram is None:
            upper = form_normal_matrix(self.samples, self.problem.c, self.constant)
            self.gram = np.triu(upper) + np.triu(upper, 1).T
        turned = self.V.T @ self.gradient
        steps = np.zeros_like(turned)
        least = 1e-12 * max(float(self.eigenvalues[-1]), 1e-300)
        for j, eigenvalue in enumerate(self.eigenvalues):
            if eigenvalue > least:
                matrix = eigenvalue * self.gram + np.diag(self.ridge)
                steps[j] = cho_solve(factor_semidefinite(matrix), turned[j], check_finite=False)
            else:  # in a null direction of M only the penalty is left
                steps[j] = np.where(self.ridge > 0, turned[j], 0.0)
        self.U = self.U - self.V @ steps
        self.n_iter += 1
        self.place()

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    def reached(self) -> bool:
        """Whether gap and imbalance are within tol."""
        limit = self.tol * max(abs(self.primal), abs(self.dual), 1e-300)
        tail = float(np.abs(self.gradient[:, -1]).max()) if self.free else 0.0
        return self.n_iter > 0 and self.gap <= 0.9 * limit and tail <= 1e-9 * max(float(np.abs(self.a).sum()), 1e-300)

    @property
    def support(self) -> int:
        """All samples."""
        return self.problem.n

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.problem.n)

    def point(self) -> Point:
        """Duals, intercepts and w."""
        coef = self.U.copy()
        if self.free:
            coef[:, -1] = 0.0
        return Point(self.a, self.U[:, -1].copy() if self.free else 0.0, coef)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found a wider gap than the run did: refine."""
        self.tol *= 0.5

    def count(self) -> Counter:
        """No counts."""
        return Counter()
