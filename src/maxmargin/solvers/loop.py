"""The one loop: clock, limits, Ctrl-C and callback; and `solve`, which goes through it with the judge at its side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contracts.solvers import Solver
from ..model.problem import Point
from ..runtime.blas import single_threaded_blas
from ..runtime.checkpoints import CheckpointFile
from ..runtime.deadline import Clock, Deadline
from ..runtime.interrupt import Interrupt, watch_interrupt
from .advancing import Advancing
from .automatic import Automatic
from .best_certified import NOT_CERTIFIED, BestCertified, describe_uncertified
from .choice import AnyProblem, Stage, plan
from .result import SENTENCES, Outcome, Progress, Result, Status
from .sequence import PreviousSolve, SolveObserver, SolverSequence

SLICE_SECONDS = 0.05  # seconds between two looks at the clock and the keyboard
UNLIMITED_STEPS = 1 << 30  # of a slice, where there is no max_iter


def advance_to_end(
    work: Advancing,
    clock: Clock,
    interrupt: Interrupt,
    max_iter: int | None = None,
    callback: Callable[[Any], bool | None] | None = None,
) -> tuple[Status, list[Any]]:
    """Slices of work until it decides to end, a limit is reached, or Ctrl-C or the callback ends it.

    Parameters
    ----------
    work : Advancing
    clock : Clock
        Says when it is late.
    interrupt : Interrupt
        The flag that Ctrl-C raises.
    max_iter : int, optional
    callback : callable, optional
        Called with the progress after each slice; a true return value ends the work.

    Returns
    -------
    status : Status
        Why it ended.
    history : list
        The progress after each slice.
    """
    history: list[Any] = []
    status = work.decide(Outcome.GOING)
    while status is None:
        if interrupt:
            status = Status.INTERRUPTED
        elif clock.is_late:
            status = Status.MAX_SECONDS
        elif max_iter is not None and work.n_iter >= max_iter:
            status = Status.MAX_ITER
        else:
            steps = UNLIMITED_STEPS if max_iter is None else max_iter - work.n_iter
            outcome = work.advance(steps, min(SLICE_SECONDS, clock.left))
            history.append(work.progress(clock.seconds, callback is not None))
            stopped = callback is not None and callback(history[-1])
            status = Status.STOPPED if stopped else work.decide(outcome)
            work.save_periodically()
    return status, history


def solve(
    problem: AnyProblem,
    solver: str | Solver | Automatic = "auto",
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    warm: Any = None,
    callback: Callable[[Progress], bool | None] | None = None,
    interrupt: Interrupt | None = None,
    checkpoint: CheckpointFile | None = None,
) -> Result:
    """Minimise P until (P - D)/max(|P|, |D|) <= tol, certified.

    Parameters
    ----------
    problem : Problem, BlockProblem or StructuredProblem
    solver : "auto", a name, or a solver object
    tol : float
        The certified relative duality gap to reach.
    max_iter, max_seconds : optional limits
        Whichever comes first; the best point so far is returned with its certificate.
    warm : Point, BlockPoint or StructuredPoint, optional
        Where to start; made feasible first.
    callback : callable, optional
        Called with a `Progress` about twenty times a second; a true return value stops the solve. A `SolveObserver` is
        given the sequence of solvers first, which it may ask for the current point.
    interrupt : Interrupt, optional
        A flag watched by the caller, for several solves that stop together. Without one, Ctrl-C is watched here.
    checkpoint : CheckpointFile, optional
        Where the state of the run is kept: every few seconds by solvers that can pack it, and at the end. If it holds
        one of the same problem, the solve continues from there.

    Returns
    -------
    Result

    See Also
    --------
    Result : What it returns.
    explain : Which solver takes the problem.
    minimize : Any convex function.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. Journal of Machine
      Learning Research 11, 311-365.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import solve
    >>> from maxmargin.model.features import Design
    >>> from maxmargin.model.losses import Hinge
    >>> from maxmargin.model.problem import Problem
    >>> from maxmargin.model.samples import wrap
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = Problem(Design(wrap(X)), y, np.ones(4), Hinge())
    >>> result = solve(problem, tol=1e-6)
    >>> result.converged, result.certificate.relative_gap <= 1e-6
    (True, True)
    """
    stages = plan(problem, solver, tol, warm is not None)
    return solve_stages(problem, stages, tol, max_iter, max_seconds, warm, callback, interrupt, checkpoint)


def solve_stages(
    problem: AnyProblem,
    stages: list[Stage],
    tol: float,
    max_iter: int | None = None,
    max_seconds: float | None = None,
    warm: Any = None,
    callback: Callable[[Progress], bool | None] | None = None,
    interrupt: Interrupt | None = None,
    checkpoint: CheckpointFile | None = None,
    previous_run: PreviousSolve | None = None,
) -> Result:
    """`solve` by the solvers of a plan; they may use what the previous run, at another C, has learned."""
    with watch_interrupt(interrupt) as interrupted, single_threaded_blas():
        deadline = Deadline(problem, max_seconds, interrupted)
        best = BestCertified(problem, tol, deadline)
        sequence = SolverSequence(problem, stages, best, warm, checkpoint, previous_run)
        if isinstance(callback, SolveObserver):
            callback.attach(sequence)
        status, history = advance_to_end(sequence, deadline, interrupted, max_iter, callback)
        point, certificate = best.choose_best(sequence.run)
        by_gap = not sequence.solver.has_own_rule
        if status in (Status.MAX_ITER, Status.MAX_SECONDS) and by_gap and certificate.relative_gap <= tol:
            status = Status.CONVERGED  # a limit came while the run did not know yet that it had arrived
        sequence.save(point)
    sentences = [best.describe_status(status, sequence.solver), *best.describe_missing_certificate(history)]
    return Result(
        status, point, certificate, sequence.solver, sequence.n_iter, deadline.seconds,
        " ".join([*sentences, *sequence.notes]), history, sequence.count(),
    )  # fmt: skip


def make_unstarted_result(like: Result, n: int, start: Point | None, interrupted: bool) -> Result:
    """The result of a solve that there was no time to begin: its start, which was not judged, or zero.

    `like` is that of another solve of the same fit, whose problem differs by its n samples only.
    """
    status = Status.INTERRUPTED if interrupted else Status.MAX_SECONDS
    zero = Point(np.zeros((*like.point.a.shape[:-1], n)), np.zeros(np.shape(like.point.b))[()])
    message = f"{SENTENCES[status]} {describe_uncertified('it is the start')}"
    return Result(status, zero if start is None else start, NOT_CERTIFIED, like.solver, 0, 0.0, message)
