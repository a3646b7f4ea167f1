"""Features behind one protocol: what a problem needs to know of its data.

scores(coef)       f_i = <w, phi(x_i)>
enclose(coef)      the same with a bound on what rounding does to each, in twice the precision if asked
square_norm(coef)  |w|^2
combine(a)         the coefficients of w = sum_i a_i phi(x_i)
block(rows)        K[rows, :]
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import fsum
from typing import NamedTuple

import numpy as np

from ..runtime.interpreter import cached_property
from ..runtime.pace import Pace
from ..runtime.rounding import BOUND_INFLATION, UNIT, Enclosed, Remainder, bound_absolute_sum, bound_sum
from .kernels import FORMULAS, Kernel, Linear, choose_formula
from .samples import Dense, choose_storage_format
from .tiles import SMALL_TILE, count_rows, evaluate_rows, evaluate_scores, evaluate_scores_closely, evaluate_square

MAX_FULL_GRAM_SAMPLES = 2000  # up to this n the whole Gram matrix is formed at once: one BLAS call beats any cache
PACE_SAMPLES = 1024  # samples whose kernel values among each other are timed
PACE_PRODUCT_ENTRIES = 1 << 23  # numbers of a linear product that is timed: more than caches hold
PRODUCTS_PER_CERTIFICATE = 3  # of the data with w or with the duals, in a certificate of a linear machine
PACE_SECONDS = 0.02  # of a measurement: shorter ones see a busy machine between two turns of other programs only
L1_DUAL_LIMIT = 1.0 + 1e-12  # of duals on a feature that counts as 1, its limit with the penalty |w|_1
SINGLE_ROWS_MIN_SAMPLES = 1000  # samples up to which the whole matrix takes no longer than the rows that are needed
SINGLE_ROWS_MAX_FEATURES = 100  # up to which rows are evaluated one at a time although the whole matrix could be formed
FLOAT32_MIN_TOL = 5e-6  # the least tol for which scores kept in float32 are good enough


class Gram:
    """K_ij = k(x_i, x_j) + offset, never formed whole unless small; w lives as coefficients of phi(x_i)."""

    penalty = "l2"
    n_classes: int | None = None  # of features with one w for each class
    linear = False  # whether w itself is held, in the space of the features
    has_kernel_rows = True  # whether `block` gives rows of the kernel matrix
    signed = False  # whether samples come with signs, as those of the nu machines without a free intercept

    def __init__(self, kernel: Kernel, samples, offset: float = 0.0, whole: np.ndarray | None = None):
        self.kernel, self.samples, self.offset = kernel, samples, float(offset)
        self.n = samples.n
        self.whole = whole
        self.segments: list[Segment] | None = None
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
        return cls(kernel, samples if samples.n <= MAX_FULL_GRAM_SAMPLES else choose_storage_format(samples), offset)

    @property
    def small(self) -> bool:
        """Whether the whole matrix may be formed."""
        return self.n <= MAX_FULL_GRAM_SAMPLES

    @property
    def d(self) -> float:
        """The number of features, where samples have any."""
        return getattr(self.samples, "d", np.inf)

    def form(self) -> np.ndarray | None:
        """The whole matrix if n is small, kept for all who ask; else None."""
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

    def measure_pace(self) -> None:
        """Measure the pace of scores on some of the samples and all cores, if that was not done lately."""
        if self.is_quick or not self.pace.is_stale:
            return
        if self.by_weights:
            self.measure_product_pace(-(-self.n * PACE_PRODUCT_ENTRIES // self.samples.size))
        else:
            if self.pace.work == 0.0:  # few first, on one core: a kernel of the user's own may be slow
                self.measure_kernel_pace(PACE_SAMPLES // 8)
            if self.pace.estimate(PACE_SAMPLES**2) < 10 * PACE_SECONDS:
                self.measure_kernel_pace(PACE_SAMPLES)

    def measure_product_pace(self, rows: int) -> None:
        """Time X w over some rows."""
        part = self.samples.take(slice(0, rows))
        w = np.ones(part.d)
        self.pace.sample(lambda: part.project(w), part.size, PACE_SECONDS)

    def measure_kernel_pace(self, rows: int) -> None:
        """Time the kernel values of some rows among each other."""
        part, coef = self.samples.take(slice(0, rows)), np.ones(rows)
        self.pace.sample(lambda: evaluate_scores(self.kernel, part, part, coef), rows**2, PACE_SECONDS)

    def estimate_seconds(self, support: int) -> float:
        """How long a certificate takes with so many nonzero coefficients, at the pace of this run."""
        if self.is_quick:
            return 0.0
        return self.pace.estimate(PRODUCTS_PER_CERTIFICATE * self.samples.size if self.by_weights else self.n * support)

    @property
    def by_weights(self) -> bool:
        """Whether scores are products of the samples with w itself, as those of a linear kernel are."""
        return isinstance(self.kernel, Linear)

    @property
    def is_quick(self) -> bool:
        """Whether scores take next to no time whatever the coefficients."""
        if self.by_weights:
            return self.samples.size < PACE_PRODUCT_ENTRIES
        own = type(self.kernel) in FORMULAS  # else one of the user's, which may be slow
        return self.whole is not None or self.n <= (max(MAX_FULL_GRAM_SAMPLES, PACE_SAMPLES) if own else PACE_SAMPLES)

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

    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """|w|^2 = coef' K coef."""
        return float(coef @ scores)

    def penalty_value(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """R(w) = 1/2 |w|^2, the regulariser."""
        return 0.5 * self.square_norm(coef, scores)

    penalty_conjugate = penalty_value  # its conjugate R*, which is 1/2 |w|^2 too

    # ---- what rounding may do, for the judge ----------------------------------------------------------------

    @cached_property
    def sizes(self) -> np.ndarray:
        """r with |K_ij| <= r_i r_j (Cauchy and Schwarz, where the kernel is positive semidefinite)."""
        return np.sqrt(np.square(self.kernel.sizes(self.samples)) + abs(self.offset)) * (1.0 + 8.0 * UNIT)

    @cached_property
    def largest_size(self) -> float:
        """The largest |phi(x_i)|."""
        return float(self.sizes.max(initial=0.0))

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

    def bound_errors(self, coef: np.ndarray) -> np.ndarray:
        """What rounding may do to each score as `scores` evaluates it: to kernel values, and to their sum.

        A sum of m products is off by gamma_m sum_j |coef_j K_ij| at most (Higham 2002, eq. 3.5), and |K_ij| <= r_i r_j.
        """
        weight, terms = np.abs(coef), np.count_nonzero(coef)
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

    def measure_remainder(
        self, coef: np.ndarray, a: np.ndarray, moved: float, closely: bool = False, drift: float = 0.0
    ) -> Remainder:
        """|w - v|^2 / 2 for v = sum_i a_i phi(x_i), from above.

        So much of the duals as `moved` may go elsewhere, and w may be off by `drift`.
        """
        pulled, apart = self.combine(a), None
        distance, plain = moved * self.largest_size + drift, 0.0
        if coef is not pulled and (coef != pulled).any():
            apart = coef - pulled
            half = self.enclose_penalty(apart, self.enclose(apart, closely))
            distance, plain = distance + float(np.sqrt(2.0 * max(half.high, 0.0))), max(half.value, 0.0)
        if np.size(a) > len(pulled) or apart is not None:  # duals of a sample are added up, with a rounding each
            distance += 2.0 * UNIT * float(np.abs(coef) @ self.sizes + np.abs(pulled) @ self.sizes)
        return Remainder(0.5 * distance * distance * (1.0 + 8.0 * UNIT), plain, distance)

    def bound_penalty_conjugate(self, penalty: float, remainder: Remainder) -> float:
        """R*(v) = |v|^2 / 2, from above: |v| is at most |w| + |w - v|."""
        return 0.5 * (np.sqrt(2.0 * np.maximum(penalty, 0.0)) + remainder.distance) ** 2 * (1.0 + 16.0 * UNIT)

    def subset(self, index: np.ndarray) -> Gram:
        """The Gram matrix of some of the samples; a whole matrix is not evaluated again."""
        part = Gram(self.kernel, self.samples.take(index), self.offset, take_submatrix(self.whole, index))
        part.pace = self.pace
        if "sizes" in self.__dict__:
            part.sizes = self.sizes[index]
        return part

    def pack(self, starts: np.ndarray, exact: bool = True) -> None:
        """Pack the segments [starts_k, starts_k+1) for rows one at a time, if kernel and samples are of that kind.

        In float32 unless `exact`, where the kernel allows it. Few samples with many features have their whole matrix
        formed instead: one product takes less time than the rows that a fit needs.
        """
        if not (type(self.kernel) in FORMULAS and isinstance(self.samples, Dense)):
            return
        if self.small and self.d > SINGLE_ROWS_MAX_FEATURES:
            self.form()
        else:
            half = None if exact else self.kernel.to_float32(self.samples, 0.0)
            samples = self.samples if half is None else half
            _ = samples.norms
            ends = [*starts[1:], self.n]
            self.segments = [Segment.pack(samples.take(slice(a, b))) for a, b in zip(starts, ends, strict=True)]

    def widen_segments(self) -> None:
        """Segments in float64, where there are any."""
        if self.segments is not None:
            ends = np.cumsum([0, *(len(segment.norms) for segment in self.segments)])
            self.segments = [Segment.pack(self.samples.take(slice(a, b))) for a, b in pairwise(ends)]

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
            and self.d <= SINGLE_ROWS_MAX_FEATURES
        ):
            self.pack(np.zeros(1, int))
        if self.segments is None:
            return None
        first, second = self.segments if len(self.segments) == 2 else (self.segments[0], self.segments[0].empty())
        return *self.formula, *first, *second

    @property
    def formula(self) -> tuple[int, float, float, int, float]:
        """Kind, gamma, coef0, degree and offset of the kernel, as `compiled.single_rows` knows them."""
        return *choose_formula(self.kernel, self.samples), self.offset


