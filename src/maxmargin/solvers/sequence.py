"""The solvers of a plan one after the other, each starting where the one before it stopped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..contracts.solvers import Run, Solver
from ..model.problem import Point
from ..runtime.checkpoints import CheckpointFile
from ..runtime.deadline import Deadline
from ..runtime.interruptible import Interrupted, interruptible
from .advancing import Advancing
from .best_certified import BestCertified
from .result import Outcome, Progress, Status

if TYPE_CHECKING:
    from .choice import AnyProblem, Stage

RESTART_TOL_FACTOR = 0.5  # by which the tolerance of a solver falls where rounding takes up the rest
MAX_RESTARTS = 3  # of a solver with a smaller tolerance


class PreviousSolve:
    """The last run along a path of problems that differ in C only: what it has learned may serve the next one.

    It belongs to the path (see paths.py), not to the solver, which does not change.
    """

    def __init__(self) -> None:
        self.run: Run | None = None

    def start(self, solver: Solver, problem: AnyProblem, tol: float, warm: Point | None) -> Run:
        """A run that knows the last one, and is the last one from now on."""
        if self.run is None:
            self.run = solver.start(problem, tol, warm)
        else:
            self.run = solver.start_after(self.run, problem, tol, warm)
        return self.run


class SolverSequence(Advancing):
    """The run of the solver at work, and the stages of the plan that remain.

    Parameters
    ----------
    problem : Problem, BlockProblem or StructuredProblem
    stages : list of Stage
    best : BestCertified
        Judges the runs.
    warm : Point, optional
        Where the first solver starts.
    store : CheckpointFile, optional
    previous_run : PreviousSolve, optional
        Of a problem that differs in C only.
    """

    def __init__(
        self,
        problem: AnyProblem,
        stages: list[Stage],
        best: BestCertified,
        warm: Point | None = None,
        store: CheckpointFile | None = None,
        previous_run: PreviousSolve | None = None,
    ):
        self.problem, self.remaining_stages, self.best, self.store = problem, stages, best, store
        self.deadline: Deadline = best.deadline
        self.previous_run = previous_run
        self.n_iter_before, self.notes, self.counted, self.restarts = 0, [], Counter(), 0
        self.deadline.reserve_certificate_time(NotStarted(problem, warm))
        state = None if store is None else store.load(problem.fingerprint())
        self.run = self.start_next_stage(warm) if state is None else self.resume(state)

    # ---- runs ----------------------------------------------------------------------------------------------

    @property
    def solver(self) -> Solver:
        """The solver at work."""
        return self.stage.solver

    def start_next_stage(self, warm: Point | None) -> Run:
        """The run of the next stage."""
        self.stage, *self.remaining_stages = self.remaining_stages
        return self.start(warm)

    def start(self, warm: Point | None) -> Run:
        """A run of the solver at work."""
        arguments = (self.problem, self.stage.tol, warm)
        if self.previous_run is None:
            return self.attempt(lambda: self.solver.start(*arguments), warm)
        return self.attempt(lambda: self.previous_run.start(self.solver, *arguments), warm)

    def attempt(self, start: Callable[[], Run], warm: Point | None) -> Run:
        """The run that `start` returns; where there is no time for it to start, one that stands still."""
        try:
            with interruptible(self.deadline.should_stop):
                run, self.not_started = start(), False
        except Interrupted:
            run, self.not_started = NotStarted(self.problem, warm), True
        return run

    def restart(self, point: Point) -> None:
        """Start the solver again at the point, with a smaller tolerance: rounding takes up what it leaves."""
        self.restarts += 1
        self.n_iter_before, self.counted = self.n_iter, self.count()
        self.stage = self.stage._replace(tol=RESTART_TOL_FACTOR * self.stage.tol)
        self.run = self.start(point)

    def hand_over(self, point: Point, why: str) -> None:
        """Start the next solver at the point, and say so."""
        name, steps = self.solver.name, self.run.n_iter
        self.n_iter_before, self.counted = self.n_iter, self.count()
        self.run = self.start_next_stage(point)
        self.notes.append(f"{name} {why} after {steps} iterations and handed over to {self.solver.name}.")

    # ---- what the loop asks --------------------------------------------------------------------------------

    @property
    def n_iter(self) -> int:
        """Iterations of all solvers so far."""
        return self.n_iter_before + self.run.n_iter

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Some steps of the run, told to stop within them: anywhere in a pass over data, else where nothing is lost."""
        try:
            with interruptible(self.deadline.should_stop, always=self.problem.traits.form != "memory"):
                return self.run.advance(max_steps, seconds)
        except Interrupted:
            return Outcome.GOING
        except Exception:  # a cluster that is lost, say: what was reached is kept
            self.save(None)
            raise

    def progress(self, seconds: float, watched: bool) -> Progress:
        """The view of the run, and whose it is; where it is watched, with the share of cache hits."""
        hit_rate = measure_hit_rate(self.count()) if watched else None
        return self.run.progress(seconds)._replace(n_iter=self.n_iter, solver=self.solver.name, hit_rate=hit_rate)

    def count(self) -> Counter:
        """The counters of all runs."""
        total = Counter(self.counted)
        total.update(self.run.count())
        return total

    def decide(self, outcome: Outcome) -> Status | None:
        """Why the solve ends here, or None: a run that believes it is done, or stuck, is judged."""
        status = None if outcome is Outcome.GOING else self.check_outcome(outcome)
        if status is not None:
            return status
        if self.not_started:
            return self.describe_timeout()
        self.deadline.reserve_certificate_time(self.run)
        return None

    def describe_timeout(self) -> Status:
        """Whether Ctrl-C or the clock ended a computation."""
        return Status.INTERRUPTED if self.deadline.interrupted else Status.MAX_SECONDS

    def check_outcome(self, outcome: Outcome) -> Status | None:
        """Ask the judge; or start the next solver where this one has reached its gap, or has stalled."""
        best, stage = self.best, self.stage
        early = self.remaining_stages and stage.tol > best.tol and not self.run.progress(0.0).relative_gap <= best.tol
        if outcome is Outcome.DONE and early:
            return self.hand_over(best.read_point(self.run), f"reached a gap of {stage.tol:g}")
        smaller_rounding = not stage.smaller_rounding and any(each.smaller_rounding for each in self.remaining_stages)
        try:
            status = best.check_outcome(self.run, outcome, self.solver, not self.remaining_stages, smaller_rounding)
        except Interrupted:
            return self.describe_timeout()
        if status is Status.STALLED and self.remaining_stages:
            best.reset_progress()
            return self.hand_over(best.known[0], "stalled")
        rounded = status is None and not self.solver.has_own_rule and best.is_within_rounding()
        if rounded and self.restarts < MAX_RESTARTS:
            self.restart(best.known[0])
        return status

    # ---- checkpoints ---------------------------------------------------------------------------------------

    def resume(self, state: dict) -> Run:
        """The run as it was packed, by the solver that was at work; solvers that cannot pack start at its point."""
        at_work = state["solver"].item()
        while self.remaining_stages[0].solver.name != at_work:
            self.remaining_stages = self.remaining_stages[1:]
            if not self.remaining_stages:
                raise ValueError(
                    f"checkpoint={str(self.store.path)!r} belongs to the solver {at_work!r}, not to this one."
                )
        if "a" in state:
            return self.start_next_stage(unpack_point(state))
        self.stage, *self.remaining_stages = self.remaining_stages
        return self.attempt(lambda: self.solver.resume(self.problem, self.stage.tol, state), None)

    def save_periodically(self) -> None:
        """Keep the state, if the last time is long ago and the solver can pack it while it runs."""
        if self.store is not None:
            self.store.save_periodically(self.pack_run)

    def save(self, point: Point | None) -> None:
        """Keep the last state, or the point where the solver has no other; nothing if it has not started."""
        if self.store is not None and not self.not_started:
            self.store.save(lambda: self.pack_run() or (None if point is None else self.pack(pack_point(point))))

    def pack_run(self) -> dict | None:
        """The state of the run; None if it cannot be packed."""
        state = self.run.pack()
        return None if state is None else self.pack(state)

    def pack(self, state: dict) -> dict:
        """The state of a run, and of which problem and solver it is."""
        whose = {"problem_" + key: value for key, value in self.problem.fingerprint().items()}
        return {"solver": self.solver.name, **whose, **state}


