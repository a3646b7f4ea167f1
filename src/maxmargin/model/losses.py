"""The loss table: one short class per loss, and the five numbers that drive every solver.

Each loss l(f; y) enters a problem with weights c through its *terms*, four functions of arrays:

    value(f)      c l(f; y)
    response(f)   the interval of duals a with -a in c dl(f; y)   (a = minus the weighted subgradient)
    conjugate(a)  c l*(-a/c; y), infinite outside its domain
    slopes(a)     left and right derivative of that conjugate
    bend(f)       c l''(f; y), where the loss has no row

and, where the loss has no row, three bounds for the judge, which must know what rounding may hide:

    bound_value_error(f, wide)     of c l at scores that are off by `score_error`, and of its evaluation
    bound_conjugate_error(a)       of the evaluation of the conjugate
    bound_slope(a, f, moved)       what it costs, per unit, to move so much of the duals elsewhere

For every piecewise linear or quadratic loss they all follow from one `PiecewiseConjugate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..runtime.rounding import UNIT

TERM_RELATIVE_ERROR = 16.0 * UNIT  # what the few roundings of a term amount to, of its size
RANK_TOLERANCE = 1e-12  # of the largest eigenvalue of M: a smaller one counts as zero
MAX_ABS_LOG_SHARE = 750.0  # |log t| of every share t that float64 can hold


def soft_threshold(x: np.ndarray, e: np.ndarray) -> np.ndarray:
    """sign(x) max(|x| - e, 0), the soft threshold."""
    return x - np.clip(x, -e, e)


class PiecewiseConjugate(NamedTuple):
    """conj(a) = p a + d a^2/2 + e |a| on [lo, hi], infinite outside."""

    p: np.ndarray
    d: np.ndarray
    e: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    joint = False

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


class Loss:
    """l(f; y), convex in the score f. A new loss gives either `row` or `terms`."""

    name: ClassVar[str]
    target: ClassVar[str]  # "label" (+1/-1), "real", "count" or "none"
    # whether it grows like an exponential, and may leave the numbers there are
    grows_exponentially: ClassVar[bool] = False
    # what a solver made for one formula can rely on: "hinge" c max(margin - y f, 0), "softmax" with its shares,
    # "simplex" the multiclass hinge whose errors all cost the same, "quadratic" c (f - y)' M (f - y) / 2; "" for others
    structure: ClassVar[str] = ""

    def row(self, y: np.ndarray, c: np.ndarray) -> PiecewiseConjugate | None:
        """The five numbers (p, d, e, lo, hi) of c l(.; y), or None if the loss has no such row."""
        return None

    def terms(self, y: np.ndarray, c: np.ndarray):
        """c l(.; y) and its conjugate as an object with value, response, conjugate and slopes."""
        return self.row(y, c)

    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """l(f; y)."""
        f, y = np.asarray(f, float), np.asarray(y, float)
        return self.terms(y, np.ones_like(y)).value(f)

    def subgradient(self, f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[l'(f-; y), l'(f+; y)], both ends of the subdifferential in f."""
        f, y = np.asarray(f, float), np.asarray(y, float)
        left, right = self.terms(y, np.ones_like(y)).response(f)
        return -right, -left

    def conjugate(self, v: np.ndarray, y: np.ndarray) -> np.ndarray:
        """l*(v; y) = sup_f v f - l(f; y)."""
        v, y = np.asarray(v, float), np.asarray(y, float)
        return self.terms(y, np.ones_like(y)).conjugate(-v)

    @property
    def curvature(self) -> float:
        """sup l''(f; y): the Lipschitz constant of the derivative, infinite for a kinked loss."""
        row = self.row(np.ones(1), np.ones(1))
        return 1.0 / row.d[0] if row is not None and row.d[0] > 0 else np.inf


