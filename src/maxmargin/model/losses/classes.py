"""Losses of one score per class: softmax, and the hinge of Crammer and Singer.

f and a have shape (k, n), one row for each class; y holds class indices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...contracts.losses import TERM_RELATIVE_ERROR, Loss, VectorTerms
from ...runtime.rounding import UNIT
from .weighted import entropy, invert_weights, safe_log

MAX_ABS_LOG_SHARE = 750.0  # |log t| of every share t that float64 can hold


class ClassTerms(VectorTerms):
    """What losses of one score per class have in common: where the score of a sample's own class is."""

    __slots__ = ()
    y: np.ndarray
    c: np.ndarray

    @property
    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the score of each sample's own class is."""
        return self.y.astype(int), np.arange(len(self.y))

    def fill_own(self, f, value):
        """f with the score of each sample's own class replaced."""
        f = np.array(f, float)
        f[self.own] = value
        return f


def balance_classes(a: np.ndarray, y: np.ndarray, c: np.ndarray, balance: np.ndarray) -> np.ndarray:
    """Duals of which every class sums to its balance: the surplus of one class goes to another that lacks as much.

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


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxTerms(ClassTerms):
    """c (log sum_k exp f_k - f_y) and c sum_k t_k log t_k, with shares t = e_y - a/c in the simplex."""

    y: np.ndarray
    c: np.ndarray

    def shares(self, a):
        t = -a * invert_weights(self.c)
        t[self.own] += 1.0
        return t

    def repair(self, a, balance):
        """The duals with shares in the simplex, and balanced class by class by moving shares between two classes."""
        a = np.array(a, float)
        a[self.own] = 0.0
        a = np.minimum(a, 0.0)
        total = -a.sum(axis=0)
        a *= np.minimum(1.0, self.c * invert_weights(total))
        a[self.own] = -a.sum(axis=0)
        return a if balance is None else balance_classes(a, self.y, self.c, balance)

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
        return np.where(astray & (self.c > 0), np.inf, self.c * entropy(t).sum(axis=0))

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
        return TERM_RELATIVE_ERROR * self.c * ((np.abs(entropy(t)) + t).sum(axis=0) + len(t) * own)

    def bound_slope(self, a, f, moved):
        """A share goes from one class to another: twice the largest score, and log t at both."""
        return 2.0 * float(np.abs(f).max(initial=0.0)) + 2.0 * MAX_ABS_LOG_SHARE if moved else 0.0

    def violation(self, a, f):
        """How far log t is from f, both taken from their largest: in units of the score."""
        t, share = self.shares(a), self.softmax(f)
        return float(np.abs(safe_log(np.maximum(t, 1e-300)) - np.log(np.maximum(share, 1e-300))).max(
            initial=0.0, where=(share > 1e-12) & (self.c > 0)))  # fmt: skip


class MulticlassHingeTerms(ClassTerms):
    """c max_k Gamma_k (f_k - f_y + Delta_k) and sum_k a_k Delta_k, with a_k = -c Gamma_k t_k and t in the simplex."""

    __slots__ = ("c", "costs", "scales", "y")

    def __init__(self, y: np.ndarray, c: np.ndarray, costs: np.ndarray | None, scales: np.ndarray | None):
        self.y, self.c = y, c
        index = y.astype(int)
        self.costs = None if costs is None else np.ascontiguousarray(costs[index].T)
        self.scales = None if scales is None else np.ascontiguousarray(scales[index].T)

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
        t = self.fill_own(-a * invert_weights(self.c), 0.0)
        return t if self.scales is None else t * invert_weights(self.scales)

    def conjugate(self, a):
        t = self.shares(a)
        astray = (t.sum(axis=0) > 1.0 + 1e-9) | (t.min(axis=0) < -1e-9)
        astray |= np.abs(a.sum(axis=0)) > 1e-9 * np.maximum(self.c, np.abs(a).max(axis=0))
        priced = -a[self.own] if self.costs is None else (self.fill_own(a, 0.0) * self.costs).sum(axis=0)
        return np.where(astray & (self.c > 0), np.inf, priced)

    def repair(self, a, balance):
        """The duals with shares in the simplex, balanced class by class; then all shrink by what one has too much."""
        a = np.minimum(self.fill_own(a, 0.0), 0.0)
        a = a / np.maximum(1.0, self.shares(a).sum(axis=0))
        a[self.own] = -a.sum(axis=0)
        a = np.where(self.c > 0, a, 0.0)
        if balance is None:
            return a
        most = self.c if self.scales is None else self.c * self.scales.max(axis=0)
        a = balance_classes(a, self.y, most, balance)
        return a / max(1.0, float(self.shares(a).sum(axis=0).max(initial=0.0)))

    def bound_value_error(self, f, score_error):
        """Gamma_k (score_error_k + score_error_y) of the classes whose raised score may be above zero: the largest."""
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


@dataclass(frozen=True)
class Softmax(Loss):
    """log sum_k exp(f_k) - f_y.

    See Also
    --------
    maxmargin.RiskClassifier : With `multi_class="softmax"`.
    MulticlassHinge : The hinge of all classes at once.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. JMLR 11, 311-365.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import Softmax
    >>> Softmax().value(np.array([[2.0], [1.0], [0.0]]), np.array([1])).round(3)
    array([1.408])
    """

    name = "softmax"
    target = "class"
    structure = "softmax"
    curvature = 0.5

    def terms(self, y, c):
        """t = e_y - a / c; conj = c sum_k t_k log t_k on the simplex."""
        return SoftmaxTerms(y, c)


@dataclass(frozen=True, eq=False)
class MulticlassHinge(Loss):
    """max_k Gamma(y, k) (f_k - f_y + Delta(y, k)): of Crammer and Singer where Delta = [k != y] and Gamma = 1.

    `label_costs` is Delta (Taskar et al. 2004), `label_scales` Gamma (Tsochantaridis et al. 2005): one row for each
    true class, one column for each other one.

    Parameters
    ----------
    label_costs : ndarray of shape (k, k), default=None
        Delta, zero on its diagonal; None is 1 for every error.
    label_scales : ndarray of shape (k, k), default=None
        Gamma; None is 1.

    See Also
    --------
    maxmargin.LinearSVC : With `multi_class="crammer_singer"`.
    Softmax : The smooth loss of all classes at once.

    References
    ----------
    - Crammer and Singer (2001). On the algorithmic implementation of multiclass kernel-based vector machines. JMLR 2,
      265-292.
    - Tsochantaridis, Joachims, Hofmann and Altun (2005). Large margin methods for structured and interdependent output
      variables. JMLR 6, 1453-1484.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import MulticlassHinge
    >>> MulticlassHinge().value(np.array([[2.0], [1.0], [0.0]]), np.array([1]))
    array([2.])
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
        """A simplex for each sample, where all errors cost the same."""
        return "simplex" if self.plain else ""

    def __eq__(self, other) -> bool:
        return (
            type(self) is type(other)
            and np.array_equal(self.label_costs, other.label_costs)
            and np.array_equal(self.label_scales, other.label_scales)
        )

    __hash__ = None

    def terms(self, y, c):
        """t_k = -a_k / (c Gamma_k) for k != y; conj = sum_k a_k Delta_k on the simplex."""
        return MulticlassHingeTerms(y, c, self.label_costs, self.label_scales)
