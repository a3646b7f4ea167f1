"""What a certificate claims, and the case that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from exact_numbers import ZERO

import maxmargin as mm


@dataclass
class Claim:
    """What a certificate says, P at the points it is about, and how to find a P close to the optimum."""

    certificate: mm.Certificate
    values: dict[str, Decimal]
    least: Callable[[], Decimal]
    part: str = ""
    tol: float = 0.0
    status: mm.Status | None = None
    slack: Decimal = ZERO
    blunt: bool = False

    @classmethod
    def of(cls, result, tol: float, values: dict[str, Decimal], least: Callable[[], Decimal], part: str = "") -> Claim:
        """The claim that a result makes."""
        return cls(result.certificate, values, least, part, tol, result.status)

    @property
    def converged(self) -> bool:
        """Whether the fit says that it reached its tolerance."""
        return self.status is mm.Status.CONVERGED


@dataclass
class Case:
    """A case: the name that reproduces it, what was sampled for it, and what was claimed."""

    name: str
    drawn: dict = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    refused: str = ""
    crashed: str = ""

    def __str__(self) -> str:
        drawn = ", ".join(f"{key}={value}" for key, value in self.drawn.items())
        return f"python tests/adversary.py --case {self.name}  # {drawn}"
