"""The one loop: clock, limits, interrupt, callback, best point so far; and the judge has the last word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import numpy as np

from ..certificates.in_memory import MAX_ROUNDING_SHARE_OF_GAP, Certificate, estimate_rounding, judge
from ..model.problem import Point, Problem
from ..runtime.blas import single_threaded_blas
from ..runtime.checkpoints import CheckpointFile
from ..runtime.deadline import Deadline
from ..runtime.interrupt import Interrupt, watch_interrupt
from ..runtime.interruptible import Interrupted, interruptible
from .choice import Stage, get_solver_name, plan
from .neighbours import find_neighbours
from .result import SENTENCES, Outcome, Progress, Result, Status

NOT_CERTIFIED = Certificate(np.inf, -np.inf, np.inf)  # of a point that was not judged
# times a run may think itself done without a fall of the certified gap; to be stuck counts ten times
CERTIFICATIONS_WITHOUT_PROGRESS_LIMIT = 30
ROUNDING_ESTIMATE_FACTOR = 10.0  # times the gap that rounding is estimated to leave is explained by it
CLOSE_CERTIFICATE_COST_FACTOR = 20.0  # times as long as a plain certificate: what a close one may take
RESTART_TOL_FACTOR = 0.5  # by which the tolerance of a solver falls where rounding takes up the rest
ROUNDING_LIMIT_SHARE = 0.5  # of tol, or of the gap: from this share on rounding is what limits a fit
MAX_RESTARTS = 3  # of a solver with a smaller tolerance
SLICE_SECONDS = 0.05  # seconds between two looks at the clock and the keyboard


def solve(
    problem: Problem,
    solver="auto",
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    warm: Point | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    interrupt: Interrupt | None = None,
    checkpoint: CheckpointFile | None = None,
) -> Result:
    """Minimise P until (P - D)/max(|P|, |D|) <= tol, certified.

    Parameters
    ----------
    problem : Problem
    solver : "auto", a name, or a solver object
    tol : float
        The certified relative duality gap to reach.
    max_iter, max_seconds : optional limits
        Whichever comes first; the best point so far is returned with its certificate.
    warm : Point, optional
        Where to start; made feasible first.
    callback : callable, optional
        Called with a `Progress` about twenty times a second; a true return value stops the solve. One that has a method
        `attach` is handed the relay of solvers first, of which it may ask the present point.
    interrupt : Interrupt, optional
        A flag watched by the caller, for several solves that stop together. Without one, Ctrl-C is watched here.
    checkpoint : Store, optional
        Where the state of the run is kept: every few seconds by solvers that can pack it, and at the end. If it holds
        one of the same problem, the solve goes on from there.

    Returns
    -------
    Result
    """
    stages = plan(problem, solver, tol, warm is not None)
    with watch_interrupt(interrupt) as interrupted, single_threaded_blas():
        deadline = Deadline(problem, max_seconds, interrupted)
        sequence = SolverSequence(problem, stages, warm, deadline, checkpoint)
        if hasattr(callback, "attach"):
            callback.attach(sequence)
        best = BestCertified(problem, tol, deadline)
        history: list[Progress] = []
        status = None
        while status is None:
            deadline.reserve_certificate_time(sequence.run)
            if interrupted:
                status = Status.INTERRUPTED
            elif deadline.is_late or sequence.not_started:
                status = Status.MAX_SECONDS
            elif max_iter is not None and sequence.n_iter >= max_iter:
                status = Status.MAX_ITER
            else:
                steps = 1 << 30 if max_iter is None else max_iter - sequence.n_iter
                outcome = sequence.advance(steps, min(SLICE_SECONDS, deadline.left))
                history.append(sequence.progress(deadline.seconds, callback is not None))
                if callback is not None and callback(history[-1]):
                    status = Status.STOPPED
                elif outcome is not Outcome.GOING:
                    status = sequence.handle_outcome(outcome, best)
                sequence.save_periodically()
        point, certificate = best.choose_best(sequence.run)
        sequence.save(point)
    message = " ".join(
        [best.sentence(status, sequence.solver), *best.describe_missing_certificate(history), *sequence.notes]
    )
    return Result(
        status, point, certificate, sequence.solver, sequence.n_iter, deadline.seconds, message, history,
        sequence.count(),
    )  # fmt: skip


def make_unstarted_result(like: Result, n: int, start: Point | None, interrupted: bool) -> Result:
    """The result of a solve that there was no time to begin: its start, which was not judged, or zero.

    `like` is that of another solve of the same fit, whose problem differs by its n samples only.
    """
    status = Status.INTERRUPTED if interrupted else Status.MAX_SECONDS
    zero = Point(np.zeros((*like.point.a.shape[:-1], n)), np.zeros(np.shape(like.point.b))[()])
    message = f"{SENTENCES[status]} {describe_uncertified('it is the start')}"
    return Result(status, zero if start is None else start, NOT_CERTIFIED, like.solver, 0, 0.0, message)


def describe_uncertified(known: str) -> str:
    """That a point was not judged, and what is known of it."""
    return f"There was no time to judge the point, so its gap is not known; {known}."


class SolverSequence:
    """The solvers of a plan, one after the other: the next one starts where the last one stood."""

    def __init__(
        self,
        problem: Problem,
        stages: list[Stage],
        warm: Point | None,
        deadline: Deadline,
        store: CheckpointFile | None,
    ):
        self.problem, self.remaining_stages, self.deadline, self.store = problem, stages, deadline, store
        self.before, self.notes, self.counted, self.restarts = 0, [], Counter(), 0
        deadline.reserve_certificate_time(NotStarted(problem, warm))
        state = None if store is None else store.load(problem.fingerprint())
        self.run = self.start(warm) if state is None else self.resume(state)

    def start(self, warm: Point | None):
        """The run of the next stage."""
        self.stage, *self.remaining_stages = self.remaining_stages
        return self.begin(lambda: self.solver.start(self.problem, self.stage.tol, warm), warm)

    def begin(self, make: Callable, warm: Point | None):
        """The run that `make` makes, or one that stands still if it was told to stop before."""
        try:
            with interruptible(self.deadline.should_stop):
                return make()
        except Interrupted:
            return NotStarted(self.problem, warm)

    def resume(self, state: dict):
        """The run as it was packed, by the solver that was at work; solvers that cannot pack start at its point."""
        at_work = state["solver"].item()
        while get_solver_name(self.remaining_stages[0].solver) != at_work:
            self.remaining_stages = self.remaining_stages[1:]
            if not self.remaining_stages:
                raise ValueError(f"checkpoint={str(self.store.path)!r} is of the solver {at_work!r}, not of this one.")
        if "a" in state:
            return self.start(unpack_point(state))
        self.stage, *self.remaining_stages = self.remaining_stages
        return self.begin(lambda: self.solver.resume(self.problem, self.stage.tol, state), None)

    def save_periodically(self) -> None:
        """Keep the state, if the last time is long ago and the solver can pack it while it runs."""
        if self.store is not None and hasattr(self.run, "pack"):
            self.store.save_periodically(lambda: self.pack(self.run.pack()))

    def save(self, point: Point | None) -> None:
        """Keep the last state, or the point where the solver has no other; nothing if it has not begun."""
        if self.store is not None and not self.not_started:
            self.store.save(lambda: self.pack(self.run.pack() if hasattr(self.run, "pack") else pack_point(point)))

    def pack(self, state: dict) -> dict:
        """The state of a run, and of which problem and solver it is."""
        whose = {"problem_" + key: value for key, value in self.problem.fingerprint().items()}
        return {"solver": get_solver_name(self.solver), **whose, **state}

    @property
    def not_started(self) -> bool:
        """Whether there was no time for the solver to begin."""
        return isinstance(self.run, NotStarted)

    @property
    def solver(self):
        """The solver at work."""
        return self.stage.solver

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Some steps of the run, told to stop within them: anywhere in a pass over data, else where nothing is lost."""
        try:
            with interruptible(self.deadline.should_stop, always=getattr(self.problem, "form", "memory") != "memory"):
                return self.run.advance(max_steps, seconds)
        except Interrupted:
            return Outcome.GOING
        except Exception:  # a cluster that is lost, say: what was reached is kept
            self.save(None)
            raise

    @property
    def n_iter(self) -> int:
        """Iterations of all solvers so far."""
        return self.before + self.run.n_iter

    def progress(self, seconds: float, watched: bool) -> Progress:
        """The view of the run, and whose it is; where it is watched, with the share of cache hits."""
        hit_rate = measure_hit_rate(self.count()) if watched else None
        return self.run.progress(seconds)._replace(
            n_iter=self.n_iter, solver=get_solver_name(self.solver), hit_rate=hit_rate
        )

    def count(self) -> Counter:
        """The counters of all runs."""
        total = Counter(self.counted)
        total.update(self.run.count())
        return total

    def handle_outcome(self, outcome: Outcome, best: BestCertified) -> Status | None:
        """The run believes it is done, or stuck: the next stage, or the judge."""
        if outcome is Outcome.DONE and self.remaining_stages and self.stage.tol > best.tol:
            return self.start_next_solver(best.read_point(self.run), f"reached a gap of {self.stage.tol:g}")
        try:
            smaller_rounding = (
                any(stage.smaller_rounding for stage in self.remaining_stages) and not self.stage.smaller_rounding
            )
            status = best.check_outcome(self.run, outcome, self.solver, not self.remaining_stages, smaller_rounding)
        except Interrupted:
            return Status.INTERRUPTED if self.deadline.interrupted else Status.MAX_SECONDS
        if status is Status.STALLED and self.remaining_stages:
            best.reset_progress()
            return self.start_next_solver(best.known[0], "went astray")
        rounded = status is None and not has_own_stopping_rule(self.solver) and best.is_within_rounding()
        if rounded and self.restarts < MAX_RESTARTS:
            self.tighten(best.known[0])
        return status

    def tighten(self, point: Point) -> None:
        """Start the solver again at the point, with a smaller tolerance: rounding takes up what it leaves."""
        self.restarts += 1
        self.before, self.counted = self.n_iter, self.count()
        self.stage = self.stage._replace(tol=RESTART_TOL_FACTOR * self.stage.tol)
        self.run = self.begin(lambda: self.solver.start(self.problem, self.stage.tol, point), point)

    def start_next_solver(self, point: Point, why: str) -> None:
        """Start the next solver at the point, and say so."""
        name, steps = get_solver_name(self.solver), self.run.n_iter
        self.before, self.counted = self.n_iter, self.count()
        self.run = self.start(point)
        self.notes.append(f"{name} {why} after {steps} iterations and handed over to {get_solver_name(self.solver)}.")


