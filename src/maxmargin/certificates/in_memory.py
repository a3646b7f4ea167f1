"""The judge: how far from optimal a point is, computed from the problem and the point alone, rounding included.

Every number that the judge reports holds in exact arithmetic for the data as given: `primal` is no less than P, `dual`
is no more than the optimum, and `gap` is no less than the distance between P and the optimum. docs/certificate.md
derives the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import singledispatch
from math import isfinite
from typing import NamedTuple

import numpy as np

from ..model.features import Gram
from ..model.losses import PiecewiseConjugate
from ..model.problem import FLOOR, Point, Problem
from ..runtime.interruptible import check_interrupt
from ..runtime.rounding import (
    AT_BOUND,
    BALANCE_ROUNDINGS,
    BALANCE_TOLERANCE,
    UNIT,
    Enclosed,
    Remainder,
    add_enclosed,
    bound_sum,
)

# of the gap: where rounding may be more than this, the point is judged again more accurately
MAX_ROUNDING_SHARE_OF_GAP = 0.25
MAX_RELATIVE_IMBALANCE = 1e-9  # of the size of the duals: an imbalance beyond which they have no D
NEGLIGIBLE_RELATIVE_ROUNDING = 1e-10  # relative rounding below which no point is judged again
MAX_ESTIMATE_KERNEL_VALUES = 1 << 24  # kernel values that an estimate of rounding errors may evaluate
# samples whose kernel matrix is examined if it is not known whether it is positive semidefinite
DEFINITENESS_CHECK_SAMPLES = 300


@dataclass(frozen=True)
class Certificate:
    """gap >= P - D >= P - P*: how far from optimal a fit is, by weak duality, in exact arithmetic.

    Attributes
    ----------
    primal : float
        P at (w, b), rounded upwards.
    dual : float
        D at a, rounded downwards: no more than the optimum.
    gap, relative_gap : float
        An upper bound on P - D, and the same divided by max(|P|, |D|); both include a bound on rounding errors.
    rounding : float
        How much of the gap is an allowance for rounding alone.
    kkt : float
        The largest violation of the optimality conditions, in units of the score.
    convex : bool or None
        False if the kernel was found not to be positive semidefinite: then a small gap shows a stationary point and
        proves nothing more. None if it is not known and no negative eigenvalue was found.
    bound : float
        An upper bound on P - D, computed as a sum of nonnegative terms. It is sharper than `primal - dual` where both
        are large; infinite where there is no such sum.
    scores : ndarray
        <w, phi(x_i)>, evaluated by the judge.
    parts : tuple of Certificate
        One for each binary problem of a multiclass model; the certificate itself is the worst of them.
    """

    primal: float
    dual: float
    kkt: float
    convex: bool | None = True
    floor: float = FLOOR
    rounding: float = 0.0
    bound: float = np.inf
    scores: np.ndarray | None = field(default=None, repr=False, compare=False)
    parts: tuple[Certificate, ...] = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """P - D, bounded from above."""
        difference = self.primal - self.dual
        return self.bound if self.bound < difference else difference

    @property
    def size(self) -> float:
        """max(|P|, |D|, floor), what a gap is compared with; see `Problem.floor`."""
        return max(abs(self.primal), abs(self.dual), self.floor)

    @property
    def relative_gap(self) -> float:
        """(P - D) / max(|P|, |D|, floor), bounded from above."""
        return self.gap / self.size if isfinite(self.gap) and isfinite(self.size) else np.inf

    @property
    def relative_rounding(self) -> float:
        """How much of the relative gap is an allowance for rounding."""
        return min(self.rounding / self.size, self.relative_gap) if isfinite(self.size) else 0.0

    def __str__(self) -> str:
        if self.primal == np.inf and self.dual == -np.inf:
            return "no certificate: there was no time to judge the point"
        note = "" if self.convex is not False else "; the kernel is not positive semidefinite, so this proves nothing"
        shows = self.relative_rounding > 0.1 * abs(self.relative_gap)
        rounded = f" ({self.relative_rounding:.2g} of it for rounding)" if shows else ""
        return (
            f"primal {self.primal:.10g}, dual {self.dual:.10g}, relative gap {self.relative_gap:.2g}{rounded}, "
            f"KKT violation {self.kkt:.2g}{note}"
        )


@singledispatch
def judge(problem, point, closely: bool = False) -> Certificate:
    """P(w, b), D(a) and their gap at a point, from nothing but the problem and the point.

    There is one judge for each form of problem: the one in this file for data in memory, others for structures and
    blocks. With `closely` scores are evaluated as if in twice the precision, where the form allows it. The rounding
    bound is then small, and judging takes about ten times as long.
    """
    raise TypeError(f"There is no judge for a problem of type {type(problem).__name__}.")


def judge_with_refinement(problem, point) -> Certificate:
    """The certificate of a point, as if in twice the precision where rounding may be a large part of the gap."""
    certificate = judge(problem, point)
    hidden = max(certificate.rounding, certificate.primal - certificate.dual - certificate.gap) / certificate.size
    if not (
        problem.supports_close_certificate
        and hidden > max(MAX_ROUNDING_SHARE_OF_GAP * certificate.relative_gap, NEGLIGIBLE_RELATIVE_ROUNDING)
    ):
        return certificate
    return judge(problem, point, closely=True)


class Sums(NamedTuple):
    """The sums over all terms of a problem at a point.

    Attributes
    ----------
    losses, conjugates : Enclosed
        sum_i c_i l(f_i) and sum_i conj_i(a_i).
    remainders : Enclosed
        sum_i c_i l(f_i) + conj_i(a_i) + a_i f_i, whose terms are nonnegative; its error bounds it from above only.
    moved : float
        The amount that must be shifted between duals before they balance exactly.
    cost, cost_of_dual : float
        What that shift adds to the remainders, and what it subtracts from D.
    leverage : float
        What shrinking all duals adds to the remainders, per unit of the share by which they shrink.
    kkt : float
        The largest violation.
    """

    losses: Enclosed
    conjugates: Enclosed
    remainders: Enclosed
    moved: float
    cost: float
    cost_of_dual: float
    leverage: float
    kkt: float

    def __add__(self, other: Sums) -> Sums:
        both = [add_enclosed(mine, its) for mine, its in zip(self[:3], other[:3], strict=True)]
        rest = [mine + its for mine, its in zip(self[3:7], other[3:7], strict=True)]
        return Sums(*both, *rest, max(self.kkt, other.kkt))


@judge.register
def judge_in_memory(problem: Problem, point: Point, closely: bool = False) -> Certificate:
    """P(w, b), D(a) and their gap at a point, from nothing but the problem and the point.

    Duals outside their bounds or out of balance are first made feasible, so that D is a true lower bound whatever the
    solver handed in. The cost of this repair shows in the gap.
    """
    features = problem.features
    if features.penalty == "l1":
        point = point._replace(
            a=features.scale_to_feasible(problem.feasible(point.a))
        )  # in this order: a repair changes v too
    coef = problem.expand(point)
    scores, penalty, drift = enclose_machine(problem, point, coef, closely)
    if problem.terms.joint:
        return judge_mixture(problem, point, penalty, scores, closely)
    a, sums = point.a, sum_terms(problem, point.a, point.b, scores)
    if sums is None:
        a = problem.feasible(point.a)
        sums = sum_terms(problem, a, point.b, scores, repaired=True)
    if point.w is None:
        remainder = features.measure_remainder(coef, a, sums.moved, closely, drift)
    else:
        remainder = features.measure_distance(point.w, a, sums.moved)
    penalty_conjugate = features.bound_penalty_conjugate(penalty.high, remainder)
    bounds = combine_bounds(penalty, enclose_offset(problem, point.b), sums, remainder, penalty_conjugate)
    return Certificate(
        *(float(each) for each in bounds[:2]), float(sums.kkt), examine_kernel(features, coef), problem.floor,
        *(float(each) for each in bounds[2:]), scores.value,
    )  # fmt: skip


def enclose_machine(
    problem: Problem, point: Point, coef: np.ndarray, closely: bool = False
) -> tuple[Enclosed, Enclosed, float]:
    """Scores and R(w) of the machine that users see, and how far its w is from that of the point, which has `coef`."""
    scores = problem.enclose_scores(point, closely)
    if point.w is not None:
        half, drift = 0.5 * float(point.w @ point.w), 0.0
        penalty = Enclosed(half, bound_sum(len(point.w) + 8) * half)
    else:
        penalty, drift = problem.features.enclose_penalty(coef, scores), problem.measure_drift(coef)
    if drift:
        lengthened = drift * (np.sqrt(2.0 * max(penalty.high, 0.0)) + drift)
        penalty = penalty._replace(error=penalty.error + lengthened)
    public = problem.features.bound_public_errors(coef, largest(point.b), penalty.high, drift)
    if isinstance(public, np.ndarray) or public > 0.0:
        scores = scores._replace(error=scores.error + public)
    return scores, penalty, drift


class CertificateBounds(NamedTuple):
    """The numbers of a certificate: P from above, D from below, the allowance for rounding, P - D from above."""

    primal: float | np.ndarray
    dual: float | np.ndarray
    rounding: float | np.ndarray
    bound: float | np.ndarray


def combine_bounds(
    penalty: Enclosed, offset: Enclosed, sums: Sums, remainder: Remainder, penalty_conjugate
) -> CertificateBounds:
    """P = R(w) + sum of losses + offset, D = -R*(v) - sum of conjugates, and P - D as the sum of all remainders.

    D is the larger of two lower bounds: one from its own terms, and one from P minus the remainders.
    """
    primal = add_enclosed(penalty, sums.losses, offset)
    bound = remainder.value + sums.remainders.high + sums.cost
    conjugates = sums.conjugates.high
    if remainder.shrink > 0.0:
        bound = bound + remainder.shrink * sums.leverage
        conjugates = conjugates + remainder.shrink * (abs(sums.conjugates.value) + sums.leverage)
    bound = bound * (1.0 + 8.0 * UNIT)
    larger = np.maximum if isinstance(bound, np.ndarray) else max
    dual = larger(-penalty_conjugate - conjugates - sums.cost_of_dual, primal.low - bound)
    dual = dual - 4.0 * UNIT * (abs(penalty_conjugate) + abs(conjugates) + abs(dual))
    rounding = bound - sums.remainders.value - remainder.plain
    return CertificateBounds(primal.high, dual, larger(0.0, rounding), bound)  # 0 also where neither is finite


def largest(b) -> float:
    """max |b| over all layers or classes."""
    return float(np.abs(b).max(initial=0.0)) if isinstance(b, np.ndarray) else abs(float(b))


def enclose_offset(problem: Problem, b) -> Enclosed:
    """balance b, summed over all layers; the balance nu sum(c) is itself a rounded number."""
    if problem.balance is None or (not isinstance(problem.balance, np.ndarray) and problem.balance == 0.0):
        return Enclosed(0.0, 0.0)
    terms = np.multiply(problem.balance, b)
    return Enclosed(problem.offset(b), bound_sum(np.size(terms) + BALANCE_ROUNDINGS) * float(np.abs(terms).sum()))


def sum_terms(problem: Problem, a: np.ndarray, b, scores: Enclosed, repaired: bool = False) -> Sums | None:
    """The sums over all terms; None if the duals need repair and have not been repaired yet."""
    if problem.row is None:
        return sum_general_terms(problem, a, b, scores) if repaired else None
    if a.ndim == 1:
        checked = None if repaired else problem
        return sum_layer(problem.row, np.ascontiguousarray(a), float(b), scores, problem.balance, checked)
    outside = (a < problem.row.lo) | (a > problem.row.hi)
    if not repaired and (outside.any() or problem.imbalance(a) > BALANCE_TOLERANCE):
        return None
    found = None
    for layer, (dual, intercept) in enumerate(zip(a, b, strict=True)):
        row = PiecewiseConjugate(*(np.ascontiguousarray(part[layer]) for part in problem.row))
        balance = None if problem.balance is None else float(problem.balance[layer])
        part = sum_layer(row, np.ascontiguousarray(dual), float(intercept), scores, balance, None)
        found = part if found is None else found + part
    return found


class RowSums(NamedTuple):
    """What `compiled.row_sums.enclose_rows` returns, in its order: for one problem, or for many as arrays."""

    losses: float | np.ndarray
    loss_error: float | np.ndarray
    conjugates: float | np.ndarray
    conjugate_error: float | np.ndarray
    remainders: float | np.ndarray
    most: float | np.ndarray
    total: float | np.ndarray
    total_error: float | np.ndarray
    size: float | np.ndarray
    min_free_slope: float | np.ndarray
    max_slope: float | np.ndarray
    leverage: float | np.ndarray
    up: float | np.ndarray
    down: float | np.ndarray
    kkt: float | np.ndarray
    inside: float | np.ndarray

    def add_balancing_cost(self, moved, cost, b) -> Sums:
        """The sums of a problem, including the cost of balancing the duals exactly."""
        return Sums(
            Enclosed(self.losses, self.loss_error), Enclosed(self.conjugates, self.conjugate_error),
            Enclosed(self.remainders, self.most - self.remainders), moved, cost, cost + moved * b, self.leverage,
            self.kkt,
        )  # fmt: skip


def sum_layer(
    row: PiecewiseConjugate, a: np.ndarray, b: float, scores: Enclosed, balance: float | None, problem: Problem | None
) -> Sums | None:
    """The sums of one layer, in one compiled pass.

    If `problem` is given, returns None where a dual is outside its bounds, or where the duals miss their balance by
    more than a rounding error.
    """
    from ..compiled.row_sums import judge_rows

    found, moved, cost = judge_rows(scores.value, scores.error, b, a, *row, balance is not None, balance or 0.0)
    sums = RowSums(*found)
    if problem is not None and not (sums.inside and is_balanced(sums.total, sums.size, problem)):
        return None
    return sums.add_balancing_cost(moved, cost, abs(b))


def is_balanced(total: float, size: float, problem: Problem) -> bool:
    """Whether duals that sum to `total` balance up to rounding, as `Problem.imbalance` measures it."""
    if problem.balance is None:
        return True
    missing = abs(total - problem.balance)
    return missing <= BALANCE_TOLERANCE * size or missing <= BALANCE_TOLERANCE * max(size, problem.least_size)


def sum_general_terms(problem: Problem, a: np.ndarray, b, scores: Enclosed) -> Sums:
    """The sums of a smooth loss, or of one with many scores; conjugates are infinite where duals do not balance."""
    terms, f = problem.terms, problem.shift(scores.value, b)
    score_error = scores.error + UNIT * np.abs(f)
    with np.errstate(over="ignore", invalid="ignore"):
        values, conjugates = terms.value(f), terms.conjugate(a)
        products = np.atleast_2d(a * f).sum(axis=0)
        value_error, conjugate_error = terms.bound_value_error(f, score_error), terms.bound_conjugate_error(a)
        slack = bound_sum(problem.n + len(np.atleast_2d(a)) + 16)
        sums = [float(part.sum()) for part in (values, conjugates, products)]
        sizes = [float(np.abs(part).sum()) for part in (values, conjugates, a * f)]
        errors = [
            float(value_error.sum()) * (1.0 + slack) + slack * sizes[0],
            float(conjugate_error.sum()) * (1.0 + slack) + slack * sizes[1],
            float((np.abs(a) * score_error).sum()) + slack * sizes[2],
        ]
    moved, cost = bound_balancing_cost_of_terms(problem, a, f, score_error)
    balanced = problem.imbalance(a) <= MAX_RELATIVE_IMBALANCE
    conjugate = Enclosed(sums[1] if balanced else np.inf, errors[1])
    remainders = Enclosed(sum(sums) if balanced else np.inf, sum(errors))
    kkt = measure_violation(problem, a, f)
    cost_of_dual = cost + moved * largest(b)
    leverage = sizes[1] + sizes[2] + float(np.abs(terms.conjugate(np.zeros_like(a))).sum())  # conj is convex
    return Sums(Enclosed(sums[0], errors[0]), conjugate, remainders, moved, cost, cost_of_dual, leverage, kkt)


def bound_balancing_cost_of_terms(
    problem: Problem, a: np.ndarray, f: np.ndarray, score_error: np.ndarray
) -> tuple[float, float]:
    """The amount that must be shifted between duals before they balance exactly, and what that costs at most.

    With many classes the duals of each sample must also sum to zero.
    """
    many = problem.features.n_classes
    moved = 0.0 if many is None else bound_sum(many + 8) * float(np.abs(a).sum())
    if problem.balance is not None:
        sizes, totals = np.abs(a).sum(axis=-1), a.sum(axis=-1) - problem.balance
        moved += float(np.sum(np.abs(totals) + bound_sum(problem.n + 2) * sizes))
    return moved, moved * (problem.terms.bound_slope(a, f, moved) + 2.0 * float(score_error.max(initial=0.0)))


def judge_mixture(problem: Problem, point: Point, penalty: Enclosed, scores: Enclosed, closely: bool) -> Certificate:
    """The certificate of a loss that does not split over samples.

    The loss is evaluated again at every vector of scores of the mixture. For the a that it returns,
    R(g) >= R(f) - a.(g - f), whatever the scores f are. So -R*(-a) >= R(f) + a.f, and the weighted sum of these bounds,
    with the weighted sum of the a, bounds P from below.
    """
    features, terms = problem.features, problem.terms
    f = problem.shift(scores.value, point.b)
    score_error = scores.error + UNIT * np.abs(f)
    offset = enclose_offset(problem, point.b)
    value = float(terms.value(f)[0])
    losses = Enclosed(value, terms.bound_value_error(f, score_error, value))
    primal = add_enclosed(penalty, losses, offset)
    a, dual, moved = combine_responses(problem, point.mixture)
    moved += 0.0 if problem.balance is None else abs(float(a.sum() - problem.balance))
    pulled = features.combine(a)  # not w: where R has kinks, the best w may be another one
    remainder = features.measure_remainder(pulled, a, moved, closely)
    penalty_conjugate = features.bound_penalty_conjugate(
        features.enclose_penalty(pulled, features.enclose(pulled, closely)).high, remainder
    )
    cost = moved * float(np.abs(f).max(initial=0.0) + np.abs(point.b))
    low = (
        dual.low - penalty_conjugate - cost - 4.0 * UNIT * abs(penalty_conjugate)
        if problem.imbalance(a) <= MAX_RELATIVE_IMBALANCE
        else -np.inf
    )
    error = float(primal.error + dual.error + cost + moved * features.largest_size * np.sqrt(2.0 * penalty_conjugate))
    return Certificate(
        primal=float(primal.high), dual=float(low), kkt=terms.violation(a, f), convex=examine_kernel(features, pulled),
        floor=problem.floor, rounding=error, scores=scores.value,
    )  # fmt: skip


def combine_responses(problem: Problem, mixture) -> tuple[np.ndarray, Enclosed, float]:
    """The duals of a mixture, sum_k weight_k (R(f_k) + a_k.f_k), which bounds -R*(-a), and what rounding moved of a."""
    if mixture is None or not (mixture.weights > 0).any():
        return np.zeros(problem.shape), Enclosed(-np.inf, 0.0), 0.0
    weights = np.maximum(mixture.weights, 0.0)
    weights = weights / weights.sum()
    slack = bound_sum(problem.n + len(weights) + 16)
    a, total, error, pulls = np.zeros(problem.shape), 0.0, 0.0, 0.0
    for weight, f in zip(weights, mixture.scores, strict=True):
        check_interrupt()
        value, duals = problem.terms.cut(f)
        a += weight * duals
        pulls += weight * float(np.abs(duals).sum())
        size = float(np.abs(duals) @ np.abs(f))
        total += weight * (value + float(duals @ f))
        error += weight * (problem.terms.bound_value_error(f, np.zeros_like(f), value) + 2.0 * size * UNIT)
        error += weight * slack * (size + abs(value))
    return a, Enclosed(total, error), slack * pulls


def measure_violation(problem: Problem, a: np.ndarray, f: np.ndarray) -> float:
    """max_i distance of -f_i from the subdifferential of conj_i at a_i: zero exactly at the optimum."""
    if problem.features.n_classes is not None:
        return problem.terms.violation(a, f)
    left, right = problem.terms.slopes(a if problem.row is None else snap_to_bounds(a, problem.row))
    counted = problem.c > 0  # a sample without weight is held by its bounds, and no loss has slopes there
    return float(np.maximum(np.maximum(-f - right, left + f), 0.0).max(initial=0.0, where=counted))


def snap_to_bounds(a: np.ndarray, row: PiecewiseConjugate) -> np.ndarray:
    """The duals, with those that agree with a bound or with zero to ten digits set exactly to it.

    Otherwise a dual that misses its bound by a rounding error would count as free, and its sample as a violator.
    """
    margin = AT_BOUND * np.abs(a).max(initial=0.0)
    a = np.where(np.abs(a) <= margin, 0.0, a)
    return np.where(a <= row.lo + margin, row.lo, np.where(a >= row.hi - margin, row.hi, a))


def examine_kernel(features, coef: np.ndarray) -> bool | None:
    """True if the kernel is known to be positive semidefinite, False if a negative eigenvalue is found, else None."""
    if features.kernel.psd:
        return True
    heaviest = np.argsort(-np.abs(coef), kind="stable")[:DEFINITENESS_CHECK_SAMPLES]
    K = features.block(heaviest, heaviest)
    eigenvalues = np.linalg.eigvalsh(0.5 * (K + K.T))
    return None if eigenvalues[0] >= -1e-10 * max(np.abs(eigenvalues).sum(), 1e-300) else False


def estimate_rounding(problem: Problem, point: Point, certificate: Certificate) -> float:
    """The relative gap that float64 typically leaves, because the duals themselves are rounded: an estimate.

    A score sum_j a_j K_ij has an error of about u sqrt(sum_j (a_j K_ij)^2), and P has that error times the slope of
    each loss. This is an estimate, not a bound: it explains why a solver gets no further. It is zero where there is no
    kernel, or where more kernel values are needed than are worth evaluating for this.
    """
    features = problem.features
    if type(features) is not Gram or problem.row is None or certificate.scores is None or point.w is not None:
        return 0.0
    coef = problem.expand(point)
    support = np.flatnonzero(coef)
    if len(support) * features.n > MAX_ESTIMATE_KERNEL_VALUES:
        return 0.0
    squares = np.square(coef[support]) @ np.square(features.block(support))
    left, right = problem.terms.response(problem.shift(certificate.scores, point.b))
    slopes = np.atleast_2d(np.maximum(np.abs(left), np.abs(right))).sum(axis=0)
    return float(4.0 * UNIT * np.sum(slopes * np.sqrt(squares))) / certificate.size


def worst(certificates: list[Certificate]) -> Certificate:
    """The certificate with the largest relative gap, carrying all of them as its parts."""
    if len(certificates) == 1:
        return certificates[0]
    distinct = {id(certificate): certificate for certificate in certificates}.values()  # thousands may share one
    worst_certificate = max(distinct, key=lambda certificate: certificate.relative_gap)
    convexities = [certificate.convex for certificate in distinct]
    convex = False if False in convexities else None if None in convexities else True
    return replace(worst_certificate, convex=convex, parts=tuple(certificates))
