"""The contract of a loss l(f; y), and of its terms: c l(f; y) and its conjugate, for given targets y and weights c.

A loss is one of four kinds, and its terms derive from the base of that kind:

    piecewise   piecewise linear or quadratic: `PiecewiseLoss`, whose terms are five numbers per sample
    smooth      twice differentiable in one score per sample: `SmoothTerms`
    vector      several scores per sample, one for each class or target: `VectorTerms`
    joint       one value for the whole list of scores, which does not split over samples: `JointTerms`

Scores f, duals a, targets y and weights c are float64 arrays of shape (n,), or (layers, n); for several scores per
sample, f and a have shape (k, n). Scores are in units of the decision function, duals in units of c l'(f).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from ..runtime.interruptible import check_interrupt
from ..runtime.rounding import UNIT, bound_sum

if TYPE_CHECKING:
    from ..model.losses import PiecewiseConjugate

TERM_RELATIVE_ERROR = 16.0 * UNIT  # what the few roundings of a term amount to, relative to its size
TRIAL_STEP_LENGTHS = (1.0, 0.1, 0.01)  # how far scores are moved to see whether others suit the duals better


class Terms(ABC):
    """c l(f; y) for given targets y and weights c: its value and its subgradient.

    Attributes
    ----------
    piecewise : bool
        Whether the terms are the five numbers of a `PiecewiseConjugate`.
    joint : bool
        Whether there is one value for the whole list of scores (`JointTerms`).
    """

    __slots__ = ()
    piecewise: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    @abstractmethod
    def value(self, f: np.ndarray) -> np.ndarray:
        """c l(f; y), of shape (n,); of shape (1,) for a joint loss."""

    @abstractmethod
    def response(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The interval of duals a with -a in c dl(f; y): both of its ends, each with the shape of f."""

    def conjugate(self, a: np.ndarray) -> np.ndarray:
        """conj(a) = c l*(-a/c; y), of shape (n,); a loss that does not split over samples has none of single duals."""
        raise TypeError(f"{type(self).__name__} has no conjugate of single duals.")

    def repair(self, a: np.ndarray, balance: float | np.ndarray | None) -> np.ndarray:
        """The duals a, put into the domain of the conjugate; unchanged by default, since responses are in it."""
        return np.asarray(a, float)


