"""Several problems over the same few rows of few features: posed, judged and kept together.

A linear machine of ten classes has ten problems, which differ in their targets alone. Here they lie side by side in
arrays of shape (problems, n), so that they are solved in one compiled call (`solvers.newton.together`) and certified in
another one: from the problems and the points alone.
"""

from __future__ import annotations

from dataclasses import dataclass

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
        Over the rows of all problems.
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
        Z[:, :-1] = samples.X.toarray() if samples.sparse else samples.X
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

        samples, (n, size) = self.features.samples, self.Z.shape
        scores, found = np.empty((len(self), n)), np.empty((len(self), 21))
        relative, away = bound_sum(size + 8), samples.displacement
        with release_interpreter():
            judge_designs(self.Z, self.features.sizes, relative, away, self.free, u, a, *self.row, scores, found)
        return [
            self.certify(values, abs(last) if self.free else 0.0, f, least)
            for values, last, f, least in zip(
                found.tolist(), u[:, -1].tolist(), scores, self.least_sizes.tolist(), strict=True
            )
        ]

    @cached_property
    def least_sizes(self) -> np.ndarray:
        """`Problem.least_size` of each problem."""
        return BALANCE_ROUNDING_SHARE * (self.c * (1.0 + np.abs(self.y))).sum(axis=1)

    def certify(self, values: list[float], b: float, scores: np.ndarray, least: float) -> Certificate | None:
        """The certificate of what `judge_designs` has found of a problem, whose intercept has the size b."""
        found, (moved, cost, square, apart, weight) = RowSums(*values[:16]), values[16:]
        balanced = not self.free or abs(found.total) <= BALANCE_TOLERANCE * max(found.size, least)
        if not (found.inside and balanced):
            return None
        sums, (n, size) = found.add_balancing_cost(moved, cost, b), self.Z.shape
        penalty = Enclosed(0.5 * square, bound_sum(size + 8) * 0.5 * square)
        rounded = bound_sum(n + 8) * weight + 2.0 * UNIT * float(np.sqrt(square))
        distance = (apart + rounded + moved * self.features.largest_size) * (1.0 + bound_sum(size + 8))
        remainder = Remainder(0.5 * distance * distance * (1.0 + 8.0 * UNIT), 0.5 * apart * apart, distance)
        conjugate = float(self.features.bound_penalty_conjugate(penalty.high, remainder))
        primal, dual, rounding, bound = combine_bounds(penalty, EXACT, sums, remainder, conjugate)
        return Certificate(primal, dual, found.kkt, True, FLOOR, rounding, bound, scores)
