"""Several problems over the same few rows of few features: posed, judged and kept together.

A linear machine of ten classes has ten problems, which differ in their targets alone. Here they lie side by side in
arrays of shape (problems, n), so that they are solved in one compiled call (`solvers.newton.together`) and certified in
another one: from the problems and the points alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ..model.features import Design
from ..model.losses import Loss, PiecewiseConjugate
from ..model.problem import FLOOR, Point, Problem
from ..runtime.interpreter import cached_property, release_interpreter
from ..runtime.rounding import BALANCE_TOLERANCE, UNIT, Enclosed, Remainder, bound_sum
from .bounds import combine_bounds
from .certificate import Certificate, judge
from .term_sums import RowSums

EXACT = Enclosed(0.0, 0.0)
BALANCE_ROUNDING_SHARE = 1e-6  # as in `Problem.least_size`: of the weights, what duals of all zeros balance to


@dataclass(frozen=True, eq=False)
class SmallDesigns:
    """min 1/2 |w|^2 + sum_i c_i l(<w, x_i> + b; y_i) for each row of y and c.

    Parameters
    ----------
    features : Design
        Over the rows of all problems, which are dense.
    y, c : ndarray of shape (problems, n)
        Targets and positive weights.
    loss : Loss
        Of one score per sample.
    free : bool
        Whether the intercept is free; else it is the constant column of the features, or there is none.
    """

    features: Design
    y: np.ndarray
    c: np.ndarray
    loss: Loss
    free: bool

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def Z(self) -> np.ndarray:
        """The rows with a last column of the constant that the intercept multiplies, as one array."""
        samples = self.features.samples
        Z = np.empty((samples.n, samples.d + 1))
        Z[:, :-1] = samples.X
        Z[:, -1] = 1.0 if self.free else self.features.scaling
        return Z

    @cached_property
    def row(self) -> PiecewiseConjugate | None:
        """The five numbers of every dual, each of shape (problems, n); None if the loss has none."""
        terms = self.loss.terms(self.y, self.c)
        return PiecewiseConjugate(*(np.ascontiguousarray(part) for part in terms)) if terms.piecewise else None

    def problem(self, k: int) -> Problem:
        """One of the problems."""
        return Problem(self.features, self.y[k], self.c[k], self.loss, 0.0 if self.free else None)

    def make_point(self, u: np.ndarray, a: np.ndarray) -> Point:
        """The point of w and the intercept, which u holds together, and of duals."""
        coef = u.copy()
        if not self.free:
            return Point(a, 0.0, coef)
        coef[-1] = 0.0
        return Point(a, float(u[-1]), coef)

    # ---- the judge ----------------------------------------------------------------------------------------

    def judge(self, u: np.ndarray, a: np.ndarray) -> list[Certificate | None]:
        """The certificate of each problem at (w, b) = u and a; None where the duals are not feasible as they are.

        P and D as in `judge_in_memory`, which judges the losses that have no five numbers.
        """
        if self.row is None:
            return [judge(self.problem(k), self.make_point(u[k], a[k])) for k in range(len(self))]
        from ..compiled.small_designs import judge_designs

        (n, size), away = self.Z.shape, self.features.samples.displacement
        scores, found, relative = np.empty((len(self), n)), np.empty((len(self), 22)), bound_sum(size + 8)
        with release_interpreter():
            judge_designs(self.Z, relative, away, self.free, u, a, *self.row, scores, found)
        return [self.certify(k, values, scores[k], abs(u[k, -1])) for k, values in enumerate(found.tolist())]

    def expect_judge(self) -> None:
        """Say that the judge will be called, so that it may be compiled meanwhile."""
        if self.row is None:
            return
        from ..compiled.second_process import expect
        from ..compiled.small_designs import judge_designs

        table, away = np.empty((1, 1)), self.features.samples.displacement
        row = self.row
        expect(judge_designs, lambda: (self.Z, 1.0, away, self.free, table, table, *row, table, table))

    def certify(self, k: int, values: list[float], scores: np.ndarray, b: float) -> Certificate | None:
        """The certificate of problem k from what `judge_designs` has found of it; its intercept has the size b."""
        found, (moved, cost, square, apart, weight, largest) = RowSums(*values[:16]), values[16:]
        if not (found.inside and self.is_balanced(k, found)):
            return None
        sums, (n, size) = found.add_balancing_cost(moved, cost, float(b) if self.free else 0.0), self.Z.shape
        slack = bound_sum(size + 8)
        penalty = Enclosed(0.5 * square, slack * 0.5 * square)
        rounded = bound_sum(n + 8) * weight + 2.0 * UNIT * sqrt(square)
        distance = (apart + rounded + moved * largest) * (1.0 + slack)
        remainder = Remainder(0.5 * distance * distance * (1.0 + 8.0 * UNIT), 0.5 * apart * apart, distance)
        conjugate = self.features.bound_penalty_conjugate(penalty.high, remainder)
        primal, dual, rounding, bound = combine_bounds(penalty, EXACT, sums, remainder, float(conjugate))
        return Certificate(primal, dual, found.kkt, True, FLOOR, rounding, bound, scores)

    def is_balanced(self, k: int, found: RowSums) -> bool:
        """Whether the duals of problem k balance up to rounding, as `Problem.imbalance` measures it."""
        if not self.free or abs(found.total) <= BALANCE_TOLERANCE * found.size:
            return True
        least = BALANCE_ROUNDING_SHARE * float((self.c[k] * (1.0 + np.abs(self.y[k]))).sum())
        return abs(found.total) <= BALANCE_TOLERANCE * least