def _row(p, d, e, lo, hi, like: np.ndarray) -> PiecewiseConjugate:
    """The five numbers as full arrays of one shape; what is one already is not copied, since nobody writes to a row."""
    zero = np.zeros(np.broadcast(p, lo, hi, like).shape)

    def fill(part) -> np.ndarray:
        full = isinstance(part, np.ndarray) and part.shape == zero.shape and part.dtype == zero.dtype
        return part if full else zero if np.ndim(part) == 0 and part == 0.0 else zero + part

    return PiecewiseConjugate(fill(p), fill(d), fill(e), fill(lo), fill(hi))


def _inverse(c: np.ndarray) -> np.ndarray:
    """1/c, and 0 where c = 0: such a row is nailed to zero by its bounds."""
    return np.divide(1.0, c, out=np.zeros_like(np.asarray(c, float)), where=np.asarray(c) > 0)


def _infinite_bound(c: np.ndarray) -> np.ndarray:
    """The bound of a dual that is free to grow: infinite, but 0 where c = 0."""
    return np.where(np.asarray(c) > 0, np.inf, 0.0)


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, margin - y f)."""

    margin: float = 1.0
    name = "hinge"
    target = "label"
    structure = "hinge"

    def row(self, y, c):
        """p = -margin y, a between 0 and y c."""
        return _row(-self.margin * y, 0.0, 0.0, np.minimum(0.0, y * c), np.maximum(0.0, y * c), c)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 - y f)^2, without the 1/2, as LIBLINEAR."""

    name = "squared_hinge"
    target = "label"

    def row(self, y, c):
        """p = -y, d = 1/(2c), a on the side of y."""
        reach = _infinite_bound(c)
        return _row(-y, 0.5 * _inverse(c), 0.0, np.where(y > 0, 0.0, -reach), np.where(y > 0, reach, 0.0), c)


@dataclass(frozen=True)
class Novelty(Loss):
    """max(0, rho - f)."""

    rho: float = 0.0
    name = "novelty"
    target = "none"

    def row(self, y, c):
        """p = -rho, a in [0, c]."""
        return _row(-self.rho, 0.0, 0.0, 0.0, c, c)


@dataclass(frozen=True)
class LeastSquares(Loss):
    """(f - y)^2 / 2."""

    name = "least_squares"
    target = "real"

    def row(self, y, c):
        """p = -y, d = 1/c, a unbounded."""
        return _row(-y, _inverse(c), 0.0, -_infinite_bound(c), _infinite_bound(c), c)


@dataclass(frozen=True)
class Absolute(Loss):
    """|f - y|."""

    name = "absolute"
    target = "real"

    def row(self, y, c):
        """p = -y, a in [-c, c]."""
        return _row(-y, 0.0, 0.0, -c, c, c)