def measure_hit_rate(counters: Counter) -> float | None:
    """The share of kernel rows that were found in the cache; None where there is no cache, or it was not asked yet."""
    asked = counters["hits"] + counters["misses"]
    return counters["hits"] / asked if asked > 0 else None


class NotStarted:
    """A run that was stopped before its first step: it stands where it was to start."""

    n_iter = 0

    def __init__(self, problem: Problem, warm: Point | None):
        self.origin = problem.origin(warm)

    @property
    def support(self) -> int:
        """Samples with a nonzero dual, where the point has duals of its own."""
        a = getattr(self.origin, "a", None)
        return int(np.count_nonzero(a)) if isinstance(a, np.ndarray) else 0

    def point(self) -> Point:
        """Where it was to start."""
        return self.origin

    def count(self) -> Counter:
        """Nothing was done."""
        return Counter()


def pack_point(point: Point) -> dict:
    """The arrays of a point."""
    kept = {"a": point.a, "b": point.b, "coef": point.coef, "w": point.w}
    return {key: value for key, value in kept.items() if value is not None}


def unpack_point(state: dict) -> Point:
    """The point as it was packed."""
    b = state["b"]
    return Point(state["a"], float(b) if b.ndim == 0 else b, state.get("coef"), w=state.get("w"))


