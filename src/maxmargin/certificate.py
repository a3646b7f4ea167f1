"""The judge: how far from optimal a point is, computed from the problem and the point alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import singledispatch

import numpy as np

from .features import Design, Gram
from .losses import Row
from .problem import BALANCED, TINY, Point, Problem
from .threads import heed

ROUNDING = 1e-10  # of the largest dual: one that is as near to its bound or to zero counts as being there
UNIT = 4 * 2.0**-53  # the relative error of a kernel value times a dual: a few roundings
MOST_VALUES = 1 << 24  # of a kernel, for an estimate of what rounding does
PROBE = 300  # samples whose kernel matrix is examined when nobody knows whether it is positive semidefinite


@dataclass(frozen=True)
class Certificate:
    """gap = P - D >= P - P*: how far from optimal a fit is, by weak duality.

    Attributes
    ----------
    primal, dual : float
        P at (w, b) and D at a, both in float64.
    gap, relative_gap : float
        P - D, and (P - D) / max(|P|, |D|).
    kkt : float
        The largest violation of the optimality conditions, in units of the score.
    convex : bool or None
        False if the kernel was seen to be not positive semidefinite: then a small gap is stationarity, not a
        proof. None if the kernel is not known to be so and no negative eigenvalue was found.
    scores : ndarray
        <w, phi(x_i)>, evaluated by the judge.
    parts : tuple of Certificate
        One for each binary problem of a multiclass model; the certificate itself is the worst of them.
    """

    primal: float
    dual: float
    kkt: float
    convex: bool | None = True
    floor: float = TINY
    resolution: float = 0.0
    scores: np.ndarray | None = field(default=None, repr=False, compare=False)
    parts: tuple[Certificate, ...] = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """P - D; zero where the two agree to rounding.

        P < D cannot be for a convex problem: there the difference is a rounding error, and counts as one.
        """
        gap = self.primal - self.dual
        gap = abs(gap) if self.convex else gap
        rounding = max(4e-15 * max(abs(self.primal), abs(self.dual)), self.resolution)
        return 0.0 if abs(gap) <= rounding < np.inf else gap

    @property
    def relative_gap(self) -> float:
        """(P - D) / max(|P|, |D|, floor), see `Problem.floor`."""
        if not np.isfinite(self.gap):
            return np.inf
        return self.gap / max(abs(self.primal), abs(self.dual), self.floor)

    def __str__(self) -> str:
        if self.primal == np.inf and self.dual == -np.inf:
            return "no certificate: there was no time to judge the point"
        note = "" if self.convex is not False else "; the kernel is not positive semidefinite, so this proves nothing"
        coarse = self.gap == 0.0 and abs(self.primal - self.dual) > 1e-12 * abs(self.primal)
        rounded = f" (what differs is rounding, up to {self.resolution:.1g})" if coarse else ""
        return (
            f"primal {self.primal:.10g}, dual {self.dual:.10g}, relative gap {self.relative_gap:.2g}{rounded}, "
            f"KKT violation {self.kkt:.2g}{note}"
        )


@singledispatch
def judge(problem, point) -> Certificate:
    """P(w, b), D(a) and their gap at a point, from nothing but the problem and the point.

    One judge for each form a problem comes in: that of this file for data in memory, others for structures and blocks.
    """
    raise TypeError(f"There is no judge for a problem of type {type(problem).__name__}.")


@judge.register
def judge_in_memory(problem: Problem, point: Point) -> Certificate:
    """P(w, b), D(a) and their gap at a point, from nothing but the problem and the point.

    Duals that miss their box or their balance are first made feasible, so that D is a true lower bound whatever
    a solver handed in; what the repair costs is seen in the gap.
    """
    features = problem.features
    if hasattr(features, "relax"):
        point = point._replace(a=features.relax(problem.feasible(point.a)))  # in this order: a repair pulls too
    coef = features.combine(point.a) if point.coef is None else point.coef
    scores = features.scores(coef)
    penalty = features.penalise(coef, scores)
    sums = add_rows_up(problem, point, scores) if problem.row is not None else None
    if sums is not None:
        losses, conjugates, kkt = sums
        primal = penalty + losses + problem.offset(point.b)
        if point.coef is not None:
            coef = features.combine(point.a)
            scores_of_a = scores if isinstance(features, Design) else features.scores(coef)  # w has no need of them
        else:
            scores_of_a = scores
        dual = -features.price(coef, scores_of_a) - conjugates
    else:
        primal = problem.primal_value(scores, penalty, point.b)
        judge_them = judge_mixture if getattr(problem.terms, "joint", False) else judge_duals
        a, coef, dual = judge_them(problem, point, scores)
        kkt = measure_violation(problem, a, problem.shift(scores, point.b))
    return Certificate(
        primal=primal,
        dual=dual,
        kkt=kkt,
        convex=examine_kernel(features, coef),
        floor=problem.floor,
        resolution=problem.resolution,
        scores=scores,
    )


def add_rows_up(problem: Problem, point: Point, scores: np.ndarray) -> tuple[float, float, float] | None:
    """The sums of losses and conjugates and the violation, in one pass; None if the duals need repair.

    The same numbers as `Problem.primal_value`, `Problem.dual_value` and `measure_violation` give, in a tenth of the
    time: a machine of many pairs has as many certificates.
    """
    from .compiled.row_sums import sum_rows

    a = np.ravel(point.a)
    f = np.ravel(problem.shift(scores, point.b))
    margin = ROUNDING * max(a.max(initial=0.0), -a.min(initial=0.0))
    losses, conjugates, kkt, inside = sum_rows(f, a, *map(np.ravel, problem.row), margin)
    return (losses, conjugates, kkt) if inside and problem.imbalance(point.a) <= BALANCED else None


def judge_duals(problem: Problem, point: Point, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The duals made feasible, the coefficients of their w, and D(a).

    The scores of the point are those of its duals too, unless it has coefficients of its own or the repair moved it.
    """
    features = problem.features
    a = problem.feasible(point.a)
    moved = np.abs(a - point.a).max(initial=0.0) > 1e-12 * np.abs(a).max(initial=0.0)
    coef = features.combine(a if moved else point.a)
    own = scores if point.coef is None and not moved else features.scores(coef)
    return a, coef, balanced_dual(problem, a, features.price(coef, own))


