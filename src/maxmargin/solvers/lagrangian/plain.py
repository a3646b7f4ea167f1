"""The plain Lagrangian dual: a least-squares solution for the inner minimum, AdaGrad for the multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.problem import Point, Problem
from ...runtime.interruptible import abortable
from ...runtime.scipy_functions import LinearOperator, minres
from ...runtime.threads import run_on_own_thread
from ..quadratic_program import QuadraticProgram
from ..stalling import StallDetector
from .run import LagrangianRun

ADAGRAD_OFFSET = 1e-8  # keeps AdaGrad's root, which starts at zero, positive
REGULAR_REL_TOL = 1e-10  # relative residual of MINRES where Q is regular
# and where it may be singular: a tighter one only adds noise along the smallest eigenvalues
SINGULAR_REL_TOL = 1e-5
MAX_INNER_PRODUCTS = 500  # products with Q per inner solve; the next solve starts from its result
ITERATIONS_WITHOUT_RISE_LIMIT = 5  # iterations without a rise of the dual value, if Q may be singular
# iterations without a fall of the gap by a tenth; the second limit if Q is regular
ITERATIONS_WITHOUT_PROGRESS_LIMIT, ITERATIONS_WITHOUT_PROGRESS_LIMIT_REGULAR = 1000, 10_000


class PlainRun(LagrangianRun):
    """v = argmin of the Lagrangian; mu, above, below by AdaGrad steps along its gradient, the latter two kept >= 0.

    The inner minimum solves Q v = r with r = -(q - mu sign + above - below). If every loss has curvature, Q is
    regular: the value is a smooth concave function, and its ascent converges. Otherwise Q may be singular. Then the
    value is -infinity unless r lies in the range of Q, and v is the least-squares solution of least norm: MINRES on
    Q Q v = Q r, a system that always has solutions (on Q v = r itself it would diverge along the null space). The
    function that is maximised is then a different one, which leaves out the part of r outside the range.
    `counters["residual"]` is the size of that part, |Q v - r| / |r|.

    The run ends at tol; or, if Q may be singular, when the value has not risen for five iterations, the rule of Meoli
    (2021); or when the gap has not fallen by a tenth in a thousand iterations (ten thousand if Q is regular).
    """

    def __init__(self, solver, problem: Problem, tol: float, warm: Point | None):
        super().__init__(solver, problem, tol)
        self.program = QuadraticProgram.of(problem)
        m = len(self.program.q)
        self.finite = np.isfinite(self.program.upper)
        self.upper = np.where(self.finite, self.program.upper, 0.0)
        self.mu, self.above, self.below, self.v = 0.0, np.zeros(m), np.zeros(m), np.zeros(m)
        self.squares = np.zeros(2 * m + 1)
        limit = ITERATIONS_WITHOUT_PROGRESS_LIMIT if problem.kinked else ITERATIONS_WITHOUT_PROGRESS_LIMIT_REGULAR
        self.stall_detector, self.rise_detector = StallDetector(limit), StallDetector(ITERATIONS_WITHOUT_RISE_LIMIT)
        self.best = -np.inf
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
        """One ascent step of the multipliers, and one inner minimum."""
        self.climb()
        self.minimise()
        risen = self.value > self.best
        self.best = self.value if risen else self.best
        risen_no_more = self.rise_detector.count(risen) and self.problem.kinked
        self.ended = self.stall_detector.is_stalled(self.gap) or risen_no_more

    def climb(self) -> None:
        """Each multiplier by step g / sqrt(sum of its g^2 so far), g the violation; multipliers of bounds stay >= 0."""
        program, m = self.program, len(self.v)
        imbalance = 0.0 if program.balance is None else program.balance - float(program.sign @ self.v)
        gradient = np.concatenate([[imbalance], np.where(self.finite, self.v - self.upper, 0.0), -self.v])
        self.squares += gradient * gradient
        moves = self.solver.step * gradient / np.sqrt(self.squares + ADAGRAD_OFFSET)
        self.mu += float(moves[0])
        self.above = np.maximum(self.above + moves[1 : m + 1], 0.0)
        self.below = np.maximum(self.below + moves[m + 1 :], 0.0)

    def point(self) -> Point:
        """The duals, possibly outside their bounds, and the intercept, which is -mu by stationarity."""
        return Point(self.program.signed(self.v), 0.0 if self.program.balance is None else -self.mu)

    def describe_step(self, before: None) -> dict[str, Any]:
        """The multipliers, v, the value of the Lagrangian there, the residual of the inner system, what is violated."""
        program, v = self.program, self.v
        imbalance = 0.0 if program.balance is None else program.balance - float(program.sign @ v)
        outside = np.where(self.finite, np.maximum(v - self.upper, 0.0), 0.0) + np.maximum(-v, 0.0)
        return {
            "step": "multipliers", "mu": self.mu, "above": self.above, "below": self.below, "v": v,
            "value": self.value, "residual": float(self.counters["residual"]), "imbalance": imbalance,
            "bound_violation": float(outside.max(initial=0.0)),
        }  # fmt: skip
