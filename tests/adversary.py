"""The adversary of the judge: random fits of every model, and what their certificates claim, checked in eighty digits.

    python tests/adversary.py --cases 2000 --seed 5             a table of false claims, model by model
    python tests/adversary.py --cases 500 --only SVC NuSVC      for these models only
    python tests/adversary.py --case SVC:123                    one case again, with everything it claims

A certificate claims four things: primal >= P at the point, dual <= P*, gap >= P - P*, and, where the fit says that it
converged, P - P* <= tol max(|primal|, |dual|, floor). P* is not known, but P at any point is at least P*. So every
false claim found here is real, whichever point was used. The better the point, the smaller the false claims that are
found (`exact_objectives.py` finds good points). The cases are in `claims/`.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from claims.claim import Case
from claims.false_claims import FALSE_CLAIM_KINDS, FalseClaim, judge_case
from claims.families import FAMILIES, name_cases, try_case
from exact_numbers import many_digits

import maxmargin as mm

VISIBLE_SHARE = 1e-9  # of the size of P: a larger error shows in the digits that are printed


def is_limited(status: mm.Status | None) -> bool:
    """Whether a fit ended because float64 cannot certify a smaller gap."""
    return status is not None and status.value == "rounding_limit"


class FamilyCounts:
    """Counts and reports for one family."""

    def __init__(self):
        self.counts, self.rounding, self.reports, self.refusals = Counter(), 0.0, [], Counter()

    def add(self, case: Case, false_claims: list[FalseClaim]) -> None:
        """Count one more case."""
        gross = any(false_claim.share > VISIBLE_SHARE for false_claim in false_claims)
        self.refusals.update([case.refused] if case.refused else [])
        self.counts.update(tried=1, refused=int(bool(case.refused)), false=int(bool(false_claims)), gross=int(gross))
        self.counts.update({false_claim.kind for false_claim in false_claims})
        self.counts.update(
            {
                "machine only": int(
                    bool(false_claims) and not any(false_claim.concerns_point for false_claim in false_claims)
                )
            }
        )
        if false_claims:
            worst = max(false_claims, key=lambda false_claim: false_claim.share)
            self.reports.append((worst.share, f"{worst}\n    {case}"))
        for claim in case.claims:
            certificate = claim.certificate
            self.counts.update(claims=1, converged=int(claim.converged), limit=int(is_limited(claim.status)))
            self.counts.update(doubtful=int(certificate.convex is not True), blunt=int(claim.blunt))
            share = certificate.rounding / max(abs(certificate.primal), 1e-300)
            self.rounding = max(self.rounding, share if np.isfinite(share) else 0.0)


def main(argv: list[str] | None = None) -> int:
    """Try cases and print the table; returns the number of cases with false claims."""
    parser = argparse.ArgumentParser(description="Look for certificates with false claims.")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=list(FAMILIES))
    parser.add_argument("--case", help="one case by its name, such as SVC:123")
    options = parser.parse_args(argv)
    tallies: dict[str, FamilyCounts] = {}
    for name in [options.case] if options.case else name_cases(options.cases, options.seed, options.only):
        with many_digits():
            if options.case:
                try_case(name)  # the first fit of a process compiles, which would use up its time limit
            case = try_case(name)
            tallies.setdefault(name.split(":")[0], FamilyCounts()).add(case, judge_case(case))
        if options.case:
            print(case, case.refused, case.crashed, *(claim.certificate for claim in case.claims), sep="\n")
    print_table(tallies)
    return sum(tally.counts["false"] for tally in tallies.values())


def print_table(tallies: dict[str, FamilyCounts]) -> None:
    """One line per family, then the false claims, the worst first.

    A claim is doubtful if its kernel is not known to be positive semidefinite, and blunt if no better point was found
    than that of the fit itself. A false claim is gross if it shows in nine digits.
    """
    columns = (
        "tried",
        "refused",
        "claims",
        "converged",
        "limit",
        "doubtful",
        "blunt",
        "false",
        "gross",
        "machine only",
        *FALSE_CLAIM_KINDS,
    )
    width = {column: max(len(column), 5) + 2 for column in columns}
    print(f"{'':18}" + "".join(f"{column:>{width[column]}}" for column in columns) + "  rounding/primal")
    for family, tally in tallies.items():
        counts = "".join(f"{tally.counts[column]:{width[column]}}" for column in columns)
        print(f"{family:18}{counts}{tally.rounding:17.2g}")
    for refusal, count in sum((tally.refusals for tally in tallies.values()), Counter()).most_common(5):
        print(f"refused {count} times: {refusal}")
    reports = sorted((report for tally in tallies.values() for report in tally.reports), reverse=True)
    print(*(text for _, text in reports), sep="\n")


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
