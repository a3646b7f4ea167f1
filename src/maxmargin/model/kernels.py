"""Kernels k(x, z): one short class per formula. `bind(X)` fixes data-dependent parameters from the training data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ..runtime.interruptible import check_interrupt
from ..runtime.rounding import BOUND_INFLATION, UNIT, bound_sum
from .samples import TILE_ENTRIES, Dense, PrecomputedRows, Sparse, mark_moved, wrap

Samples = Dense | Sparse | PrecomputedRows
FLOAT32_MAX_ERROR = 1e-4  # relative error of a kernel value that the exact refresh of the scores can take up
# of the samples must be that safe; what the others spoil the judge sees, and the run goes on in float64
FLOAT32_SAFE_SAMPLE_SHARE = 0.99
SINGLE_UNIT = 2.0**-24  # rounding error of float32
TINY = float(np.finfo(float).tiny)
MAX_FLOAT = float(np.finfo(float).max)
VARIANCE_ROUNDING = 1e-10  # of the size of its terms: a smaller difference is rounding
MAX_EXPONENT_ERROR = 4e-9  # error of an exponent above which it is formed from differences, not from norms and products
EXP_RELATIVE_ERROR = 4.0 * UNIT  # error of exp in float64, relative: `exp_nonpositive` was measured to be within 1.5 u
EXP_UNDERFLOW_BOUND = 1e-130  # more than exp(-300), below which `exp_nonpositive` does not go
TANH_ERROR = 8.0 * UNIT  # error of tanh in float64
SPREAD_CHECK_SAMPLES = 256  # samples among which the spread of the kernel is looked at
# of the mean of |x|^2 that |m|^2 must be, m the mean of the samples, for them to be moved there
SHIFT_MIN_MEAN_SHARE = 0.99
SPREAD_MAX_MEAN_SHARE = 0.8  # the same share for a few samples: below it the others are not looked at


def list_entries(X, weight: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows that hold every entry of X once, a tile of them at a time, and how often each of these rows counts."""
    if sp.issparse(X):
        samples = wrap(X)
        stored = np.diff(samples.indptr)
        step = max(1, TILE_ENTRIES // 4 * samples.n // max(len(samples.data), 1))
        for k in range(0, samples.n, step):
            begin, end = samples.indptr[k], samples.indptr[min(k + step, samples.n)]
            yield samples.data[begin:end, None], np.repeat(weight[k : k + step], stored[k : k + step])
        yield np.zeros((1, 1)), np.array([weight @ (samples.d - stored)])
    else:
        step = max(1, TILE_ENTRIES // 4 // X.shape[1])
        for k in range(0, X.shape[0], step):
            yield X[k : k + step], weight[k : k + step]


def measure_variance(X, weight: np.ndarray | None = None) -> float:
    """Var(X) over all entries, each row counted as often as its weight says; 0 where all entries are equal.

    The mean of (x - m)^2 less the square of the mean of x - m, which are exact to the last digits for every m near the
    mean of X. A difference of E(x^2) and E(x)^2 would have none left where data lie far from zero, and with m alone, a
    rounded number, data that are all equal would vary.
    """
    weight = np.ones(X.shape[0]) if weight is None else weight / weight.max()  # equal ones are ones
    count = float(weight.sum()) * X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        centre = sum(float(w @ rows.sum(axis=1, dtype=np.float64)) for rows, w in list_entries(X, weight)) / count
        away, square = 0.0, 0.0
        for rows, w in list_entries(X, weight):
            apart = np.subtract(rows, centre, dtype=np.float64)
            away += float(w @ apart.sum(axis=1)) / count
            square += float(w @ np.einsum("ij,ij->i", apart, apart)) / count
    if not np.isfinite(square):
        return np.inf
    return square - away**2 if square - away**2 > VARIANCE_ROUNDING * square else 0.0


def resolve_gamma(gamma: float | str, X, weight: np.ndarray | None = None) -> float:
    """'scale' -> 1/(d Var(X)), 'auto' -> 1/d, a number -> itself.

    The variance counts each row as often as its weight, so that weight 2 equals the row twice.
    """
    if gamma == "scale":
        variance = measure_variance(X, weight)
        return min(1.0 / (X.shape[1] * variance), MAX_FLOAT) if variance != 0.0 else 1.0
    if gamma == "auto":
        return 1.0 / X.shape[1]
    return float(gamma)


def find_shift(X) -> np.ndarray | None:
    """The mean m of the samples where |m|^2 > FAR times the mean of |x|^2, so that they lie far from the origin.

    Of sparse samples the mean of those features of which every sample has an entry, and 0 for the others: without these
    features no zero becomes a number. None where the samples need not, or cannot, be moved.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            samples = wrap(X)
            if (mean := average_full_features(samples)) is None:
                return None
            square = samples.norms.mean()
        elif is_spread_out(X[:: max(1, len(X) // SPREAD_CHECK_SAMPLES)]):
            return None
        else:
            mean, square = X.mean(axis=0, dtype=np.float64), np.einsum("ij,ij->", X, X, dtype=np.float64) / len(X)
        far = mean @ mean
        return mean if far > SHIFT_MIN_MEAN_SHARE * square and np.isfinite(far) else None


def is_spread_out(X: np.ndarray) -> bool:
    """Whether |m|^2 <= NEAR times the mean of |x|^2, of a few samples: then all of them need not be looked at."""
    mean = X.mean(axis=0, dtype=np.float64)
    return bool(mean @ mean <= SPREAD_MAX_MEAN_SHARE * np.einsum("ij,ij->", X, X, dtype=np.float64) / len(X))


def average_full_features(samples: Sparse) -> np.ndarray | None:
    """The mean of each feature of which every sample has an entry, 0 for the others; None where there is none."""
    full = samples.take(slice(0, 1)).X.indices
    for k in range(
        0, samples.n, max(1, samples.n // SPREAD_CHECK_SAMPLES)
    ):  # of most data no feature passes a few of these
        full = np.intersect1d(full, samples.take(slice(k, k + 1)).X.indices)
        if not len(full):
            return None
    X = samples.X
    place = np.minimum(np.searchsorted(full, X.indices), len(full) - 1)
    inside = full[place] == X.indices
    kept = np.bincount(place[inside], minlength=len(full)) == samples.n
    mean = np.zeros(samples.d)
    sums = np.bincount(place[inside], weights=X.data[inside], minlength=len(full))
    mean[full[kept]] = sums[kept] / samples.n
    return mean if kept.any() else None


def translate(X, shift: np.ndarray | None):
    """x_i - shift; X itself where there is no shift. Sparse samples stay sparse."""
    if shift is None or not sp.issparse(X):
        return X if shift is None else X - shift
    samples = wrap(X)
    X, moved = samples.X, np.flatnonzero(shift)
    away = shift[X.indices]
    if np.count_nonzero(away) == samples.n * len(moved):  # every sample has an entry of every feature that moves
        return sp.csr_array((X.data - away, X.indices, X.indptr), X.shape)
    row = sp.csr_array((shift[moved], moved, [0, len(moved)]), (1, samples.d))
    return sp.csr_array(X - sp.csr_array(np.ones((samples.n, 1))) @ row)


def add_shift_product(b: np.ndarray, w, shift: np.ndarray) -> np.ndarray:
    """b + <w, shift> for each row of w, dense or sparse, rounded once."""
    moved = np.flatnonzero(shift)
    rows = w[:, moved].toarray() if sp.issparse(w) else np.atleast_2d(w)[:, moved]
    b, rows = np.broadcast_to(np.ravel(b), len(rows)), np.asarray(rows, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        products, errors = two_product(rows, shift[moved])
        plain = b + products.sum(axis=1)
    if not (np.isfinite(plain).all() and np.isfinite(errors).all()):
        return plain
    return np.array([math.fsum((each, *p, *e)) for each, p, e in zip(b, products, errors, strict=True)])


def two_product(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The products a b as sums p + e of two numbers, p being rounded and e what rounding took away (Dekker 1971)."""
    p = A * B
    (a, a_rest), (b, b_rest) = (split_mantissa(each) for each in (A, B))
    return p, a_rest * b_rest - (((p - a * b) - a_rest * b) - a * b_rest)


def split_mantissa(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A as the sum of two numbers of 26 digits each (Veltkamp 1968)."""
    upper_quantile = 134217729.0 * A  # 2^27 + 1
    high = upper_quantile - (upper_quantile - A)
    return high, A - high


def is_nonnegative(gamma: float | str) -> bool:
    """Whether gamma is a number >= 0, or a rule that gives one."""
    return isinstance(gamma, str) or gamma >= 0


@dataclass(frozen=True)
class Kernel:
    """k(x, z). `psd` is True where the formula is positive semidefinite for all data, None where that is not known."""

    name: ClassVar[str]
    psd: ClassVar[bool | None] = None

    def bind(self, X, weight: np.ndarray | None = None) -> Kernel:
        """This kernel with every parameter a number, chosen from the training data X."""
        return self

    def centre(self, X) -> Kernel:
        """This kernel, seen from the mean of the training data X where they lie far out and only b changes by that."""
        return self

    def samples(self, X) -> Samples:
        """X as this kernel wants to see it."""
        return wrap(X)

    def evaluate(self, A: Samples, B: Samples) -> np.ndarray:
        """K_ij = k(a_i, b_j) in the precision of the samples."""
        raise NotImplementedError

    def write(self, A: Samples, B: Samples, out: np.ndarray) -> np.ndarray:
        """K_ij = k(a_i, b_j), into a tile that is used again and again."""
        out[:] = self.evaluate(A, B)
        return out

    def diagonal(self, A: Samples) -> np.ndarray:
        """k(a_i, a_i)."""
        raise NotImplementedError

    @property
    def parameters(self) -> tuple[float, float, int]:
        """gamma, coef0 and degree, as far as the formula has them."""
        return 0.0, 0.0, 0

    def sizes(self, samples: Samples) -> np.ndarray:
        """r with |k(x_i, x_j)| <= r_i r_j for all samples: sqrt(k(x_i, x_i)), by Cauchy and Schwarz.

        For a kernel that is not known to be positive semidefinite, the root of the largest |k(x_i, x_j)|, which takes a
        pass over all of them. One that knows a bound gives it here instead.
        """
        if self.psd:
            return np.sqrt(np.maximum(self.diagonal(samples), 0.0)) * BOUND_INFLATION
        largest, step = 0.0, max(1, TILE_ENTRIES // max(samples.n, 1))
        for start in range(0, samples.n, step):
            check_interrupt()
            K = self.evaluate(samples.take(slice(start, start + step)), samples)
            largest = max(largest, float(np.abs(K).max(initial=0.0)))
        return np.full(samples.n, np.sqrt(largest) * BOUND_INFLATION)

    def bound_value_errors(self, samples: Samples, support: Samples, coef: np.ndarray) -> np.ndarray:
        """Bounds on sum_j |coef_j| |fl k(x_i, s_j) - k(x_i, s_j)| for values in float64, whatever the order of sums.

        From sizes of samples alone, without a kernel value. Zero here: the values as evaluated are the kernel.
        """
        return np.zeros(samples.n)

    def cost(self, samples: Samples) -> float:
        """Nanoseconds of a kernel value on one core in float32; in float64 twice as many."""
        if isinstance(samples, Sparse):
            return 0.8 + len(samples.data) / max(samples.n, 1) / 30.0
        return 0.8 + samples.d / 50.0

    def bound_rounding(self, samples: Samples) -> float:
        """A bound on the error of a kernel value that is evaluated in float32."""
        return np.inf

    def bound_relative_rounding(self, samples: Samples) -> float:
        """The same, over the size of the differences between kernel values that matter."""
        return self.bound_rounding(samples)

    def to_float32(self, samples: Samples, megabytes: float = np.inf) -> Samples | None:
        """The samples for evaluation in float32 with an error below SAFE, or None if that cannot be had."""
        if not isinstance(samples, Dense | Sparse) or not samples.n:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            return samples.to_float32(megabytes) if self.bound_relative_rounding(samples) < FLOAT32_MAX_ERROR else None

    def __call__(self, A, B=None) -> np.ndarray:
        """K_ij = k(a_i, b_j) for two matrices of samples."""
        A = self.samples(A)
        return self.evaluate(A, A if B is None else self.samples(B))


class Formula(Kernel):
    """A kernel that is evaluated in place: `evaluate` takes the tile to write into."""

    psd: ClassVar[bool | None] = True

    def write(self, A, B, out):
        """K_ij = k(a_i, b_j), without a copy."""
        return self.evaluate(A, B, out)


@dataclass(frozen=True)
class Linear(Formula):
    """<x - shift, z - shift>, where there is a shift; else <x, z>.

    With duals that sum to zero the shift changes b alone: sum_j a_j <x_j - m, x - m> = <w, x> - <w, m>. Products of
    samples far from the origin have no digits left for their differences, so it is taken where a machine allows it.
    """

    shift: np.ndarray | None = None
    name = "linear"

    def centre(self, X):
        """The mean of X as the shift, if they lie far from the origin."""
        return replace(self, shift=find_shift(X))

    def samples(self, X):
        """X, moved by the shift."""
        return mark_moved(wrap(translate(X, self.shift)), self.shift)

    def move_to_origin(self, w, b: np.ndarray) -> np.ndarray:
        """b - <w, shift>: with <w, x> in place of <w, x - shift>; w has a row for each b."""
        return b if self.shift is None else add_shift_product(b, w, -self.shift)

    def move_to_shift(self, w, b: np.ndarray) -> np.ndarray:
        """b + <w, shift>: with <w, x - shift> in place of <w, x>."""
        return b if self.shift is None else add_shift_product(b, w, self.shift)

    def evaluate(self, A, B, out=None):
        """<a_i, b_j>."""
        return A.dots(B, out)

    def sizes(self, samples):
        """|x_i|."""
        return samples.norm_bounds

    def bound_value_errors(self, samples, support, coef):
        """gamma_{d+6} |x_i| sum_j |coef_j| |s_j|: d products and sums (Higham 2002, section 3.1), moved samples too."""
        return bound_products(samples, support, coef)

    def bound_rounding(self, samples):
        """8 u |x|^2."""
        return 8.0 * SINGLE_UNIT * upper_quantile(samples.norms)

    def bound_relative_rounding(self, samples):
        """8 u |x|^2 over the mean of |x - z|^2 / 2: products of samples far from the origin hide their distances."""
        return self.bound_rounding(samples) / measure_spread(samples)

    def diagonal(self, A):
        """|a_i|^2."""
        return A.norms.copy()


@dataclass(frozen=True)
class Polynomial(Formula):
    """(gamma <x, z> + coef0)^degree."""

    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    name = "poly"

    @property
    def psd(self):
        """With gamma, coef0 >= 0 the expansion has nonnegative coefficients, hence is positive semidefinite."""
        return True if self.coef0 >= 0 and is_nonnegative(self.gamma) else None

    def bind(self, X, weight=None):
        """gamma as a number."""
        return replace(self, gamma=resolve_gamma(self.gamma, X, weight))

    def _raise(self, dots: np.ndarray) -> np.ndarray:
        """(gamma dots + coef0)^degree in place by repeated squaring: numpy's power costs 20 times more."""
        dots *= self.gamma
        dots += self.coef0
        if self.degree == 0:
            dots[:] = 1.0
            return dots
        base = dots.copy()
        for bit in bin(self.degree)[3:]:
            np.multiply(dots, dots, out=dots)
            if bit == "1":
                np.multiply(dots, base, out=dots)
        return dots

    def evaluate(self, A, B, out=None):
        """(gamma <a_i, b_j> + coef0)^degree."""
        with np.errstate(over="ignore"):
            return self._raise(A.dots(B, out))

    @property
    def parameters(self):
        """gamma, coef0 and degree."""
        return float(self.gamma), float(self.coef0), int(self.degree)

    def sizes(self, samples):
        """(|gamma| |x_i|^2 + |coef0|)^(degree / 2), whatever the signs of gamma and coef0."""
        with np.errstate(over="ignore"):
            return (abs(self.gamma) * samples.norm_bounds**2 + abs(self.coef0)) ** (0.5 * self.degree) * BOUND_INFLATION

    def bound_value_errors(self, samples, support, coef):
        """gamma_{p (d+6)} r_i sum_j |coef_j| r_j with r as in `sizes` and the degree p.

        The base is off by gamma_{d+5} (|gamma| |x| |z| + |coef0|), its power p times as often rounded.
        """
        roundings = bound_sum(self.degree * (max(samples.terms, support.terms) + 6))
        with np.errstate(over="ignore", invalid="ignore"):
            errors = roundings * self.sizes(samples) * float(np.abs(coef) @ self.sizes(support)) * BOUND_INFLATION
            return replace_nan_by_infinity(errors + float(np.abs(coef).sum()) * TINY)

    def bound_rounding(self, samples):
        """As for <x, z>, the error of the power being `degree` times that of its base at most."""
        largest = (abs(self.gamma) * upper_quantile(samples.norms) + abs(self.coef0)) ** self.degree
        return 8.0 * SINGLE_UNIT * max(self.degree, 1) * largest

    def bound_relative_rounding(self, samples):
        """That of the power over the mean of the differences between values."""
        return self.bound_rounding(samples) / measure_kernel_spread(self, samples)

    def diagonal(self, A):
        """(gamma |a_i|^2 + coef0)^degree."""
        with np.errstate(over="ignore"):
            return self._raise(A.norms.copy())


@dataclass(frozen=True)
class RBF(Formula):
    """exp(-gamma |x - z|^2)."""

    gamma: float | str = "scale"
    shift: np.ndarray | None = None
    name = "rbf"

    @property
    def psd(self):
        """Positive semidefinite for gamma >= 0 (Bochner)."""
        return True if is_nonnegative(self.gamma) else None

    def bind(self, X, weight=None):
        """gamma as a number; and a shift of the origin where it saves digits.

        |x - z|^2 = |x|^2 + |z|^2 - 2 <x, z> loses as many digits as |x|^2 has over |x - z|^2. The kernel does
        not see translations, so data far from the origin are moved to their mean first.
        """
        return replace(self, gamma=resolve_gamma(self.gamma, X, weight), shift=find_shift(X))

    def samples(self, X):
        """X, moved to the origin if it lies far from it."""
        return mark_moved(wrap(translate(X, self.shift)), self.shift)

    def evaluate(self, A, B, out=None):
        """exp(-gamma |a_i - b_j|^2)."""
        from ..compiled.kernel_rows import exponentiate, rbf_from_dots

        if self.cancels(A, B):
            out = A.squares(B, out)
            exponentiate(out, -float(self.gamma))
            return out
        out = A.dots(B, out)
        rbf_from_dots(out, A.norms, B.norms, float(self.gamma))
        return out

    @property
    def parameters(self):
        """gamma."""
        return float(self.gamma), 0.0, 0

    def bound_exponents(self, norms, terms: int):
        """t with an exponent -gamma (|x_i|^2 + |z_j|^2 - 2 <x_i, z_j>) off by at most t_i + t_j in float64.

        2 |gamma| gamma_{d+8} (|x|^2 + |z|^2): norms and products have d roundings, sums and factors a few more, and so
        have samples that were moved.
        """
        factor = 2.0 * abs(self.gamma) * BOUND_INFLATION
        return factor * bound_sum(terms + 8) * norms + factor * (terms * 2.0**-1070)

    def cancels(self, A, B) -> bool:
        """Whether |a_i|^2 + |b_j|^2 - 2 <a_i, b_j> would lose digits that the values need."""
        if A.dtype != np.float64:  # rows in float32 are evaluated by the thousand, and have a bound of their own
            return False
        terms = max(A.terms, B.terms)
        if self.bound_exponents(A.norm_of_all + B.norm_of_all, terms) <= MAX_EXPONENT_ERROR:
            return False
        return not self.bound_exponents(A.largest_norm + B.largest_norm, terms) <= MAX_EXPONENT_ERROR

    def cost(self, samples):
        """Nanoseconds of a kernel value: differences have no BLAS."""
        return estimate_difference_cost(samples) if self.cancels(samples, samples) else super().cost(samples)

    def sizes(self, samples):
        """1; with gamma < 0, exp(2 |gamma| |x_i|^2)."""
        if self.gamma >= 0:
            return np.full(samples.n, BOUND_INFLATION)
        with np.errstate(over="ignore"):
            return np.exp(2.0 * max(-self.gamma, 0.0) * samples.norm_bounds**2) * BOUND_INFLATION

    def bound_value_errors(self, samples, support, coef):
        """sum_j |coef_j| (t_i + t_j + 4 u) with t as in `bound_exponents`, or by differences, where t is large.

        From differences the exponent is known to gamma_{d+4} of itself, and t e^-t <= 1/e. Moved samples are off by
        u (|x| + |z|), and the slope of exp(-gamma r^2) is sqrt(2 gamma / e) at most.
        """
        weight, terms = np.abs(coef), max(samples.terms, support.terms)
        if self.gamma < 0:
            return np.full(samples.n, np.inf)
        rows = self.bound_exponents(samples.norms, terms)
        columns = rows if support is samples else self.bound_exponents(support.norms, terms)
        errors = bound_exponentials(rows, columns, weight, bound_exp_errors(terms))
        if samples.rounding or support.rounding:
            slope = np.sqrt(2.0 * self.gamma / np.e)
            moved = [slope * each.rounding * each.norm_bounds for each in (samples, support)]
            errors += BOUND_INFLATION * (moved[0] * float(weight.sum()) + float(weight @ moved[1]))
        return replace_nan_by_infinity(errors)

    def bound_rounding(self, samples):
        """The exponent is off by at most about 8 u gamma |x|^2: safe for data that are scaled."""
        return 8.0 * SINGLE_UNIT * abs(self.gamma) * upper_quantile(samples.norms)

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


@dataclass(frozen=True)
class Laplacian(Formula):
    """exp(-gamma |x - z|_1)."""

    gamma: float | str = "scale"
    name = "laplacian"

    @property
    def psd(self):
        """Positive semidefinite for gamma >= 0."""
        return True if is_nonnegative(self.gamma) else None

    def bind(self, X, weight=None):
        """gamma as a number."""
        return replace(self, gamma=resolve_gamma(self.gamma, X, weight))

    def evaluate(self, A, B, out=None):
        """exp(-gamma |a_i - b_j|_1)."""
        from ..compiled.kernel_rows import exponentiate

        out = A.differences(B, out, squares=False) if self.cancels(A, B) else A.distances(B, out)
        exponentiate(out, -float(self.gamma))
        return out

    def cost(self, samples):
        """Nanoseconds of a kernel value: distances have no BLAS."""
        return estimate_difference_cost(samples)

    @property
    def parameters(self):
        """gamma."""
        return float(self.gamma), 0.0, 0

    def bound_exponents(self, lengths, terms: int):
        """t with an exponent -gamma (|z|_1 + sum_k (|x_k - z_k| - |z_k|)) off by at most t_i + t_j in float64."""
        return 4.0 * abs(self.gamma) * bound_sum(2 * terms + 8) * lengths * BOUND_INFLATION

    def cancels(self, A, B) -> bool:
        """Whether |b|_1 + sum_k (|a_k - b_k| - |b_k|) of sparse samples would lose digits that the values need."""
        if A.dtype != np.float64 or not isinstance(A, Sparse):
            return False
        return (
            not self.bound_exponents(A.largest_length + B.largest_length, max(A.terms, B.terms)) <= MAX_EXPONENT_ERROR
        )

    def sizes(self, samples):
        """1; with gamma < 0, exp(|gamma| |x_i|_1)."""
        with np.errstate(over="ignore"):
            return np.exp(max(-self.gamma, 0.0) * samples.l1_norm_bounds) * BOUND_INFLATION

    def bound_value_errors(self, samples, support, coef):
        """sum_j |coef_j| (gamma_{d+4} / e + 4 u) from differences; of sparse samples as for the Gaussian kernel."""
        weight, terms = np.abs(coef), max(samples.terms, support.terms)
        if self.gamma < 0:
            return np.full(samples.n, np.inf)
        errors = np.full(samples.n, BOUND_INFLATION * float(weight.sum()) * bound_exp_errors(2 * terms))
        if isinstance(support, Sparse):
            rows, columns = (self.bound_exponents(each.lengths, terms) for each in (samples, support))
            errors += bound_exponentials(rows, columns, weight, 0.0)
        return replace_nan_by_infinity(errors)

    def bound_rounding(self, samples):
        """Rounded samples move the exponent by 2 u gamma |x|_1 at most, the sum of d terms by as much again."""
        return 4.0 * SINGLE_UNIT * abs(self.gamma) * upper_quantile(samples.lengths)

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


@dataclass(frozen=True)
class Sigmoid(Formula):
    """tanh(gamma <x, z> + coef0): not positive semidefinite in general."""

    gamma: float | str = "scale"
    coef0: float = 0.0
    name = "sigmoid"
    psd = None

    def bind(self, X, weight=None):
        """gamma as a number."""
        return replace(self, gamma=resolve_gamma(self.gamma, X, weight))

    def _squash(self, dots: np.ndarray) -> np.ndarray:
        dots *= self.gamma
        dots += self.coef0
        return np.tanh(dots, out=dots)

    def evaluate(self, A, B, out=None):
        """tanh(gamma <a_i, b_j> + coef0)."""
        return self._squash(A.dots(B, out))

    @property
    def parameters(self):
        """gamma and coef0."""
        return float(self.gamma), float(self.coef0), 0

    def sizes(self, samples):
        """1."""
        return np.ones(samples.n)

    def bound_value_errors(self, samples, support, coef):
        """gamma_{d+6} sum_j |coef_j| (|gamma| |x_i| |s_j| + |coef0|) and the error of tanh, of slope 1 at most."""
        total, roundings = float(np.abs(coef).sum()), bound_sum(max(samples.terms, support.terms) + 6)
        with np.errstate(over="ignore", invalid="ignore"):
            errors = abs(self.gamma) * bound_products(samples, support, coef)
            errors += (abs(self.coef0) * roundings + TANH_ERROR) * total
        return np.fmin(errors, 2.0 * total) * BOUND_INFLATION

    def bound_rounding(self, samples):
        """The argument is off by at most about 8 u (gamma |x|^2 + coef0)."""
        return 8.0 * SINGLE_UNIT * (abs(self.gamma) * upper_quantile(samples.norms) + abs(self.coef0))

    def diagonal(self, A):
        """tanh(gamma |a_i|^2 + coef0)."""
        return self._squash(A.norms.copy())


@dataclass(frozen=True)
class Precomputed(Kernel):
    """K itself: samples are given as rows of kernel values against the training samples."""

    name = "precomputed"
    psd = None

    def samples(self, X):
        """The rows of the matrix X."""
        return PrecomputedRows(np.asarray(X))

    def evaluate(self, A, B):
        """X[i, j]."""
        return A.values(B)

    def sizes(self, samples):
        """sqrt(max |K|)."""
        return np.full(samples.n, np.sqrt(np.abs(samples.matrix).max(initial=0.0)) * BOUND_INFLATION)

    def diagonal(self, A):
        """X[i, i]."""
        return A.matrix[A.index, A.index].astype(np.float64)


@dataclass(frozen=True)
class Custom(Precomputed):
    """function(X, Z), any callable that returns the matrix of kernel values; `X_fit` is bound at training."""

    function: Callable = None
    X_fit: object = None
    name = "callable"

    def bind(self, X, weight=None):
        """This kernel with the training samples kept, since predictions need them."""
        return replace(self, X_fit=X)

    def samples(self, X):
        """function(X, X_fit), evaluated whole: only the function knows what a part of X is."""
        K = self.function(X, self.X_fit)
        try:
            K = np.asarray(K.toarray() if sp.issparse(K) else K)
            K = K.astype(np.float64, casting="same_kind" if K.dtype.kind == "c" else "unsafe", copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"kernel(X, Y) must return a matrix of numbers: {error}.") from error
        n_fit = self.X_fit.shape[0] if hasattr(self.X_fit, "shape") else len(self.X_fit)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if K.shape != (n, n_fit):
            raise ValueError(f"kernel(X, Y) must return a matrix of shape ({n}, {n_fit}), but returned {K.shape}.")
        if not np.isfinite(K).all():
            i, j = np.argwhere(~np.isfinite(K))[0]
            raise ValueError(f"kernel(X, Y) must return finite values, but returned {K[i, j]} at [{i}, {j}].")
        return PrecomputedRows(K)


def estimate_difference_cost(samples: Dense | Sparse) -> float:
    """Nanoseconds of a kernel value from differences, on one core in float32."""
    return 0.8 + (len(samples.data) / max(samples.n, 1) if isinstance(samples, Sparse) else samples.d) / 8.0


def bound_products(samples: Samples, support: Samples, coef: np.ndarray) -> np.ndarray:
    """gamma_{d+6} |x_i| sum_j |coef_j| |s_j|: what sum_j |coef_j| |fl <x_i, s_j> - <x_i, s_j>| is at most."""
    roundings = bound_sum(max(samples.terms, support.terms) + 6)
    with np.errstate(over="ignore", invalid="ignore"):
        return replace_nan_by_infinity(
            roundings * samples.norm_bounds * float(np.abs(coef) @ support.norm_bounds) * BOUND_INFLATION
        )


def bound_exponentials(rows: np.ndarray, columns: np.ndarray, weight: np.ndarray, more: float) -> np.ndarray:
    """sum_j weight_j (t_i + t_j + more), where exp(-s) is off by t_i + t_j of itself because s is off by as much.

    An exponent that is off by more than CANCELLED comes from differences instead, and adds nothing here. For smaller
    ones e^t - 1 is t but for a part in a hundred millions, which WIDEN covers.
    """
    from ..compiled.row_sums import add_exponents

    return BOUND_INFLATION * add_exponents(rows, columns, weight, MAX_EXPONENT_ERROR, more)


def bound_exp_errors(terms: int) -> float:
    """What exp(-s) is off by where s is a sum of so many differences, each as far off as its own roundings."""
    return min(0.4 * bound_sum(terms + 8), 1.0) + EXP_RELATIVE_ERROR + EXP_UNDERFLOW_BOUND


def replace_nan_by_infinity(errors: np.ndarray) -> np.ndarray:
    """Infinity where a bound is not a number."""
    return errors if np.isfinite(errors.sum()) else np.where(np.isnan(errors), np.inf, errors)


def upper_quantile(sizes: np.ndarray) -> float:
    """A size that all but a few of the samples stay below."""
    place = min(int(FLOAT32_SAFE_SAMPLE_SHARE * len(sizes)), len(sizes) - 1)
    return float(np.partition(sizes, place)[place])


def measure_spread(samples: Dense | Sparse) -> float:
    """The mean of |x - z|^2 / 2 over all pairs: the variance of the samples."""
    mean = samples.combine(np.full(samples.n, 1.0 / samples.n))
    return max(float(samples.norms.mean(dtype=np.float64) - mean @ mean), TINY)


def measure_kernel_spread(kernel: Kernel, samples: Dense | Sparse) -> float:
    """The mean of (k(x, x) + k(z, z)) / 2 - k(x, z) over pairs of PROBE samples."""
    probe = samples.take(np.arange(0, samples.n, max(1, samples.n // SPREAD_CHECK_SAMPLES)))
    K = kernel.evaluate(probe, probe)
    return max(float(np.trace(K) / len(K) - K.mean()), TINY)


KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel for kernel in (Linear, Polynomial, RBF, Sigmoid, Laplacian, Precomputed)
}

FORMULAS = {Linear: 0, Polynomial: 1, RBF: 2, Sigmoid: 3, Laplacian: 4}  # as in compiled.single_rows
RBF_FROM_DIFFERENCES = 5


def read_formula(kernel: Kernel) -> tuple[int, float, float, int]:
    """Kind, gamma, coef0 and degree of a kernel, as compiled loops know them."""
    return FORMULAS[type(kernel)], *kernel.parameters


def choose_formula(kernel: Kernel, samples: Samples) -> tuple[int, float, float, int]:
    """The same for rows in float64 or float32: the Gaussian kernel from differences where its exponent would cancel."""
    apart = type(kernel) is RBF and kernel.cancels(samples, samples)
    return (RBF_FROM_DIFFERENCES, *kernel.parameters) if apart else read_formula(kernel)


def make_kernel(kernel: str | Callable | Kernel, *, gamma="scale", degree=3, coef0=0.0) -> Kernel:
    """The Kernel of a name, a callable or a Kernel, with those of the parameters it knows."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Custom(function=kernel)
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {sorted(KERNELS)}, a callable or a Kernel, got {kernel!r}.")
    fields = KERNELS[kernel].__dataclass_fields__
    known = {"gamma": gamma, "degree": degree, "coef0": coef0}
    return KERNELS[kernel](**{key: value for key, value in known.items() if key in fields})
