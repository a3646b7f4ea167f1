"""What a fit has to say for itself: status, history, counters, certificate, and a sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..certificates.certificate import Certificate
from ..contracts.solvers import Outcome, Progress, Solver

__all__ = ["SENTENCES", "Outcome", "Progress", "Result", "Status"]


class Status(Enum):
    """Why a solver stopped."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    MAX_SECONDS = "max_seconds"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    STALLED = "stalled"
    ROUNDING_LIMIT = "rounding_limit"


SENTENCES = {
    Status.CONVERGED: "The certified relative gap is within tol.",
    Status.MAX_ITER: "The limit of iterations (max_iter) came first.",
    Status.MAX_SECONDS: "The time budget (max_seconds) ran out.",
    Status.INTERRUPTED: "Interrupted from the keyboard; this is the best point so far.",
    Status.STOPPED: "The callback asked to stop.",
    Status.ROUNDING_LIMIT: "The limit of float64: no smaller gap can be certified for this machine in this precision.",
    Status.STALLED: "The gap has stopped falling: rounding errors, or data too badly scaled for this solver.",
}


@dataclass(frozen=True)
class Result:
    """The outcome of `solve`: a point, its certificate, and how it came about."""

    status: Status
    point: Any  # a Point, a BlockPoint or a StructuredPoint, by the form of the problem
    certificate: Certificate
    solver: Solver
    n_iter: int
    seconds: float
    message: str
    history: list[Progress] = field(default_factory=list, repr=False)
    counters: Counter[str] = field(default_factory=Counter, repr=False)

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED
