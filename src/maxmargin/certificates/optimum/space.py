"""Vectors of the space of the features, and their products with samples, with bounds on what rounding does to both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from ...contracts.kernels import Kernel
from ...contracts.samples import VectorSamples
from ...model.samples import convert_to_dense, match_storage_format
from ...model.tiles import evaluate_rows, evaluate_scores
from ...runtime.interpreter import cached_property
from ...runtime.rounding import BOUND_INFLATION, UNIT, Enclosed, bound_sum


class Vector(NamedTuple):
    """A vector u of the space of the features.

    Attributes
    ----------
    coef : ndarray
        u = sum_i coef_i phi(x_i) over the rows of the space; u itself where the kernel is linear.
    constant : float
        With a linear kernel, what the constant feature of a regularised intercept adds to <u, phi(x)>.
    error : float
        A bound on the length by which the coefficients are off.
    """

    coef: np.ndarray
    constant: float = 0.0
    error: float = 0.0


@dataclass(frozen=True, eq=False)
class RowSpace:
    """The span of some rows phi(x_i), or all of the space where the kernel is linear.

    Attributes
    ----------
    kernel : Kernel
    rows : VectorSamples
        As the kernel sees them.
    offset : float
        What a regularised intercept adds to each kernel value.
    """

    kernel: Kernel
    rows: VectorSamples
    offset: float = 0.0

    @cached_property
    def sizes(self) -> np.ndarray:
        """|phi(x_i)| of the rows, from above."""
        return self.measure_sizes(self.rows)

    def measure_sizes(self, samples: Any) -> np.ndarray:
        """|phi(x)| of samples, from above."""
        return np.sqrt(np.square(self.kernel.sizes(samples)) + self.offset) * (1.0 + 8.0 * UNIT)

    def enclose_squares(self, samples: Any) -> Enclosed:
        """k(x, x) of samples: a power of a product, or a constant."""
        squares = self.kernel.diagonal(samples).astype(np.float64) + self.offset
        roundings = (max(self.kernel.parameters[2], 1) + 1) * (samples.terms + 8)
        return Enclosed(squares, bound_sum(roundings) * np.square(self.measure_sizes(samples)))

    def combine(self, coef: np.ndarray, index: np.ndarray | None = None) -> Vector:
        """sum_i coef_i phi(x_i) over the rows, or over those of an index."""
        if not self.kernel.linear:
            if index is None:
                return Vector(coef)
            # a row may come more than once
            added = np.bincount(index, weights=coef, minlength=self.rows.n)
            return Vector(added, error=2.0 * UNIT * float(np.abs(coef) @ self.sizes[index]))
        rows = self.rows if index is None else self.rows.take(index)
        high, low, error = rows.combine_closely(coef)
        w, constant = high + low, self.offset * fsum(coef)
        rounded = 2.0 * UNIT * (float(np.linalg.norm(w)) + abs(constant) / np.sqrt(self.offset or 1.0))
        return Vector(w, constant, error + rounded)

    def find_middle(self, first: Vector, second: Vector) -> Vector:
        """(u + v) / 2."""
        coef, constant = 0.5 * (first.coef + second.coef), 0.5 * (first.constant + second.constant)
        rounded = UNIT * self.measure_length(Vector(coef, constant))
        return Vector(coef, constant, 0.5 * (first.error + second.error) + rounded)

    def measure_length(self, vector: Vector) -> float:
        """|u|, from above; of a sum over rows the sum of their lengths."""
        if self.kernel.linear:
            constant = vector.constant / np.sqrt(self.offset or 1.0)
            return float(np.hypot(np.linalg.norm(vector.coef), constant)) * (1.0 + bound_sum(len(vector.coef) + 8))
        return float(np.abs(vector.coef) @ self.sizes) * BOUND_INFLATION

    def match(self, samples: Any) -> Any:
        """Samples in the form of the rows, so that the two can be multiplied."""
        if samples.sparse and not self.rows.sparse:
            return convert_to_dense(samples)
        return match_storage_format(samples, self.rows)

    def enclose(self, samples: Any, vectors: Sequence[Vector]) -> Enclosed:
        """<u, phi(x)> for each sample and each vector, of shape (samples, vectors)."""
        sizes = self.measure_sizes(samples)[:, None]
        coef = np.stack([vector.coef for vector in vectors], axis=1)
        own = np.array([vector.error for vector in vectors])
        if self.kernel.linear:
            constants = np.array([vector.constant for vector in vectors])
            lengths = np.linalg.norm(coef, axis=0)
            values = samples.project(np.ascontiguousarray(coef)) + constants
            errors = (bound_sum(samples.terms + 8) * lengths + own) * sizes
            return Enclosed(values, errors + UNIT * (np.abs(values) + 3.0 * np.abs(constants)))
        values = evaluate_scores(self.kernel, self.match(samples), self.rows, np.ascontiguousarray(coef))
        weight = np.abs(coef)
        errors = np.stack([self.kernel.bound_value_errors(samples, self.rows, each) for each in weight.T], axis=1)
        errors = errors + (bound_sum(self.rows.n + 8) * (weight.T @ self.sizes) + own) * sizes
        if self.offset:
            constants = self.offset * coef.sum(axis=0)
            values = values + constants
            errors = errors + UNIT * (np.abs(values) + 3.0 * np.abs(constants))
            errors = errors + bound_sum(len(coef)) * self.offset * weight.sum(axis=0)
        return Enclosed(values, errors)

    def enclose_products(self, samples: Any, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """k(x, x_i) with the rows of an index, and for each sample a bound on the error of any of them."""
        rows = self.rows.take(index)
        K = evaluate_rows(self.kernel, self.match(samples), rows) + self.offset
        each = self.kernel.bound_value_errors(samples, rows, np.ones(len(index)))
        largest = float(self.sizes[index].max(initial=0.0))
        return K, each + 2.0 * UNIT * self.measure_sizes(samples) * largest
