"""Trajectories: P and D of a run step by step, by the judge that certifies fits."""

from __future__ import annotations

from math import ceil
from numbers import Integral, Real

import numpy as np

from ..certificates.certificate import Certificate, judge
from ..contracts.solvers import Run, Solver
from ..model.problem import Point, Problem
from ..runtime.blas import single_threaded_blas
from ..runtime.deadline import Stopwatch
from ..runtime.interrupt import Interrupt
from ..solvers.advancing import Advancing
from ..solvers.best_certified import BestCertified
from ..solvers.choice import plan
from ..solvers.loop import advance_to_end
from ..solvers.result import Outcome, Progress, Status
from ..solvers.run_copies import copy_run
from ..solvers.trajectory import Trajectory

DENSE_ITERATIONS = 100  # steps that are all judged
# times the last iteration comes the next one that is judged, so that judging costs less than the run
ITERATION_GROWTH = 1.02


def record(
    problem: Problem, solver="auto", *, tol: float = 1e-6, max_iter: int = 1000, max_seconds: float = 10.0
) -> Trajectory:
    """P(w_k, b_k) and D(a_k) after the iterations k of a solver: all up to 100, then in steps of two per cent.

    The run takes one step at a time and is looked at through copies, so that looking does not change its way.

    Parameters
    ----------
    problem : Problem
    solver : "auto", a name, or a solver object
        "auto" is the first solver of its plan.
    tol : float, default=1e-6
        The certified relative duality gap at which to stop; a solver with a rule of its own stops by that.
    max_iter : int, default=1000
    max_seconds : float, default=10
        Of the run; the judge is not counted.

    Returns
    -------
    Trajectory
    """
    check_limits(tol, max_iter, max_seconds)
    solver = plan(problem, solver, tol)[0].solver
    with single_threaded_blas():
        clock = Stopwatch(max_seconds)
        recording = Recording(problem, solver, tol, max_iter, clock)
        advance_to_end(recording, clock, Interrupt(), max_iter)
    return recording.trajectory()


def check_limits(tol: float, max_iter: int, max_seconds: float) -> None:
    """Refuse limits that are none."""
    for name, value, kind, what in (
        ("tol", tol, Real, "a number of at least zero"),
        ("max_iter", max_iter, Integral, "a whole number above zero"),
        ("max_seconds", max_seconds, Real, "a number above zero"),
    ):
        if not isinstance(value, kind) or not value >= 0 or (value == 0 and name != "tol"):
            raise ValueError(f"{name} must be {what}, got {value!r}.")


def next_certified_iteration(n_iter: int) -> int:
    """The iteration that is judged after this one."""
    return n_iter + 1 if n_iter < DENSE_ITERATIONS else ceil(ITERATION_GROWTH * n_iter)


class Recording(Advancing):
    """A run, and what the judge found at the iterations that were certified; the clock runs for the run alone."""

    def __init__(self, problem: Problem, solver: Solver, tol: float, max_iter: int, clock: Stopwatch):
        self.problem, self.solver, self.tol, self.max_iter, self.clock = problem, solver, tol, max_iter, clock
        with clock.running():
            self.run = solver.start(problem, tol)
        self.best, self.next_iter = BestCertified(problem, tol), 0
        self.rows: list[tuple[int, float, Certificate]] = []
        self.points: list[Point] = []

    @property
    def n_iter(self) -> int:
        """Iterations of the run."""
        return self.run.n_iter

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Steps up to the next iteration that is certified."""
        with self.clock.running():
            return self.run.advance(min(max_steps, self.next_iter - self.n_iter), seconds)

    def progress(self, seconds: float, watched: bool) -> Progress:
        """The run's own view of P and D."""
        return self.run.progress(seconds)

    def decide(self, outcome: Outcome) -> Status | None:
        """Certify the point where that is due, and at the end; a run that believes it is done is judged."""
        on_the_way = self.n_iter < min(self.next_iter, self.max_iter) and not self.clock.is_late
        if outcome is Outcome.GOING and on_the_way:
            return None
        certificate = self.certify_current()
        if certificate.relative_gap <= self.tol and not self.solver.has_own_rule:
            return Status.CONVERGED
        return None if outcome is Outcome.GOING else self.best.check_outcome(self.run, outcome, self.solver)

    def certify_current(self) -> Certificate:
        """Judge the point of the run; a second look at an iteration replaces the first."""
        if self.rows and self.rows[-1][0] == self.n_iter:
            self.rows.pop(), self.points.pop()
        point = read_point(self.problem, self.run)
        certificate = judge(self.problem, point)
        self.rows.append((self.n_iter, self.clock.seconds, certificate))
        self.points.append(point)
        self.next_iter = next_certified_iteration(self.n_iter)
        return certificate

    def trajectory(self) -> Trajectory:
        """What was seen."""
        n_iter, seconds, certificates = zip(*self.rows, strict=True)
        primal = np.array([each.primal for each in certificates], float)
        dual = np.array([each.dual for each in certificates], float)
        return Trajectory(self.solver.name, np.array(n_iter), np.array(seconds), primal, dual, self.points)


def read_point(problem: Problem, run: Run) -> Point:
    """Where a run stands now, which need not be its best point so far."""
    return copy_run(problem, run).here()
