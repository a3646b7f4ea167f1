"""Piecewise linear and quadratic losses: five numbers per sample drive every solver.

    conj(a) = p a + d a^2/2 + e |a| on [lo, hi], infinite outside

The value of the loss, both ends of its subgradient, its conjugate and the steps of solvers all follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...contracts.losses import PiecewiseLoss, Terms
from .weighted import infinite_bound, invert_weights


def soft_threshold(x: np.ndarray, e: np.ndarray) -> np.ndarray:
    """sign(x) max(|x| - e, 0), the soft threshold."""
    return x - np.clip(x, -e, e)


class FiveNumbers(NamedTuple):
    """p, d, e, lo and hi of every sample, in the order in which compiled loops take them."""

    p: np.ndarray
    d: np.ndarray
    e: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


class PiecewiseConjugate(FiveNumbers, Terms):
    """conj(a) = p a + d a^2/2 + e |a| on [lo, hi], infinite outside."""

    __slots__ = ()
    piecewise = True

    def value(self, f: np.ndarray) -> np.ndarray:
        """c l(f) = max over a in [lo, hi] of -a f - conj(a), where lo <= 0 <= hi."""
        if not self.d.any():
            push = -(f + self.p)
            return np.maximum(np.maximum(self.hi * (push - self.e), self.lo * (push + self.e)), 0.0)
        best = self.response(f)[1]
        with np.errstate(over="ignore", invalid="ignore"):
            return best * -(f + self.p) - 0.5 * self.d * best * best - self.e * np.abs(best)

    def response(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """argmax over a in [lo, hi] of -a f - conj(a), as an interval."""
        push = -(f + self.p)
        rest = np.clip(0.0, self.lo, self.hi)
        curved = self.d > 0
        inner = np.clip(soft_threshold(push, self.e) / np.where(curved, self.d, 1.0), self.lo, self.hi)
        left = np.where(push > self.e, self.hi, np.where(push > -self.e, rest, self.lo))
        right = np.where(push >= self.e, self.hi, np.where(push >= -self.e, rest, self.lo))
        return np.where(curved, inner, left), np.where(curved, inner, right)

    def conjugate(self, a: np.ndarray) -> np.ndarray:
        """conj(a) = p a + d a^2/2 + e |a| on [lo, hi], infinite outside."""
        inside = (a >= self.lo) & (a <= self.hi)
        return np.where(inside, self.p * a + 0.5 * self.d * a * a + self.e * np.abs(a), np.inf)

    def slopes(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Left and right derivative of conj at a; -inf and +inf where a cannot move that way."""
        middle = self.p + self.d * a
        left = np.where(a > self.lo, middle + np.where(a > 0, self.e, -self.e), -np.inf)
        right = np.where(a < self.hi, middle + np.where(a >= 0, self.e, -self.e), np.inf)
        return left, right


def make_piecewise(p, d, e, lo, hi, like: np.ndarray) -> PiecewiseConjugate:
    """conj(a) = p a + d a^2/2 + e |a| on [lo, hi]: the five numbers as full arrays of one shape.

    Parameters
    ----------
    p, d, e, lo, hi : float or ndarray
        The five numbers; a number stands for that of every sample. d >= 0, e >= 0, lo <= 0 <= hi.
    like : ndarray
        An array with the shape of the result, such as the weights c.

    Notes
    -----
    An array that has the shape already is not copied, since rows are never written to.
    """
    zero = np.zeros(np.broadcast(p, lo, hi, like).shape)

    def fill(part) -> np.ndarray:
        if isinstance(part, np.ndarray):
            return part if part.shape == zero.shape and part.dtype == zero.dtype else zero + part
        return zero + part if part else zero

    return PiecewiseConjugate(fill(p), fill(d), fill(e), fill(lo), fill(hi))


@dataclass(frozen=True)
class Hinge(PiecewiseLoss):
    """max(0, margin - y f).

    Parameters
    ----------
    margin : float, default=1
        The score from which on a right answer costs nothing.

    See Also
    --------
    maxmargin.SVC : Kernel machines with this loss.
    SquaredHinge : Its square, which is smooth.

    References
    ----------
    - Cortes and Vapnik (1995). Support-vector networks. Machine Learning 20, 273-297.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Hinge
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([2. , 0.5, 0. ])
    """

    margin: float = 1.0
    name = "hinge"
    target = "label"
    structure = "hinge"

    def row(self, y, c):
        """p = -margin y, a between 0 and y c."""
        end = y * c
        return make_piecewise(-self.margin * y, 0.0, 0.0, np.minimum(0.0, end), np.maximum(0.0, end), c)


@dataclass(frozen=True)
class SquaredHinge(PiecewiseLoss):
    """max(0, 1 - y f)^2, without the 1/2, as LIBLINEAR.

    See Also
    --------
    maxmargin.LinearSVC : Linear machines with this loss.
    Hinge : Without the square.

    References
    ----------
    - Fan, Chang, Hsieh, Wang and Lin (2008). LIBLINEAR: a library for large linear classification. JMLR 9, 1871-1874.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([-1.0, 0.5, 0.9]), np.ones(3)).round(2)
    array([4.  , 0.25, 0.01])
    """

    name = "squared_hinge"
    target = "label"

    def row(self, y, c):
        """p = -y, d = 1/(2c), a on the side of y."""
        reach = infinite_bound(c)
        lo, hi = np.where(y > 0, 0.0, -reach), np.where(y > 0, reach, 0.0)
        return make_piecewise(-y, 0.5 * invert_weights(c), 0.0, lo, hi, c)


