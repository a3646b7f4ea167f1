"""The Gram matrix of a kernel over samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum, sqrt

import numpy as np

from ...contracts.kernels import Kernel
from ...contracts.samples import Samples
from ...runtime.interpreter import cached_property
from ...runtime.pace import Pace
from ...runtime.rounding import BOUND_INFLATION, UNIT, Enclosed, Remainder, bound_sum
from ..kernels import choose_formula, has_formula
from ..samples import choose_storage_format, convert_to_dense
from ..tiles import SMALL_TILE, count_rows, evaluate_rows, evaluate_scores, evaluate_scores_closely, evaluate_square
from .needed_scores import enclose_where_needed
from .segments import Segments
from .submatrix import take_submatrix
from .timing import PACE_SAMPLES, TimedMatrix

MAX_FULL_GRAM_SAMPLES = 2000  # up to this n the whole Gram matrix is formed at once: one BLAS call beats any cache
SINGLE_ROWS_MIN_SAMPLES = 1000  # samples up to which the whole matrix takes no longer than the rows that are needed
SINGLE_ROWS_MAX_FEATURES = 100  # up to which rows are evaluated one at a time although the whole matrix could be formed
# of a small sparse matrix, up to which it is solved as a dense one: in the same steps, with the same digits
MAX_DENSE_ENTRIES = 1 << 19
FLOAT32_MIN_TOL = 5e-6  # the least tol for which scores kept in float32 are good enough


def is_small(n: int) -> bool:
    """Whether the whole matrix of n samples may be formed."""
    return n <= MAX_FULL_GRAM_SAMPLES


class Gram(TimedMatrix):
    """K_ij = k(x_i, x_j) + offset, never formed whole unless small; w lives as coefficients of phi(x_i).

    The constant feature of a regularised intercept adds its square, the offset, to every kernel value.
    """

    def __init__(self, kernel: Kernel, samples: Samples, offset: float = 0.0, whole: np.ndarray | None = None):
        self.kernel, self.samples, self.offset = kernel, samples, float(offset)
        self.scaling = float(np.sqrt(offset)) if offset > 0 else 0.0
        self.n = samples.n
        self.whole = whole
        self.segments: Segments | list | None = None
        self.counters: Counter = Counter()
        self.pace = Pace()

    @classmethod
    def from_data(
        cls,
        kernel: Kernel,
        X,
        offset: float = 0.0,
        weight: np.ndarray | None = None,
        translation_invariant: bool = False,
    ) -> Gram:
        """Bind the kernel to the training data X and lay the Gram matrix over it.

        `translation_invariant` says that the data may be moved before the fit, as `Formulation.translation_invariant`
        does.
        """
        kernel = kernel.bind(X, weight)
        kernel = kernel.centre(X) if translation_invariant else kernel
        samples = kernel.samples(X)
        if not is_small(samples.n):
            samples = choose_storage_format(samples)
        elif samples.sparse and samples.n * samples.d <= MAX_DENSE_ENTRIES:
            samples = convert_to_dense(samples)
        return cls(kernel, samples, offset)

    @property
    def small(self) -> bool:
        """Whether the whole matrix may be formed."""
        return is_small(self.n)

    def form(self) -> np.ndarray | None:
        """The whole matrix if n is small, formed once and kept; else None."""
        if self.whole is None and self.small:
            self.counters["rows"] += self.n
            self.whole = evaluate_square(self.kernel, self.samples)
            if self.offset:
                self.whole += self.offset
        return self.whole

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """K[rows, columns]."""
        if self.whole is not None:
            return self.whole[rows] if columns is None else self.whole[np.ix_(rows, columns)]
        self.counters["rows"] += len(rows)
        return self.evaluate(rows, columns)

    def evaluate(self, rows: np.ndarray, columns: np.ndarray | slice | None) -> np.ndarray:
        """K[rows, columns], evaluated and not counted."""
        others = self.samples if columns is None else self.samples.take(columns)
        K = evaluate_rows(self.kernel, self.samples.take(rows), others)
        if self.offset:
            K += self.offset
        return K

    @cached_property
    def diagonal(self) -> np.ndarray:
        """K_ii."""
        return self.kernel.diagonal(self.samples) + self.offset

    @cached_property
    def cost(self) -> float:
        """Nanoseconds of a kernel value on one core, in float32."""
        return self.kernel.cost(self.samples)

    @property
    def by_weights(self) -> bool:
        """Whether scores are products of the samples with w itself, as those of a linear kernel are."""
        return self.kernel.linear

    def combine(self, a: np.ndarray) -> np.ndarray:
        """The coefficients of w = sum_i a_i phi(x_i): a itself, its layers added up."""
        return a if a.ndim == 1 else a.sum(axis=0)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """f = K coef, in tiles of bounded memory, touching only the columns with coef != 0."""
        if self.whole is not None:
            return self.whole @ coef
        support = np.flatnonzero(coef)
        if self.by_weights:
            w = self.samples.combine(coef)
            return self.samples.project(w) + self.offset * coef.sum()
        if len(support) == 0:
            return np.zeros(self.n)
        with self.pace.measure(self.n * len(support) if len(support) >= PACE_SAMPLES else 0):
            scores = evaluate_scores(self.kernel, self.samples, self.samples.take(support), coef[support])
        return scores + self.offset * coef.sum()

    def scores_of(self, coef: np.ndarray, index: np.ndarray) -> np.ndarray:
        """(K coef)_i of some of the samples, without a look at the others."""
        if self.by_weights or self.whole is not None:
            return super().scores_of(coef, index)
        support = np.flatnonzero(coef)
        scores = evaluate_scores(self.kernel, self.samples.take(index), self.samples.take(support), coef[support])
        return scores + self.offset * coef.sum()

    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """|w|^2 = coef' K coef."""
        return float(coef @ scores)

    # ---- what rounding may do, for the judge ----------------------------------------------------------------

    @cached_property
    def sizes(self) -> np.ndarray:
        """r with |K_ij| <= r_i r_j (Cauchy and Schwarz, where the kernel is positive semidefinite)."""
        return np.sqrt(np.square(self.kernel.sizes(self.samples)) + abs(self.offset)) * (1.0 + 8.0 * UNIT)

    @cached_property
    def largest_size(self) -> float:
        """The largest |phi(x_i)|."""
        if "sizes" in self.__dict__:
            return float(self.sizes.max(initial=0.0))
        return sqrt(self.kernel.bound_size(self.samples) ** 2 + abs(self.offset)) * (1.0 + 8.0 * UNIT)

    def enclose(self, coef: np.ndarray, closely: bool = False) -> Enclosed:
        """f = K coef, and a bound on the rounding error of each; `closely` as if in twice the precision."""
        if self.by_weights:
            return self.enclose_products(coef, closely)
        if not closely:
            return Enclosed(self.scores(coef), self.bound_errors(coef))
        support = np.flatnonzero(coef)
        if len(support) == 0:
            return Enclosed(np.zeros(self.n), np.zeros(self.n))
        part, kept = self.samples.take(support), coef[support]
        return self.add_offset(kept, *evaluate_scores_closely(self.kernel, self.samples, part, kept))

    def enclose_where_needed(self, coef: np.ndarray, settles: Callable) -> tuple[Enclosed, np.ndarray] | None:
        """As `enclose`; scores in float32 where their bounds are close enough."""
        if self.by_weights or self.whole is not None:
            return None
        return enclose_where_needed(self, coef, settles)

    def enclose_products(self, coef: np.ndarray, closely: bool) -> Enclosed:
        """f = X w for w = sum_i coef_i x_i, and a bound on the rounding error of each.

        Large coefficients of either sign may cancel in w: it is always summed as if in twice the precision, which takes
        no longer. Products with it are then off by gamma_d |x_i| |w|, or by next to nothing if evaluated closely.
        """
        high, low, error = self.samples.combine_closely(coef)
        scores, errors = self.enclose_weighted(high, closely, low)
        return self.add_offset(coef, scores, errors + error * self.sizes)

    def enclose_weighted(self, w: np.ndarray, closely: bool = False, low: np.ndarray | float = 0.0) -> Enclosed:
        """f = X (w + low) for a given w, and a bound on the rounding error of each; for a linear kernel."""
        if closely:
            scores, rest, errors = self.samples.project_closely(w, np.broadcast_to(low, w.shape).copy())
            scores = scores + rest
            return Enclosed(scores, errors + UNIT * np.abs(scores))
        length = float(np.linalg.norm(w))
        errors = (bound_sum(self.samples.terms + 8) * length + float(np.linalg.norm(low))) * self.sizes
        return Enclosed(self.samples.project(w), errors)

    def measure_distance(self, w: np.ndarray, a: np.ndarray, moved: float) -> Remainder:
        """|w - v|^2 / 2 for a given w and v = sum_i a_i x_i, from above; `moved` as in `measure_remainder`.

        v is known as high + low, and w - high - low is off by three roundings of what is subtracted.
        """
        high, low, error = self.samples.combine_closely(a)
        apart = float(np.linalg.norm((w - high) - low)) * (1.0 + bound_sum(len(w) + 8))
        lengths = float(np.linalg.norm(w) + np.linalg.norm(high) + np.linalg.norm(low))
        distance = apart + error + 4.0 * UNIT * lengths + moved * self.largest_size
        return Remainder(0.5 * distance * distance * (1.0 + 8.0 * UNIT), 0.5 * apart * apart, distance)

    def add_offset(self, coef: np.ndarray, scores: np.ndarray, errors: np.ndarray) -> Enclosed:
        """The scores of a kernel with `offset` added to each value."""
        if self.offset:
            constant = self.offset * fsum(coef)
            scores, errors = scores + constant, errors + UNIT * (np.abs(scores) + 3.0 * abs(constant))
        return Enclosed(scores, errors)

    def bound_errors(self, coef: np.ndarray, terms: float | None = None) -> np.ndarray:
        """What rounding may do to each score as `scores` evaluates it: to kernel values, and to their sum of m terms.

        A sum of m products is off by gamma_m sum_j |coef_j K_ij| at most (Higham 2002, eq. 3.5), and |K_ij| <= r_i r_j.
        """
        weight = np.abs(coef)
        if terms is None:
            terms = np.count_nonzero(coef)
            terms = terms if self.whole is not None else self.count_terms(terms)
        errors = self.kernel.bound_value_errors(self.samples, self.samples, weight)  # zeros add nothing
        errors += bound_sum(terms + 8) * float(weight @ self.sizes) * self.sizes
        return errors

    def count_terms(self, support: int) -> float:
        """Additions in a row behind one score: of a tile, and of the tiles."""
        rows = count_rows(self.samples)
        return min(support, max(rows + support / rows, SMALL_TILE / max(self.n, 1)))

    def bound_public_errors(self, coef: np.ndarray, b: float, penalty: float, drift: float) -> float | np.ndarray:
        """How far the machine that users see may be from the one that is judged, in units of the score.

        Its f(x) = <w, x> + intercept_ has w and intercept_ = b - <w, m> rounded, where samples were moved by m. Its
        coefficients sum to some d instead of zero, and in place of w it has w + d m; `drift` is |d m|.
        """
        if not self.by_weights:
            return 0.0
        away, length = self.samples.displacement, np.sqrt(2.0 * max(penalty, 0.0))
        rounded = 2.0 * UNIT * (length + drift) * (self.sizes + 2.0 * away)
        return rounded + drift * self.sizes + (2.0 * UNIT * b if away else 0.0)

    def measure_drift(self, coef: np.ndarray) -> float:
        """|d m|, by which w changes where samples were moved by m and coefficients sum to d instead of zero."""
        away = self.samples.displacement if self.by_weights else 0.0
        return abs(fsum(coef)) * (1.0 + UNIT) * away if away else 0.0

    def enclose_penalty(self, coef: np.ndarray, scores: Enclosed) -> Enclosed:
        """R(w) = coef' K coef / 2, from the scores of coef."""
        half, sizes = 0.5 * self.square_norm(coef, scores.value), np.abs(coef)
        rounded = bound_sum(np.count_nonzero(coef) + 8) * float(sizes @ np.abs(scores.value))
        return Enclosed(half, 0.5 * BOUND_INFLATION * (float(sizes @ scores.error) + rounded))

    def subset(self, index: np.ndarray) -> Gram:
        """The Gram matrix of some of the samples; a whole matrix is not evaluated again."""
        part = Gram(self.kernel, self.samples.take(index), self.offset, take_submatrix(self.whole, index))
        part.pace = self.pace
        if "sizes" in self.__dict__:
            part.sizes = self.sizes[index]
        return part

    def pack(self, starts: Sequence[int], exact: bool = True) -> Gram:
        """The same matrix with segments [starts_k, starts_k+1) packed for rows one at a time, if it is of that kind.

        In float32 unless `exact`, where the kernel allows it. Few samples with many features have their whole matrix
        formed instead: one product takes less time than the rows that a fit needs.
        """
        if not has_formula(self.kernel) or self.samples.sparse:
            return self
        if self.small and self.samples.d > SINGLE_ROWS_MAX_FEATURES:
            self.form()
            return self
        half = None if exact else self.kernel.to_float32(self.samples, 0.0)
        samples = self.samples if half is None else half
        _ = samples.norms
        return self.with_segments(Segments(samples, [*starts, self.n]))

    def with_segments(self, segments: Segments) -> Gram:
        """The same matrix over the same samples, with these segments."""
        packed = Gram.__new__(Gram)
        packed.__dict__.update(self.__dict__, segments=segments)
        return packed

    def widen_segments(self) -> Gram:
        """The same matrix with segments in float64, where there are any."""
        if self.segments is None:
            return self
        ends = np.cumsum([0, *(len(segment.norms) for segment in self.segments)])
        return self.with_segments(Segments(self.samples, ends))

    def join(self, first: int, second: int, index: np.ndarray) -> Gram:
        """The Gram matrix of two segments, which are the samples of the index."""
        part = self.subset(index)
        if self.segments is not None:
            part.segments = [self.segments[first], self.segments[second]]
        return part

    def source(self) -> tuple | None:
        """What `compiled.single_rows` evaluates rows from; None if rows must be fetched, or are all there."""
        if (
            self.segments is None
            and self.whole is None
            and SINGLE_ROWS_MIN_SAMPLES < self.n <= MAX_FULL_GRAM_SAMPLES
            and self.samples.d <= SINGLE_ROWS_MAX_FEATURES
        ):
            self.segments = self.pack([0]).segments  # kept, as the whole matrix would be
        if self.segments is None:
            return None
        first, second = self.segments if len(self.segments) == 2 else (self.segments[0], self.segments[0].empty())
        return *self.formula, *first, *second

    @property
    def formula(self) -> tuple[int, float, float, int, float]:
        """Kind, gamma, coef0, degree and offset of the kernel, as `compiled.single_rows` knows them."""
        return *choose_formula(self.kernel, self.samples), self.offset