@dataclass(frozen=True)
class Quantile(Loss):
    """max(q (y - f), (1 - q) (f - y)): its minimiser is the q-quantile of y, as in scikit-learn.

    The bundle papers weigh over-prediction by tau; their tau is 1 - q.
    """

    quantile: float | np.ndarray = 0.5
    name = "quantile"
    target = "real"

    def row(self, y, c):
        """p = -y, a in [-(1 - q) c, q c]."""
        q = np.asarray(self.quantile, float)
        return _row(-y, 0.0, 0.0, -(1.0 - q) * c, q * c, c)


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |f - y| - epsilon)."""

    epsilon: float = 0.1
    name = "epsilon_insensitive"
    target = "real"

    def row(self, y, c):
        """p = -y, e = epsilon, a in [-c, c]."""
        return _row(-y, 0.0, self.epsilon, -c, c, c)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(Loss):
    """max(0, |f - y| - epsilon)^2."""

    epsilon: float = 0.1
    name = "squared_epsilon_insensitive"
    target = "real"

    def row(self, y, c):
        """p = -y, d = 1/(2c), e = epsilon, a unbounded."""
        return _row(-y, 0.5 * _inverse(c), self.epsilon, -_infinite_bound(c), _infinite_bound(c), c)


@dataclass(frozen=True)
class Huber(Loss):
    """r^2/(2h) if |r| <= h else |r| - h/2, with r = f - y and threshold h."""

    threshold: float = 1.0
    name = "huber"
    target = "real"

    def row(self, y, c):
        """p = -y, d = h/c, a in [-c, c]."""
        return _row(-y, self.threshold * _inverse(c), 0.0, -c, c, c)


def _entropy(t: np.ndarray) -> np.ndarray:
    """t log t, with 0 log 0 = 0 and infinity for t < 0."""
    safe = np.where(t > 0, t, 1.0)
    return np.where(t >= 0, safe * np.log(safe), np.inf)


def _conjugate_of_weighted(c: np.ndarray, a: np.ndarray, conjugate: np.ndarray) -> np.ndarray:
    """The conjugate, or where c = 0 that of the zero function: 0 at a = 0, infinite elsewhere."""
    return np.where(c > 0, conjugate, np.where(a == 0, 0.0, np.inf))


def _multiply_by_weight(c: np.ndarray, values: np.ndarray) -> np.ndarray:
    """c values, and 0 where c = 0 even if the value has overflowed."""
    return np.multiply(c, values, out=np.zeros(np.broadcast_shapes(np.shape(c), np.shape(values))), where=c > 0)


def _log(t: np.ndarray) -> np.ndarray:
    """log t, -inf at and below zero, without a warning."""
    return np.log(np.where(t > 0, t, 1.0)) + np.where(t > 0, 0.0, -np.inf)


def _bound_slope(room: np.ndarray, f: np.ndarray, slopes, moved: float) -> float:
    """The slope of conj(a) + a f at the dual with most room, as far as `moved` may take it; infinite without room."""
    if moved == 0.0:
        return 0.0
    k = int(np.argmax(room))
    if not room[k] > 4.0 * moved:
        return np.inf
    return float(max(abs(slopes(k, share)) for share in (moved, -moved)) + abs(f[k]))


class _LogisticTerms(NamedTuple):
    """c log(1 + exp(-y f)) and c (t log t + (1-t) log(1-t)) with t = y a / c in [0, 1]."""

    y: np.ndarray
    c: np.ndarray
    joint = False

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
        t = a * self.y * _inverse(self.c)
        rest = np.where(t < 1.0, 1.0 - t, 1.0)
        other = np.where(t <= 1.0, rest * np.log1p(-np.where(t < 1.0, t, 0.0)), np.inf)  # exact also where t is small
        return _conjugate_of_weighted(self.c, a, self.c * (_entropy(t) + other))

    def slopes(self, a):
        t = a * self.y * _inverse(self.c)
        slope = self.y * (_log(t) - _log(1.0 - t))
        return slope, slope

    def bound_value_error(self, f, score_error):
        """The slope at the near end of the interval of f, times its width."""
        with np.errstate(over="ignore"):
            steepest = self.c / (1.0 + np.exp(self.y * f - score_error))
        return steepest * score_error + TERM_RELATIVE_ERROR * self.value(f)

    def bound_conjugate_error(self, a):
        """A few roundings of t log t, t, and (1 - t) log(1 - t)."""
        t = np.clip(a * self.y * _inverse(self.c), 0.0, 1.0)
        near = -np.log1p(-np.minimum(t, 1.0 - UNIT))
        return TERM_RELATIVE_ERROR * self.c * (np.abs(_entropy(t)) + t + t * near)

    def bound_slope(self, a, f, moved):
        """log t - log(1 - t) at the dual furthest from both ends."""
        t = np.clip(a * self.y * _inverse(self.c), 0.0, 1.0)

        def slope(k: int, way: float) -> float:
            share = t[k] + way / self.c[k]
            return float(np.log(share) - np.log1p(-share))

        return _bound_slope(np.minimum(t, 1.0 - t) * self.c, f, slope, moved)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-y f))."""

    name = "logistic"
    target = "label"
    curvature = 0.25

    def terms(self, y, c):
        """t = y a / c; conj = c (t log t + (1-t) log(1-t))."""
        return _LogisticTerms(y, c)


