"""The plain Lagrangian dual: a least-squares solution for the inner minimum, AdaGrad for the multipliers."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, minres

from ...model.problem import Point, Problem
from ...runtime.interruptible import abortable
from ...runtime.threads import run_on_own_thread
from ..quadratic_program import QuadraticProgram
from ..result import StallDetector
from .run import LagrangianRun

ADAGRAD_OFFSET = 1e-8  # under AdaGrad's root, which begins at zero
REGULAR_REL_TOL = 1e-10  # relative residual of MINRES where Q is regular
# and where it is not: what a tighter one adds lies along the smallest eigenvalues, and is mostly noise
SINGULAR_REL_TOL = 1e-5
MAX_INNER_PRODUCTS = 500  # products with Q in one inner solve, at most; the next one goes on from where it ended
ITERATIONS_WITHOUT_RISE_LIMIT = 5  # iterations in which the value of the dual may fail to rise, where Q may be singular
ITERATIONS_WITHOUT_PROGRESS_LIMIT, ITERATIONS_WITHOUT_PROGRESS_LIMIT_REGULAR = (
    1000,
    10_000,
)  # iterations in which the gap may fail to fall by a tenth, and where Q is regular


class PlainRun(LagrangianRun):
    """v = argmin of the Lagrangian; mu, above, below by AdaGrad steps along its gradient, cut off at zero.

    The inner minimum solves Q v = r with r = -(q - mu sign + above - below). Where every loss has curvature, Q is
    regular, and so is all of this: the value is a smooth concave function, and its ascent converges. Elsewhere Q may
    be singular. Then the value is -infinity unless r lies in the range of Q, and v is the least-squares solution of
    least norm: MINRES on Q Q v = Q r, a system that always has solutions (on Q v = r itself it would run away along
    the null space). What is maximised is then another function, with the part of r outside the range left out.
    `counters["residual"]` is the size of that part, |Q v - r| / |r|.

    The run ends at tol; or where Q may be singular, when the value has not risen for five iterations; or when the gap
    has not fallen by a tenth in a thousand, ten thousand where Q is regular.
    """

    def __init__(self, solver, problem: Problem, tol: float, warm: Point | None):
        super().__init__(solver, problem, tol)
        self.program = QuadraticProgram.of(problem)
        m = len(self.program.q)
        self.finite = np.isfinite(self.program.upper)
        self.upper = np.where(self.finite, self.program.upper, 0.0)
        self.mu, self.above, self.below, self.v = 0.0, np.zeros(m), np.zeros(m), np.zeros(m)
        self.squares = np.zeros(2 * m + 1)
        self.best, self.worse, self.patience = (
            -np.inf,
            0,
            StallDetector(
                ITERATIONS_WITHOUT_PROGRESS_LIMIT if problem.kinked else ITERATIONS_WITHOUT_PROGRESS_LIMIT_REGULAR
            ),
        )
        self.minimise()

    def minimise(self) -> None:
        """v for the present multipliers, the residual, the value of the Lagrangian there, and P and D."""
        program, m = self.program, len(self.v)
        right = self.mu * program.sign - program.q - self.above + self.below
        matrix, wanted, rtol = program.Q, right, REGULAR_REL_TOL
        if self.problem.kinked:
            matrix = LinearOperator((m, m), lambda v: program.Q @ (program.Q @ np.ravel(v)), dtype=float)
            wanted, rtol = program.Q @ right, SINGULAR_REL_TOL
        with abortable():
            self.v, _ = run_on_own_thread(
                lambda: minres(matrix, wanted, x0=self.v, rtol=rtol, maxiter=MAX_INNER_PRODUCTS)
            )
        image = program.Q @ self.v
        size = float(np.linalg.norm(right))
        self.counters["residual"] = float(np.linalg.norm(image - right)) / size if size > 0 else 0.0
        relaxed = self.mu * (program.balance or 0.0) - float(self.above @ self.upper)
        self.value = 0.5 * float(self.v @ image) - float(self.v @ right) + relaxed
        self.primal, self.dual = self.evaluate(self.point())

    def take_step(self) -> None:
        """One climb of the multipliers, one inner minimum."""
        self.climb()
        self.minimise()
        risen = self.value > self.best
        self.best, self.worse = (self.value, 0) if risen else (self.best, self.worse + 1)
        stalled = self.problem.kinked and self.worse >= ITERATIONS_WITHOUT_RISE_LIMIT
        self.ended = self.patience.is_stalled(self.gap) or stalled

    def climb(self) -> None:
        """Each multiplier by step g / sqrt(sum of its g^2 so far), g = what v violates; those of bounds stay >= 0."""
        program, m = self.program, len(self.v)
        imbalance = 0.0 if program.balance is None else program.balance - float(program.sign @ self.v)
        gradient = np.concatenate([[imbalance], np.where(self.finite, self.v - self.upper, 0.0), -self.v])
        self.squares += gradient * gradient
        moves = self.solver.step * gradient / np.sqrt(self.squares + ADAGRAD_OFFSET)
        self.mu += float(moves[0])
        self.above = np.maximum(self.above + moves[1 : m + 1], 0.0)
        self.below = np.maximum(self.below + moves[m + 1 :], 0.0)

    def point(self) -> Point:
        """The duals as they are, outside their bounds too, and the intercept: stationarity makes it -mu."""
        return Point(self.program.signed(self.v), 0.0 if self.program.balance is None else -self.mu)
