"""What a solver is, and what a run of it is.

A solver is a set of parameters: a frozen dataclass that does not change. `start` makes a run of it, which holds all the
state there is. The loop (solvers/loop.py) advances the run in slices of time and owns the clock, the limits, the
callback and Ctrl-C. The judge, not the run, decides whether the tolerance is met.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .traits import Takes, refuse_form

MAX_DUAL = 1e99  # a dual beyond this has left for infinity


class Outcome(Enum):
    """What a run believes of itself after a few steps."""

    GOING = 0
    DONE = 1
    STALLED = 2


class Progress(NamedTuple):
    """One line of the history: what the solver itself believed at that moment.

    Attributes
    ----------
    n_iter : int
        Iterations so far.
    seconds : float
        Seconds since the solve began.
    primal, dual : float
        P and D as the run sees them; infinite while it has not looked.
    active : int
        Samples, features or cuts that take part in a step, whichever the solver has.
    solver : str
        The name of the solver; the loop fills it in.
    hit_rate : float or None
        The share of the kernel rows asked for that were in the cache, where there is one and the run is watched.
    """

    n_iter: int
    seconds: float
    primal: float
    dual: float
    active: int
    solver: str = ""
    hit_rate: float | None = None

    @property
    def relative_gap(self) -> float:
        """(P - D) / max(|P|, |D|)."""
        return (self.primal - self.dual) / max(abs(self.primal), abs(self.dual), 1e-300)


class Run(ABC):
    """The state of one solve, advanced in slices: `advance`, `progress` and `point` are all that a run must have.

    A run knows nothing of clocks, limits, callbacks, checkpoints on disk or Ctrl-C, and does not decide whether it has
    converged. It counts its steps in `n_iter`, which must grow whenever its point changes.

    Attributes
    ----------
    n_iter : int
        Iterations so far, in the unit that `max_iter` limits.
    a : ndarray or None
        The duals where the run stands, of the shape of the problem's duals; looked at for overflow, and for `support`.
        None where the run holds none.
    reserve : float
        Seconds that its point takes to be read and judged, beyond those of a point with as much `support`.
    still : bool
        Whether `point()` leaves the run as it was, so that it can be asked at any time without a copy.
    """

    n_iter: int = 0
    a: Any = None
    reserve: float = 0.0
    still: bool = False

    @abstractmethod
    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Work for about `seconds`, at most `max_steps` iterations, and say how it stands.

        Parameters
        ----------
        max_steps : int
            Iterations by which `n_iter` may grow.
        seconds : float
            How long this slice may take; a step that was begun may be finished.

        Returns
        -------
        Outcome
            DONE if the run believes that tol is reached, STALLED if more steps would not help, else GOING.
        """

    @abstractmethod
    def progress(self, seconds: float) -> Progress:
        """The run's own view of P and D, `seconds` after the solve began."""

    @abstractmethod
    def point(self) -> Any:
        """The best point so far: duals a, intercept b and, where the duals alone do not give it, w.

        A `Point` of a problem in memory, a `BlockPoint` of one in blocks, a `StructuredPoint` of structured outputs.
        """

    def here(self) -> Any:
        """The point where the run stands now, where that is not always the best one so far."""
        return self.point()

    @property
    def support(self) -> int:
        """Samples with a nonzero dual: how long a certificate takes depends on them."""
        return 0 if self.a is None else int(np.count_nonzero(self.a))

    @property
    def takes_rough_scores(self) -> bool:
        """Whether `refresh` may be given scores in float32, of samples that the judge had to know no closer."""
        return False

    def has_diverged(self) -> bool:
        """Whether a dual is beyond 1e99."""
        return self.a is not None and bool(abs(self.a).max() > MAX_DUAL)

    def refresh(self, scores: np.ndarray) -> None:  # noqa: B027 (a run that does nothing stalls)
        """Go on although the judge found the gap wider than the run did.

        Parameters
        ----------
        scores : ndarray of shape (n,), (layers, n) or (n_classes, n)
            <w, phi(x_i)> at the point that was judged, exact but for rounding; without the intercept.
        """

    def reached(self) -> bool:
        """Whether the rule of a solver with `stop` other than "gap" is met; asked after DONE and a `refresh`."""
        return True

    def count(self) -> Counter[str]:
        """Numbers worth keeping in `Result.counters`, such as kernel rows evaluated."""
        return Counter()

    def advance_once(self) -> Outcome:
        """The least work after which the run can be looked at without changing its way: one iteration, or a round."""
        return self.advance(1, np.inf)

    def mark_step(self) -> Any:
        """What `describe_step` has to know of the state before the next step; only runs that are traced are asked."""
        return None

    def describe_step(self, before: Any) -> dict[str, Any]:
        """What a textbook prints of the step since `mark_step`: numbers, words and arrays, by the names of columns.

        Parameters
        ----------
        before : object
            What `mark_step` returned.

        Returns
        -------
        dict
            Names from `insight.step_columns`, so that a name means the same for all solvers; empty where there is
            nothing to say.
        """
        return {}

    def pack(self) -> dict[str, Any] | None:
        """The state as arrays, from which `Solver.resume` goes on; None where a run can only start at a point again."""
        return None


