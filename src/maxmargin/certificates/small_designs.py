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
from ..model.samples.rows import make_writable
from ..runtime.interpreter import cached_property, release_interpreter
from ..runtime.rounding import BALANCE_TOLERANCE, UNIT, Enclosed, Remainder, bound_sum
from .bounds import combine_bounds
from .certificate import Certificate, judge
from .term_sums import COMPILED_TERMS, MAX_RELATIVE_IMBALANCE, RowSums, Sums, collect_sums

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
        Z[:, -1] = self.constant
        return Z

    @property
    def constant(self) -> float:
        """What the intercept multiplies."""
        return 1.0 if self.free else self.features.scaling

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows without the constant, as compiled code takes them."""
        return make_writable(np.ascontiguousarray(self.features.samples.X, np.float64))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and features with the constant that the intercept multiplies."""
        return self.features.samples.n, self.features.samples.d + 1

    @cached_property
    def row(self) -> PiecewiseConjugate | None:
        """The five numbers of every dual, each of shape (problems, n); None if the loss has none."""
        terms = self.loss.terms(self.y, self.c)
        return PiecewiseConjugate(*map(np.ascontiguousarray, terms)) if terms.piecewise else None

    @cached_property
    def kinked(self) -> bool:
        """Whether no row is curved anywhere: then its loss has kinks."""
        return self.row is not None and not self.row.d.any()

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

        P and D as in `judge_in_memory`.
        """
        if self.row is None:
            return self.judge_formulas(u, a)
        scores, found = np.empty((len(self), self.shape[0])), np.empty((len(self), 22))
        with release_interpreter():
            self.sum_rows(u, a, scores, found)
        return [self.certify(k, values, scores[k], abs(u[k, -1])) for k, values in enumerate(found.tolist())]

    def sum_rows(self, u: np.ndarray, a: np.ndarray, scores: np.ndarray, found: np.ndarray) -> None:
        """The scores of each problem, and the sums over its rows that its certificate is made of."""
        from ..compiled.small_designs import judge_designs

        relative, away = bound_sum(self.shape[1] + 8), self.features.samples.displacement
        judge_designs(self.Z, relative, away, self.free, u, a, *self.row, scores, found)

    def expect_judge(self) -> None:
        """Say that the judge will be called, so that it may be compiled meanwhile."""
        if self.row is None:
            return
        from ..compiled.second_process import expect, is_uncalled
        from ..compiled.small_designs import judge_designs

        if is_uncalled(judge_designs):
            table, away, row = np.empty((1, 1)), self.features.samples.displacement, self.row
            expect(judge_designs, lambda: (self.Z, 1.0, away, self.free, table, table, *row, table, table))

    def certify(self, k: int, values: list[float], scores: np.ndarray, b: float) -> Certificate | None:
        """The certificate of problem k from what `sum_rows` has found of it; its intercept has the size b."""
        found, (moved, cost, square, apart, weight, largest) = RowSums(*values[:16]), values[16:]
        if not (found.inside and self.is_balanced(k, found)):
            return None
        sums = found.add_balancing_cost(moved, cost, float(b) if self.free else 0.0)
        return self.combine(sums, square, apart, weight, largest, scores)

    def combine(
        self, sums: Sums, square: float, apart: float, weight: float, largest: float, scores: np.ndarray
    ) -> Certificate:
        """The certificate of the sums over all terms, |coef|^2, |coef - Z'a|, sum_i |a_i| |z_i| and max_i |z_i|."""
        n, size = self.shape
        slack = bound_sum(size + 8)
        penalty = Enclosed(0.5 * square, slack * 0.5 * square)
        rounded = bound_sum(n + 8) * weight + 2.0 * UNIT * sqrt(square)
        distance = (apart + rounded + sums.moved * largest) * (1.0 + slack)
        remainder = Remainder(0.5 * distance * distance * (1.0 + 8.0 * UNIT), 0.5 * apart * apart, distance)
        conjugate = self.features.bound_penalty_conjugate(penalty.high, remainder)
        primal, dual, rounding, bound = combine_bounds(penalty, EXACT, sums, remainder, float(conjugate))
        return Certificate(primal, dual, float(sums.kkt), True, FLOOR, rounding, bound, scores)

    def judge_formulas(self, u: np.ndarray, a: np.ndarray) -> list[Certificate | None]:
        """The same for a loss without five numbers; one by one where its formula is not compiled."""
        terms = [self.loss.terms(y, c) for y, c in zip(self.y, self.c, strict=True)]
        name = COMPILED_TERMS.get(type(terms[0]))
        if name is None:
            return [judge(self.problem(k), self.make_point(u[k], a[k])) for k in range(len(self))]
        from ..compiled import small_designs, smooth_rows

        a = np.stack([each.repair(dual, None) for each, dual in zip(terms, a, strict=True)])
        (n, size), away = self.shape, self.features.samples.displacement
        scores, found, relative = np.empty((len(self), n)), np.empty((len(self), 19)), bound_sum(size + 8)
        kind, few = getattr(smooth_rows, name), terms[0].relative_error
        with release_interpreter():
            small_designs.judge_formulas(
                kind, self.rows, self.constant, relative, away, self.free, u, a, self.y, self.c, few, scores, found
            )
        return [self.certify_terms(k, terms[k], u[k], a[k], found[k].tolist(), scores[k]) for k in range(len(self))]

    def certify_terms(self, k: int, terms, u: np.ndarray, a: np.ndarray, values: list[float], scores: np.ndarray):
        """The certificate of problem k from what `judge_formulas` has found of it; None where its duals do not balance.

        That one dual which has most room could take up what is missing of the balance bounds what that costs.
        """
        total, size, error, roomiest, *lengths = values[11:]
        b, moved, cost, row = float(u[-1]) if self.free else 0.0, 0.0, 0.0, slice(int(roomiest), int(roomiest) + 1)
        if self.free:
            share = MAX_RELATIVE_IMBALANCE
            if not (abs(total) <= share * size or abs(total) <= share * self.problem(k).least_size):
                return None
            moved = abs(total) + bound_sum(len(a) + 2) * size
            slope = terms.take(row).bound_slope(a[row], scores[row] + b, moved)
            cost = moved * (slope + 2.0 * error)
        sums = collect_sums(values[:10], values[10], bound_sum(len(a) + 17), moved, cost, True, abs(b))
        return self.combine(sums, *lengths, scores)

    def is_balanced(self, k: int, found: RowSums) -> bool:
        """Whether the duals of problem k balance up to rounding, as `Problem.imbalance` measures it."""
        if not self.free or abs(found.total) <= BALANCE_TOLERANCE * found.size:
            return True
        least = BALANCE_ROUNDING_SHARE * float((self.c[k] * (1.0 + np.abs(self.y[k]))).sum())
        return abs(found.total) <= BALANCE_TOLERANCE * least


@dataclass(frozen=True, eq=False)
class SparseDesigns(SmallDesigns):
    """The same over the rows of a sparse matrix, whose intercept is the constant column, or is not there."""

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, features and starts of the rows, of the types that are compiled for."""
        samples = self.features.samples
        types = (samples.data, np.float64), (samples.indices, np.int32), (samples.indptr, np.int32)
        return tuple(np.ascontiguousarray(part, kind) for part, kind in types)

    def sum_rows(self, u: np.ndarray, a: np.ndarray, scores: np.ndarray, found: np.ndarray) -> None:
        """The scores of each problem, and the sums over its rows that its certificate is made of."""
        from ..compiled.sparse_designs import judge_sparse_designs

        relative = bound_sum(self.features.samples.terms + 8)
        judge_sparse_designs(*self.arrays, self.features.scaling, relative, u, a, *self.row, scores, found)
