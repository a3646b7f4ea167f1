"""Newton's method for the softmax loss: conjugate gradients, with a preconditioner for each class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...contracts.solvers import Solver
from ...contracts.traits import Takes
from ...model.normal_equations import factor_matrix, form_normal_matrix
from ...model.problem import Point, Problem
from ...runtime.interruptible import abortable
from ...runtime.scipy_functions import cho_solve
from ..result import Progress
from ..stalling import StallDetector
from .descent import DescentRun

# features up to which the preconditioner of a class is its own Hessian, else its diagonal
PRECONDITIONER_MAX_FEATURES = 400
STEPS_WITHOUT_PROGRESS_LIMIT = 30  # steps without a fall of the gap by a tenth before a run gives up


@dataclass(frozen=True)
class ClassNewton(Solver):
    """(R + Z' (diag(s) - s s') Z) V = -gradient over the k classes at once, s = softmax(f).

    The gap is half the square of the gradient, since a smooth loss and its conjugate agree at a = -c l'(f).

    See Also
    --------
    maxmargin.RiskClassifier : With `multi_class="softmax"`.
    maxmargin.Newton : One problem for each class.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. JMLR 11, 311-365.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import RiskClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RiskClassifier("logistic", multi_class="softmax").fit(X, y)
    >>> model.result_.solver.name, model.result_.converged
    ('class_newton', True)
    """

    name = "class_newton"
    formulation = "primal"
    takes = Takes("Newton's method over classes", scores="many", features="linear", structure="softmax")

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> ClassNewtonRun:
        """A run at `warm`, or at zero."""
        return ClassNewtonRun(self, problem, tol, warm)


class ClassNewtonRun(DescentRun):
    """The coefficients U of all classes, one row each; the last column is the intercept."""

    def __init__(self, solver: ClassNewton, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        features = problem.features
        self.samples, self.free = features.samples, problem.balance is not None
        self.constant = 1.0 if self.free else features.scaling
        self.ridge = np.ones(self.samples.d + 1)
        self.ridge[-1] = 0.0 if self.free else 1.0
        U = np.zeros((features.n_classes, self.samples.d + 1))
        if warm is not None:
            U[:] = problem.expand(warm)
            U[:, -1] = warm.b if self.free else U[:, -1]
        self.n_iter, self.stall_detector = 0, StallDetector(STEPS_WITHOUT_PROGRESS_LIMIT)
        self.counters = Counter(products=0)
        self.place(U, self.project(U))

    def project(self, U: np.ndarray) -> np.ndarray:
        """f = U Z', one row per class."""
        f = self.samples.project(np.ascontiguousarray(U[:, :-1].T)) + self.constant * U[:, -1]
        return np.ascontiguousarray(f.T)

    def combine(self, a: np.ndarray) -> np.ndarray:
        """a Z, one row per class."""
        return np.column_stack([self.samples.combine(a), self.constant * a.sum(axis=1)])

    def place(self, U: np.ndarray, f: np.ndarray) -> None:
        """Move to U, and compute the shares, duals, gradient, P and D there."""
        self.U, self.f, terms = U, f, self.problem.terms
        self.share = terms.softmax(f)
        self.a = terms.response(f)[0]
        self.gradient = self.ridge * U - self.combine(self.a)
        if self.free:
            self.gradient[:, -1] += self.problem.balance
        self.primal = self.value(U, f)
        slope = self.gradient if not self.free else self.gradient[:, :-1]
        self.dual = self.primal - 0.5 * float(np.sum(slope * slope))

    def value(self, U: np.ndarray, f: np.ndarray) -> float:
        """P."""
        b = U[:, -1] if self.free else 0.0
        return (
            0.5 * float(np.sum(self.ridge * U * U)) + float(self.problem.terms.value(f).sum()) + self.problem.offset(b)
        )

    def take_step(self) -> None:
        """Newton's direction, halved until P falls."""
        with abortable():
            step = self.solve()
        move, slope, t = self.project(step), float(np.sum(self.gradient * step)), 1.0
        while self.value(self.U + t * step, self.f + t * move) > self.primal + 1e-4 * t * slope and t > 1e-10:
            t *= 0.5
        self.n_iter += 1
        if t > 1e-10:
            self.place(self.U + t * step, self.f + t * move)
        else:
            self.stall_detector.exhaust()  # no step in this direction lowers P

    def solve(self) -> np.ndarray:
        """Conjugate gradients on Newton's equation."""
        # While free intercepts are far off, damping lets them move by a few units at most.
        self.damped = self.ridge.copy()
        self.damped[-1] += float(np.abs(self.gradient[:, -1]).max()) / 10.0 + 1e-12 if self.free else 0.0
        precondition = self.make_preconditioner()
        step, residual = np.zeros_like(self.U), -self.gradient
        scaled = precondition(residual)
        direction, size = scaled, float(np.sum(residual * scaled))
        accuracy = np.clip(0.1 * np.sqrt(abs(self.gap) / max(abs(self.primal), 1e-300)), 1e-3, 0.1)
        target = accuracy**2 * size
        for _ in range(500):
            if not size > target:
                break
            image = self.multiply(direction)
            length = size / float(np.sum(direction * image))
            step, residual = step + length * direction, residual - length * image
            scaled = precondition(residual)
            before, size = size, float(np.sum(residual * scaled))
            direction = scaled + (size / before) * direction
        return step

    def multiply(self, V: np.ndarray) -> np.ndarray:
        """R V + (c s (V Z' - sum_k s_k (V Z')_k)) Z."""
        self.counters["products"] += 1
        moved = self.share * self.project(V)
        return self.damped * V + self.combine(self.problem.c * (moved - self.share * moved.sum(axis=0)))

    def make_preconditioner(self):
        """The Hessian of each class by itself, factored; its diagonal where there are many features."""
        second_derivatives = self.problem.c * self.share * (1.0 - self.share)
        ridge = self.damped
        if self.samples.d <= PRECONDITIONER_MAX_FEATURES:
            matrices = (
                form_normal_matrix(self.samples, second_derivative, self.constant) + np.diag(ridge)
                for second_derivative in second_derivatives
            )
            factors = [factor_matrix(matrix) for matrix in matrices]
            return lambda G: np.stack(
                [cho_solve(factor, g, check_finite=False) for factor, g in zip(factors, G, strict=True)]
            )
        squares = np.stack([self.samples.sum_squares(second_derivative) for second_derivative in second_derivatives])
        diagonal = np.column_stack([squares, self.constant**2 * second_derivatives.sum(axis=1)]) + ridge
        return lambda G: G / diagonal

    def balance_duals(self) -> None:
        """Move free intercepts until the duals of every class sum to their balance: Newton's method in k variables."""
        if not self.free:
            return
        U, f = self.U.copy(), self.f
        for _ in range(30):
            share, a = self.problem.terms.softmax(f), self.problem.terms.response(f)[0]
            missing = a.sum(axis=1) - self.problem.balance
            if np.abs(missing).max() <= 1e-14 * np.abs(a).sum():
                break
            weighted = self.problem.c * share
            second_derivative = np.diag(weighted.sum(axis=1)) - weighted @ share.T
            if not np.isfinite(second_derivative).all():
                break
            shift = np.linalg.lstsq(second_derivative, missing, rcond=1e-12)[0]
            U[:, -1] += shift
            f = f + shift[:, None]
        self.place(U, f)

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    def reached(self) -> bool:
        """Whether the gap is within tol."""
        tail = float(np.abs(self.gradient[:, -1]).max()) if self.free else 0.0
        limit = self.tol * max(abs(self.primal), abs(self.dual))
        return self.gap <= 0.9 * limit and tail <= 1e2 * limit

    @property
    def support(self) -> int:
        """All samples: a smooth loss leaves none without a dual."""
        return self.problem.n

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.problem.n)

    def point(self) -> Point:
        """The duals, the intercepts, and w."""
        self.balance_duals()
        coef = self.U.copy()
        if self.free:
            coef[:, -1] = 0.0
        return Point(self.a, self.U[:, -1].copy() if self.free else 0.0, coef)

    def refresh(self, scores: np.ndarray) -> None:
        """Take over the judge's exact scores."""
        self.place(self.U, scores + (self.U[:, -1:] if self.free else 0.0))

    def count(self) -> Counter:
        """Products with the Hessian."""
        return Counter(self.counters)