class Segment(NamedTuple):
    """Samples packed for `compiled.single_rows`: blocks of one vector, feature by feature, and their squared norms."""

    packed: np.ndarray
    norms: np.ndarray

    def empty(self) -> Segment:
        """A segment without samples."""
        return Segment(self.packed[:0], self.norms[:0])

    @classmethod
    def pack(cls, samples: Dense) -> Segment:
        """The samples in blocks of 64 bytes a feature, the last one filled up with zeros."""
        width = 64 // samples.dtype.itemsize
        blocks = -(-samples.n // width)
        rows = np.zeros((blocks * width, samples.d), samples.dtype)
        rows[: samples.n] = samples.X
        packed = rows.reshape(blocks, width, samples.d).transpose(0, 2, 1)
        return cls(np.ascontiguousarray(packed), np.ascontiguousarray(samples.norms))


class Design(Gram):
    """The linear kernel with w itself as coefficients: f = X w + scaling w_0, norm |w|^2 + w_0^2."""

    linear = True

    def __init__(self, samples, scaling: float = 0.0, whole: np.ndarray | None = None):
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

    def measure_drift(self, coef: np.ndarray) -> float:
        """0: w is what users see."""
        return 0.0

    def bound_public_errors(self, coef: np.ndarray, b: float, penalty: float, drift: float) -> float | np.ndarray:
        """What the rounding of intercept_ = b - <w, m> does to every score, where samples were moved by m."""
        away = self.samples.displacement
        return 2.0 * UNIT * (b + float(np.linalg.norm(coef)) * away) if away else 0.0

    def enclose_penalty(self, coef: np.ndarray, scores: Enclosed) -> Enclosed:
        """R(w): a sum of terms of which none is negative, so rounding is relative."""
        penalty = self.penalty_value(coef, scores.value)
        return Enclosed(penalty, bound_sum(np.size(coef) + 8) * penalty)

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


class ClassDesign:
    """One w for each of k classes over the same samples: f_ki = <w_k, x_i> + scaling w_k0, norm sum_k |w_k|^2."""

    penalty = "l2"
    linear = True
    has_kernel_rows = False
    signed = False

    def __init__(self, design: Design, n_classes: int):
        self.design, self.n_classes = design, n_classes
        self.samples, self.scaling, self.kernel, self.n = design.samples, design.scaling, design.kernel, design.n
        self.counters = design.counters

    def combine(self, a: np.ndarray) -> np.ndarray:
        """w_k = sum_i a_ki (x_i, scaling), one row a class."""
        return np.column_stack([self.samples.combine(np.ascontiguousarray(a)), self.scaling * a.sum(axis=1)])

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """f_ki, one row a class."""
        f = self.samples.project(np.ascontiguousarray(coef[:, :-1].T)) + self.scaling * coef[:, -1]
        return np.ascontiguousarray(f.T)

    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """sum_k |w_k|^2."""
        return float(np.sum(coef * coef))

    def penalty_value(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """R(w) = 1/2 sum_k |w_k|^2, the regulariser."""
        return 0.5 * self.square_norm(coef, scores)

    penalty_conjugate = penalty_value  # its conjugate

    def enclose(self, coef: np.ndarray, closely: bool = False) -> Enclosed:
        """f_ki, one row a class, and a bound on the rounding error of each."""
        parts = [self.design.enclose(row, closely) for row in coef]
        return Enclosed(np.stack([part.value for part in parts]), np.stack([part.error for part in parts]))

    measure_drift = Design.measure_drift

    def bound_public_errors(self, coef: np.ndarray, b: float, penalty: float, drift: float) -> float | np.ndarray:
        """What the rounding of intercepts does to every score: those of many classes are seen from their mean."""
        lengths = np.linalg.norm(coef, axis=1)
        return (4.0 * UNIT * (b + lengths * self.samples.displacement))[:, None]

    enclose_penalty = Design.enclose_penalty

    def measure_remainder(
        self, coef: np.ndarray, a: np.ndarray, moved: float, closely: bool = False, drift: float = 0.0
    ) -> Remainder:
        """sum_k |w_k - v_k|^2 / 2, from above."""
        parts = [self.design.measure_remainder(w, row, moved, closely) for w, row in zip(coef, a, strict=True)]
        distance = float(np.linalg.norm([part.distance for part in parts])) * (1.0 + 8.0 * UNIT)
        return Remainder(sum(part.value for part in parts), sum(part.plain for part in parts), distance)

    bound_penalty_conjugate = Gram.bound_penalty_conjugate

    def measure_pace(self) -> None:
        """Measure the pace of a product with the samples, if that was not done lately."""
        self.design.measure_pace()

    def estimate_seconds(self, support: int) -> float:
        """How long a certificate takes: as long as one for each class."""
        return self.n_classes * self.design.estimate_seconds(support)

    def subset(self, index: np.ndarray) -> ClassDesign:
        """The same classes over some of the samples."""
        return ClassDesign(self.design.subset(index), self.n_classes)


class SignedGram:
    """K_kl = s_k s_l k(x_i(k), x_j(l)): the features s_k phi(x_i(k)), over a Gram matrix that is never doubled."""

    penalty = "l2"
    n_classes: int | None = None
    linear = False
    has_kernel_rows = True
    signed = True

    def __init__(self, gram: Gram, index: np.ndarray, sign: np.ndarray):
        self.gram, self.index, self.sign = gram, index, sign
        self.kernel, self.n, self.whole, self.counters = gram.kernel, len(index), None, gram.counters

    @property
    def small(self) -> bool:
        """Whether the whole matrix may be formed."""
        return self.n <= MAX_FULL_GRAM_SAMPLES

    def form(self) -> np.ndarray | None:
        """The whole matrix if n is small, else None."""
        if self.whole is None and self.small and self.gram.form() is not None:
            self.whole = self.block(np.arange(self.n))
        return self.whole

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """K[rows, columns]."""
        self.counters["rows"] += len(rows)
        return self.evaluate(rows, columns)

    def evaluate(self, rows: np.ndarray, columns: np.ndarray | slice | None) -> np.ndarray:
        """K[rows, columns], evaluated and not counted."""
        columns = np.arange(self.n)[slice(None) if columns is None else columns]
        samples, place = np.unique(self.index[columns], return_inverse=True)
        evaluate = self.gram.block if self.gram.whole is not None else self.gram.evaluate
        K = evaluate(self.index[rows], None if len(samples) == self.gram.n else samples)[:, place]
        return np.multiply(K, self.sign[rows][:, None] * self.sign[columns], order="C")

    @property
    def diagonal(self) -> np.ndarray:
        """K_kk."""
        return self.gram.diagonal[self.index]

    @property
    def cost(self) -> float:
        """Nanoseconds of a kernel value on one core, in float32."""
        return self.gram.cost

    def measure_pace(self) -> None:
        """Measure the pace of scores, if that was not done lately."""
        self.gram.measure_pace()

    def estimate_seconds(self, support: int) -> float:
        """How long a certificate takes with so many nonzero coefficients, at the pace of this run."""
        return self.gram.estimate_seconds(min(support, self.gram.n))

    def combine(self, a: np.ndarray) -> np.ndarray:
        """The coefficients of w = sum_k a_k s_k phi(x_i(k)) over the samples of the Gram matrix."""
        return np.bincount(self.index, weights=self.sign * np.ravel(a), minlength=self.gram.n)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """f_k = s_k <w, phi(x_i(k))>."""
        return self.sign * self.gram.scores(coef)[self.index]

    penalty_value = penalty_conjugate = Gram.penalty_value
    measure_remainder, bound_penalty_conjugate = Gram.measure_remainder, Gram.bound_penalty_conjugate

    def bound_public_errors(self, coef: np.ndarray, b: float, penalty: float, drift: float) -> float | np.ndarray:
        """How far the machine that users see may be from the one that is judged, in units of the score."""
        errors = self.gram.bound_public_errors(coef, b, penalty, drift)
        return errors[self.index] if np.ndim(errors) else errors

    def measure_drift(self, coef: np.ndarray) -> float:
        """By which w changes where samples were moved and coefficients do not sum to zero exactly."""
        return self.gram.measure_drift(coef)

    @property
    def largest_size(self) -> float:
        """The largest |phi(x_i)|."""
        return self.gram.largest_size

    @property
    def sizes(self) -> np.ndarray:
        """r with |K_ij| <= r_i r_j, of the samples of the Gram matrix: that is what coefficients belong to."""
        return self.gram.sizes

    def enclose(self, coef: np.ndarray, closely: bool = False) -> Enclosed:
        """f_k = s_k <w, phi(x_i(k))>, and a bound on the rounding error of each."""
        scores = self.gram.enclose(coef, closely)
        return Enclosed(self.sign * scores.value[self.index], scores.error[self.index])

    def enclose_penalty(self, coef: np.ndarray, scores: Enclosed) -> Enclosed:
        """R(w) = coef' K coef / 2, from the scores of coef."""
        first = self.first
        return self.gram.enclose_penalty(coef, Enclosed((self.sign * scores.value)[first], scores.error[first]))

    @cached_property
    def first(self) -> np.ndarray:
        """A variable of each sample."""
        first = np.full(self.gram.n, -1)
        first[self.index] = np.arange(self.n)
        return first

    def square_norm(self, coef: np.ndarray, scores: np.ndarray) -> float:
        """|w|^2 = coef' K coef."""
        return float(coef @ (self.sign * scores)[self.first])

    def subset(self, keep: np.ndarray) -> SignedGram:
        """The features of some of the variables."""
        samples, place = np.unique(self.index[keep], return_inverse=True)
        part = SignedGram(self.gram.subset(samples), place, self.sign[keep])
        part.whole = take_submatrix(self.whole, keep)
        return part


def take_submatrix(whole: np.ndarray | None, index: np.ndarray) -> np.ndarray | None:
    """whole[index, index]; by blocks where the index is a few runs, which is five times faster."""
    if whole is None:
        return None
    breaks = np.flatnonzero(np.diff(index) != 1) + 1
    if len(breaks) > 3:
        return whole[np.ix_(index, index)]
    starts, stops = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(index)]])
    part = np.empty((len(index), len(index)))
    for r, s in zip(starts, stops, strict=True):
        for k, m in zip(starts, stops, strict=True):
            part[r:s, k:m] = whole[index[r] : index[s - 1] + 1, index[k] : index[m - 1] + 1]
    return part