class _ExponentialTerms(NamedTuple):
    """c exp(-y f) and c (t log t - t) with t = y a / c >= 0."""

    y: np.ndarray
    c: np.ndarray
    joint = False

    def value(self, f):
        with np.errstate(over="ignore"):
            return _multiply_by_weight(self.c, np.exp(-self.y * f))

    def response(self, f):
        a = self.y * self.value(f)
        return a, a

    def second_derivative(self, f):
        return self.value(f)

    def conjugate(self, a):
        t = a * self.y * _inverse(self.c)
        return _conjugate_of_weighted(self.c, a, self.c * (_entropy(t) - t))

    def slopes(self, a):
        slope = self.y * _log(a * self.y * _inverse(self.c))
        return slope, slope

    def bound_value_error(self, f, score_error):
        """exp(-y f) (exp(wide) - 1), and a few roundings."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.nan_to_num(
                self.value(f) * (np.expm1(score_error) + TERM_RELATIVE_ERROR), nan=np.inf, posinf=np.inf
            )

    def bound_conjugate_error(self, a):
        """A few roundings of t log t and of t."""
        t = np.maximum(a * self.y * _inverse(self.c), 0.0)
        return TERM_RELATIVE_ERROR * self.c * (np.abs(_entropy(t)) + t)

    def bound_slope(self, a, f, moved):
        """log t at the largest dual."""
        t = np.maximum(a * self.y * _inverse(self.c), 0.0)
        return _bound_slope(t * self.c, f, lambda k, way: float(np.log(t[k] + way / self.c[k])), moved)


@dataclass(frozen=True)
class Exponential(Loss):
    """exp(-y f)."""

    name = "exponential"
    grows_exponentially = True
    target = "label"
    curvature = np.inf

    def terms(self, y, c):
        """t = y a / c; conj = c (t log t - t)."""
        return _ExponentialTerms(y, c)


class _PoissonTerms(NamedTuple):
    """c (exp(f) - y f) and c (t log t - t) with t = y - a / c >= 0."""

    y: np.ndarray
    c: np.ndarray
    joint = False

    def value(self, f):
        with np.errstate(over="ignore"):
            return _multiply_by_weight(self.c, np.exp(f) - self.y * f)

    def response(self, f):
        with np.errstate(over="ignore"):
            a = _multiply_by_weight(self.c, self.y - np.exp(f))
        return a, a

    def second_derivative(self, f):
        with np.errstate(over="ignore"):
            return _multiply_by_weight(self.c, np.exp(f))

    def conjugate(self, a):
        t = self.y - a * _inverse(self.c)
        return _conjugate_of_weighted(self.c, a, self.c * (_entropy(t) - t))

    def slopes(self, a):
        slope = -_log(self.y - a * _inverse(self.c))
        return slope, slope

    def bound_value_error(self, f, score_error):
        """exp(f) (exp(wide) - 1) + y wide, and a few roundings."""
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.exp(f) * (np.expm1(score_error) + TERM_RELATIVE_ERROR) + self.y * (
                score_error + TERM_RELATIVE_ERROR * np.abs(f)
            )
        return _multiply_by_weight(self.c, np.nan_to_num(grown, nan=np.inf, posinf=np.inf))

    def bound_conjugate_error(self, a):
        """A few roundings of t log t and of t, and what the difference y - a/c has lost."""
        share = a * _inverse(self.c)
        t, sizes = np.maximum(self.y - share, 0.0), np.abs(self.y) + np.abs(share)
        lost = sizes * (1.0 + np.abs(np.log(np.maximum(t, np.maximum(UNIT * sizes, 1e-300)))))
        return TERM_RELATIVE_ERROR * self.c * (np.abs(_entropy(t)) + t + lost)

    def bound_slope(self, a, f, moved):
        """log t at the largest t, which is off by what the difference y - a/c has lost."""
        share = a * _inverse(self.c)
        t, lost = np.maximum(self.y - share, 0.0), 4.0 * UNIT * (np.abs(self.y) + np.abs(share))

        def slope(k: int, way: float) -> float:
            return float(np.log(t[k] + way / self.c[k] + np.sign(way) * lost[k]))

        return _bound_slope(t * self.c, f, slope, moved)

    def repair(self, a, balance):
        """The duals with a <= c y in exact arithmetic, whatever that product is rounded to."""
        return np.minimum(a, self.c * self.y * (1.0 - 4.0 * UNIT))


@dataclass(frozen=True)
class Poisson(Loss):
    """exp(f) - y f."""

    name = "poisson"
    grows_exponentially = True
    target = "count"
    curvature = np.inf

    def terms(self, y, c):
        """t = y - a / c; conj = c (t log t - t)."""
        return _PoissonTerms(y, c)


# ---- losses of k scores: f and a have one row for each class, y holds class indices ---------------------------------


class _ClassTerms(NamedTuple):
    """What losses of many scores share: shares t = e_y - a/c of the classes in the simplex, and their repair."""

    y: np.ndarray
    c: np.ndarray
    joint = False

    @property
    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the score of each sample's own class is."""
        return self.y.astype(int), np.arange(len(self.y))

    def shares(self, a):
        t = -a * _inverse(self.c)
        t[self.own] += 1.0
        return t

    def repair(self, a, balance):
        """The duals with shares in the simplex, and balanced class by class by moving shares between two classes."""
        a = np.array(a, float)
        a[self.own] = 0.0
        a = np.minimum(a, 0.0)
        total = -a.sum(axis=0)
        a *= np.minimum(1.0, self.c * _inverse(total))
        a[self.own] = -a.sum(axis=0)
        return a if balance is None else balance_classes(a, self.y, self.c, balance)

    def fill_own(self, f, value):
        """f with the score of each sample's own class replaced."""
        f = np.array(f, float)
        f[self.own] = value
        return f


