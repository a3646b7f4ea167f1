"""The one loop: clock, limits, interrupt, callback, best point so far; and the judge has the last word."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from .certificate import Certificate, judge
from .interrupt import Interrupt, watch_interrupt
from .problem import Point, Problem
from .result import SENTENCES, Outcome, Progress, Result, Status
from .solvers import SOLVERS
from .threads import Interrupted, listen, quiet_blas

PATIENCE = 30  # times a run may think itself done without a fall of the certified gap; to be stuck counts ten times
SLICE = 0.05  # seconds between two looks at the clock and the keyboard


def choose_solver(problem: Problem, solver="auto"):
    """The solver of a name ("auto" chooses), ready to take the problem, or a ValueError that says why not."""
    if isinstance(solver, str):
        name = "smo" if solver == "auto" else solver
        if name not in SOLVERS:
            raise ValueError(f"solver must be 'auto', one of {sorted(SOLVERS)} or a solver object, got {solver!r}.")
        solver = SOLVERS[name]()
    reason = solver.accepts(problem)
    if reason is not None:
        raise ValueError(reason)
    return solver


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
        Called with a `Progress` about twenty times a second; a true return value stops the solve.
    interrupt : Interrupt, optional
        A flag watched by the caller, for several solves that stop together. Without one, Ctrl-C is watched here.

    Returns
    -------
    Result
    """
    solver = choose_solver(problem, solver)
    clock = Clock(max_seconds)
    with watch_interrupt(interrupt) as interrupted, quiet_blas():
        try:
            with listen(lambda: bool(interrupted) or clock.late(0.0)):
                run = solver.start(problem, tol, warm)
        except Interrupted:
            run = Standing(problem, warm)
        trust = Trust(problem, tol, solver)
        history: list[Progress] = []
        status = None
        while status is None:
            # The time of the last certificate is held back: it is part of the budget.
            reserve = problem.features.estimate_seconds(run.support) if max_seconds is not None else 0.0
            if interrupted:
                status = Status.INTERRUPTED
            elif clock.late(reserve):
                status = Status.MAX_SECONDS
            elif max_iter is not None and run.n_iter >= max_iter:
                status = Status.MAX_ITER
            else:
                steps = 1 << 30 if max_iter is None else max_iter - run.n_iter
                outcome = run.advance(steps, min(SLICE, clock.left(reserve)))
                history.append(run.progress(clock.seconds))
                if callback is not None and callback(history[-1]):
                    status = Status.STOPPED
                elif outcome is not Outcome.GOING:
                    status = trust.weigh(run, outcome)
        point, certificate = trust.settle(run)
    return Result(
        status, point, certificate, solver, run.n_iter, clock.seconds, trust.sentence(status), history, run.count(),
    )  # fmt: skip


class Clock:
    """The seconds of a solve, and those that are left of its budget."""

    def __init__(self, budget: float | None):
        self.began, self.budget = time.perf_counter(), float("inf") if budget is None else budget

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.began

    def left(self, reserve: float) -> float:
        """Of the budget, when so much is held back."""
        return self.budget - reserve - self.seconds

    def late(self, reserve: float) -> bool:
        """Whether nothing is left."""
        return self.left(reserve) <= 0


class Standing:
    """A run that was stopped before its first step: it stands where it was to start."""

    n_iter = support = 0

    def __init__(self, problem: Problem, warm: Point | None):
        a = np.zeros(problem.y.shape) if warm is None else warm.a
        self.a = problem.feasible(a)

    def point(self) -> Point:
        """The duals of the start; the intercept is not known yet."""
        return Point(self.a, 0.0 if self.a.ndim == 1 else np.zeros(len(self.a)))

    def count(self) -> Counter:
        """Nothing was done."""
        return Counter()


class Trust:
    """What the judge has confirmed so far: the best certified point, and whether going on is worth it."""

    def __init__(self, problem: Problem, tol: float, solver):
        self.problem, self.tol = problem, tol
        self.by_rule = getattr(solver, "stop", "gap") != "gap"
        self.best: tuple[Point, Certificate] | None = None
        self.judged_at = -1
        self.dual = -float("inf")
        self.patience = PATIENCE

    def certify(self, run) -> Certificate:
        """Judge the run's point and keep it if it is the best."""
        point = run.point()
        certificate = judge(self.problem, point)
        self.judged_at = run.n_iter
        if self.best is None or not certificate.relative_gap > self.best[1].relative_gap:
            self.best = (point, certificate)
        return certificate

    def weigh(self, run, outcome: Outcome) -> Status | None:
        """The run believes it is done, or stuck: converged if the judge agrees, else go on from exact scores."""
        before, low = self.best[1].relative_gap if self.best else float("inf"), self.dual
        certificate = self.certify(run)
        if self.holds(run, outcome, certificate):
            return Status.CONVERGED
        self.dual = max(self.dual, certificate.dual)
        risen = certificate.dual - low > 1e-10 * abs(certificate.dual)
        fallen = certificate.relative_gap < 0.9 * before
        self.patience = PATIENCE if fallen else self.patience - (1 if outcome is Outcome.DONE else 10)
        if abs(run.a).max() > 1e99 or not (risen or fallen) or self.patience <= 0:
            return Status.STALLED
        run.refresh(certificate.scores)
        return None

    def holds(self, run, outcome: Outcome, certificate: Certificate) -> bool:
        """Whether the tolerance is met: by the judge's gap, or by the solver's own rule on the judge's scores."""
        if not self.by_rule:
            return certificate.relative_gap <= self.tol
        if outcome is not Outcome.DONE:
            return False
        run.refresh(certificate.scores)
        return run.reached()

    def sentence(self, status: Status) -> str:
        """Why the solver stopped."""
        if self.by_rule and status is Status.CONVERGED:
            return "The solver's own rule, m - M < tol, is met."
        return SENTENCES[status]

    def settle(self, run) -> tuple[Point, Certificate]:
        """The best certified point, the present one included."""
        if self.judged_at != run.n_iter:
            self.certify(run)
        return self.best
