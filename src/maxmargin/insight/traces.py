"""Trajectories: P and D of a run step by step, by the judge that certifies fits."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from math import ceil
from numbers import Integral, Real

import numpy as np

from ..certificates.in_memory import Certificate, judge
from ..model.problem import Point, Problem
from ..runtime.threads import single_threaded_blas
from ..solvers.choice import get_solver_name, plan
from ..solvers.loop import SLICE_SECONDS, BestCertified, has_own_stopping_rule
from ..solvers.result import Outcome

DENSE_ITERATIONS = 100  # steps that are all judged
# times the last iteration comes the next one that is judged, so that judging costs less than the run
ITERATION_GROWTH = 1.02


@dataclass(frozen=True)
class Trajectory:
    """P(w_k, b_k) and D(a_k) over the iterations k of a run.

    Attributes
    ----------
    solver : str
        The name of the solver, as in the registry.
    n_iter : ndarray of int
        The iterations that were judged; the first is 0, the start.
    seconds : ndarray of float
        Of the run up to there, its start included and the judge left out.
    primal, dual : ndarray of float
        P of the current point and D of its duals, both by the judge.
    points : list of Point
    """

    solver: str
    n_iter: np.ndarray
    seconds: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    points: list[Point] = field(repr=False)


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
        recorder = TrajectoryRecorder(problem, solver, tol)
        recorder.certify_current()
        while not recorder.is_over(max_iter, max_seconds):
            recorder.advance_to(min(next_certified_iteration(recorder.run.n_iter), max_iter), max_seconds)
            recorder.certify_current()
    return recorder.trajectory()


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


class TrajectoryRecorder:
    """A run, its seconds, and what the judge found at every look."""

    def __init__(self, problem: Problem, solver, tol: float):
        self.problem, self.solver, self.tol = problem, solver, tol
        began = time.perf_counter()
        self.run = solver.start(problem, tol)
        self.seconds = time.perf_counter() - began
        self.outcome, self.best = Outcome.GOING, BestCertified(problem, tol)
        self.rows: list[tuple[int, float, Certificate]] = []
        self.points: list[Point] = []

    def advance_to(self, target: int, max_seconds: float) -> None:
        """Steps until an iteration, the end of the time, or what the run takes for its own end."""
        while self.outcome is Outcome.GOING and self.run.n_iter < target and self.seconds < max_seconds:
            began = time.perf_counter()
            self.outcome = self.run.advance(target - self.run.n_iter, min(SLICE_SECONDS, max_seconds - self.seconds))
            self.seconds += time.perf_counter() - began

    def certify_current(self) -> None:
        """Judge the point of the run; a second look at an iteration replaces the first."""
        if self.rows and self.rows[-1][0] == self.run.n_iter:
            self.rows.pop(), self.points.pop()
        point = read_point(self.problem, self.run)
        self.rows.append((self.run.n_iter, self.seconds, judge(self.problem, point)))
        self.points.append(point)

    def is_over(self, max_iter: int, max_seconds: float) -> bool:
        """Whether tol, a limit or the end of the run is reached; where the judge does not agree, the run goes on."""
        certificate = self.rows[-1][2]
        if certificate.relative_gap <= self.tol and not has_own_stopping_rule(self.solver):
            return True
        if self.run.n_iter >= max_iter or self.seconds >= max_seconds:
            return True
        if self.outcome is Outcome.GOING:
            return False
        status = self.best.check_outcome(self.run, self.outcome, self.solver)
        self.outcome = Outcome.GOING
        return status is not None

    def trajectory(self) -> Trajectory:
        """What was seen."""
        n_iter, seconds, certificates = zip(*self.rows, strict=True)
        primal, dual = (np.array([getattr(each, name) for each in certificates], float) for name in ("primal", "dual"))
        return Trajectory(get_solver_name(self.solver), np.array(n_iter), np.array(seconds), primal, dual, self.points)


def read_point(problem: Problem, run) -> Point:
    """Where a run stands; one whose point is the best so far may have `here`, the place where it is now."""
    watched = copy_run(problem, run)
    return getattr(watched, "here", watched.point)()


def copy_run(problem: Problem, run):
    """A copy of the run, to be asked for its point: that may end what the run is at, such as a barrier.

    The copy shares the problem and its data. A run that is `still` is not changed by the question. Runs over blocks and
    structures hold more than can be copied. Both are asked themselves.
    """
    if getattr(problem, "form", "memory") != "memory" or getattr(run, "still", False):
        return run
    owners = [problem, problem.features, getattr(problem.features, "samples", None)]
    shared = [part for owner in owners if owner is not None for part in (owner, *vars(owner).values())]
    return copy.deepcopy(run, {id(part): part for part in shared})
