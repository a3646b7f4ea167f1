"""What follows a fit while it runs: the live line of verbose, and the callbacks of scikit-learn 1.9.

A fit is one task of scikit-learn's protocol. Its subtasks are its solves, where it has several, and the subtasks of
those are stretches of steps, about twenty a second. `context.progress` of such a stretch is the `Progress` of its end:
iterations, seconds, and the solver's own P and D. A true return value of `on_fit_task_end` ends the solve whose stretch
it was, with the best point so far; after a solve, it ends those that are still to come.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy

from ..certificates.certificate import judge
from ..insight.diagnosis import announce
from ..insight.progress import ProgressLine
from ..runtime.interpreter import release_interpreter
from ..runtime.scikit_learn import CallbackSupportMixin, open_callbacks, take_fitted
from ..solvers.automatic import has_own_stopping_rule
from ..solvers.result import Progress, Result, Status
from ..solvers.run_copies import copy_run
from ..solvers.sequence import SolveObserver


def solve(problem, solver, **options) -> Result:
    """`solvers.loop.solve`, which brings all solvers with it: a small fit has no need of it."""
    from ..solvers.loop import solve as solve_in_the_loop

    return solve_in_the_loop(problem, solver, **options)


class ObservedFit(CallbackSupportMixin):
    """An estimator whose fits can be followed: `set_callbacks`, and a line where `verbose` asks for it."""

    def _observe(self, X=None, y=None, sample_weight=None, solves: int = 1) -> Observation:
        """The line and the callbacks of this fit; to be closed at its end."""
        return Observation(self, X, y, sample_weight, solves)

    def _snapshot_attributes(self, complete: Callable) -> dict:
        """The attributes that a copy of this estimator has once complete(copy) has fitted it."""
        fitted_copy = copy(self)
        complete(fitted_copy)
        return take_fitted(fitted_copy)

    def _summarise(self, observation: Observation) -> None:
        """Where verbose asks for it, how the fit went: the last state of the line, or a line of output."""
        if self.verbose:
            text = f"{type(self).__name__}: {self.result_.status.value}, {self.certificate_}"
            if not observation.close_line(text):
                print(text)


class Observation:
    """The line and the callbacks of one fit, and what they are told."""

    def __init__(self, machine, X, y, sample_weight, solves: int):
        self.machine, self.solves = machine, solves
        self.stopped = self.failed = False
        self.lock = threading.Lock()  # of the callbacks, which need not know of threads
        self.line = open_line(machine, solves)
        if self.line is not None and (headline := announce(machine, X, y, sample_weight)):
            self.line.announce(headline)
        self.given = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        self.context = open_callbacks(
            machine, max_subtasks=None if solves == 1 else solves, sequential_subtasks=solves == 1
        )
        if self.context is not None:
            self.context.call_on_fit_task_begin(estimator=machine, **self.given)

    @property
    def is_watched(self) -> bool:
        """Whether a live line or a callback follows the fit."""
        return self.line is not None or self.context is not None

    def solve(self, number: int, problem, solver, fitted: Callable | None = None, **options) -> Result:
        """`solve` one of the problems, followed by the line and the callbacks if there are any.

        fitted(problem, result) are the attributes of an estimator that is fitted so; only where one problem is the
        whole fit.
        """
        if not self.is_watched:
            return solve(problem, solver, **options)
        observer = Observer(self, number, fitted if self.solves == 1 else None)
        result = solve(problem, solver, callback=observer, **options)
        observer.finish()
        return result

    def notify(self, hook: Callable[..., bool], **more) -> bool:
        """Call the callbacks, one thread at a time; a thread that waits does not hold up the other solves."""
        with release_interpreter(), self.lock:
            if self.failed:  # in another solve: this one has only to end
                return True
            try:
                return bool(hook(estimator=self.machine, **self.given, **more))
            except BaseException:
                self.failed = self.stopped = True
                raise

    def close_line(self, last: str = "") -> bool:
        """End the line; whether there was one to be seen."""
        line, self.line = self.line, None
        if line is not None:
            line.close(last)
        return line is not None

    def close(self) -> None:
        """The fit is done: tell the callbacks, with the fitted estimator."""
        if self.context is not None:
            self.notify(self.context.call_on_fit_task_end, reconstruction_attributes={})
            self.context = None

    def __enter__(self) -> Observation:
        return self

    def __exit__(self, kind, error, trace) -> None:
        if error is not None:
            self.close_line()


class Observer(SolveObserver):
    """The callback of one solve: shows its progress on the line, and hands it to scikit-learn's callbacks."""

    def __init__(self, observation: Observation, number: int, fitted: Callable | None):
        self.observation, self.number, self.fitted = observation, number, fitted
        self.sequence = self.context = self.steps_context = None

    def attach(self, sequence) -> None:
        """The solve begins."""
        self.sequence, observation = sequence, self.observation
        if observation.context is None:
            return
        self.context = observation.context
        if observation.solves > 1:
            self.context = self.context.subcontext("solve", self.number, max_subtasks=None)
            observation.notify(self.context.call_on_fit_task_begin)
        self.begin_steps()

    def begin_steps(self) -> None:
        """The next steps are a task."""
        self.steps_context = self.context.subcontext("steps")
        self.observation.notify(self.steps_context.call_on_fit_task_begin)

    def __call__(self, progress: Progress) -> bool:
        """Some steps are done; whether to stop."""
        observation = self.observation
        if observation.line is not None:
            observation.line.show(progress)
        if self.context is None:
            return False
        self.steps_context.progress = progress
        snapshot = None if self.fitted is None else self.snapshot
        stop = observation.notify(self.steps_context.call_on_fit_task_end, reconstruction_attributes=snapshot)
        self.begin_steps()
        return stop or observation.stopped

    def snapshot(self) -> dict:
        """The attributes of the estimator as if the fit had ended here, its point judged."""
        problem = self.sequence.problem
        point = copy_run(problem, self.sequence.run).point()
        result = Result(
            Status.STOPPED, point, judge(problem, point), self.sequence.solver, self.sequence.n_iter,
            self.steps_context.progress.seconds, "", [], self.sequence.count(),
        )  # fmt: skip
        return self.fitted(problem, result)

    def finish(self) -> None:
        """The solve is done. The stretch that was begun last has no steps."""
        observation = self.observation
        if observation.line is not None:
            observation.line.finish()
        if self.context is None:
            return
        observation.notify(self.steps_context.call_on_fit_task_end)
        if observation.solves > 1 and observation.notify(self.context.call_on_fit_task_end):
            observation.stopped = True


def open_line(machine, solves: int) -> ProgressLine | None:
    """The live line of a fit, where verbose asks for it and there is a screen to show it."""
    if not machine.verbose:
        return None
    tol = None if has_own_stopping_rule(machine.solver) else machine.tol
    line = ProgressLine(title=type(machine).__name__, tol=tol, solves=solves, max_seconds=machine.max_seconds)
    return line if line.live else None
