"""Scores of Gaussian kernels from values in float32, with bounds on their errors that are proven.

f_i = sum_j a_j exp(-gamma |x_i - s_j|^2) is the difference of two sums of nonnegative terms, that of the positive and
that of the negative a_j. No term cancels another one within a sum, so relative errors of terms are those of the sum:
the bounds follow from the sums themselves, and are a small share of what sum_j |a_j| alone would allow for.
docs/certificate.md derives them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..contracts.kernels import Kernel
from ..contracts.samples import VectorSamples
from ..runtime.rounding import BOUND_INFLATION, Enclosed, bound_sum
from ..runtime.threads import check_interrupt_within_strip, run_strips
from .kernels import FORMULAS, RBF, SINGLE_UNIT, has_formula, read_formula
from .samples import match_storage_format
from .tiles import open_tile

TILE_ROWS, TILE_COLUMNS = 256, 512  # support vectors and samples of a tile: 512 KB in float32, within the second cache
MAX_DIFFERENCE_FEATURES = 16  # dense features up to which distances from differences are as cheap as from products
MAX_INTEGER_NORM = 2.0**21  # of |x|^2 of integers: then 2 <x, z> - |x|^2 - |z|^2 is below 2^24, exact in float32
MAX_SLACK = 0.025  # error of an exponent, due to one of two samples, beyond which nothing is said
MIN_GAMMA, MAX_GAMMA, MAX_COEFFICIENT = 1e-20, 1e6, 1e25  # within which nothing overflows, or underflows and matters
# roundings of a term, relative to it: eight of the sum of ROUGH_ROWS terms in four parts, one of the weight, four of
# exp (1.41 was measured over all floats from -40 to 0), and a fifth more where exponents are off
TERM_ROUNDINGS = 16.0
EXPONENT_WIDENING = 1.08  # e^t (e^t - 1) / t for t = 2 MAX_SLACK, and a little more
LARGEST_PRODUCT = 0.4  # max s e^-s = 1/e, and the same allowance
LEAST_VALUE = 6e-18  # exp(-40), below which values in float32 do not go, and the same allowance


class SupportTile(NamedTuple):
    """Some support vectors in float32 with weights |a_j|, all of one sign, and the slacks of their exponents."""

    sign: int
    rows: VectorSamples
    weights: np.ndarray
    slacks: np.ndarray


class RoughScores:
    """f_i = sum_j coef_j exp(-gamma |x_i - s_j|^2) for some of the samples, from kernel values in float32."""

    def __init__(self, gamma: float, samples: VectorSamples, support: VectorSamples, coef: np.ndarray):
        self.gamma, self.samples = gamma, samples
        narrow = not samples.sparse and samples.d <= MAX_DIFFERENCE_FEATURES
        numbers = samples.entries[0] if samples.sparse else samples.X
        self.exact = not narrow and samples.largest_norm <= MAX_INTEGER_NORM and holds_integers(numbers)
        self.from_products = not narrow
        # |x_i~ - x_i|, over |x_i|, for samples in float32, and moved ones
        self.rounding = samples.rounding + (0.0 if fits_into_float32(numbers) else SINGLE_UNIT)
        terms = samples.d + 8 if narrow else 4
        self.relative = bound_single_sum(terms) if narrow or self.exact else 0.0
        self.weight, self.count = float(np.abs(coef).sum()) * BOUND_INFLATION, support.n
        self.pulled = float(np.abs(coef) @ support.norm_bounds) * BOUND_INFLATION
        self.tiles = list(self.cut_support(support, coef))

    @property
    def usable(self) -> bool:
        """Whether the bounds hold for these support vectors."""
        bounded = all(float(tile.slacks.max(initial=0.0)) <= MAX_SLACK for tile in self.tiles)
        return bounded and self.weight <= MAX_COEFFICIENT and np.isfinite(self.pulled)

    def cut_support(self, support: VectorSamples, coef: np.ndarray):
        """Support vectors of one sign, those of similar length together, a tile at a time."""
        norms = support.norms
        for sign in (1, -1):
            places = np.flatnonzero(sign * coef > 0)
            places = places[np.argsort(norms[places], kind="stable")]
            for start in range(0, len(places), TILE_ROWS):
                part = places[start : start + TILE_ROWS]
                rows = support.take(part)
                yield SupportTile(sign, rows.to_float32(), np.abs(coef[part]).astype(np.float32), self.slacks(rows))

    def slacks(self, samples: VectorSamples) -> np.ndarray:
        """t with an exponent off by at most t_i + t_j: gamma gamma_{d+16} |x|^2 from products, 0 where those are exact.

        A product has d roundings, of numbers no larger than (|x|^2 + |z|^2) / 2 together. The norms have four, those of
        the rounded samples included, the two sums seven of |x|^2 + |z|^2, and gamma and its product four.
        """
        if not self.from_products or self.exact:
            return np.zeros(samples.n)
        return self.gamma * bound_single_sum(samples.terms + 16) * samples.norm_bounds**2 * BOUND_INFLATION

    def enclose(self, index: np.ndarray) -> Enclosed:
        """The scores of these samples, and a bound on the error of each."""
        found = np.empty((2, len(index)))

        def fill(start: int, stop: int) -> None:
            found[:, start:stop] = self.enclose_strip(self.samples.take(index[start:stop]))

        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            run_strips(fill, len(index), TILE_COLUMNS)
        return Enclosed(found[0], found[1])

    def enclose_strip(self, samples: VectorSamples) -> tuple[np.ndarray, np.ndarray]:
        """The same for a strip of samples, support vectors a tile at a time."""
        from ..compiled.rough_scores import add_exponentials

        columns = match_storage_format(samples, self.tiles[0].rows).to_float32()
        sums, spreads = {1: np.zeros(samples.n), -1: np.zeros(samples.n)}, np.zeros(samples.n)
        norms = columns.norms
        for sign, rows, weights, slacks in self.tiles:
            check_interrupt_within_strip()
            tile = open_tile(rows.n, columns.n, columns.dtype)
            if self.from_products:
                tile, row_norms = rows.dots(columns, tile), rows.norms
            else:
                tile, row_norms = rows.squares(columns, tile), None
            add_exponentials(tile, self.gamma, row_norms, norms, weights, slacks, sums[sign], spreads)
        return sums[1] - sums[-1], self.bound_errors(samples, sums[1] + sums[-1], spreads)

    def bound_errors(self, samples: VectorSamples, size: np.ndarray, spreads: np.ndarray) -> np.ndarray:
        """What a score is off by at most; `size` is the sum of the sizes of its terms."""
        slacks = self.slacks(samples)
        errors = EXPONENT_WIDENING * (slacks * size + spreads)
        errors += (TERM_ROUNDINGS * SINGLE_UNIT + bound_sum(self.count + 16)) * size
        errors += self.weight * (LARGEST_PRODUCT * self.relative + LEAST_VALUE) + 1e-40 * self.count
        slope = np.sqrt(2.0 * self.gamma / np.e)  # the largest of exp(-gamma r^2)
        errors += slope * self.rounding * (samples.norm_bounds * self.weight + self.pulled)
        errors *= 1.0 + 1e-5
        errors[~((slacks <= MAX_SLACK) & np.isfinite(errors))] = np.inf
        return errors


def open_rough_scores(kernel: Kernel, samples, support, coef: np.ndarray) -> RoughScores | None:
    """What evaluates scores in float32 with bounds on their errors; None where no bounds are known, or none hold."""
    if not has_formula(kernel) or read_formula(kernel)[0] != FORMULAS[RBF]:
        return None
    gamma = float(kernel.parameters[0])
    if not MIN_GAMMA <= gamma <= MAX_GAMMA or not np.isfinite(samples.largest_norm) or samples.largest_norm > 1e15:
        return None
    rough = RoughScores(gamma, samples, support, coef)
    return rough if rough.usable else None


def bound_single_sum(terms: float) -> float:
    """gamma_k in float32; infinite where k roundings are more than there are digits."""
    return terms * SINGLE_UNIT / (1.0 - terms * SINGLE_UNIT) if terms * SINGLE_UNIT < 1.0 else np.inf


def holds_integers(numbers: np.ndarray) -> bool:
    """Whether all numbers are integers; most data show at once that they are not."""
    head = numbers[:64]
    return bool((head == np.rint(head)).all()) and bool((numbers == np.rint(numbers)).all())


def fits_into_float32(numbers: np.ndarray) -> bool:
    """Whether all numbers are exact in float32."""
    head = numbers[:64]
    return bool((head == head.astype(np.float32)).all()) and bool((numbers == numbers.astype(np.float32)).all())