class BestCertified:
    """What the judge has confirmed so far: the best certified point, and whether going on is worth it."""

    def __init__(self, problem: Problem, tol: float, deadline: Deadline | None = None):
        self.problem, self.tol = problem, tol
        self.deadline = Deadline(problem, None, Interrupt()) if deadline is None else deadline
        self.known: tuple[Point, Certificate] | None = None
        self.point: Point | None = None
        self.judged = (None, -1)
        self.reset_progress()

    def reset_progress(self) -> None:
        """Nothing is known of the next solver: what others have reached is not what it is measured by."""
        self.dual, self.patience = -float("inf"), CERTIFICATIONS_WITHOUT_PROGRESS_LIMIT

    def certify(self, run) -> Certificate:
        """Judge the run's point and keep it if it is the best; Interrupted if that takes too long."""
        self.point = self.read_point(run)
        if not self.deadline.has_time_to_certify(run):
            raise Interrupted
        with interruptible(lambda: not self.deadline.has_time_for(0.0)):
            certificate = self.judge(run, self.point)
        self.judged = (run, run.n_iter)
        if self.known is None or not certificate.relative_gap > self.known[1].relative_gap:
            self.known = (self.point, certificate)
        return certificate

    def judge(self, run, point: Point) -> Certificate:
        """The certificate of a point, as close as the tolerance needs and the time allows."""
        certificate = judge(self.problem, point)
        closer = self.problem.supports_close_certificate and self.needs_close_certificate(certificate)
        if closer and self.deadline.has_time_to_certify(run, CLOSE_CERTIFICATE_COST_FACTOR):
            with suppress(Interrupted):  # then it stays as it is
                return judge(self.problem, point, closely=True)
        return certificate

    def try_neighbours(self, run) -> bool:
        """Whether a neighbour of the point, which loses nothing by rounding, is within the tolerance."""
        with interruptible(lambda: not self.deadline.has_time_for(0.0)):
            for neighbour in find_neighbours(self.problem, self.point):
                if self.deadline.has_time_to_certify(run):
                    certificate = self.judge(run, neighbour)
                    if certificate.relative_gap <= self.tol:
                        self.known = (neighbour, certificate)
                        return True
        return False

    def needs_close_certificate(self, certificate: Certificate) -> bool:
        """Whether rounding, as far as it is known to go, stands between the gap and the tolerance."""
        gap, rounding = certificate.relative_gap, certificate.relative_rounding
        if gap <= self.tol:  # P and D themselves are to be known as well as that
            return certificate.primal - certificate.dual > self.tol * certificate.size
        return gap < np.inf and (gap - rounding <= self.tol or rounding > MAX_ROUNDING_SHARE_OF_GAP * gap)

    def is_within_rounding(self) -> bool:
        """Whether the best gap is within tol but for rounding, and rounding is a small part of tol."""
        gap, rounding = self.known[1].relative_gap, self.known[1].relative_rounding
        return gap > self.tol and gap - rounding <= self.tol and rounding <= ROUNDING_LIMIT_SHARE * self.tol

    def is_limited(self, certificate: Certificate, stuck: bool) -> bool:
        """Whether rounding is more than half of tol, and of the gap; where nothing else helps, a quarter of the gap."""
        gap, rounding = certificate.relative_gap, certificate.relative_rounding
        return (
            rounding > ROUNDING_LIMIT_SHARE * self.tol
            and rounding >= (MAX_ROUNDING_SHARE_OF_GAP if stuck else ROUNDING_LIMIT_SHARE) * gap
            and gap < np.inf
        )

    def is_explained_by_rounding(self) -> bool:
        """Whether the rounding of the duals themselves is estimated to leave about such a gap as there is."""
        if not isinstance(self.problem, Problem):
            return False
        point, certificate = self.known
        return certificate.relative_gap <= ROUNDING_ESTIMATE_FACTOR * estimate_rounding(
            self.problem, point, certificate
        )

    def read_point(self, run) -> Point:
        """The point of a run; without what could be dropped on the way to it, where the time is over."""
        try:
            with interruptible(self.deadline.should_stop, always=False):
                return run.point()
        except Interrupted:
            return run.point()

    def check_outcome(
        self, run, outcome: Outcome, solver, final: bool = True, smaller_rounding: bool = False
    ) -> Status | None:
        """The run believes it is done, or stuck: converged if the judge agrees, else go on from exact scores.

        Where another solver waits, one that is stuck is not tried again; nor is one that rounding limits, where the
        points of the other are `smaller_rounding`.
        """
        before, low = self.known[1].relative_gap if self.known else float("inf"), self.dual
        certificate = self.certify(run)
        if self.meets_tolerance(run, outcome, certificate, solver):
            return Status.CONVERGED
        by_gap = not has_own_stopping_rule(solver)
        looked = by_gap and (self.is_limited(certificate, stuck=False) or outcome is Outcome.STALLED)
        if looked:
            if self.try_neighbours(run):
                return Status.CONVERGED
            if self.is_limited(self.known[1] if final else certificate, stuck=False):
                return Status.STALLED if smaller_rounding else Status.ROUNDING_LIMIT
        if outcome is Outcome.STALLED and not final:
            return Status.STALLED
        self.dual = max(self.dual, certificate.dual)
        risen = certificate.dual - low > 1e-10 * abs(certificate.dual)
        fallen = certificate.relative_gap < 0.9 * before
        self.patience = (
            CERTIFICATIONS_WITHOUT_PROGRESS_LIMIT if fallen else self.patience - (1 if outcome is Outcome.DONE else 10)
        )
        if abs(run.a).max() > 1e99 or not (risen or fallen) or self.patience <= 0:
            if by_gap and not looked and self.try_neighbours(run):
                return Status.CONVERGED
            limited = (
                by_gap and final and (self.is_limited(self.known[1], stuck=True) or self.is_explained_by_rounding())
            )
            return Status.ROUNDING_LIMIT if limited else Status.STALLED
        run.refresh(certificate.scores)
        return None

    def meets_tolerance(self, run, outcome: Outcome, certificate: Certificate, solver) -> bool:
        """Whether the tolerance is met: by the judge's gap, or by the solver's own rule on the judge's scores."""
        if not has_own_stopping_rule(solver):
            return certificate.relative_gap <= self.tol
        if outcome is not Outcome.DONE:
            return False
        run.refresh(certificate.scores)
        return run.reached()

    def sentence(self, status: Status, solver) -> str:
        """Why the solver stopped."""
        if has_own_stopping_rule(solver) and status is Status.CONVERGED:
            return f"The solver's own rule, {solver.own_rule}, is met."
        if status is Status.ROUNDING_LIMIT:
            certificate = self.known[1]
            sentence = f"{SENTENCES[status]} Rounding takes up a relative gap of {self.measure_limit():.1g}"
            if not certificate.convex:  # then D is no bound
                return sentence + "."
            low, high = write_outwards(certificate.dual, certificate.primal)
            return sentence + f"; it is certain that the optimum lies between {low} and {high}."
        return SENTENCES[status]

    def measure_limit(self) -> float:
        """The relative gap that is there for rounding, or that the rounding of the duals is estimated to leave."""
        point, certificate = self.known
        if not isinstance(self.problem, Problem):
            return certificate.relative_rounding
        estimate = min(estimate_rounding(self.problem, point, certificate), certificate.relative_gap)
        return max(certificate.relative_rounding, estimate)

    def choose_best(self, run) -> tuple[Point, Certificate]:
        """The best certified point, the present one included; or, where there is no time for any, the present one."""
        if self.judged != (run, run.n_iter):
            try:
                self.certify(run)
            except Interrupted:
                self.known = self.known or (self.point, NOT_CERTIFIED)
        return self.known

    def describe_missing_certificate(self, history: list[Progress]) -> list[str]:
        """A sentence about a point that could not be judged in time."""
        if self.known[1] is not NOT_CERTIFIED:
            return []
        return [
            describe_uncertified(
                f"the solver itself saw {history[-1].relative_gap:.2g}" if history else "it is the start"
            )
        ]


def write_outwards(low: float, high: float) -> tuple[str, str]:
    """Two bounds with eight digits each, the lower one rounded down and the upper one up.

    Examples
    --------
    >>> write_outwards(1.23456789, 1.23456789)
    ('1.2345678', '1.2345679')
    """
    floor, ceiling = Context(prec=8, rounding=ROUND_FLOOR), Context(prec=8, rounding=ROUND_CEILING)
    return f"{floor.create_decimal_from_float(low):.8g}", f"{ceiling.create_decimal_from_float(high):.8g}"


def has_own_stopping_rule(solver) -> bool:
    """Whether a solver stops by a rule of its own instead of the gap."""
    return getattr(solver, "stop", "gap") != "gap"