def balance_classes(a: np.ndarray, y: np.ndarray, c: np.ndarray, balance: np.ndarray) -> np.ndarray:
    """Duals of which every class sums to its balance: what a rich class has too much goes to a poor one.

    For a sample, the dual of one falls and that of the other rises by the same: to zero, or to c if it is the sample's
    own class.
    """
    missing = np.asarray(balance) - a.sum(axis=1)
    limit = 1e-15 * np.abs(a).sum()
    for poor in np.argsort(-missing):
        for rich in np.argsort(missing):
            amount = min(missing[poor], -missing[rich])
            if poor == rich or amount <= limit:
                continue
            room = np.where(y == poor, c, 0.0) - a[poor]
            taken = np.clip(amount - (np.cumsum(room) - room), 0.0, room)
            a[poor], a[rich] = a[poor] + taken, a[rich] - taken
            missing[poor], missing[rich] = missing[poor] - taken.sum(), missing[rich] + taken.sum()
    return a


class _SoftmaxTerms(_ClassTerms):
    """c (log sum_k exp f_k - f_y) and c sum_k t_k log t_k."""

    def value(self, f):
        top = f.max(axis=0)
        return self.c * (top + np.log(np.exp(f - top).sum(axis=0)) - f[self.own])

    def softmax(self, f):
        share = np.exp(f - f.max(axis=0))
        return share / share.sum(axis=0)

    def response(self, f):
        a = -self.softmax(f)
        a[self.own] += 1.0
        return self.c * a, self.c * a

    def conjugate(self, a):
        t = self.shares(a)
        t = np.where((t < 0) & (t > -1e-12), 0.0, t)
        astray = np.abs(t.sum(axis=0) - 1.0) > 1e-9
        return np.where(astray & (self.c > 0), np.inf, self.c * _entropy(t).sum(axis=0))

    def bound_value_error(self, f, score_error):
        """The slopes at f times the widths, what they change by, and roundings of scores that are subtracted."""
        widest = score_error.max(axis=0)
        return (
            (np.abs(self.response(f)[0]) * score_error).sum(axis=0) + self.c * widest**2
            + TERM_RELATIVE_ERROR * self.c * (np.abs(f.max(axis=0)) + np.abs(f[self.own]) + np.log(len(f)) + 1.0)
        )  # fmt: skip

    def bound_conjugate_error(self, a):
        """A few roundings of every share; the sample's own is what the others leave."""
        t = np.clip(self.shares(a), 0.0, 1.0)
        own = 1.0 - np.log(np.maximum(t[self.own], UNIT))
        return TERM_RELATIVE_ERROR * self.c * ((np.abs(_entropy(t)) + t).sum(axis=0) + len(t) * own)

    def bound_slope(self, a, f, moved):
        """A share goes from one class to another: twice the largest score, and log t at both."""
        return 2.0 * float(np.abs(f).max(initial=0.0)) + 2.0 * MAX_ABS_LOG_SHARE if moved else 0.0

    def violation(self, a, f):
        """How far log t is from f, both taken from their largest: in units of the score."""
        t, share = self.shares(a), self.softmax(f)
        return float(np.abs(_log(np.maximum(t, 1e-300)) - np.log(np.maximum(share, 1e-300))).max(
            initial=0.0, where=(share > 1e-12) & (self.c > 0)))  # fmt: skip


