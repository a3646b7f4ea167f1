"""The one problem every estimator builds and every solver sees.

    minimise over (w, b)   P = 1/2 |w|^2 + sum_i c_i l(f_i; y_i) + balance b       f_i = <w, phi(x_i)> + b
    maximise over a        D = -1/2 |sum_i a_i phi(x_i)|^2 - sum_i conj_i(a_i)     sum_i a_i = balance

with conj_i(a) = c_i l*(-a/c_i; y_i), and R(w) and its conjugate in place of 1/2 |w|^2 where the features have another
penalty. `balance` is a number where the intercept is free (0, or nu n for one class), and None where it is not: then
b = 0 and the equality is dropped.

The nu machines have two intercepts (b - rho and b + rho, or b + epsilon and b - epsilon). They are the same problem
with `y`, `c`, `a` of shape (2, n) over the same n samples: f_li = <w, phi(x_i)> + b_l, one balance for each layer l.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..contracts.traits import Traits
from ..runtime.interpreter import cached_property
from ..runtime.rounding import BALANCE_TOLERANCE, Enclosed
from .losses import Loss, PiecewiseConjugate, Terms

if TYPE_CHECKING:
    from ..contracts.features import Features

TINY = float(np.finfo(float).tiny)
SCALE_FREE_FLOOR = 5e-5  # of |w|^2 if nothing cancelled, for problems without a scale of their own
TARGET_ROUNDING = 1e-6  # of c (1 + |y|): duals that small are rounding errors
FLOOR = 1e-280  # below this P and D count as zero: products of such numbers have no digits left


class Mixture(NamedTuple):
    """A dual point of a loss that does not split over samples: its answers to some scores, weighted.

    `weights` of shape (m,) sum to one and `scores` has shape (m, n). What the loss answers there the judge finds out.
    """

    weights: np.ndarray
    scores: np.ndarray


class Point(NamedTuple):
    """A candidate: duals a, intercept b (one per layer), and w as coefficients (those of a unless given).

    `mixture` says what the duals are made of where the loss does not split over samples. `w` is given where the kernel
    is linear and the machine is w itself: sums of a_i x_i would lose its digits where features are many times as large
    as what is left of them in w. `coef` is then an expansion of w as good as float64 has it.
    """

    a: np.ndarray
    b: float | np.ndarray = 0.0
    coef: np.ndarray | None = None
    mixture: Mixture | None = None
    w: np.ndarray | None = None


@dataclass(frozen=True)
class Problem:
    """P = 1/2 |w|^2 + sum_i c_i l(f_i; y_i) + balance b. See the module's docstring.

    Parameters
    ----------
    features : Features
        The data and the kernel.
    y : ndarray of shape (n,) or (layers, n)
        Labels +1/-1 or real targets.
    c : ndarray like y
        C times sample weight times class weight.
    loss : Loss
        A row of the loss table.
    balance : float, ndarray of shape (layers,) or None
        What the duals sum to; None if the intercept is not free.
    """

    features: Features
    y: np.ndarray
    c: np.ndarray
    loss: Loss
    balance: float | np.ndarray | None = 0.0
    terms: Terms = field(init=False, repr=False)
    supports_close_certificate = True  # whether a point that is judged closely shows more

    def __post_init__(self):
        object.__setattr__(self, "terms", self.loss.terms(self.y, self.c))

    @property
    def row(self) -> PiecewiseConjugate | None:
        """The five numbers of every conj_i, or None if the loss has none."""
        return self.terms if self.terms.piecewise else None

    @cached_property
    def traits(self) -> Traits:
        """What kind of problem it is."""
        features, loss, many = self.features, self.loss, self.features.n_classes
        linear, kernel_rows = features.linear, features.has_kernel_rows
        return Traits(
            linear=linear,
            linear_kernel=features.by_weights and not linear,
            kernel_rows=kernel_rows,
            kernel_matrix=kernel_rows and features.small,
            n_scores=1 if many is None else many,
            vector=many is not None,
            layers=len(self.y) if many is None and self.y.ndim > 1 else 1,
            signed=features.signed,
            joint=self.terms.joint,
            piecewise=self.row is not None,
            kinked=self.kinked,
            exponential=loss.grows_exponentially,
            loss=loss.name,
            structure=loss.structure,
            target=loss.target,
            penalty=features.penalty,
            free_intercept=self.balance is not None,
            sparse=linear and features.samples.sparse,
            n=features.n,
            d=features.samples.d if linear else 0,
        )

    @cached_property
    def kinked(self) -> bool:
        """Whether any loss that counts has a kink: no curvature of its own, nor that of an exponential."""
        if self.row is None:
            return self.loss.kinked
        return bool(((self.row.d <= 0) & (self.row.hi > self.row.lo)).any())

    @cached_property
    def floor(self) -> float:
        """What |P| and |D| are compared with when both may vanish: 1e-4 of 1/2 |w|^2 if nothing cancelled.

        Only the nu machines for classes need it: their D = -1/2 |w|^2 has no linear term, and the optimum is zero
        where the samples surround the origin. Everything else has a scale of its own.
        """
        if self.row is None or self.row.p.any() or self.balance is None:
            return FLOOR
        counted = np.atleast_2d(self.c).max(axis=0) > 0  # rows without weight do not count, whatever they hold
        square = float(self.features.diagonal[counted].mean()) if counted.any() else 0.0
        return max(SCALE_FREE_FLOOR * float(np.abs(self.balance).sum() ** 2) * square, FLOOR)

    @cached_property
    def centre(self) -> float:
        """The mean of the targets, weighed so that weight 2 equals the row twice; 0 for labels."""
        if self.loss.target != "real":
            return 0.0
        p = -self.y if self.row is None else self.row.p
        return -float(np.sum(self.c * p)) / max(float(self.c.sum()), TINY)

    @cached_property
    def scale(self) -> float:
        """How far scores may have to go: 1 for labels, the spread of the targets for regression."""
        if self.row is None and self.loss.target not in ("real", "vector"):
            return 1.0
        free, p = self.balance is not None, -self.y if self.row is None else self.row.p
        away = p + self.centre if free else p
        spread = float(np.sum(self.c * np.abs(away))) / max(float(self.c.sum()), TINY)
        if spread == 0.0 and free:  # one class: the scores are those that the balance asks for
            square = float(np.sum(np.where(self.c > 0, self.c * self.features.diagonal, 0.0)))
            spread = float(np.abs(self.balance).sum()) * square / max(float(self.c.sum()), TINY)
        return max(spread, 1e-12 * float(np.abs(p).max(initial=0.0))) or 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the duals: that of y, or one row for each class of a machine with many."""
        n_classes = self.features.n_classes
        return self.y.shape if n_classes is None else (n_classes, self.n)

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.features.n

    def measure_pace(self) -> None:
        """Measure how fast certificates are computed now, if that was not measured lately."""
        self.features.measure_pace()

    def estimate_seconds(self, support: int) -> float:
        """How long a certificate takes, at the pace that was measured."""
        return self.features.estimate_seconds(support)

    def fingerprint(self) -> dict[str, str | int | float]:
        """Which problem it is, so that a checkpoint is not taken for one of another."""
        kept = {"loss": repr(self.loss), "samples": self.n, "weight": float(self.c.sum()), "intercept": "free"}
        if self.balance is None:
            kept["intercept"] = f"regularised, {self.features.scaling:g}" if self.features.scaling else "none"
        kept["targets"] = float(self.y.ravel() @ np.sin(np.arange(self.y.size)))
        return {**kept, "sum_of_X": self.sum_of_samples}

    @cached_property
    def sum_of_samples(self) -> float:
        """A number that tells these rows from others, at the cost of one product; 0 where there is only a kernel."""
        samples = self.features.samples
        if samples is None or not samples.holds_vectors:
            return 0.0
        pulled = samples.combine(1.5 + np.sin(np.arange(samples.n)))
        return float(np.linalg.norm((1.5 + np.sin(np.arange(len(pulled)))) * pulled))

    def origin(self, warm: Point | None) -> Point:
        """Where a run stands before its first step; the intercept is not known yet."""
        a = np.zeros(self.shape) if warm is None else warm.a
        if warm is not None or self.row is None or np.any(self.balance):  # every row has zero within its bounds
            a = self.feasible(a)
        return Point(a, 0.0 if a.ndim == 1 else np.zeros(len(a)))

    def shift(self, scores: np.ndarray, b) -> np.ndarray:
        """f = scores + b, each layer with its own intercept."""
        return scores + (b if np.ndim(b) == 0 else np.asarray(b)[:, None])

    def offset(self, b) -> float:
        """balance b, the intercept's own term in the primal."""
        return 0.0 if self.balance is None else float(np.sum(np.multiply(self.balance, b)))

    def measure_drift(self, coef: np.ndarray) -> float:
        """How far the w of users is from this one where samples were moved, and duals that should sum to zero do not.

        Duals with another balance belong to a problem of the moved samples themselves.
        """
        if self.balance is None or (drift := self.features.measure_drift(coef)) == 0.0:
            return 0.0
        return 0.0 if np.sum(self.balance) else drift

    def primal_value(self, scores: np.ndarray, penalty: float, b) -> float:
        """P = R(w) + sum_i c_i l(f_i; y_i) + balance b."""
        return penalty + float(self.terms.value(self.shift(scores, b)).sum()) + self.offset(b)

    def dual_value(self, a: np.ndarray, penalty_conjugate: float) -> float:
        """D = -R*(sum_i a_i phi(x_i)) - sum_i conj_i(a_i)."""
        return -penalty_conjugate - float(self.terms.conjugate(a).sum())

    def expand(self, point: Point) -> np.ndarray:
        """The coefficients of w at a point: those of its duals, unless it has others."""
        return self.features.combine(point.a) if point.coef is None else point.coef

    def expand_start(self, point: Point) -> np.ndarray:
        """The coefficients of w where a run starts at a point: as in `expand`, its duals made feasible first."""
        return self.features.combine(self.feasible(point.a)) if point.coef is None else point.coef

    def enclose_scores(self, point: Point, closely: bool = False) -> Enclosed:
        """<w, phi(x_i)> at a point, and bounds on what rounding did to them."""
        if point.w is not None:
            return self.features.enclose_weighted(point.w, closely)
        return self.features.enclose(self.expand(point), closely)

    def primal(self, point: Point) -> float:
        """P at a point."""
        if point.w is not None:
            penalty = 0.5 * float(point.w @ point.w)
            return self.primal_value(self.features.enclose_weighted(point.w).value, penalty, point.b)
        coef = self.expand(point)
        scores = self.features.scores(coef)
        return self.primal_value(scores, self.features.penalty_value(coef, scores), point.b)

    def dual(self, a: np.ndarray) -> float:
        """D at the duals a; -inf where they are not feasible."""
        if self.imbalance(a) > 1e-9:
            return -np.inf
        coef = self.features.combine(a)
        return self.dual_value(a, self.features.penalty_conjugate(coef, self.features.scores(coef)))

    def feasible(self, a: np.ndarray) -> np.ndarray:
        """The duals a clipped to their domain, and topped up or drained in index order until they balance."""
        row = self.row
        if row is None:
            return self.terms.repair(a, self.balance)
        a = np.minimum(np.maximum(a, row.lo), row.hi)
        if self.imbalance(a) <= BALANCE_TOLERANCE:
            return a
        missing = np.asarray(np.subtract(self.balance, a.sum(axis=-1)))[..., None]
        a = absorb_rounding_imbalance(a, missing, row)
        missing = np.subtract(self.balance, a.sum(axis=-1))[..., None]
        missing = np.where(np.abs(missing) > 1e-14 * np.abs(a).sum(axis=-1, keepdims=True), missing, 0.0)
        room = np.where(missing > 0, row.hi - a, a - row.lo)
        room = np.minimum(room, np.abs(missing))
        taken = np.clip(np.abs(missing) - (np.cumsum(room, axis=-1) - room), 0.0, room)
        return np.clip(a + np.sign(missing) * taken, row.lo, row.hi)

    def imbalance(self, a: np.ndarray) -> float:
        """|sum_i a_i - balance| over the size of what is summed; 0 where nothing must balance."""
        if self.balance is None:
            return 0.0
        size = max(float(np.abs(a).sum()), self.least_size)
        return float(np.max(np.abs(a.sum(axis=-1) - self.balance))) / size

    @cached_property
    def least_size(self) -> float:
        """What an imbalance is compared with where all duals are small: the balance, or the rounding of c and y.

        Duals that are all rounding errors, as where constant targets are met, balance to that.
        """
        rounding = TARGET_ROUNDING * float(np.sum(self.c * (1.0 + np.abs(self.y))))
        return max(float(np.max(np.abs(self.balance))), rounding, TINY)


def absorb_rounding_imbalance(a: np.ndarray, missing: np.ndarray, row: PiecewiseConjugate) -> np.ndarray:
    """The duals with a rounding's worth of imbalance taken up by the one furthest from its bounds.

    Taken up by a dual at its bound, it would make that dual look free, and its sample a violator.
    """
    slack = np.minimum(a - row.lo, row.hi - a)
    inner = np.argmax(slack, axis=-1)[..., None]
    small = np.abs(missing) <= 1e-9 * np.abs(a).sum(axis=-1, keepdims=True)
    fits = small & (np.take_along_axis(slack, inner, -1) > np.abs(missing))
    correction = np.zeros_like(a)
    np.put_along_axis(correction, inner, np.where(fits, missing, 0.0), -1)
    return a + correction
