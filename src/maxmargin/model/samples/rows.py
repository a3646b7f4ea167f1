"""What dense and sparse rows have in common.

Sums and products as if in twice the precision, with bounds on their errors, and what a part of the samples inherits.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ...contracts.samples import VectorSamples
from ...runtime.interpreter import cached_property
from ...runtime.rounding import BOUND_INFLATION, UNIT, bound_sum
from .strips import fill_strips, list_strips

UNDERFLOW_ALLOWANCE = 2.0**-1000  # more than all that products lose where they are too small for float64
GROUP_ROWS = 8  # rows of a group: numbers of a vector register in float64


class SampleRows(VectorSamples):
    """What dense and sparse rows have in common: bounds on their sizes, and sums as if in twice the precision."""

    norm_of_all = np.inf  # the largest |x|^2 of the samples that these are a part of, once it is known

    @cached_property
    def norm_bounds(self) -> np.ndarray:
        """|x_i|, or a little more: rounding is on the safe side, and u |x_i|^2 is not denormal."""
        with np.errstate(over="ignore"):
            norms = self.norms.astype(np.float64, copy=False)
            return np.sqrt(norms + self.terms * UNDERFLOW_ALLOWANCE) * (1.0 + bound_sum(self.terms + 4))

    @property
    def l1_norm_bounds(self) -> np.ndarray:
        """|x_i|_1, or a little more."""
        with np.errstate(over="ignore"):
            return self.lengths.astype(np.float64, copy=False) * (1.0 + bound_sum(self.terms + 4))

    @cached_property
    def largest_norm(self) -> float:
        """The largest |x_i|^2, as it was computed."""
        return float(self.norms.max(initial=0.0))

    @cached_property
    def largest_length(self) -> float:
        """The largest |x_i|_1, as it was computed."""
        return float(self.lengths.max(initial=0.0))

    def precompute_norms(self) -> None:
        """Evaluate |x_i|^2, and the largest of them."""
        _ = self.largest_norm

    @abstractmethod
    def _add_closely(self, part: slice, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i coef_i x_i over some rows, as high + low."""

    @abstractmethod
    def _project_closely(self, part: slice, high: np.ndarray, low: np.ndarray, out: np.ndarray) -> None:
        """<x_i, high + low> of some rows, as two columns of `out`."""

    def combine_closely(self, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """w = sum_i coef_i x_i as high + low for one row of coef, and a bound on |high + low - w|, the 2-norm.

        Exact products and sums of what sums lose: the error is gamma_k^2 sum_i |coef_i| |x_i| with k a little over n
        (Ogita, Rump and Oishi, 2005, proposition 5.5), and the rounding of samples that were moved.
        """
        coef = np.ascontiguousarray(coef, np.float64)
        parts = list_strips(self, lambda part: self._add_closely(part, coef[part]))
        high, low = np.zeros(self.d), np.zeros(self.d)
        with np.errstate(over="ignore", invalid="ignore"):
            for more, rest in parts:
                high, lost = two_sum(high, more)
                low = low + (lost + rest)
            high, low = two_sum(high, low)
            size = float(np.abs(coef) @ self.norm_bounds)
            square = bound_sum(self.n + 4 * len(parts) + 16) ** 2
            error = (square + self.rounding) * size * BOUND_INFLATION + (self.n + 8) * self.d * UNDERFLOW_ALLOWANCE
        sound = np.isfinite(error) and np.isfinite(high).all() and np.isfinite(low).all()
        return high, low, error if sound else np.inf

    def project_closely(self, high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """<x_i, w> for w = high + low, as f_high + f_low, and bounds on their errors.

        With |low| <= u |high| as `combine_closely` returns them, the error is gamma_k^2 |x_i| |high| with k a little
        over the number of terms, and the rounding of samples that were moved.
        """
        out = fill_strips(self, (2,), lambda part, out: self._project_closely(part, high, low, out))
        with np.errstate(over="ignore", invalid="ignore"):
            length = float(np.linalg.norm(high)) * BOUND_INFLATION + np.sqrt(len(high)) * 2.0**-537
            relative = bound_sum(self.terms + 24) ** 2 + self.rounding
            errors = relative * length * self.norm_bounds * BOUND_INFLATION + (self.terms + 8) * UNDERFLOW_ALLOWANCE
            errors[~np.isfinite(errors + out.sum(axis=1))] = np.inf
        return out[:, 0].copy(), out[:, 1].copy(), errors


def inherit_norms(samples: SampleRows, part: SampleRows, index: np.ndarray | slice) -> SampleRows:
    """The part with those norms that were already known of the whole, for the sake of thousands of tiles."""
    known, given = samples.__dict__, part.__dict__
    if "norms" in known:
        given["norms"] = known["norms"][index]
        given["norm_of_all"] = known.get("largest_norm", samples.norm_of_all)
    if "lengths" in known:
        given["lengths"] = known["lengths"][index]
    return inherit_rounding(samples, part)


def inherit_rounding(samples: SampleRows, part: SampleRows) -> SampleRows:
    """The part, its numbers as far from the data as those of the whole, its products of as many terms at most."""
    if samples.rounding:
        part.rounding, part.displacement = samples.rounding, samples.displacement
    if part.sparse:
        part.terms = samples.terms
    return part


def mark_moved(samples: SampleRows, shift: np.ndarray | None) -> SampleRows:
    """The samples, known to be rounded where they are differences from a shift."""
    if shift is not None:
        samples.rounding, samples.displacement = UNIT, float(np.linalg.norm(shift))
    return samples


def make_writable(values: np.ndarray) -> np.ndarray:
    """The array, or a copy where it is locked: compiled code would be compiled again for those."""
    return values if values.flags.writeable else values.copy()


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s = fl(a + b) and e with a + b = s + e (Knuth)."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)
