"""Newton's method with |w|_1: each step minimises a quadratic with kinks, over the features that matter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...contracts.solvers import Solver
from ...contracts.traits import Takes
from ...model.normal_equations import form_normal_matrix
from ...model.problem import Point, Problem
from ..result import Progress
from ..stalling import StallDetector
from .descent import DescentRun
from .oracle import RowOracle, make_term_oracle

WORKING_SET_FEATURES = 1000  # with more features, a step takes those in use and those of largest derivative
MAX_DESCENT_PASSES = 1000  # of coordinate descent on the quadratic model
STEPS_WITHOUT_PROGRESS_LIMIT = 60  # steps without a fall of the gap by a tenth before a run gives up


@dataclass(frozen=True)
class ProximalNewton(Solver):
    """min |w|_1 + sum_i c_i l(f_i; y_i) for a smooth loss: quadratic models with kinks (Yuan, Ho and Lin 2012).

    The duals are -c l'(f), divided by the largest |sum_i a_i x_ij| over the features j if that is more than 1.

    See Also
    --------
    maxmargin.LinearSVC : With `penalty="l1"`.
    maxmargin.Newton : For the penalty 1/2 |w|^2.

    References
    ----------
    - Yuan, Ho and Lin (2012). An improved GLMNET for L1-regularized logistic regression. JMLR 13, 1999-2030.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(penalty="l1").fit(X, y)
    >>> model.result_.solver.name, model.result_.converged
    ('proximal_newton', True)
    """

    name = "proximal_newton"
    formulation = "primal"
    takes = Takes("Proximal Newton", features="linear", penalty="l1", loss="smooth")

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> ProximalNewtonRun:
        """A run at `warm`, or at zero."""
        return ProximalNewtonRun(self, problem, tol, warm)


class ProximalNewtonRun(DescentRun):
    """The coefficients u, the last one the intercept, and the scores f = Z u."""

    def __init__(self, solver: ProximalNewton, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.samples, self.free = problem.features.samples, problem.balance is not None
        self.constant = 1.0 if self.free else problem.features.scaling
        self.weight = np.ones(self.samples.d + 1)
        self.weight[-1] = 0.0 if self.free else 1.0
        zero = np.zeros(problem.n)
        self.oracle = make_term_oracle(problem.terms) if problem.row is None else RowOracle(problem.row, zero, 0.0)
        u = np.zeros(self.samples.d + 1)
        if warm is not None and warm.coef is not None:
            u[:] = warm.coef
            u[-1] = float(warm.b) if self.free else u[-1]
        self.n_iter, self.stall_detector = 0, StallDetector(STEPS_WITHOUT_PROGRESS_LIMIT)
        self.counters = Counter(features=0)
        self.place(u, self.project(u))

    def project(self, u: np.ndarray) -> np.ndarray:
        """f = Z u."""
        return self.samples.project(u[:-1]) + self.constant * u[-1]

    def place(self, u: np.ndarray, f: np.ndarray) -> None:
        """Move to u, and compute the duals, Z'a, P and D there."""
        self.u, self.f = u, f
        self.response = self.oracle.respond(f)
        self.pull = np.append(self.samples.combine(self.response.a), self.constant * self.response.total)
        self.primal = float(self.weight @ np.abs(u)) + self.response.losses
        self.shrink = 1.0 / max(1.0, float((self.weight * np.abs(self.pull)).max()))
        self.dual = -float(self.problem.terms.conjugate(self.shrink * self.response.a).sum())

    def take_step(self) -> None:
        """The minimum of the quadratic model, halved until P falls."""
        from ...compiled.l1_descent import descend_l1_quadratic

        chosen = self.choose_features()
        part = self.samples.take_features(chosen)
        H = form_normal_matrix(part, self.response.second_derivative, self.constant)
        H = np.triu(H) + np.triu(H, 1).T
        flat = float(np.abs(self.pull).max()) if not self.response.curved else 0.0  # no curvature: short steps
        H[np.arange(len(H)), np.arange(len(H))] += max(1e-12 * float(np.trace(H)) / len(H), 1e-10, flat)
        place = np.append(chosen, self.samples.d)
        g, u, weight = -self.pull[place], self.u[place], self.weight[place]
        delta, slope = np.zeros(len(place)), np.zeros(len(place))
        accuracy = 1e-4 * np.sqrt(max(abs(self.gap), self.tol * abs(self.primal)))
        descend_l1_quadratic(H, g, u, weight, delta, slope, MAX_DESCENT_PASSES, accuracy)
        step = np.zeros_like(self.u)
        step[place] = delta
        move = part.project(delta[:-1]) + self.constant * delta[-1]
        promised = float(g @ delta) + float(weight @ (np.abs(u + delta) - np.abs(u)))
        t = 1.0
        seen = abs(promised) > 1e-13 * abs(self.primal)  # a smaller decrease is lost in the rounding of P
        while seen and self.value(t, step, move) > self.primal + 0.01 * t * promised and t > 1e-8:
            t *= 0.5
        self.n_iter += 1
        self.counters["features"] = max(self.counters["features"], len(chosen))
        self.place(self.u + t * step, self.f + t * move)

    def value(self, t: float, step: np.ndarray, move: np.ndarray) -> float:
        """P at u + t step."""
        return float(self.weight @ np.abs(self.u + t * step)) + self.oracle.respond(self.f + t * move).losses

    def choose_features(self) -> np.ndarray:
        """All features while they are few; else those in use and those with the largest |sum_i a_i x_ij|."""
        d = self.samples.d
        if d <= WORKING_SET_FEATURES:
            return np.arange(d)
        pull = np.where(self.u[:-1] != 0, np.inf, np.abs(self.pull[:-1]))
        count = min(d, max(WORKING_SET_FEATURES // 2, 2 * int(np.isinf(pull).sum())))
        return np.sort(np.argpartition(-pull, count - 1)[:count])

    def balance_duals(self) -> None:
        """Move a free intercept until the duals balance: Newton's method in one variable."""
        if not self.free:
            return
        ones, shift = np.ones(self.problem.n), 0.0
        for _ in range(60):
            total, second_derivative = self.oracle.directional_derivative(self.f, ones, shift)
            if abs(total) <= 1e-15 * np.abs(self.response.a).sum() or second_derivative <= 0:
                break
            shift += total / second_derivative
        u = self.u.copy()
        u[-1] += shift
        self.place(u, self.f + shift)

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    def reached(self) -> bool:
        """Whether the gap is within tol."""
        return self.gap <= 0.9 * self.tol * max(abs(self.primal), abs(self.dual))

    @property
    def a(self) -> np.ndarray:
        """The duals, scaled so that |sum_i a_i x_ij| <= 1 for every feature j."""
        return self.shrink * self.response.a

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.response.a))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, int(np.count_nonzero(self.u)))

    def point(self) -> Point:
        """The duals, the intercept, and w."""
        self.balance_duals()
        coef = self.u.copy()
        if self.free:
            coef[-1] = 0.0
        return Point(self.a, float(self.u[-1]) if self.free else 0.0, coef)

    def refresh(self, scores: np.ndarray) -> None:
        """Take over the judge's exact scores, and aim at a smaller gap."""
        self.tol *= 0.5
        self.place(self.u, scores + (self.u[-1] if self.free else 0.0))

    def count(self) -> Counter:
        """The largest number of features that took part in a step."""
        return Counter(self.counters)
