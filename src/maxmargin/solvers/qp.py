"""The Wolfe dual solved by a general solver of quadratic programs: a reference that knows nothing of SVMs."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..contracts.solvers import Run, Solver
from ..contracts.traits import Takes
from ..model.problem import Point, Problem
from ..runtime.interruptible import abortable, check_interrupt
from ..runtime.threads import open_library_lock, run_on_own_thread
from .quadratic_program import TAKES, QuadraticProgram, refuse_size, restore_balance
from .result import Outcome, Progress
from .stalling import StallDetector

INSTALL = 'pip install "maxmargin[qp]"'
ITERATIONS_WITHOUT_PROGRESS_LIMIT = 15  # iterations without a fall of the gap by a tenth before a run gives up
# iterations after tol is reached, so that duals that tend to a bound can come near it
ITERATIONS_AFTER_TOL = 6
UNREACHABLE_TOL = 1e-300  # for cvxopt's own rules: the run ends by the duality gap of the machine instead
TIGHT_SETTINGS = {  # tried first, for backends whose default tolerances are loose
    "clarabel": {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12},
    "highs": {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    "osqp": {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iter": 100_000, "polish": True},
    "piqp": {"eps_abs": 1e-12, "eps_rel": 1e-12},
    "proxqp": {"eps_abs": 1e-12, "eps_rel": 1e-12},
    "scs": {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 1_000_000},
}


@dataclass(frozen=True)
class QP(Solver):
    """min 1/2 v'Qv + q'v over 0 <= v <= upper, sign'v = balance, by a general solver; b is the equality's multiplier.

    Parameters
    ----------
    backend : str
        "cvxopt", whose interior point method runs one iteration at a time; or any other backend that qpsolvers finds
        installed ("clarabel", say), which is called once and cannot be interrupted.

    See Also
    --------
    SMO : The same problem at scale.
    LagrangianDual : The same problem with multipliers for the bounds.

    References
    ----------
    - Boser, Guyon and Vapnik (1992). A training algorithm for optimal margin classifiers. COLT, 144-152.
    - Meoli (2021). Support Vector Machines. Project report, University of Pisa.

    Examples
    --------
    >>> from maxmargin import QP, SVC
    >>> model = SVC(kernel="linear", solver=QP()).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.result_.converged
    True
    """

    backend: str = "cvxopt"
    name: ClassVar[str] = "qp"
    formulation: ClassVar[str] = "Wolfe dual"
    takes: ClassVar[Takes] = TAKES

    def __post_init__(self) -> None:
        if not isinstance(self.backend, str):
            raise ValueError(f"backend must be the name of a solver of quadratic programs, got {self.backend!r}.")

    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot take the problem: its kind, its size, or a missing backend."""
        return super().accepts(problem) or refuse_backend(self.backend)

    def refuse(self, problem: Problem) -> str | None:
        """Refuse too many duals for a matrix of all pairs, or no duals at all."""
        return refuse_size(problem)

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> QPRun:
        """A run from the backend's own start: an interior point method cannot start at the bounds."""
        return QPRun(self, problem, tol)


def refuse_backend(name: str) -> str | None:
    """The reason why the backend cannot be imported, or None."""
    found = find_backends() if name != "cvxopt" else []
    try:
        import cvxopt  # noqa: F401

        found.append("cvxopt")
    except ImportError:
        pass
    if name in found:
        return None
    return f"backend must be 'cvxopt' or what qpsolvers finds; installed are {found}, got {name!r}: try {INSTALL}."


def find_backends() -> list[str]:
    """The names of the solvers that qpsolvers can call, other than cvxopt."""
    try:
        import qpsolvers
    except ImportError:
        return []
    return sorted({*qpsolvers.available_solvers} - {"cvxopt"})


class BackendSolution(NamedTuple):
    """What a backend returns: v, the multipliers of 0 <= v and of v <= upper, and that of the equality."""

    v: np.ndarray
    below: np.ndarray
    above: np.ndarray
    multiplier: float


