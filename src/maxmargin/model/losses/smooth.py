"""Smooth losses of one score per sample: logistic, exponential, Poisson.

They have no five numbers. Value, response, conjugate and derivatives are written out, and so are bounds on what
rounding may hide, since the judge must know them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...contracts.losses import TERM_RELATIVE_ERROR, Loss, SmoothTerms
from ...runtime.rounding import UNIT
from .weighted import conjugate_of_weighted, entropy, invert_weights, multiply_by_weight, safe_log


def bound_slope_with_room(room: np.ndarray, f: np.ndarray, slopes, moved: float) -> float:
    """The slope of conj(a) + a f at the dual with most room, as far as `moved` may take it; infinite without room."""
    if moved == 0.0:
        return 0.0
    k = int(np.argmax(room))
    if not room[k] > 4.0 * moved:
        return np.inf
    return float(max(abs(slopes(k, share)) for share in (moved, -moved)) + abs(f[k]))


@dataclass(frozen=True, slots=True, eq=False)
class LogisticTerms(SmoothTerms):
    """c log(1 + exp(-y f)) and c (t log t + (1-t) log(1-t)) with t = y a / c in [0, 1]."""

    y: np.ndarray
    c: np.ndarray

    def value(self, f):
        return self.c * np.logaddexp(0.0, -self.y * f)

    def response(self, f):
        with np.errstate(over="ignore"):
            a = self.c * self.y / (1.0 + np.exp(self.y * f))
        return a, a

    def second_derivative(self, f):
        with np.errstate(over="ignore"):
            t = 1.0 / (1.0 + np.exp(self.y * f))
        return self.c * t * (1.0 - t)

    def conjugate(self, a):
        t = a * self.y * invert_weights(self.c)
        rest = np.where(t < 1.0, 1.0 - t, 1.0)
        other = np.where(t <= 1.0, rest * np.log1p(-np.where(t < 1.0, t, 0.0)), np.inf)  # exact also where t is small
        return conjugate_of_weighted(self.c, a, self.c * (entropy(t) + other))

    def slopes(self, a):
        t = a * self.y * invert_weights(self.c)
        slope = self.y * (safe_log(t) - safe_log(1.0 - t))
        return slope, slope

    def bound_value_error(self, f, score_error):
        """The slope at the near end of the interval of f, times its width."""
        with np.errstate(over="ignore"):
            steepest = self.c / (1.0 + np.exp(self.y * f - score_error))
        return steepest * score_error + TERM_RELATIVE_ERROR * self.value(f)

    def bound_conjugate_error(self, a):
        """A few roundings of t log t, t, and (1 - t) log(1 - t)."""
        t = np.clip(a * self.y * invert_weights(self.c), 0.0, 1.0)
        near = -np.log1p(-np.minimum(t, 1.0 - UNIT))
        return TERM_RELATIVE_ERROR * self.c * (np.abs(entropy(t)) + t + t * near)

    def bound_slope(self, a, f, moved):
        """log t - log(1 - t) at the dual furthest from both ends."""

        def slope(k: int, way: float) -> float:
            share = a[k] * self.y[k] / self.c[k] + way / self.c[k]
            return float(np.log(share) - np.log1p(-share))

        up = a * self.y
        return bound_slope_with_room(np.minimum(up, self.c - up), f, slope, moved)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-y f)).

    See Also
    --------
    maxmargin.RiskClassifier : Linear machines with this loss, and their probabilities.
    Softmax : The same for many classes at once.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. JMLR 11, 311-365.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Logistic
    >>> Logistic().value(np.array([-1.0, 0.5, 2.0]), np.ones(3)).round(3)
    array([1.313, 0.474, 0.127])
    """

    name = "logistic"
    target = "label"
    curvature = 0.25
    logit_scale = 1.0

    def terms(self, y, c):
        """t = y a / c; conj = c (t log t + (1-t) log(1-t))."""
        return LogisticTerms(y, c)


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialTerms(SmoothTerms):
    """c exp(-y f) and c (t log t - t) with t = y a / c >= 0."""

    y: np.ndarray
    c: np.ndarray

    def value(self, f):
        with np.errstate(over="ignore"):
            return multiply_by_weight(self.c, np.exp(-self.y * f))

    def response(self, f):
        a = self.y * self.value(f)
        return a, a

    def second_derivative(self, f):
        return self.value(f)

    def conjugate(self, a):
        t = a * self.y * invert_weights(self.c)
        return conjugate_of_weighted(self.c, a, self.c * (entropy(t) - t))

    def slopes(self, a):
        slope = self.y * safe_log(a * self.y * invert_weights(self.c))
        return slope, slope

    def bound_value_error(self, f, score_error):
        """exp(-y f) (exp(score_error) - 1), and a few roundings."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.nan_to_num(
                self.value(f) * (np.expm1(score_error) + TERM_RELATIVE_ERROR), nan=np.inf, posinf=np.inf
            )

    def bound_conjugate_error(self, a):
        """A few roundings of t log t and of t."""
        t = np.maximum(a * self.y * invert_weights(self.c), 0.0)
        return TERM_RELATIVE_ERROR * self.c * (np.abs(entropy(t)) + t)

    def bound_slope(self, a, f, moved):
        """log t at the largest dual."""
        t = np.maximum(a * self.y * invert_weights(self.c), 0.0)
        return bound_slope_with_room(t * self.c, f, lambda k, way: float(np.log(t[k] + way / self.c[k])), moved)


@dataclass(frozen=True)
class Exponential(Loss):
    """exp(-y f).

    See Also
    --------
    maxmargin.RiskClassifier : Linear machines with this loss, and their probabilities.
    Logistic : Grows more slowly.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. JMLR 11, 311-365.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Exponential
    >>> Exponential().value(np.array([-1.0, 0.5, 2.0]), np.ones(3)).round(3)
    array([2.718, 0.607, 0.135])
    """

    name = "exponential"
    grows_exponentially = True
    target = "label"
    curvature = np.inf
    logit_scale = 2.0

    def terms(self, y, c):
        """t = y a / c; conj = c (t log t - t)."""
        return ExponentialTerms(y, c)


@dataclass(frozen=True, slots=True, eq=False)
class PoissonTerms(SmoothTerms):
    """c (exp(f) - y f) and c (t log t - t) with t = y - a / c >= 0."""

    y: np.ndarray
    c: np.ndarray

    def value(self, f):
        with np.errstate(over="ignore"):
            return multiply_by_weight(self.c, np.exp(f) - self.y * f)

    def response(self, f):
        with np.errstate(over="ignore"):
            a = multiply_by_weight(self.c, self.y - np.exp(f))
        return a, a

    def second_derivative(self, f):
        with np.errstate(over="ignore"):
            return multiply_by_weight(self.c, np.exp(f))

    def conjugate(self, a):
        t = self.y - a * invert_weights(self.c)
        return conjugate_of_weighted(self.c, a, self.c * (entropy(t) - t))

    def slopes(self, a):
        slope = -safe_log(self.y - a * invert_weights(self.c))
        return slope, slope

    def bound_value_error(self, f, score_error):
        """exp(f) (exp(score_error) - 1) + y score_error, and a few roundings."""
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.exp(f) * (np.expm1(score_error) + TERM_RELATIVE_ERROR) + self.y * (
                score_error + TERM_RELATIVE_ERROR * np.abs(f)
            )
        return multiply_by_weight(self.c, np.nan_to_num(grown, nan=np.inf, posinf=np.inf))

    def bound_conjugate_error(self, a):
        """A few roundings of t log t and of t, and what the difference y - a/c has lost."""
        share = a * invert_weights(self.c)
        t, sizes = np.maximum(self.y - share, 0.0), np.abs(self.y) + np.abs(share)
        lost = sizes * (1.0 + np.abs(np.log(np.maximum(t, np.maximum(UNIT * sizes, 1e-300)))))
        return TERM_RELATIVE_ERROR * self.c * (np.abs(entropy(t)) + t + lost)

    def bound_slope(self, a, f, moved):
        """log t at the largest t, which is off by what the difference y - a/c has lost."""

        def slope(k: int, way: float) -> float:
            share = a[k] / self.c[k]
            lost = 4.0 * UNIT * (abs(self.y[k]) + abs(share))
            return float(np.log(self.y[k] - share + way / self.c[k] + np.sign(way) * lost))

        return bound_slope_with_room(self.c * self.y - a, f, slope, moved)

    def repair(self, a, balance):
        """The duals with a <= c y in exact arithmetic, whatever that product is rounded to."""
        return np.minimum(a, self.c * self.y * (1.0 - 4.0 * UNIT))


@dataclass(frozen=True)
class Poisson(Loss):
    """exp(f) - y f.

    See Also
    --------
    maxmargin.RiskRegressor : Linear machines with this loss, which predict exp(f).

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. JMLR 11, 311-365.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Poisson
    >>> Poisson().value(np.array([-1.0, 0.5, 2.0]), np.ones(3)).round(3)
    array([1.368, 1.149, 5.389])
    """

    name = "poisson"
    grows_exponentially = True
    target = "count"
    curvature = np.inf
    inverse_link = "exp"

    def terms(self, y, c):
        """t = y - a / c; conj = c (t log t - t)."""
        return PoissonTerms(y, c)