class _MulticlassHingeTerms:
    """c max_k Gamma_k (f_k - f_y + Delta_k) and sum_k a_k Delta_k, with a_k = -c Gamma_k t_k and t in the simplex."""

    joint = False

    def __init__(self, y: np.ndarray, c: np.ndarray, costs: np.ndarray | None, scales: np.ndarray | None):
        self.y, self.c, self.classes = y, c, _ClassTerms(y, c)
        index = y.astype(int)
        self.costs = None if costs is None else np.ascontiguousarray(costs[index].T)
        self.scales = None if scales is None else np.ascontiguousarray(scales[index].T)

    @property
    def own(self):
        """Where the score of each sample's own class is."""
        return self.classes.own

    def raise_scores(self, f):
        """Gamma_k (f_k - f_y + Delta_k) of every class, zero for the sample's own."""
        raised = f - f[self.own] + (1.0 if self.costs is None else self.costs)
        raised[self.own] = 0.0
        return raised if self.scales is None else self.scales * raised

    def value(self, f):
        return self.c * self.raise_scores(f).max(axis=0)

    def response(self, f):
        raised = self.raise_scores(f)
        worst = raised.argmax(axis=0)
        rows = np.arange(len(worst))
        worst = np.where(raised[worst, rows] > 0.0, worst, self.own[0])
        pull = self.c if self.scales is None else self.c * self.scales[worst, rows]
        a = np.zeros_like(f)
        a[worst, rows] -= pull
        a[self.own] += pull
        return a, a

    def shares(self, a):
        """t_k of every class but the sample's own."""
        t = self.classes.fill_own(-a * _inverse(self.c), 0.0)
        return t if self.scales is None else t * _inverse(self.scales)

    def conjugate(self, a):
        t = self.shares(a)
        astray = (t.sum(axis=0) > 1.0 + 1e-9) | (t.min(axis=0) < -1e-9)
        astray |= np.abs(a.sum(axis=0)) > 1e-9 * np.maximum(self.c, np.abs(a).max(axis=0))
        priced = -a[self.own] if self.costs is None else (self.classes.fill_own(a, 0.0) * self.costs).sum(axis=0)
        return np.where(astray & (self.c > 0), np.inf, priced)

    def repair(self, a, balance):
        """The duals with shares in the simplex, balanced class by class; then all shrink by what one has too much."""
        a = np.minimum(self.classes.fill_own(a, 0.0), 0.0)
        a = a / np.maximum(1.0, self.shares(a).sum(axis=0))
        a[self.own] = -a.sum(axis=0)
        a = np.where(self.c > 0, a, 0.0)
        if balance is None:
            return a
        most = self.c if self.scales is None else self.c * self.scales.max(axis=0)
        a = balance_classes(a, self.y, most, balance)
        return a / max(1.0, float(self.shares(a).sum(axis=0).max(initial=0.0)))

    def bound_value_error(self, f, score_error):
        """Gamma_k (wide_k + wide_y) of the classes whose raised score may be above zero, the largest of them."""
        scales, costs = (1.0 if self.scales is None else self.scales), (1.0 if self.costs is None else self.costs)
        lost = TERM_RELATIVE_ERROR * (np.abs(f) + np.abs(f[self.own]) + costs)
        reach = scales * (score_error + score_error[self.own] + lost)
        return self.c * np.where(self.raise_scores(f) + reach > 0.0, reach, 0.0).max(axis=0)

    def bound_conjugate_error(self, a):
        """A few roundings of every a_k Delta_k."""
        return TERM_RELATIVE_ERROR * len(a) * (np.abs(a) * (1.0 if self.costs is None else self.costs)).sum(axis=0)

    def bound_slope(self, a, f, moved):
        """A share goes from one class to another: the difference of two raised scores."""
        dearest = 1.0 if self.costs is None else float(np.abs(self.costs).max(initial=0.0))
        return 2.0 * (2.0 * float(np.abs(f).max(initial=0.0)) + dearest) if moved else 0.0

    def violation(self, a, f):
        """How far the raised score of a class with a share is below the largest."""
        raised, t = self.raise_scores(f), self.shares(a)
        t[self.own] = 1.0 - t.sum(axis=0)
        return float((raised.max(axis=0) - raised).max(initial=0.0, where=(t > 1e-9) & (self.c > 0)))