class SmoothTerms(Terms):
    """c l(f; y) and its conjugate, for a loss that is twice differentiable in one score per sample.

    `value`, `response`, `conjugate` and `slopes` must be accurate to `relative_error` of their size where nothing
    cancels. The three error bounds have defaults that follow from that. `value` and `conjugate` may also subtract
    numbers of the size of c l''(f), as exp(r) - r - 1 does near r = 0. A loss whose formula subtracts larger ones, or
    whose terms can be bounded more sharply, overrides them.

    Attributes
    ----------
    relative_error : float
        Of `value`, `response`, `conjugate` and `slopes`, relative to their size: 16 roundings by default.
    """

    __slots__ = ()
    relative_error: ClassVar[float] = TERM_RELATIVE_ERROR

    @abstractmethod
    def conjugate(self, a: np.ndarray) -> np.ndarray:
        """conj(a) = c l*(-a/c; y), infinite outside its domain. Shape (n,).

        Where c = 0 it is 0 at a = 0 and infinite elsewhere.
        """

    @abstractmethod
    def slopes(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Left and right derivative of conj at a, each of shape (n,): minus the score at which a is the response."""

    @abstractmethod
    def second_derivative(self, f: np.ndarray) -> np.ndarray:
        """c l''(f; y), of shape (n,)."""

    def take(self, index: np.ndarray | slice) -> SmoothTerms:
        """The terms of some samples; by default those of a dataclass of arrays of shape (n,) and of plain numbers."""
        parts = (getattr(self, part.name) for part in fields(cast(Any, self)))
        return type(self)(*(part[index] if np.ndim(part) else part for part in parts))

    def bound_value_error(self, f: np.ndarray, score_error: np.ndarray) -> np.ndarray:
        """|c l(f) - computed c l| for scores that are off by up to `score_error`, from above. Shape (n,).

        The loss is convex, so over [f - score_error, f + score_error] it is steepest at one of the two ends.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            ends = (self.response(f + side * score_error)[0] for side in (-1.0, 1.0))
            steepest = np.maximum(*(np.abs(a) for a in ends)) * (1.0 + self.relative_error)
            size = np.abs(self.value(f)) + np.abs(self.second_derivative(f))
            return _infinite_where_nan(steepest * score_error + self.relative_error * size)

    def bound_conjugate_error(self, a: np.ndarray) -> np.ndarray:
        """|conj(a) - computed conj(a)|, from above. Shape (n,).

        By Fenchel and Young conj(a) = -a f - c l(f) at the score f = -slope(a), so |conj| + |a slope| is the size of
        what is subtracted, and of what the rounding of a/c changes. The slope is monotone, so it is steepest at one
        end of what a may be rounded to; beyond the domain it does not count. c l''(f) is added as in the value.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            inner, outer = (self.slopes(a * (1.0 + way * self.relative_error))[0] for way in (-1.0, 1.0))
            slope = np.where(np.isfinite(outer), np.maximum(np.abs(inner), np.abs(outer)), np.abs(inner))
            curvature = np.abs(self.second_derivative(-inner))
            size = np.abs(self.conjugate(a)) + np.where(a == 0, 0.0, np.abs(a) * slope)
            size = size + np.where(np.isfinite(inner), curvature, 0.0)
            return _infinite_where_nan(self.relative_error * size)

    def bound_slope(self, a: np.ndarray, f: np.ndarray, moved: float) -> float:
        """What it costs, per unit, to move the amount `moved` between duals; infinite if no dual has room for it.

        conj(a) + a f changes by at most |slope| + |f| per unit, and the slope is monotone. The dual is chosen for
        which that is least.
        """
        if moved == 0.0:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            room = np.isfinite(self.conjugate(a - 4.0 * moved)) & np.isfinite(self.conjugate(a + 4.0 * moved))
            ends = (np.abs(self.slopes(a + way)[0]) for way in (-2.0 * moved, 2.0 * moved))
            cost = (np.maximum(*ends) + np.abs(f)) * (1.0 + self.relative_error)
        return float(np.where(room, _infinite_where_nan(cost), np.inf).min(initial=np.inf))


class VectorTerms(Terms):
    """c l(f; y) and its conjugate for k scores per sample: f and a have shape (k, n), value and conjugate (n,)."""

    __slots__ = ()

    @abstractmethod
    def conjugate(self, a: np.ndarray) -> np.ndarray:
        """conj(a) = c l*(-a/c; y), infinite outside its domain."""

    @abstractmethod
    def repair(self, a: np.ndarray, balance: float | np.ndarray | None) -> np.ndarray:
        """The duals a, put into the domain of the conjugate; with a `balance`, summing to it for each of k scores."""

    @abstractmethod
    def violation(self, a: np.ndarray, f: np.ndarray) -> float:
        """How far f is from the scores at which a is the response, in units of the score."""

    @abstractmethod
    def bound_value_error(self, f: np.ndarray, score_error: np.ndarray) -> np.ndarray:
        """|c l(f) - computed c l| for scores that are off by up to `score_error`, from above. Shape (n,)."""

    @abstractmethod
    def bound_conjugate_error(self, a: np.ndarray) -> np.ndarray:
        """|conj(a) - computed conj(a)|, from above. Shape (n,)."""

    @abstractmethod
    def bound_slope(self, a: np.ndarray, f: np.ndarray, moved: float) -> float:
        """What it costs, per unit, to move the amount `moved` between duals."""


class JointTerms(Terms):
    """C R(f), one convex function of the whole list of scores. f and a have shape (n,).

    There is no conjugate of single duals. A dual point is a weighted mean of cuts at some scores
    (`maxmargin.model.problem.Mixture`).

    Attributes
    ----------
    steepness : ndarray of shape (n,)
        Required: the largest |a_i| that any cut has, which is how fast C R changes with each score.
    shift_invariant : bool
        Whether R(f + t) = R(f) for every number t.
    k : int or None
        How many samples every labelling of a metric has as positive; None where any number may be.
    """

    joint = True
    steepness: np.ndarray
    shift_invariant: bool = False
    k: int | None = None

    @abstractmethod
    def cut(self, f: np.ndarray) -> tuple[float, np.ndarray]:
        """C R(f), and a with C R(g) >= C R(f) - a.(g - f) for all g.

        The answer depends on the scores alone: asked again at the same scores, it is the same.
        """

    def value(self, f: np.ndarray) -> np.ndarray:
        """C R(f), of shape (1,)."""
        return np.array([self.cut(f)[0]])

    def response(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The duals a of the cut at f, twice: as an interval of one point."""
        a = self.cut(f)[1]
        return a, a

    def bound_value_error(self, f: np.ndarray, score_error: np.ndarray, value: float) -> float:
        """What `value` = C R(f) may be off by, at scores that are off by `score_error` and by its evaluation.

        A sum of n products, and a labelling that is the worst one but for the rounding of such sums.
        """
        size = abs(value) + float(self.steepness @ np.abs(f))
        return float(self.steepness @ score_error) + 2.0 * bound_sum(len(f) + 16) * size

    def violation(self, a: np.ndarray, f: np.ndarray) -> float:
        """(h(f) - min_g h(g)) / sum_i |a_i| with h(g) = C R(g) + a.g, over a few trial scores g: zero at the optimum.

        Where -a is a subgradient at f, f minimises h. The trials are zero and steps downhill from f. That is the
        Fenchel-Young gap of (a, f) as far as they show it, as a mean distance in units of the score.
        """
        value, vertex = self.cut(f)
        downhill = vertex - a
        length = float(np.abs(downhill).max(initial=0.0))
        trials = [np.zeros_like(f)] + [f + step / length * downhill for step in TRIAL_STEP_LENGTHS if length > 0]
        lowest = np.inf
        for g in trials:
            check_interrupt()
            lowest = min(lowest, self.cut(g)[0] + float(a @ g))
        size = max(float(np.abs(a).sum()), float(np.abs(vertex).sum()), np.finfo(float).tiny)
        return max(value + float(a @ f) - lowest, 0.0) / size


class Loss(ABC):
    """l(f; y), convex in the score f. A subclass is a frozen dataclass of the parameters of its formula.

    Attributes
    ----------
    name : str
        How users call it.
    target : str
        What y holds: "label" (+1/-1), "real", "count" (0, 1, 2, ...), "class" (indices), "vector", "level" or "none".
    grows_exponentially : bool
        Whether it grows like an exponential, and its values may overflow.
    structure : str
        What a solver made for one formula can rely on: "hinge" for c max(margin - y f, 0), "least_squares" for
        c (f - y)^2 / 2, "softmax" for terms with the shares `softmax(f)`, "simplex" for the multiclass hinge whose
        errors all cost the same, "quadratic" for c (f - y)' M (f - y) / 2 with a matrix `M`; "" for all others.
    logit_scale : float
        s of a loss for labels with P(y = 1) = 1 / (1 + exp(-s f)) where its expectation is least, from which
        `predict_proba` comes; 0 for all others.
    inverse_link : {"identity", "exp"}
        What a regression predicts of f(x): f(x) itself, or exp(f(x)).
    """

    name: ClassVar[str]
    target: ClassVar[str]
    grows_exponentially: ClassVar[bool] = False
    structure: str = ""
    logit_scale: ClassVar[float] = 0.0
    inverse_link: ClassVar[Literal["identity", "exp"]] = "identity"

    @abstractmethod
    def terms(self, y: np.ndarray, c: np.ndarray) -> Terms:
        """c l(.; y) and its conjugate, for targets and weights of the same shape."""

    @property
    def curvature(self) -> float:
        """sup l''(f; y), the Lipschitz constant of the derivative; infinite for a kinked loss."""
        return np.inf

    @property
    def kinked(self) -> bool:
        """Whether it has a kink: an infinite curvature, and that not because it grows like an exponential."""
        return not self.grows_exponentially and not np.isfinite(self.curvature)

    def row(self, y: np.ndarray, c: np.ndarray) -> PiecewiseConjugate | None:
        """The five numbers (p, d, e, lo, hi) of c l(.; y), or None if the loss is not piecewise."""
        return None

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


class PiecewiseLoss(Loss):
    """A piecewise linear or quadratic loss: conj(a) = p a + d a^2/2 + e |a| on [lo, hi], with lo <= 0 <= hi.

    A subclass gives `row`, with `maxmargin.model.losses.make_piecewise`; everything else follows from its five numbers.
    """

    @abstractmethod
    def row(self, y: np.ndarray, c: np.ndarray) -> PiecewiseConjugate:
        """The five numbers (p, d, e, lo, hi) of c l(.; y), one of each per sample."""

    def terms(self, y: np.ndarray, c: np.ndarray) -> Terms:
        """The row itself."""
        return self.row(y, c)

    @property
    def curvature(self) -> float:
        """1/d with weight 1, the larger of y = 1 and y = -1: infinite for a kinked loss."""
        least = min(float(self.row(np.array([y]), np.ones(1)).d.min()) for y in (1.0, -1.0))
        return 1.0 / least if least > 0 else np.inf


def _infinite_where_nan(bound: np.ndarray) -> np.ndarray:
    """The bound, infinite where it is not a number."""
    return np.where(np.isnan(bound), np.inf, bound)
