"""P as a function of w alone, its gradient, and the dual point that every evaluation yields.

    P(w) = 1/2 |w|^2 + min_b ( sum_i c_i l(<w, phi(x_i)> + b; y_i) + balance b ),    grad P(w) = w - sum_i a_i phi(x_i)

A free intercept has no regulariser, so it is minimised out: P stays strongly convex with modulus 1, and its duals a
balance. The intercepts of many classes are separate coordinates after those of w.

With a kernel, w is represented by its coefficients on the phi(x_i) (the representer theorem), and the coefficients of
the gradient are those of w minus a. The steps are the same as if phi were written out.
"""

from __future__ import annotations

import numpy as np

from ...contracts.features import KernelMatrix
from ...model.intercept import Intercept
from ...model.loss_oracle import choose_loss_oracle
from ...model.problem import Problem
from ...runtime.interpreter import cached_property
from ...runtime.scipy_functions import LinearOperator, eigsh

DENSE_EIGENVALUE_MAX_SAMPLES = 12  # up to so many samples the eigenvalue is computed directly
KINK_SMOOTHING_SHARE = 0.1  # of the scale of the scores: the width over which kinks are smoothed to choose batch steps
EIGENVALUE_REL_TOL = 1e-3  # relative error of the largest eigenvalue, added to it as a margin


class Iterate:
    """Coordinates u, with P and its subgradient there."""

    def __init__(self, objective: Objective, u: np.ndarray):
        self.objective, self.u = objective, u
        self.coef, self.tail = objective.part(u)
        with np.errstate(over="ignore", invalid="ignore"):
            self.scores = objective.features.scores(self.coef)
            risk, self.b, self.a = objective.minimise_intercept(self.scores, self.tail)
            value = objective.features.penalty_value(self.coef, self.scores) + risk
        self.value = value if np.isfinite(value) else np.inf

    @cached_property
    def gradient(self) -> np.ndarray:
        """w - sum_i a_i phi(x_i), as coefficients; and balance - sum_i a_ki of intercepts that are coordinates."""
        return self.objective.join(self.coef - self.objective.features.combine(self.a), self.objective.missing(self.a))

    @cached_property
    def slope(self) -> np.ndarray:
        """The partial derivatives in the coordinates u: K times the gradient where w has coefficients."""
        return self.gradient if self.objective.linear else self.objective.features.scores(self.gradient)

    @cached_property
    def steepness(self) -> float:
        """|grad P|^2."""
        return max(float(self.gradient @ self.slope), 0.0)

    @cached_property
    def bound(self) -> float:
        """D at the duals of this iterate; P - D = 1/2 |w - sum_i a_i phi(x_i)|^2 where they balance."""
        return self.objective.bound(self.a)