class _MultivariateTerms:
    """c/2 (f - y)' M (f - y) and -a.y + a' M^+ a / (2 c), on the range of M."""

    joint = False

    def __init__(self, y: np.ndarray, c: np.ndarray, metric: Metric):
        self.y, self.c, (self.M, self.inverse, self.projection, self.least) = y, c, metric

    def value(self, f):
        r = f - self.y
        return 0.5 * self.c * (r * (self.M @ r)).sum(axis=0)

    def response(self, f):
        a = -self.c * (self.M @ (f - self.y))
        return a, a

    def conjugate(self, a):
        quadratic = 0.5 * _inverse(self.c) * (a * (self.inverse @ a)).sum(axis=0)
        outside = np.abs(a - self.projection @ a).max(axis=0) > 1e-9 * np.abs(a).max(axis=0, initial=0.0)
        return np.where(outside, np.inf, quadratic - (a * self.y).sum(axis=0))

    def repair(self, a, balance):
        """The duals in the range of M; what a component sums to too much is taken off, by weight."""
        a = np.where(self.c > 0, self.projection @ a, 0.0)
        if balance is None:
            return a
        return a - np.outer(self.projection @ (a.sum(axis=1) - balance), self.c / max(float(self.c.sum()), 1e-300))

    def bound_value_error(self, f, score_error):
        """c |M| |f - y| times the widths, c |M| widths^2 / 2, and a few roundings."""
        sizes, r = np.abs(self.M), np.abs(f - self.y)
        score_error = score_error + TERM_RELATIVE_ERROR * (np.abs(f) + np.abs(self.y))
        return self.c * (
            (sizes @ r) * (score_error + TERM_RELATIVE_ERROR * len(r) * r) + 0.5 * (sizes @ score_error) * score_error
        ).sum(axis=0)

    def bound_conjugate_error(self, a):
        """Roundings of a.y and of a' M^+ a, and what M^+ is off by.

        With z the computed M^+ a and r = a - M z, a' M^+ a = a'z + z'r + r' M^+ r, and r' M^+ r <= |r|^2 / least.
        """
        sizes, z, few = np.abs(a), self.inverse @ a, TERM_RELATIVE_ERROR * len(a)
        missed = np.abs(a - self.M @ z) + few * (sizes + np.abs(self.M) @ np.abs(z))
        quadratic = (np.abs(z) * (missed + few * sizes) + np.square(missed) / self.least).sum(axis=0)
        return (0.5 * _inverse(self.c) * quadratic + few * (sizes * np.abs(self.y)).sum(axis=0)) * (1.0 + few)

    def bound_slope(self, a, f, moved):
        """|M^+ a / c - y + f|, the largest of any sample and component."""
        if not moved:
            return 0.0
        slope = np.abs(_inverse(self.c) * (self.inverse @ a)) + np.abs(self.y) + np.abs(f)
        return 2.0 * float(slope.max(initial=0.0))

    def violation(self, a, f):
        """How far the scores are from those at which these duals are right, in the range of M."""
        apart = self.projection @ (f - self.y) + _inverse(self.c) * (self.inverse @ a)
        return float(np.abs(apart).max(initial=0.0, where=np.broadcast_to(self.c > 0, apart.shape)))