class SolveObserver(ABC):
    """A callback of `solve` that sees more than a `Progress`: the sequence of solvers, whose point it may ask for."""

    @abstractmethod
    def attach(self, sequence: SolverSequence) -> None:
        """The solve begins."""

    @abstractmethod
    def __call__(self, progress: Progress) -> bool | None:
        """Some steps are done; whether to stop."""


class NotStarted(Run):
    """A run that was stopped before its first step: it stands where it was to start."""

    def __init__(self, problem: AnyProblem, warm: Point | None):
        self.origin = problem.origin(warm)
        self.a = None if problem.traits.form == "blocks" else self.origin.a  # over blocks, a is a recipe for duals

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """No step can be taken."""
        return Outcome.STALLED

    def progress(self, seconds: float) -> Progress:
        """Nothing is known."""
        return Progress(0, seconds, np.inf, -np.inf, 0)

    def point(self) -> Point:
        """Where it was to start."""
        return self.origin


def measure_hit_rate(counters: Counter) -> float | None:
    """The share of kernel rows that were found in the cache; None where there is no cache, or it was not asked yet."""
    asked = counters["hits"] + counters["misses"]
    return counters["hits"] / asked if asked > 0 else None


def pack_point(point: Point) -> dict:
    """The arrays of a point."""
    kept = {"a": point.a, "b": point.b, "coef": point.coef, "w": point.w}
    return {key: value for key, value in kept.items() if value is not None}


def unpack_point(state: dict) -> Point:
    """The point as it was packed."""
    b = state["b"]
    return Point(state["a"], float(b) if b.ndim == 0 else b, state.get("coef"), w=state.get("w"))
