"""Kernels of distances |x - z|: Gaussian and Laplacian."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...runtime.rounding import BOUND_INFLATION, bound_sum
from ..samples import mark_moved, wrap
from .formula import Formula
from .gamma import is_nonnegative, resolve_gamma
from .moments import measure_small
from .rounding import (
    MAX_EXPONENT_ERROR,
    SINGLE_UNIT,
    bound_exp_errors,
    bound_exponentials,
    estimate_difference_cost,
    replace_nan_by_infinity,
    upper_quantile,
)
from .shifts import find_shift, translate


@dataclass(frozen=True)
class RBF(Formula):
    """exp(-gamma |x - z|^2).

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        1 / (d Var(X)), 1 / d, or a number.
    shift : ndarray of shape (d,), default=None
        What is subtracted from every sample; a fit chooses it.

    See Also
    --------
    maxmargin.SVC : Takes it as `kernel="rbf"`, or this object.
    Laplacian : The same of the distance in the 1-norm.

    References
    ----------
    - Boser, Guyon and Vapnik (1992). A training algorithm for optimal margin classifiers. COLT, 144-152.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.contracts.samples import wrap
    >>> from maxmargin.model.kernels import RBF
    >>> X = wrap(np.array([[0.0], [1.0]]))
    >>> RBF(gamma=1.0).evaluate(X, X).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

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
        if (moments := measure_small(X)) is None:
            return replace(self, gamma=resolve_gamma(self.gamma, X, weight), shift=find_shift(X))
        return replace(self, gamma=resolve_gamma(self.gamma, X, weight, moments), shift=moments.shift)

    def samples(self, X):
        """X, moved to the origin if it lies far from it."""
        return mark_moved(wrap(translate(X, self.shift)), self.shift)

    def evaluate(self, A, B, out=None):
        """exp(-gamma |a_i - b_j|^2)."""
        from ...compiled.kernel_rows import exponentiate, rbf_from_dots

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

    def bound_size(self, samples):
        """1, unless gamma < 0."""
        return BOUND_INFLATION if self.gamma >= 0 else super().bound_size(samples)

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

    def bound_value_error(self, samples):
        """2 t + 4 u and what moved samples add, with t as in `bound_exponents` for the largest sample."""
        terms, largest = samples.terms, samples.largest_norm
        if not self.gamma >= 0:
            return np.inf
        exponent = min(float(self.bound_exponents(largest, terms)), MAX_EXPONENT_ERROR)
        error = BOUND_INFLATION * (2.0 * exponent + bound_exp_errors(terms))
        if samples.rounding:
            moved = np.sqrt(2.0 * self.gamma / np.e) * samples.rounding * float(samples.norm_bounds.max(initial=0.0))
            error += 2.0 * BOUND_INFLATION * moved
        return error

    def bound_rounding(self, samples):
        """The exponent is off by at most about 8 u gamma |x|^2: safe for data that are scaled."""
        return 8.0 * SINGLE_UNIT * abs(self.gamma) * upper_quantile(samples.norms)

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


@dataclass(frozen=True)
class Laplacian(Formula):
    """exp(-gamma |x - z|_1).

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        1 / (d Var(X)), 1 / d, or a number.

    See Also
    --------
    maxmargin.SVC : Takes it as `kernel="laplacian"`, or this object.
    RBF : The same of the squared distance.

    References
    ----------
    - Boser, Guyon and Vapnik (1992). A training algorithm for optimal margin classifiers. COLT, 144-152.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.contracts.samples import wrap
    >>> from maxmargin.model.kernels import Laplacian
    >>> X = wrap(np.array([[0.0], [1.0]]))
    >>> Laplacian(gamma=1.0).evaluate(X, X).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

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
        from ...compiled.kernel_rows import exponentiate

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
        if A.dtype != np.float64 or not A.sparse:
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
        if support.sparse:
            rows, columns = (self.bound_exponents(each.lengths, terms) for each in (samples, support))
            errors += bound_exponentials(rows, columns, weight, 0.0)
        return replace_nan_by_infinity(errors)

    def bound_rounding(self, samples):
        """Rounded samples move the exponent by 2 u gamma |x|_1 at most, the sum of d terms by as much again."""
        return 4.0 * SINGLE_UNIT * abs(self.gamma) * upper_quantile(samples.lengths)

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)

    def norm_bounds(self, samples):
        """|x_i|_1, or a little more."""
        return samples.l1_norm_bounds
