"""Features of a linear kernel with w itself as coefficients, and the penalties 1/2 |w|^2 and |w|_1."""

from __future__ import annotations

from math import fsum

import numpy as np

from ...contracts.features import Features
from ...contracts.samples import VectorSamples
from ...runtime.interpreter import cached_property
from ...runtime.rounding import UNIT, Enclosed, Remainder, bound_absolute_sum, bound_sum
from ..kernels import Linear
from .gram import Gram
from .submatrix import take_submatrix

L1_DUAL_LIMIT = 1.0 + 1e-12  # of duals on a feature that counts as 1, its limit with the penalty |w|_1


class WeightSpace(Features):
    """What features have in common whose coefficients are w itself."""

    linear = True

    def measure_drift(self, coef: np.ndarray) -> float:
        """0: w is what users see."""
        return 0.0

    def enclose_penalty(self, coef: np.ndarray, scores: Enclosed) -> Enclosed:
        """R(w): a sum of terms of which none is negative, so rounding is relative."""
        penalty = self.penalty_value(coef, scores.value)
        return Enclosed(penalty, bound_sum(np.size(coef) + 8) * penalty)


class Design(WeightSpace, Gram):
    """The linear kernel with w itself as coefficients: f = X w + scaling w_0, norm |w|^2 + w_0^2."""

    def __init__(self, samples: VectorSamples, scaling: float = 0.0, whole: np.ndarray | None = None):
        super().__init__(Linear(), samples, scaling**2, whole)
        self.scaling = scaling

    def combine(self, a: np.ndarray) -> np.ndarray:
        """w = sum_i a_i (x_i, scaling)."""
        a = super().combine(a)
        return np.append(self.samples.combine(a), self.scaling * a.sum())

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """f = X w + scaling w_0."""
        return self.samples.project(coef[:-1]) + self.scaling * coef[-1]

    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """|w|^2 + w_0^2."""
        return float(coef @ coef)

    @cached_property
    def sizes(self) -> np.ndarray:
        """|(x_i, scaling)|."""
        return np.hypot(self.samples.norm_bounds, self.scaling) * (1.0 + 8.0 * UNIT)

    def enclose(self, coef: np.ndarray, closely: bool = False) -> Enclosed:
        """f = X w + scaling w_0, and a bound on the rounding error of each."""
        if not closely:
            length = float(np.linalg.norm(coef))
            return Enclosed(self.scores(coef), bound_sum(self.samples.terms + 8) * length * self.sizes)
        high, low, errors = self.samples.project_closely(coef[:-1], np.zeros(len(coef) - 1))
        constant = self.scaling * coef[-1]
        scores = high + (low + constant)
        return Enclosed(scores, errors + UNIT * (2.0 * np.abs(scores) + 4.0 * abs(constant)))

    def bound_public_errors(self, coef: np.ndarray, b: float, penalty: float, drift: float) -> float | np.ndarray:
        """What the rounding of intercept_ = b - <w, m> does to every score, where samples were moved by m."""
        away = self.samples.displacement
        return 2.0 * UNIT * (b + float(np.linalg.norm(coef)) * away) if away else 0.0

    def enclose_dual_weights(self, a: np.ndarray, closely: bool = False) -> Enclosed:
        """v = sum_i a_i (x_i, scaling), and a bound on the length of its error."""
        a = Gram.combine(self, a)
        sizes = float(np.abs(a) @ self.sizes)
        if not closely:
            return Enclosed(self.combine(a), bound_sum(len(a) + 8) * sizes)
        high, low, error = self.samples.combine_closely(a)
        pulled = np.append(high + low, self.scaling * fsum(a))
        return Enclosed(pulled, error + 4.0 * UNIT * float(np.linalg.norm(pulled)))

    def measure_remainder(
        self, coef: np.ndarray, a: np.ndarray, moved: float, closely: bool = False, drift: float = 0.0
    ) -> Remainder:
        """|w - v|^2 / 2 for v = sum_i a_i (x_i, scaling), from above."""
        pulled = self.enclose_dual_weights(a, closely)
        rounded = 2.0 * UNIT * float(np.linalg.norm(coef))
        apart = float(np.linalg.norm(coef - pulled.value))
        distance = apart + pulled.error + rounded + moved * self.largest_size
        distance *= 1.0 + bound_sum(len(coef) + 8)
        return Remainder(0.5 * distance * distance * (1.0 + 8.0 * UNIT), 0.5 * apart * apart, distance)

    def subset(self, index: np.ndarray) -> Design:
        """The design of some of the samples."""
        part = type(self)(self.samples.take(index), self.scaling, take_submatrix(self.whole, index))
        part.pace = self.pace
        return part


class AbsoluteDesign(Design):
    """The linear kernel with R(w) = |w|_1 + |w_0|, whose conjugate is zero while max |sum_i a_i x_i| <= 1."""

    penalty = "l1"

    def penalty_value(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """|w|_1 + |w_0|."""
        return float(np.abs(coef).sum())

    def penalty_conjugate(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """0 where no feature pulls by more than 1, else infinite."""
        return 0.0 if np.abs(coef).max(initial=0.0) <= L1_DUAL_LIMIT else np.inf

    def measure_remainder(
        self, coef: np.ndarray, a: np.ndarray, moved: float, closely: bool = False, drift: float = 0.0
    ) -> Remainder:
        """|w|_1 - <w, v> with the pull v of duals that are made smaller until none is above 1, from above."""
        pulled = self.enclose_dual_weights(a, closely)
        error = pulled.error + moved * self.largest_size
        shrink = max(float(np.abs(pulled.value).max(initial=0.0)) + error - 1.0, 0.0)
        sizes = np.abs(coef)
        apart = float(np.sum(sizes - coef * pulled.value / (1.0 + shrink)))
        rounded = bound_sum(len(coef) + 8) * 2.0 * bound_absolute_sum(coef)
        return Remainder(apart + rounded + error * bound_absolute_sum(coef), max(apart, 0.0), shrink=shrink)

    def bound_penalty_conjugate(self, penalty: float, remainder: Remainder) -> float:
        """0: the duals are made as small as that takes."""
        return 0.0

    def scale_to_feasible(self, a: np.ndarray) -> np.ndarray:
        """The duals divided by the largest pull on a feature, where that is more than 1.

        Where large duals nearly cancel, their pull is rounding to some digits, other rounding after every division:
        then they are divided by a little more each time, until no pull is left that shows.
        """
        margin = 1e-14
        while (pull := float(np.abs(self.combine(a)).max(initial=0.0))) > L1_DUAL_LIMIT:
            a, margin = a / (pull * (1.0 + margin)), 10.0 * margin
        return a
