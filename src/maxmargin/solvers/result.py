"""The result of a fit: status, history, counters, certificate, and a sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..certificates.certificate import Certificate
from ..contracts.solvers import Outcome, Progress, Solver
from ..runtime.display import Displayed, Table

__all__ = ["SENTENCES", "Outcome", "Progress", "Result", "Status"]


class Status(Enum):
    """Why a solver stopped.

    Attributes
    ----------
    CONVERGED
        The certified relative gap is within `tol`.
    MAX_ITER, MAX_SECONDS
        The limit of iterations, or the time budget, came first.
    INTERRUPTED, STOPPED
        Ctrl-C, or a callback, ended the fit; the best point so far is kept.
    STALLED
        The gap has stopped falling: rounding errors, or data too badly scaled for this solver.
    ROUNDING_LIMIT
        No smaller gap can be certified in float64.

    See Also
    --------
    Result : What holds it.

    Examples
    --------
    >>> from maxmargin import SVC, Status
    >>> SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1]).result_.status is Status.CONVERGED
    True
    """

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    MAX_SECONDS = "max_seconds"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    STALLED = "stalled"
    ROUNDING_LIMIT = "rounding_limit"

    def __reduce__(self) -> tuple[type[Status], tuple[str]]:
        """Made again of its value: skops asks for this form, pickle has it from `Enum.__reduce_ex__`."""
        return type(self), (self.value,)


SENTENCES = {
    Status.CONVERGED: "The certified relative gap is within tol.",
    Status.MAX_ITER: "The fit reached its limit of iterations (max_iter).",
    Status.MAX_SECONDS: "The time budget (max_seconds) ran out.",
    Status.INTERRUPTED: "Interrupted from the keyboard; this is the best point so far.",
    Status.STOPPED: "The callback asked to stop.",
    Status.ROUNDING_LIMIT: "The limit of float64: no smaller gap can be certified for this machine in this precision.",
    Status.STALLED: "The gap has stopped falling: rounding errors, or data too badly scaled for this solver.",
}


@dataclass(frozen=True, repr=False)
class Result(Displayed):
    """The outcome of `solve`: a point, its certificate, and how the solver found it.

    Attributes
    ----------
    status : Status
        Why the solver stopped.
    point : Point, BlockPoint or StructuredPoint
        Where it stopped: w or the duals, and b.
    certificate : Certificate
        P, D and their gap at that point.
    solver : Solver
        The one that found it.
    n_iter : int
        Its iterations.
    seconds : float
        Of the solve, certificates included.
    message : str
        The status in a sentence.
    history : list of Progress
        What was reported on the way.
    counters : Counter
        Kernel rows, cache hits and the like, by name.

    See Also
    --------
    solve : Makes it.
    Status : Why the solver stopped.
    Certificate : How far from optimal its point is.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> result = SVC().fit(X, y).result_
    >>> result.status.value, result.converged
    ('converged', True)
    """

    status: Status
    point: Any  # a Point, a BlockPoint or a StructuredPoint, by the form of the problem
    certificate: Certificate
    solver: Solver
    n_iter: int
    seconds: float
    message: str
    history: list[Progress] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED

    def describe(self) -> str:
        """How the solve went, in a sentence."""
        return (
            f"relative gap {self.certificate.relative_gap:.2g}, {self.status.value} after {self.n_iter:,} iterations "
            f"of {self.solver.name} in {self.seconds:.2g} s"
        )

    def tabulate(self) -> Table:
        """The certificate, how the solve ended, and what it counted."""
        (gap, *bounds), message = self.certificate.tabulate().rows, self.message
        ran = [("status", self.status.value), ("message", message), ("solver", self.solver.name)]
        cost = [("iterations", f"{self.n_iter:,}"), ("seconds", f"{self.seconds:.2g}")]
        counted = [(name.replace("_", " "), f"{count:,}") for name, count in self.counters.items() if count]
        return Table([gap, *ran, *cost, *bounds, *counted])