@dataclass(frozen=True)
class Novelty(PiecewiseLoss):
    """max(0, rho - f).

    Parameters
    ----------
    rho : float, default=0
        The score that samples are to reach.

    See Also
    --------
    maxmargin.OneClassSVM : The machine with this loss, whose intercept is -rho.

    References
    ----------
    - Schölkopf, Platt, Shawe-Taylor, Smola and Williamson (2001). Estimating the support of a high-dimensional
      distribution. Neural Computation 13, 1443-1471.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Novelty
    >>> Novelty(rho=1.0).value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([2. , 0.5, 0. ])
    """

    rho: float = 0.0
    name = "novelty"
    target = "none"

    def row(self, y, c):
        """p = -rho, a in [0, c]."""
        return make_piecewise(-self.rho, 0.0, 0.0, 0.0, c, c)


@dataclass(frozen=True)
class LeastSquares(PiecewiseLoss):
    """(f - y)^2 / 2.

    See Also
    --------
    maxmargin.RiskRegressor : Linear machines with this loss.
    Absolute : Errors count as they are, not squared.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. JMLR 11, 311-365.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import LeastSquares
    >>> LeastSquares().value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([2.   , 0.125, 0.5  ])
    """

    name = "least_squares"
    target = "real"
    structure = "least_squares"

    def row(self, y, c):
        """p = -y, d = 1/c, a unbounded."""
        return make_piecewise(-y, invert_weights(c), 0.0, -infinite_bound(c), infinite_bound(c), c)


@dataclass(frozen=True)
class Absolute(PiecewiseLoss):
    """|f - y|.

    See Also
    --------
    maxmargin.RiskRegressor : Linear machines with this loss.
    Quantile : The same, with one side weighing more.

    References
    ----------
    - Koenker (2005). Quantile Regression. Cambridge University Press.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Absolute
    >>> Absolute().value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([2. , 0.5, 1. ])
    """

    name = "absolute"
    target = "real"

    def row(self, y, c):
        """p = -y, a in [-c, c]."""
        return make_piecewise(-y, 0.0, 0.0, -c, c, c)


@dataclass(frozen=True)
class Quantile(PiecewiseLoss):
    """max(q (y - f), (1 - q) (f - y)): its minimiser is the q-quantile of y, as in scikit-learn.

    The bundle papers weigh over-prediction by tau; their tau is 1 - q.

    Parameters
    ----------
    quantile : float or ndarray of shape (n,), default=0.5
        q, for all samples or for each of them.

    See Also
    --------
    maxmargin.RiskRegressor : Linear machines with this loss.
    maxmargin.ConformalQuantileRegressor : Intervals between two quantiles.

    References
    ----------
    - Koenker (2005). Quantile Regression. Cambridge University Press.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Quantile
    >>> Quantile(0.9).value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([1.8 , 0.45, 0.1 ])
    """

    quantile: float | np.ndarray = 0.5
    name = "quantile"
    target = "real"

    def row(self, y, c):
        """p = -y, a in [-(1 - q) c, q c]."""
        q = np.asarray(self.quantile, float)
        return make_piecewise(-y, 0.0, 0.0, -(1.0 - q) * c, q * c, c)


@dataclass(frozen=True)
class EpsilonInsensitive(PiecewiseLoss):
    """max(0, |f - y| - epsilon).

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to which nothing is counted.

    See Also
    --------
    maxmargin.SVR : Kernel machines with this loss.
    SquaredEpsilonInsensitive : Its square, which is smooth.

    References
    ----------
    - Smola and Schölkopf (2004). A tutorial on support vector regression. Statistics and Computing 14, 199-222.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([1.5, 0. , 0.5])
    """

    epsilon: float = 0.1
    name = "epsilon_insensitive"
    target = "real"

    def row(self, y, c):
        """p = -y, e = epsilon, a in [-c, c]."""
        return make_piecewise(-y, 0.0, self.epsilon, -c, c, c)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(PiecewiseLoss):
    """max(0, |f - y| - epsilon)^2.

    Parameters
    ----------
    epsilon : float, default=0.1
        Errors up to which nothing is counted.

    See Also
    --------
    maxmargin.LinearSVR : Linear machines with this loss.
    EpsilonInsensitive : Without the square.

    References
    ----------
    - Fan, Chang, Hsieh, Wang and Lin (2008). LIBLINEAR: a library for large linear classification. JMLR 9, 1871-1874.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(0.5).value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([2.25, 0.  , 0.25])
    """

    epsilon: float = 0.1
    name = "squared_epsilon_insensitive"
    target = "real"

    def row(self, y, c):
        """p = -y, d = 1/(2c), e = epsilon, a unbounded."""
        return make_piecewise(-y, 0.5 * invert_weights(c), self.epsilon, -infinite_bound(c), infinite_bound(c), c)


@dataclass(frozen=True)
class Huber(PiecewiseLoss):
    """r^2/(2h) if |r| <= h else |r| - h/2, with r = f - y and threshold h.

    Parameters
    ----------
    threshold : float, default=1
        h, from which on errors count as they are, not squared.

    See Also
    --------
    maxmargin.RiskRegressor : Linear machines with this loss.
    LeastSquares : All errors squared.
    Absolute : None of them.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. JMLR 11, 311-365.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Huber
    >>> Huber(1.0).value(np.array([-1.0, 0.5, 2.0]), np.ones(3))
    array([1.5  , 0.125, 0.5  ])
    """

    threshold: float = 1.0
    name = "huber"
    target = "real"

    def row(self, y, c):
        """p = -y, d = h/c, a in [-c, c]."""
        return make_piecewise(-y, self.threshold * invert_weights(c), 0.0, -c, c, c)