@dataclass(frozen=True)
class Softmax(Loss):
    """log sum_k exp(f_k) - f_y."""

    name = "softmax"
    target = "class"
    structure = "softmax"
    curvature = 0.5

    def terms(self, y, c):
        """t = e_y - a / c; conj = c sum_k t_k log t_k on the simplex."""
        return _SoftmaxTerms(y, c)


@dataclass(frozen=True, eq=False)
class MulticlassHinge(Loss):
    """max_k Gamma(y, k) (f_k - f_y + Delta(y, k)): of Crammer and Singer where Delta = [k != y] and Gamma = 1.

    `label_costs` is Delta (Taskar et al. 2004), `label_scales` Gamma (Tsochantaridis et al. 2005): one row for each
    true class, one column for each other one.
    """

    label_costs: np.ndarray | None = None
    label_scales: np.ndarray | None = None
    name = "multiclass_hinge"
    target = "class"

    @property
    def plain(self) -> bool:
        """Whether all errors cost the same."""
        return self.label_costs is None and self.label_scales is None

    @property
    def structure(self) -> str:
        """A simplex for each row, where all errors cost the same."""
        return "simplex" if self.plain else ""

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("label_costs", "label_scales")
        )

    __hash__ = None

    def terms(self, y, c):
        """t_k = -a_k / (c Gamma_k) for k != y; conj = sum_k a_k Delta_k on the simplex."""
        return _MulticlassHingeTerms(y, c, self.label_costs, self.label_scales)


class Metric(NamedTuple):
    """M, its pseudo-inverse, the projection on its range, and a lower bound on its least nonzero eigenvalue."""

    M: np.ndarray
    inverse: np.ndarray
    projection: np.ndarray
    least: float


def resolve_metric(M: np.ndarray) -> Metric:
    """M with eigenvalues below RANK of the largest set to zero: a product A'A of low rank has some, of either sign.

    Computed eigenvalues have errors of some k u |M| (Weyl), so the bound on the least one is reduced by that.
    """
    values, V = np.linalg.eigh(M)
    top, k = max(float(values[-1]), 1e-300), len(M)
    kept = values > RANK_TOLERANCE * top
    if not kept.all():
        V, values = V[:, kept], values[kept]
        M = (V * values) @ V.T
        M = 0.5 * (M + M.T)
    least = 0.99 * float(values.min(initial=top)) - 64.0 * k * UNIT * top
    return Metric(M, (V / values) @ V.T, V @ V.T, max(least, 1e-300))


@dataclass(frozen=True, eq=False)
class Multivariate(Loss):
    """(f - y)' M (f - y) / 2 for targets of several numbers, M positive semidefinite (`resolve_metric`)."""

    M: np.ndarray
    name = "multivariate"
    target = "vector"
    structure = "quadratic"

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and np.array_equal(self.M, other.M)

    __hash__ = None

    @property
    def curvature(self) -> float:
        """The largest eigenvalue of M."""
        return float(np.linalg.eigvalsh(self.M)[-1])

    def terms(self, y, c):
        """a = -c M (f - y); conj = -a.y + a' M^+ a / (2 c) on the range of M."""
        return _MultivariateTerms(y, c, resolve_metric(self.M))


LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Hinge, SquaredHinge, Exponential, Logistic, Novelty, LeastSquares, Absolute, Quantile,
        EpsilonInsensitive, SquaredEpsilonInsensitive, Huber, Poisson,
    )
}  # fmt: skip