class Solver(ABC):
    """min P(w, b), or max D(a): the parameters of a method, as a frozen dataclass. Only `start` is required.

    Attributes
    ----------
    name : str
        As in the registry; the name of the class in lower case unless it is given.
    formulation : str
        What is solved: "primal", "Wolfe dual", "primal and Wolfe dual", "primal, by cuts" or "Lagrangian dual".
    forms : tuple of str
        Where the data may live: "memory", "blocks", "structures".
    stop : str
        "gap" if the certified gap decides when a run is done, else the name of a rule of the solver's own.
    takes : Takes
        Which kinds of problems the solver takes; by default those of one score per sample, the penalty 1/2 |w|^2 and a
        loss that is a sum over samples.
    own_rule : str
        That rule as a phrase: "The solver's own rule, m - M < tol, is met."
    """

    name: ClassVar[str] = "solver"
    formulation: ClassVar[str] = "primal"
    forms: ClassVar[tuple[str, ...]] = ("memory",)
    stop: str = "gap"
    own_rule: ClassVar[str] = ""
    takes: ClassVar[Takes] = Takes()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.name == Solver.name:
            cls.name = cls.__name__.lower()

    @property
    def has_own_rule(self) -> bool:
        """Whether a run stops by a rule of its own instead of the gap."""
        return self.stop != "gap"

    def accepts(self, problem: Any) -> str | None:
        """None, or a sentence that says why this solver cannot take the problem, and which one can."""
        traits = problem.traits
        reason = refuse_form(self.forms, traits) or self.takes.refuse(traits) or self.refuse(problem)
        return reason and f"{self.takes.subject or type(self).__name__} {reason}."

    def refuse(self, problem: Any) -> str | None:
        """None, or what else stands in the way, such as the size of this very problem.

        A sentence without its subject and its full stop: "forms a matrix of the features, and 9000 are too many; use
        'coordinate'". The problem is of a kind that `takes` allows.
        """
        return None

    @abstractmethod
    def start(self, problem: Any, tol: float, warm: Any = None) -> Run:
        """A run of the problem.

        Parameters
        ----------
        problem : Problem, BlockProblem or StructuredProblem
        tol : float
            The relative gap (P - D) / max(|P|, |D|) to reach.
        warm : Point, BlockPoint or StructuredPoint, optional
            Where to start; its duals need not be feasible. A solver may ignore it.
        """

    def resume(self, problem: Any, tol: float, state: dict[str, Any]) -> Run:
        """A run as `Run.pack` left it."""
        raise NotImplementedError(f"The runs of {self.name!r} cannot be resumed from a packed state.")

    def start_after(self, previous: Run, problem: Any, tol: float, warm: Any = None) -> Run:
        """A run of the next problem of a sequence, which may differ from the one before it in C only.

        Parameters
        ----------
        previous : Run
            The last run of this solver, of the problem before or of this one. The new run may take over what it holds,
            such as cuts, since no further step of it will be asked for.
        problem, tol, warm
            As of `start`.
        """
        return self.start(problem, tol, warm)