class Cvxopt:
    """cvxopt's `coneqp`, one iteration at a time, so that it can be watched, stopped and limited like any other run.

    Its state between iterations is (x, s, y, z), from which it can be restarted: the scaling, the only other thing it
    keeps, is a function of s and z (Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010). Its own
    tolerances are unreachable: the duality gap of the machine decides when it is done.
    """

    extra, exhausted = ITERATIONS_AFTER_TOL, False

    def __init__(self, program: QuadraticProgram):
        from cvxopt import matrix, spmatrix

        check_interrupt()
        m, self.finite = len(program.q), np.flatnonzero(np.isfinite(program.upper))
        rows = np.arange(m + len(self.finite))
        columns = np.concatenate([np.arange(m), self.finite])
        G = spmatrix(np.where(rows < m, -1.0, 1.0), rows, columns, (len(rows), m))
        h = np.concatenate([np.zeros(m), program.upper[self.finite]])
        self.program = [matrix(program.Q), matrix(program.q), G, matrix(h), None]
        if program.balance is not None:
            self.program += [matrix(program.sign[None, :]), matrix(program.balance)]
        self.m, self.free = m, program.balance is not None
        self.state: dict[str, Any] | None = None

    def step(self) -> BackendSolution | None:
        """One iteration; None where rounding has made the system singular."""
        from cvxopt.solvers import coneqp

        options = {
            "show_progress": False,
            "maxiters": 1,
            "abstol": UNREACHABLE_TOL,
            "reltol": UNREACHABLE_TOL,
            "feastol": UNREACHABLE_TOL,
        }
        try:
            with abortable():
                state = run_on_own_thread(lambda: self.call_locked(coneqp, options))
        except (ArithmeticError, ValueError):
            self.exhausted = True
            return None
        x, y, z = (np.array(state[name], float).ravel() for name in "xyz")
        if not np.isfinite([x.sum(), y.sum(), z.sum()]).all():
            self.exhausted = True
            return None
        self.state = {name: state[name] for name in "xsyz"}
        above = np.zeros(self.m)
        above[self.finite] = z[self.m :]
        return BackendSolution(x, z[: self.m], above, float(y[0]) if self.free else 0.0)

    def call_locked(self, coneqp: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
        """One call at a time: the BLAS of cvxopt has no locks, and an interrupted call may still be running."""
        with open_library_lock("cvxopt", os.getpid()):
            return coneqp(*self.program, initvals=self.state, options=options)


class Backend:
    """A solver of qpsolvers, called with tight tolerances, and again with its own if those were too tight."""

    extra = 0

    def __init__(self, program: QuadraticProgram, name: str):
        self.program, self.name = program, name
        self.settings: list[dict[str, Any]] = [TIGHT_SETTINGS[name], {}] if name in TIGHT_SETTINGS else [{}]

    @property
    def exhausted(self) -> bool:
        """Whether all settings have been tried."""
        return not self.settings

    def step(self) -> BackendSolution | None:
        """The solution, or None if the backend found none."""
        import qpsolvers

        settings, *self.settings = self.settings
        program, m = self.program, len(self.program.q)
        A = None if program.balance is None else program.sign[None, :]
        b = None if program.balance is None else np.array([program.balance])
        # Backends that take only sparse matrices would warn about a dense one, although it has no zeros to leave out.
        sparse = self.name in qpsolvers.sparse_solvers
        Q, A = (sp.csc_matrix(part) if sparse and part is not None else part for part in (program.Q, A))
        problem = qpsolvers.Problem(Q, program.q, None, None, A, b, np.zeros(m), program.upper)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about solutions less accurate than requested: the judge reports that
            try:
                with abortable():
                    solution = run_on_own_thread(lambda: qpsolvers.solve_problem(problem, self.name, **settings))
            except qpsolvers.exceptions.QPError:
                return None
        if solution.x is None or not np.isfinite(solution.x).all():
            return None
        push = np.zeros(m) if solution.z_box is None or not len(solution.z_box) else np.asarray(solution.z_box, float)
        multiplier = float(solution.y[0]) if solution.y is not None and len(solution.y) else 0.0
        return BackendSolution(np.asarray(solution.x, float), np.maximum(-push, 0.0), np.maximum(push, 0.0), multiplier)


class QPRun(Run):
    """A backend, and the best point made of its solutions."""

    def __init__(self, solver: QP, problem: Problem, tol: float):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.program = QuadraticProgram.of(problem)
        self.backend = Cvxopt(self.program) if solver.backend == "cvxopt" else Backend(self.program, solver.backend)
        self.n_iter, self.extra = 0, self.backend.extra
        self.stall_detector = StallDetector(ITERATIONS_WITHOUT_PROGRESS_LIMIT)
        self.best = problem.origin(None)
        self.primal, self.dual = self.evaluate(self.best)
        self.ended = self.reached()  # if w = 0 is optimal, an interior point never reaches it

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Iterations for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.n_iter < last and not self.ended:
            solution = self.backend.step()
            self.n_iter += solution is not None
            settled = solution is not None and self.take(solution)
            self.extra -= self.reached()
            stalled = self.stall_detector.is_stalled(self.gap)
            self.ended = settled or stalled or self.extra < 0 or self.backend.exhausted
            if time.perf_counter() >= end:
                break
        if not self.ended:
            return Outcome.GOING
        return Outcome.DONE if self.reached() else Outcome.STALLED

    def take(self, solution: BackendSolution) -> bool:
        """Keep the solution if its gap is smaller, as it is or snapped to bounds; True if the latter reaches tol."""
        for a in (self.program.signed(np.clip(solution.v, 0.0, self.program.upper)), self.snap_to_bounds(solution)):
            point = Point(restore_balance(self.problem, a), solution.multiplier)
            primal, dual = self.evaluate(point)
            enough = self.is_within(primal, dual)
            if enough or abs(primal - dual) < abs(self.gap):
                self.best, self.primal, self.dual = point, primal, dual
        return enough

    def snap_to_bounds(self, solution: BackendSolution) -> np.ndarray:
        """The duals, with those moved to a bound that are nearer to it than their multipliers are to zero.

        At the optimum v or its multiplier is zero. At an interior point both are positive, on different scales: the
        one that is smaller relative to the largest of its kind is the one that vanishes.
        """
        upper = self.program.upper
        v = np.clip(solution.v, 0.0, upper)
        reach, push = float(v.max()), float(max(solution.below.max(), solution.above.max(), np.finfo(float).tiny))
        low = v * push < solution.below * reach
        high = ~low & (upper < np.inf) & ((upper - v) * push < solution.above * reach)
        return self.program.signed(np.where(low, 0.0, np.where(high, upper, v)))

    def evaluate(self, point: Point) -> tuple[float, float]:
        """P and D at a point."""
        return self.problem.primal(point), self.problem.dual(point.a)

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    def is_within(self, primal: float, dual: float) -> bool:
        """Whether a gap is within tol."""
        size = max(abs(primal), abs(dual), self.problem.floor)
        return abs(primal - dual) <= 0.9 * self.tol * size

    def reached(self) -> bool:
        """Whether the gap of the best point is within tol."""
        return self.is_within(self.primal, self.dual)

    @property
    def a(self) -> np.ndarray:
        """The duals."""
        return self.best.a

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return int(np.count_nonzero(self.a))

    def progress(self, seconds: float) -> Progress:
        """The run's own view of P and D."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.support)

    def point(self) -> Point:
        """The best point so far."""
        return self.best

    def describe_step(self, before: None) -> dict[str, Any]:
        """The size of the program, and the gap of the best point."""
        return {"step": "iteration of the backend", "variables": len(self.program.q), "gap_seen": self.gap}

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found a wider gap than the run did: aim at a smaller one."""
        self.tol *= 0.5

    def count(self) -> Counter[str]:
        """Variables of the program."""
        return Counter(variables=len(self.program.q))