class Objective:
    """P over the coordinates of w."""

    def __init__(self, problem: Problem, tol: float):
        self.problem, self.features, self.tol = problem, problem.features, tol
        self.loss_oracle = choose_loss_oracle(problem)
        self.linear = problem.traits.linear
        self.shape = self.features.combine(np.zeros(problem.shape)).shape
        self.size = int(np.prod(self.shape))
        many = self.features.n_classes or 0
        self.tails = many if problem.balance is not None else 0
        self.free = problem.balance is not None and not many

    @cached_property
    def intercept(self) -> Intercept:
        """The search for a free intercept, starting at the middle of the targets."""
        scale = self.loss_oracle.loss_response(np.zeros(self.problem.shape), self.problem.centre).value
        intercept = Intercept(self.loss_oracle, float(self.problem.balance), scale)
        intercept.last = self.problem.centre
        return intercept

    # ---- coordinates --------------------------------------------------------------------------------------

    def part(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of w, and the intercepts that are coordinates."""
        return u[: self.size].reshape(self.shape), u[self.size :]

    def join(self, coef: np.ndarray, tail: np.ndarray) -> np.ndarray:
        """Coordinates of both."""
        return np.concatenate([coef.ravel(), tail]) if self.tails else coef.ravel()

    def missing(self, a: np.ndarray) -> np.ndarray:
        """balance - sum_i a_ki, where the intercepts are coordinates."""
        return self.problem.balance - a.sum(axis=1) if self.tails else np.empty(0)

    # ---- values -------------------------------------------------------------------------------------------

    def place(self, u: np.ndarray) -> Iterate:
        """P at u."""
        return Iterate(self, u)

    def minimise_intercept(self, scores: np.ndarray, tail: np.ndarray) -> tuple[float, float | np.ndarray, np.ndarray]:
        """The risk at some scores, the intercept, and the duals."""
        if self.free:
            settled = self.intercept.minimise_intercept(scores, self.intercept.last, self.tol)
            return settled.value, settled.b, settled.a
        loss_response = self.loss_oracle.loss_response(scores, tail[:, None] if self.tails else 0.0)
        owed = float(np.sum(np.multiply(self.problem.balance, tail))) if self.tails else 0.0
        return loss_response.value + owed, tail if self.tails else 0.0, loss_response.a

    def bound(self, a: np.ndarray) -> float:
        """D at duals within their domain, or -inf if they do not balance."""
        if self.problem.imbalance(a) > 1e-9:
            return -np.inf
        coef = self.features.combine(a)
        return self.problem.dual_value(
            a, self.features.penalty_conjugate(coef, None if self.linear else self.features.scores(coef))
        )

    @cached_property
    def reach(self) -> np.ndarray:
        """How far each coordinate may have to go: the scale of the scores over the root mean square of its feature.

        With a kernel the features are the columns of K; the estimate uses their diagonal only, times n since all move.
        """
        weight = self.problem.c / max(float(self.problem.c.sum()), 1e-300)
        if self.linear:
            squares = np.append(self.features.samples.sum_squares(weight), self.features.scaling**2)
        else:
            squares = self.problem.n * np.square(self.features.diagonal)
        size = np.sqrt(np.where(squares > 0, squares, 1.0))
        scale = self.problem.scale
        return self.join(np.broadcast_to(scale / size, self.shape), np.full(self.tails, scale))

    # ---- some of the samples ------------------------------------------------------------------------------

    def find_batch_duals(self, index: np.ndarray, coef: np.ndarray, b: float | np.ndarray) -> np.ndarray:
        """The duals of some samples at w and b."""
        problem = self.problem
        scores = self.features.subset(index).scores(coef) if self.linear else self.features.block(index) @ coef
        with np.errstate(over="ignore", invalid="ignore"):
            return problem.loss.terms(problem.y[..., index], problem.c[index]).response(problem.shift(scores, b))[0]

    def combine_batch(self, index: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i a_i phi(x_i) over some samples, as coefficients, and the imbalance of their duals."""
        if self.linear:
            return self.features.subset(index).combine(a), self.missing(a)
        coef = np.zeros(self.shape)
        coef[index] = a
        return coef, self.missing(a)

    # ---- curvature ----------------------------------------------------------------------------------------

    @cached_property
    def smoothness(self) -> float:
        """L = 1 + the largest eigenvalue of sum_i s_i phi(x_i) phi(x_i)', s_i the largest curvature of c_i l.

        Minimising over b only reduces curvature, so this holds with a free intercept as well.
        """
        root, design = np.sqrt(self.curvatures), self.shared_features

        def multiply(v: np.ndarray) -> np.ndarray:
            v = root * v.ravel()
            product = design.scores(design.combine(v))
            return root * (product + v.sum() if self.tails else product)

        return 1.0 + (1.0 + EIGENVALUE_REL_TOL) * find_largest(multiply, self.problem.n)

    @cached_property
    def curvatures(self) -> np.ndarray:
        """s_i, the largest curvature of c_i l(.; y_i); if it is infinite, that of the loss with its kinks
        smoothed over a tenth of the scale of the scores, or that at zero for a loss that grows exponentially."""
        problem, row = self.problem, self.problem.row
        if problem.loss.grows_exponentially:
            return problem.terms.second_derivative(np.zeros(problem.n))
        if row is None:
            return problem.c * (
                problem.loss.curvature if not problem.kinked else 2.0 / (KINK_SMOOTHING_SHARE * problem.scale)
            )
        round_off = (row.hi - row.lo) / (KINK_SMOOTHING_SHARE * problem.scale)
        return np.divide(1.0, row.d, out=np.where(row.d > 0, 0.0, round_off), where=(row.d > 0) & (row.hi > row.lo))

    @property
    def squares(self) -> np.ndarray:
        """|phi(x_i)|^2, and 1 more for intercepts that are coordinates."""
        return self.shared_features.diagonal + (1.0 if self.tails else 0.0)

    @property
    def shared_features(self) -> KernelMatrix:
        """phi(x_i), shared by all classes if there are several."""
        return self.features if self.features.n_classes is None else self.features.design


def find_largest(multiply, n: int) -> float:
    """The largest eigenvalue of a positive semidefinite matrix, given a function that multiplies by it."""
    if n <= DENSE_EIGENVALUE_MAX_SAMPLES:
        return max(float(np.linalg.eigvalsh(np.array([multiply(e) for e in np.eye(n)]))[-1]), 0.0)
    start = multiply(np.ones(n))
    if not start.any():
        start = multiply(np.sin(np.arange(1.0, n + 1.0)))
    if not start.any():
        return 0.0
    operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    return float(eigsh(operator, k=1, which="LA", tol=EIGENVALUE_REL_TOL, v0=start, return_eigenvectors=False)[0])
