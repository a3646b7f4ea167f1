"""trace(...): run a solver one step at a time, and write down what it does."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from ..certificates.certificate import Certificate
from ..contracts.estimators import Estimator
from ..contracts.solvers import Solver
from ..model.problem import Problem
from ..runtime.blas import single_threaded_blas
from ..runtime.deadline import Clock, Stopwatch
from ..runtime.interrupt import Interrupt, watch_interrupt
from ..runtime.scikit_learn import clone
from ..solvers.automatic import Automatic
from ..solvers.bundle.rules import RULES
from ..solvers.choice import plan
from ..solvers.loop import advance_to_end
from ..solvers.minimisation import Minimisation, start_descent
from ..solvers.minimisation_arguments import check_bounds, check_options, check_start
from ..solvers.result import SENTENCES, Outcome
from .step_trace import State, Trace
from .trace_setting import describe_function, describe_problem, read_state
from .traces import Recording, check_limits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DEFAULT_TOL = 1e-3
DEFAULT_METHOD = "proximal-bundle"  # for functions
Watcher = Callable[[dict[str, Any], State], Any]


def trace(
    subject: Problem | Estimator | Callable[[np.ndarray], tuple[float, np.ndarray]],
    solver: str | Solver | Automatic | None = None,
    *,
    X: Any = None,
    y: Any = None,
    tol: float | None = None,
    number: int = 0,
    max_steps: int = 1000,
    max_seconds: float = 10.0,
    x0: ArrayLike | None = None,
    ridge: float = 0.0,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    callback: Watcher | None = None,
) -> Trace:
    """P(w_k, b_k), D(a_k), what the solver did in step k, and the state after it, for k = 0, 1, 2, ...

    The steps are those that a fit takes: the same compiled functions, one step at a time. Every row is judged, which
    takes longer than the step itself; so traces are for small problems.

    Parameters
    ----------
    subject : Problem, estimator or callable
        A problem; an estimator, of whose problems on X and y one is traced; or a convex function
        fun(x) -> (value, subgradient).
    solver : "auto", a name, a solver object, or None
        None is the solver of the estimator, and "auto" for a problem: the first solver of its plan. For a function, the
        method of `minimize`.
    X, y : array-like
        The data of an estimator.
    tol : float, optional
        The certified relative gap at which to stop; that of the estimator, or 1e-3; for a function as in `minimize`.
    number : int, default=0
        Which problem of an estimator, where a fit has several: one for each pair of classes, or for each class.
    max_steps : int, default=1000
    max_seconds : float, default=10
        Of the run; the judge is not counted.
    x0, ridge, bounds
        Of a function, as in `minimize`.
    callback : callable, optional
        Called with each row, a dict, and the `State` after it; a true return value stops.

    Returns
    -------
    Trace

    See Also
    --------
    Trace : What it returns.
    maxmargin.plots.plot_trace : Draws it.

    References
    ----------
    - Wu (2014). Support Vector Machines. Lecture slides, National Tsing Hua University.
    - Schmidt-Thieme (n.d.). Learning SVMs / Bundle Methods. Lecture slides, University of Hildesheim.

    Examples
    --------
    >>> from maxmargin import trace
    >>> steps = trace(lambda x: (abs(x[0] - 1.0), [1.0 if x[0] > 1.0 else -1.0]), "cutting-plane", x0=[0.0])
    >>> steps["step"][-1], float(steps.states[-1].x[0])
    ('serious', 1.0)
    """
    if not isinstance(max_steps, Integral) or max_steps < 1:
        raise ValueError(f"max_steps must be a whole number above zero, got {max_steps!r}.")
    if isinstance(subject, Estimator):
        if X is None:
            raise ValueError(f"X must hold the data of {type(subject).__name__}, got None.")
        problem, setting = pose_estimator(subject, X, y, number)
        solver, tol = subject.solver if solver is None else solver, subject.tol if tol is None else tol
        return trace_problem(problem, solver, tol, int(max_steps), max_seconds, callback, setting)
    if isinstance(subject, Problem):
        tol = DEFAULT_TOL if tol is None else tol
        return trace_problem(subject, "auto" if solver is None else solver, tol, int(max_steps), max_seconds, callback)
    if callable(subject):
        return trace_function(subject, solver, x0, ridge, bounds, tol, int(max_steps), max_seconds, callback)
    raise ValueError(f"subject must be a Problem, an estimator or a function, got {type(subject).__name__}.")


def pose_estimator(estimator: Estimator, X: Any, y: Any, number: int) -> tuple[Problem, dict[str, Any]]:
    """A problem of a fit by its number, and what the trace is to say of it."""
    problem = clone(estimator).pose_problem(X, y, number)
    if not isinstance(problem, Problem):
        raise ValueError(f"only problems in memory are traced, got a {type(problem).__name__}.")
    return problem, describe_problem(problem, X, estimator)


def trace_problem(
    problem: Problem,
    solver: str | Solver | Automatic,
    tol: float,
    max_steps: int,
    max_seconds: float,
    callback: Watcher | None,
    setting: dict[str, Any] | None = None,
) -> Trace:
    """A run on a problem, step by step."""
    check_limits(tol, max_steps, max_seconds)
    chosen = plan(problem, solver, tol)[0].solver
    with watch_interrupt() as interrupt, single_threaded_blas():
        clock = Stopwatch(max_seconds)
        recording = StepRecording(problem, chosen, tol, max_steps, clock, callback)
        status, _ = advance_to_end(recording, clock, interrupt, max_steps, recording.report)
    seen = recording.trajectory()
    return Trace(
        seen.solver, seen.n_iter, seen.seconds, seen.primal, seen.dual, seen.points, recording.steps, recording.states,
        describe_problem(problem) if setting is None else setting, status.value, SENTENCES[status],
        problem.features.kernel if not problem.features.linear else None,
    )  # fmt: skip


class StepRecording(Recording):
    """A run that takes one step at a time, what it says of each, and the state after it."""

    def __init__(
        self, problem: Problem, solver: Solver, tol: float, max_iter: int, clock: Stopwatch, callback: Watcher | None
    ):
        super().__init__(problem, solver, tol, max_iter, clock)
        self.callback = callback
        self.description: dict[str, Any] = {"step": "start"}
        self.steps: list[dict[str, Any]] = []
        self.states: list[State] = []
        self.reported = 0

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """One step; it is described if there was one."""
        before, iterations = self.run.mark_step(), self.n_iter
        with self.clock.running():
            outcome = self.run.advance_once()
        if self.n_iter > iterations:
            self.description = self.run.describe_step(before)
        self.next_iter = self.n_iter  # every step is judged
        return outcome

    def certify_current(self) -> Certificate:
        """Judge the point, and keep the description of the step that led there."""
        again = bool(self.rows) and self.rows[-1][0] == self.n_iter
        certificate = super().certify_current()
        if again:
            self.steps.pop(), self.states.pop()
        self.steps.append(self.description)
        self.states.append(read_state(self.problem, self.points[-1]))
        return certificate

    def report(self, progress: Any) -> bool:
        """Hand rows that are done to the callback; whether it wants to stop. The newest may still be judged again."""
        stop = False
        while self.callback is not None and self.reported < len(self.rows) and not stop:
            n_iter, seconds, certificate = self.rows[self.reported]
            values = {"P": float(certificate.primal), "D": float(certificate.dual)}
            row = {"n_iter": n_iter, "seconds": seconds, **self.steps[self.reported], **values}
            stop = bool(self.callback(row, self.states[self.reported]))
            self.reported += 1
        return stop


def trace_function(
    fun: Callable[[np.ndarray], tuple[float, np.ndarray]],
    method: Any,
    x0: ArrayLike | None,
    ridge: float,
    bounds: tuple[ArrayLike, ArrayLike] | None,
    tol: float | None,
    max_steps: int,
    max_seconds: float,
    callback: Watcher | None,
) -> Trace:
    """A bundle method on a function, round by round."""
    method, tol = DEFAULT_METHOD if method is None else method, 1e-6 if tol is None else tol
    if not isinstance(method, str) or method not in RULES:
        raise ValueError(f"solver must be one of {list(RULES)} for a function, got {method!r}.")
    if x0 is None:
        raise ValueError("x0 must be the starting point, got None.")
    check_options(fun, method, ridge, tol, max_steps, max_seconds, None, callback)
    start = check_start(x0)
    lo, hi = check_bounds(bounds, len(start))
    clock = Clock(max_seconds)
    with watch_interrupt() as interrupt:
        descent = start_descent(fun, start, method, float(ridge), lo, hi, None, None)
        work = TracedMinimisation(descent, tol, interrupt, clock, callback)
        work.write_row({"step": "start", **describe_start(descent)})
        status, _ = advance_to_end(work, clock, interrupt, max_steps, lambda progress: work.stopped)
    n_iter, seconds, primal, dual = (
        np.array([row[name] for row in work.rows]) for name in ("n_iter", "seconds", "P", "D")
    )
    return Trace(
        method, n_iter, seconds, primal, dual, [], work.steps, work.states,
        describe_function(descent), status.value, work.monitor.describe_status(status),
    )  # fmt: skip


def describe_start(descent: Any) -> dict[str, Any]:
    """The first cut, at x0."""
    cut = descent.newest
    ridge = descent.model.spread(descent.model.ridges)
    value = cut.value + descent.model.quadratic(cut.x)
    return {
        "x_t": cut.x, "value": value, "subgradient": cut.slope + ridge * cut.x, "cut_slope": cut.slope,
        "cut_offset": cut.offset, "proximity": float(descent.rule.proximity), "n_cuts": descent.cuts.m,
    }  # fmt: skip


class TracedMinimisation(Minimisation):
    """A descent on a function, and what it says of each round."""

    def __init__(self, descent: Any, tol: float, interrupt: Interrupt, clock: Clock, callback: Watcher | None):
        super().__init__(descent, tol, None, interrupt)
        self.clock, self.callback, self.stopped = clock, callback, False
        self.rows: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.states: list[State] = []

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """One round, described."""
        before = self.descent.mark_step()
        outcome = super().advance(max_steps, seconds)
        self.write_row(self.descent.describe_step(before))
        return outcome

    def write_row(self, step: dict[str, Any]) -> None:
        """Keep a row and the state, and show both to the callback."""
        descent = self.descent
        self.steps.append({**step, "lower_bound": float(descent.bound)})
        self.states.append(State(x=descent.best.x.copy()))
        values = {"P": float(descent.least), "D": float(descent.bound)}
        self.rows.append({"n_iter": self.n_iter, "seconds": self.clock.seconds, **self.steps[-1], **values})
        if self.callback is not None:
            self.stopped = bool(self.callback(self.rows[-1], self.states[-1]))