def judge_mixture(problem: Problem, point: Point, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The duals of a loss that does not split over samples, their w, and D.

    The loss is asked again at every score of the mixture: R(g) >= R(f) - a.(g - f) for the a it answers with, whatever
    the scores f are, so -R*(-a) >= R(f) + a.f, and the weighted sum of that bounds P from below with the sum of the a.
    """
    features, mixture = problem.features, point.mixture
    if mixture is None or not (mixture.weights > 0).any():
        return point.a, features.combine(point.a), -np.inf
    weights = np.maximum(mixture.weights, 0.0)
    weights = weights / weights.sum()
    a, offset = np.zeros(problem.shape), 0.0
    for weight, f in zip(weights, mixture.scores, strict=True):
        heed()
        value, answer = problem.terms.cut(f)
        a += weight * answer
        offset += weight * (value + float(answer @ f))
    coef = features.combine(a)
    dual = offset - features.price(coef, scores)
    return a, coef, dual if problem.imbalance(a) <= 1e-9 else -np.inf


def balanced_dual(problem: Problem, a: np.ndarray, price: float) -> float:
    """D(a), or -inf if no repair could make the duals sum to the balance."""
    return problem.dual_value(a, price) if problem.imbalance(a) <= 1e-9 else -np.inf


def measure_violation(problem: Problem, a: np.ndarray, f: np.ndarray) -> float:
    """max_i distance of -f_i from the subdifferential of conj_i at a_i: zero exactly at the optimum."""
    if hasattr(problem.terms, "violation"):
        return problem.terms.violation(a, f)
    left, right = problem.terms.slopes(a if problem.row is None else snap(a, problem.row))
    counted = problem.c > 0  # a row without weight is held by its bounds, and no loss has slopes there
    return float(np.maximum(np.maximum(-f - right, left + f), 0.0).max(initial=0.0, where=counted))


def snap(a: np.ndarray, row: Row) -> np.ndarray:
    """The duals with those that are at a bound or at zero to ten digits put exactly there.

    A dual that misses its bound by a rounding would count as free, and its sample as a violator.
    """
    margin = ROUNDING * np.abs(a).max(initial=0.0)
    a = np.where(np.abs(a) <= margin, 0.0, a)
    return np.where(a <= row.lo + margin, row.lo, np.where(a >= row.hi - margin, row.hi, a))


def examine_kernel(features, coef: np.ndarray) -> bool | None:
    """True if the kernel is known to be positive semidefinite, False if a negative eigenvalue shows, else None."""
    if features.kernel.psd:
        return True
    heaviest = np.argsort(-np.abs(coef), kind="stable")[:PROBE]
    K = features.block(heaviest, heaviest)
    eigenvalues = np.linalg.eigvalsh(0.5 * (K + K.T))
    return None if eigenvalues[0] >= -1e-10 * max(np.abs(eigenvalues).sum(), 1e-300) else False


def estimate_rounding(problem: Problem, point: Point, certificate: Certificate) -> float:
    """How large a relative gap float64 leaves: what the rounding of duals and kernel values does to P, as it is usual.

    A score sum_j a_j K_ij is off by about u sqrt(sum_j (a_j K_ij)^2), and P by that times the slope of each loss. Zero
    where there is no kernel, or more of its values than are worth evaluating for this.
    """
    features = problem.features
    if type(features) is not Gram or problem.row is None or certificate.scores is None:
        return 0.0
    coef = features.combine(point.a) if point.coef is None else point.coef
    support = np.flatnonzero(coef)
    if len(support) * features.n > MOST_VALUES:
        return 0.0
    squares = np.square(coef[support]) @ np.square(features.block(support))
    left, right = problem.terms.response(problem.shift(certificate.scores, point.b))
    slopes = np.atleast_2d(np.maximum(np.abs(left), np.abs(right))).sum(axis=0)
    size = max(abs(certificate.primal), abs(certificate.dual), certificate.floor)
    return float(UNIT * np.sum(slopes * np.sqrt(squares))) / size


def worst(certificates: list[Certificate]) -> Certificate:
    """The certificate with the largest relative gap, carrying all of them as its parts."""
    if len(certificates) == 1:
        return certificates[0]
    distinct = {id(certificate): certificate for certificate in certificates}.values()  # one may stand for thousands
    loser = max(distinct, key=lambda certificate: certificate.relative_gap)
    doubts = [certificate.convex for certificate in distinct]
    convex = False if False in doubts else None if None in doubts else True
    return replace(loser, convex=convex, parts=tuple(certificates))
