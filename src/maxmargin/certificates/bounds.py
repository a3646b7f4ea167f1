"""P from above, D from below and their gap, from enclosed sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.problem import Problem
from ..runtime.rounding import BALANCE_ROUNDINGS, UNIT, Enclosed, Remainder, add_enclosed, bound_dual, bound_sum
from .term_sums import Sums


class CertificateBounds(NamedTuple):
    """The numbers of a certificate: P from above, D from below, the allowance for rounding, P - D from above."""

    primal: float
    dual: float
    rounding: float
    bound: float


def combine_bounds(
    penalty: Enclosed, offset: Enclosed, sums: Sums, remainder: Remainder, penalty_conjugate
) -> CertificateBounds:
    """P = R(w) + sum of losses + offset, D = -R*(v) - sum of conjugates, and P - D as the sum of all remainders.

    D is the larger of two lower bounds: one from its own terms, and one from P minus the remainders.
    """
    primal = add_enclosed(penalty, sums.losses, offset)
    bound = remainder.value + sums.remainders.high + sums.cost
    conjugates = sums.conjugates.high
    if remainder.shrink > 0.0:
        bound = bound + remainder.shrink * sums.leverage
        conjugates = conjugates + remainder.shrink * (abs(sums.conjugates.value) + sums.leverage)
    bound = bound * (1.0 + 8.0 * UNIT)
    dual = bound_dual(primal.low, penalty_conjugate, conjugates, sums.cost_of_dual, bound)
    rounding = bound - sums.remainders.value - remainder.plain
    return CertificateBounds(primal.high, dual, max(0.0, rounding), bound)  # 0 also where neither is finite


def enclose_offset(problem: Problem, b) -> Enclosed:
    """balance b, summed over all layers; the balance nu sum(c) is itself a rounded number."""
    if problem.balance is None or (not isinstance(problem.balance, np.ndarray) and problem.balance == 0.0):
        return Enclosed(0.0, 0.0)
    terms = np.multiply(problem.balance, b)
    return Enclosed(problem.offset(b), bound_sum(np.size(terms) + BALANCE_ROUNDINGS) * float(np.abs(terms).sum()))
