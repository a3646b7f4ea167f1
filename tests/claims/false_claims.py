"""Everything that is false in a claim, found in eighty digits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from exact_numbers import INFINITY, ONE

from claims.claim import Case, Claim

ROUNDING_SHARE = Decimal("1e-55")  # of the size of P: the error of sums in eighty digits is below this
FALSE_CLAIM_KINDS = (
    "primal below P", "dual above P*", "gap below truth", "relative gap", "converged but not", "not a number",
    "crashed",
)  # fmt: skip


@dataclass
class FalseClaim:
    """A false claim: its kind, what was said, by how much it is wrong, and the size of P and D to compare with."""

    kind: str
    statement: str
    amount: Decimal = INFINITY
    size: Decimal = ONE
    part: str = ""

    @property
    def share(self) -> float:
        """The amount divided by the size of P and D."""
        return float(self.amount / self.size) if self.size > 0 else np.inf

    @property
    def concerns_point(self) -> bool:
        """Whether it is about the point that was judged, not about the machine that the user sees."""
        return not self.statement.startswith(("machine", "coef_"))

    def __str__(self) -> str:
        return f"{self.kind} {self.part}: {self.statement} {float(self.amount):.3g}, {self.share:.2g} of its size"


def find_false_claims(claim: Claim) -> list[FalseClaim]:
    """Everything that is false in a claim."""
    certificate = claim.certificate
    numbers = [certificate.primal, certificate.dual, certificate.gap, certificate.rounding]
    if any(np.isnan(number) for number in numbers) or certificate.rounding < 0:
        return [FalseClaim("not a number", f"primal, dual, gap, rounding = {numbers}")]
    if claim.converged and not certificate.relative_gap <= claim.tol:
        return [FalseClaim("converged but not", f"relative gap {certificate.relative_gap:.3g} > tol {claim.tol:.3g}")]
    if certificate.convex is not True or not claim.values:
        return []
    primal, dual, gap, _ = (Decimal(float(number)) for number in numbers)
    known, reached = claim.least(), min(claim.values.values())
    least, false_claims = min(known, reached), []
    claim.blunt = reached < known - ROUNDING_SHARE * abs(known)
    size = max(abs(primal), abs(dual), Decimal(float(certificate.floor)))
    noise = ROUNDING_SHARE * max(size, abs(least)) + claim.slack
    if dual > least + noise:
        false_claims.append(
            FalseClaim("dual above P*", f"dual {certificate.dual:.17g} above P* by", dual - least, size)
        )
    if 1e-290 < certificate.gap < np.inf and Decimal(float(certificate.relative_gap)) * size < gap * (
        1 - Decimal("1e-15")
    ):
        statement = f"relative gap {certificate.relative_gap:.17g} of {float(size):.17g} is below the gap by"
        false_claims.append(
            FalseClaim("relative gap", statement, gap - Decimal(float(certificate.relative_gap)) * size, size)
        )
    for name, value in claim.values.items():
        if primal < value - noise:
            false_claims.append(
                FalseClaim(
                    "primal below P", f"{name}: primal {certificate.primal:.17g} below P by", value - primal, size
                )
            )
        if gap < value - least - noise:
            false_claims.append(
                FalseClaim(
                    "gap below truth", f"{name}: gap {certificate.gap:.17g} too small by", value - least - gap, size
                )
            )
        if claim.converged and value - least > Decimal(claim.tol) * size:
            false_claims.append(
                FalseClaim("converged but not", f"{name}: tol {claim.tol:.3g}, P - P* is", value - least, size)
            )
    return false_claims


def judge_case(case: Case) -> list[FalseClaim]:
    """All false claims of a case."""
    false_claims = [FalseClaim("crashed", case.crashed)] if case.crashed else []
    for claim in case.claims:
        false_claims += [replace(false_claim, part=claim.part) for false_claim in find_false_claims(claim)]
    return false_claims
