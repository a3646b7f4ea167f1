"""What an estimator says of its solver before there is a problem to choose by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..contracts.solvers import Solver
from .smo import SMO


@dataclass(frozen=True)
class Automatic:
    """solver="auto" of an estimator that has settings for SMO."""

    smo: SMO = field(default_factory=SMO)


def apply_smo_settings(solver: str | Solver, **settings: Any) -> str | Solver | Automatic:
    """The solver of an estimator that has settings for SMO: they go with "auto" and "smo", and with no other."""
    if not isinstance(solver, str) or solver not in ("auto", "smo"):
        return solver
    return Automatic(SMO(**settings)) if solver == "auto" else SMO(**settings)


def has_own_stopping_rule(solver: str | Solver) -> bool:
    """Whether a solver, which may be given by its name, stops by a rule of its own instead of the gap."""
    return isinstance(solver, Solver) and solver.has_own_rule
