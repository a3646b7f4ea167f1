"""Kernels of products <x, z>: linear, polynomial and sigmoid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...runtime.rounding import BOUND_INFLATION, bound_sum
from ..samples import mark_moved, wrap
from .formula import Formula
from .gamma import is_nonnegative, resolve_gamma
from .rounding import (
    SINGLE_UNIT,
    TANH_ERROR,
    TINY,
    bound_products,
    measure_kernel_spread,
    measure_spread,
    replace_nan_by_infinity,
    upper_quantile,
)
from .shifts import add_shift_product, find_shift, translate


@dataclass(frozen=True)
class Linear(Formula):
    """<x - shift, z - shift>, where there is a shift; else <x, z>.

    With duals that sum to zero the shift changes b alone: sum_j a_j <x_j - m, x - m> = <w, x> - <w, m>. Products of
    samples far from the origin have no digits left for their differences, so it is taken where a machine allows it.

    Parameters
    ----------
    shift : ndarray of shape (d,), default=None
        What is subtracted from every sample; a fit chooses it.

    See Also
    --------
    maxmargin.SVC : Takes it as `kernel="linear"`, or this object.
    maxmargin.LinearSVC : Linear machines without a kernel.

    References
    ----------
    - Cortes and Vapnik (1995). Support-vector networks. Machine Learning 20, 273-297.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.contracts.samples import wrap
    >>> from maxmargin.model.kernels import Linear
    >>> X = wrap(np.array([[1.0, 2.0], [3.0, 0.0]]))
    >>> Linear().evaluate(X, X)
    array([[5., 3.],
           [3., 9.]])
    """

    shift: np.ndarray | None = None
    name = "linear"
    linear = True

    def centre(self, X):
        """The mean of X as the shift, if they lie far from the origin."""
        shift = find_shift(X)
        return self if shift is None and self.shift is None else replace(self, shift=shift)

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
    """(gamma <x, z> + coef0)^degree.

    Parameters
    ----------
    degree : int, default=3
        The exponent.
    gamma : {"scale", "auto"} or float, default="scale"
        1 / (d Var(X)), 1 / d, or a number.
    coef0 : float, default=0
        What is added to the product.

    See Also
    --------
    maxmargin.SVC : Takes it as `kernel="poly"`, or this object.
    Linear : Degree 1.

    References
    ----------
    - Boser, Guyon and Vapnik (1992). A training algorithm for optimal margin classifiers. COLT, 144-152.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.contracts.samples import wrap
    >>> from maxmargin.model.kernels import Polynomial
    >>> X = wrap(np.array([[1.0, 2.0], [3.0, 0.0]]))
    >>> Polynomial(degree=2, gamma=1.0, coef0=1.0).evaluate(X, X)
    array([[ 36.,  16.],
           [ 16., 100.]])
    """

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
class Sigmoid(Formula):
    """tanh(gamma <x, z> + coef0): not positive semidefinite in general.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        1 / (d Var(X)), 1 / d, or a number.
    coef0 : float, default=0
        What is added to the product.

    See Also
    --------
    maxmargin.SVC : Takes it as `kernel="sigmoid"`, or this object.
    maxmargin.Certificate : Proves nothing where `convex` is not True.

    References
    ----------
    - Chang and Lin (2011). LIBSVM: a library for support vector machines. ACM Transactions on Intelligent Systems
      and Technology 2, 27:1-27.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.contracts.samples import wrap
    >>> from maxmargin.model.kernels import Sigmoid
    >>> X = wrap(np.array([[0.0], [1.0]]))
    >>> Sigmoid(gamma=1.0).evaluate(X, X).round(4)
    array([[0.    , 0.    ],
           [0.    , 0.7616]])
    """

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
