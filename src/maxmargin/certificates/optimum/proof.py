"""From a certified point of a problem to bounds on the scores of its optimum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...model.problem import Point, Problem
from ...runtime.rounding import Enclosed, bound_sum
from ..certificate import Certificate
from .bounds import OptimumBounds
from .duals import FlatDuals, choose_candidates, flatten
from .space import RowSpace, Vector


class RowSource(NamedTuple):
    """Rows of a problem that are at hand.

    Attributes
    ----------
    space : RowSpace
        These rows.
    index : ndarray of int
        Their places among the samples of the problem, in ascending order. All that have a coefficient, unless the
        kernel is linear.
    """

    space: RowSpace
    index: np.ndarray


def take_rows(problem: Problem) -> RowSource:
    """All samples of a problem."""
    features = problem.features.gram if problem.features.signed else problem.features
    return RowSource(RowSpace(features.kernel, features.samples, features.offset), np.arange(features.n))


def find_refusal(problem: Problem, certificate: Certificate) -> str | None:
    """Why nothing can be proven of the scores of the optimum, in a sentence; or None."""
    traits = problem.traits
    if traits.penalty != "l2":
        return "the penalty |w|_1 is not strongly convex, so a gap does not bound the distance to the optimum"
    if traits.vector or traits.joint:
        return "a free intercept is not regularised, and the loss is one of several scores at once"
    if certificate.convex is not True:
        return "the kernel is not known to be positive semidefinite, so a gap proves nothing"
    return None


def bound_optimum(
    problem: Problem, point: Point, certificate: Certificate, source: RowSource | None = None, quick: bool = False
) -> OptimumBounds:
    """What the certificate of a point proves of the scores of the optimum.

    Parameters
    ----------
    problem : Problem
        Of its features only the signs are looked at where there is a `source`.
    point : Point
    certificate : Certificate
    source : RowSource, optional
        The rows that are at hand; by default all.
    quick : bool
        Whether w stands for the centre, at the price of a larger radius, if that saves a pass over the rows.

    Returns
    -------
    OptimumBounds
    """
    whole = source is None
    source = take_rows(problem) if whole else source
    a = np.asarray(problem.feasible(point.a), float)
    flat = flatten(problem, a)
    moved, b = measure_imbalance(problem, a), np.atleast_1d(np.asarray(point.b, float))
    n = int(flat.row.max(initial=-1)) + 1
    place = np.full(max(n, int(source.index.max(initial=-1)) + 1), -1)
    place[source.index] = np.arange(len(source.index))
    by_w = quick and point.coef is not None and problem.features.linear
    centre = write_weights(point.coef, source.space) if by_w else find_centre(problem, point, flat, place, source.space)
    balanced, shares = problem.balance is not None, count_intercepts(problem)
    gap = max(float(certificate.gap), 0.0) * (2.0 if by_w else 1.0)  # 1/2 |w - w*|^2 <= gap
    if not np.isfinite(gap) or not np.isfinite(moved):
        return OptimumBounds(source.space, centre, np.inf, moved, b, balanced, None, shares)
    at_hand = np.flatnonzero(place[flat.row] >= 0)
    duals = flat if len(at_hand) == len(flat.a) else flat.take(at_hand)
    duals = duals._replace(row=place[duals.row])
    if not len(duals.a):
        return OptimumBounds(source.space, centre, gap, moved, b, balanced, None, shares)
    f = guess_scores(problem, certificate, duals, at_hand, source.space, centre) + b[duals.layer]
    chosen = choose_candidates(duals, f, 3.0 * np.sqrt(gap))
    duals, known = leave_room(duals.take(chosen), moved), None
    judged = enclose_judged_scores(problem, point, certificate, a) if whole else None
    if judged is not None:
        rows = duals.row
        known = Enclosed(judged.value[rows], judged.error[rows])
    return narrow(source.space, centre, gap, moved, b, balanced, duals, shares, known)


def narrow(
    space: RowSpace,
    centre: Vector,
    gap: float,
    moved: float,
    b: np.ndarray,
    balanced: bool,
    duals: FlatDuals,
    shares,
    known: Enclosed | None,
) -> OptimumBounds:
    """The bounds over the rows alone that have a coefficient or a dual that may move."""
    used = np.zeros(space.rows.n, bool)
    used[duals.row] = True
    if not space.kernel.linear:
        used |= centre.coef != 0
    if used.all():
        return OptimumBounds(space, centre, gap, moved, b, balanced, duals, shares, known)
    rows, place = np.flatnonzero(used), np.cumsum(used) - 1
    part = RowSpace(space.kernel, space.rows.take(rows), space.offset)
    centre = centre if space.kernel.linear else centre._replace(coef=centre.coef[rows])
    return OptimumBounds(part, centre, gap, moved, b, balanced, duals._replace(row=place[duals.row]), shares, known)


def find_centre(problem: Problem, point: Point, flat: FlatDuals, place: np.ndarray, space: RowSpace) -> Vector:
    """y = (w + v) / 2 with v = sum_i a_i phi(x_i)."""
    v = combine_duals(flat, place, space)
    if point.w is not None:
        return space.find_middle(Vector(point.w), v)
    if point.coef is None:  # w is made of the duals as they were given
        given = np.ravel(np.asarray(point.a, float))
        return (
            v
            if np.array_equal(given, flat.a)
            else space.find_middle(combine_duals(flat._replace(a=given), place, space), v)
        )
    coef = np.asarray(point.coef, float)
    if problem.features.linear:
        return space.find_middle(write_weights(coef, space), v)
    return space.find_middle(space.combine(coef[place >= 0]), v)


def combine_duals(flat: FlatDuals, place: np.ndarray, space: RowSpace) -> Vector:
    """sum_i a_i phi(x_i)."""
    added = np.bincount(flat.row, weights=flat.sign * flat.a, minlength=len(place))
    return space.combine(np.ascontiguousarray(added[place >= 0]))


def enclose_judged_scores(problem: Problem, point: Point, certificate: Certificate, a: np.ndarray) -> Enclosed | None:
    """<y, phi_i> of all samples as the judge has evaluated it, where w is made of the duals; else None."""
    features = problem.features
    if certificate.scores is None or features.by_weights or features.signed or features.linear:
        return None
    if point.coef is not None or point.w is not None or not np.array_equal(a, point.a):
        return None
    if a.ndim > 1 and certificate.scores.shape != a.shape[1:]:
        return None
    if certificate.errors is not None:  # some scores may be in float32
        return Enclosed(certificate.scores, certificate.errors)
    coef = features.combine(a)
    return Enclosed(certificate.scores, features.bound_errors(coef, np.count_nonzero(coef)))


def write_weights(coef: np.ndarray, space: RowSpace) -> Vector:
    """w itself and, last, its coefficient of the constant feature."""
    return Vector(np.asarray(coef[:-1], float), float(np.sqrt(space.offset)) * float(coef[-1]))


def count_intercepts(problem: Problem) -> np.ndarray:
    """What each intercept counts in the score of a sample: two walls count half each, rho does not count."""
    layers = 1 if problem.y.ndim == 1 else len(problem.y)
    counts = problem.balance is not None and not problem.features.signed
    return np.full(layers, 1.0 / layers if counts else 0.0)


def measure_imbalance(problem: Problem, a: np.ndarray) -> float:
    """What must be moved between duals before they balance exactly, with the rounding of their sum."""
    if problem.balance is None:
        return 0.0
    totals, sizes = a.sum(axis=-1), np.abs(a).sum(axis=-1)
    missing = np.abs(totals - problem.balance) + bound_sum(a.shape[-1] + 72) * (sizes + np.abs(problem.balance))
    return float(np.sum(missing))


def guess_scores(
    problem: Problem, certificate: Certificate, duals: FlatDuals, at_hand: np.ndarray, space: RowSpace, centre: Vector
) -> np.ndarray:
    """<w, phi_i> of the duals, as the judge had them, or found again."""
    scores = certificate.scores
    if scores is not None and not problem.features.signed and scores.ndim == 1:
        layers = 1 if problem.y.ndim == 1 else len(problem.y)
        return np.tile(scores, layers)[at_hand]
    return space.enclose(space.rows, [centre]).value[:, 0][duals.row] * duals.sign


def leave_room(duals: FlatDuals, moved: float) -> FlatDuals:
    """The duals with bounds that are nearer by what may have to be moved between them to balance exactly."""
    if not duals.terms.piecewise or moved == 0.0:
        return duals
    row = duals.terms
    lo, hi = np.minimum(row.lo + moved, duals.a), np.maximum(row.hi - moved, duals.a)
    return duals._replace(terms=row._replace(lo=lo, hi=hi))
