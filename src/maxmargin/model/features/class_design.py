"""Features of a linear kernel with one w for each class or target."""

from __future__ import annotations

import numpy as np

from ...runtime.rounding import UNIT, Enclosed, Remainder
from .design import Design, WeightSpace


class ClassDesign(WeightSpace):
    """One w for each of k classes over the same samples: f_ki = <w_k, x_i> + scaling w_k0, norm sum_k |w_k|^2."""

    def __init__(self, design: Design, n_classes: int):
        self.design, self.n_classes = design, n_classes
        self.samples, self.scaling, self.kernel, self.n = design.samples, design.scaling, design.kernel, design.n
        self.counters = design.counters

    def combine(self, a: np.ndarray) -> np.ndarray:
        """w_k = sum_i a_ki (x_i, scaling), one row per class."""
        return np.column_stack([self.samples.combine(np.ascontiguousarray(a)), self.scaling * a.sum(axis=1)])

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """f_ki, one row per class."""
        f = self.samples.project(np.ascontiguousarray(coef[:, :-1].T)) + self.scaling * coef[:, -1]
        return np.ascontiguousarray(f.T)

    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """sum_k |w_k|^2."""
        return float(np.sum(coef * coef))

    def enclose(self, coef: np.ndarray, closely: bool = False) -> Enclosed:
        """f_ki, one row per class, and a bound on the rounding error of each."""
        parts = [self.design.enclose(row, closely) for row in coef]
        return Enclosed(np.stack([part.value for part in parts]), np.stack([part.error for part in parts]))

    def bound_public_errors(self, coef: np.ndarray, b: float, penalty: float, drift: float) -> float | np.ndarray:
        """What the rounding of intercepts does to every score: those of many classes are seen from their mean."""
        lengths = np.linalg.norm(coef, axis=1)
        return (4.0 * UNIT * (b + lengths * self.samples.displacement))[:, None]

    def measure_remainder(
        self, coef: np.ndarray, a: np.ndarray, moved: float, closely: bool = False, drift: float = 0.0
    ) -> Remainder:
        """sum_k |w_k - v_k|^2 / 2, from above."""
        parts = [self.design.measure_remainder(w, row, moved, closely) for w, row in zip(coef, a, strict=True)]
        distance = float(np.linalg.norm([part.distance for part in parts])) * (1.0 + 8.0 * UNIT)
        return Remainder(sum(part.value for part in parts), sum(part.plain for part in parts), distance)

    def measure_pace(self) -> None:
        """Measure the pace of a product with the samples, if that was not done lately."""
        self.design.measure_pace()

    def estimate_seconds(self, support: int) -> float:
        """How long a certificate takes: as long as one for each class."""
        return self.n_classes * self.design.estimate_seconds(support)

    def subset(self, index: np.ndarray) -> ClassDesign:
        """The same classes over some of the samples."""
        return ClassDesign(self.design.subset(index), self.n_classes)
