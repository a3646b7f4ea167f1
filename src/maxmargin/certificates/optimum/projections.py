"""Directions of their own for each sample: phi(x) is projected onto support vectors whose duals can move both ways.

    q = argmin |phi(x) - sum_i q_i phi(x_i)|^2 + 2 sum_i conj_i''(a_i) q_i^2    subject to sum_i q_i = what b counts

What is left of phi(x) is the factor of the radius, and the rest of the score of x is that of support vectors whose
scores are known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...runtime.rounding import BOUND_INFLATION, UNIT, Enclosed, bound_sum
from .directions import ROOM_SHARE
from .duals import FlatDuals, measure_movements
from .space import RowSpace

CHUNK_PRODUCTS = 1 << 21  # kernel values at a time
MAX_PROJECTED_DUALS = 512  # duals that samples are projected onto
SMOOTH_TAU_SCALES = (1.0, 0.2)  # of 2 r / distance, for losses whose conjugates are not parabolas


class Radius(NamedTuple):
    """r^2, how far the centre is off, and by how much duals may have to change to balance exactly."""

    square: float
    drift: float
    moved: float


class Projected(NamedTuple):
    """Some samples, projected.

    Attributes
    ----------
    q : ndarray of shape (samples, duals)
    centre, lost : ndarray of shape (samples,)
        <y, phi(x) - z>, and what it is off by at most.
    apart : ndarray of shape (samples,)
        |phi(x) - z|^2, from above.
    missing : ndarray of shape (samples,)
        By how much q may not sum to what it should.
    """

    q: np.ndarray
    centre: np.ndarray
    lost: np.ndarray
    apart: np.ndarray
    missing: np.ndarray


@dataclass(frozen=True, eq=False)
class Projection(ABC):
    """The duals onto whose rows samples are projected.

    Attributes
    ----------
    space : RowSpace
    duals : FlatDuals
    scores : Enclosed
        <y, phi_i>.
    products : ndarray
        <phi_i, phi_j>, with a bound `error` on any of them.
    factor : tuple
        Of the products, with the curvatures of the conjugates and a ridge on the diagonal.
    balanced : ndarray of shape (layers, duals)
        Which layer each of them belongs to; no rows where the duals need not balance.
    """

    space: RowSpace
    duals: FlatDuals
    scores: Enclosed
    products: np.ndarray
    error: float
    factor: Any
    balanced: np.ndarray

    def bound(
        self, samples: Any, squares: Enclosed, scores: Enclosed, shares: np.ndarray, radius: Radius
    ) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of the interval of each sample."""
        ends = np.empty((2, samples.n))
        step = max(1, CHUNK_PRODUCTS // len(self.duals.a))
        for start in range(0, samples.n, step):
            part = slice(start, min(start + step, samples.n))
            few = [Enclosed(each.value[part], each.error[part]) for each in (squares, scores)]
            projected = self.project(samples.take(part), *few, shares)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                ends[:, part] = self.price(projected, radius)
        return ends[0], ends[1]

    def project(self, samples: Any, squares: Enclosed, scores: Enclosed, shares: np.ndarray) -> Projected:
        """A few samples."""
        K, error = self.space.enclose_products(samples, self.duals.row)
        K = K * self.duals.sign
        q = self.solve(K, shares)
        sizes, slack = np.abs(q), bound_sum(len(self.duals.a) + 16)
        total = sizes.sum(axis=1)
        centre = scores.value - q @ self.scores.value
        lost = scores.error + sizes @ (self.scores.error + slack * np.abs(self.scores.value))
        lost += 2.0 * UNIT * np.abs(scores.value)
        crossed, inner = np.einsum("ij,ij->i", q, K), np.einsum("ij,ij->i", q @ self.products, q)
        products = sizes @ self.space.sizes[self.duals.row]
        apart = squares.value - 2.0 * crossed + inner
        apart += squares.error + 2.0 * total * error + total * total * self.error
        apart += 2.0 * slack * (squares.value + 2.0 * products * np.sqrt(squares.value) + products * products)
        missing = np.zeros(len(q))
        if len(self.balanced):
            missing = np.sum(np.abs(q @ self.balanced.T - shares) + slack * total[:, None], axis=1)
        return Projected(q, centre, lost, np.maximum(apart, 0.0), missing)

    def solve(self, K: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """q of each sample."""
        from scipy.linalg import cho_solve  # here, since machines import this file before anything asks for bounds

        q = cho_solve(self.factor, K.T).T
        if len(self.balanced):
            response = cho_solve(self.factor, self.balanced.T)
            prices = np.linalg.lstsq(self.balanced @ response, (q @ self.balanced.T - shares).T, rcond=None)[0]
            q = q - (response @ prices).T
        return np.ascontiguousarray(q)

    @abstractmethod
    def price(self, projected: Projected, radius: Radius) -> np.ndarray:
        """Both ends, of shape (2, samples)."""

    def measure_distance(self, square: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """The root of |phi(x) - z|^2 and what is added to it, where one dual takes up what q misses."""
        return np.sqrt(square) * BOUND_INFLATION + missing * float(self.space.sizes[self.duals.row].max(initial=0.0))


class PiecewiseProjection(Projection):
    """Conjugates that are parabolas as far as the duals move."""

    def price(self, projected: Projected, radius: Radius) -> np.ndarray:
        """At the best tau within the limits of the duals, in closed form."""
        q, duals, terms = projected.q, self.duals, self.duals.terms
        up, down, slope, _, curvature = measure_movements(duals)
        sizes = np.abs(q)
        rounded = bound_sum(16) * (np.abs(terms.p) + np.abs(terms.d * duals.a) + terms.e)
        slack = bound_sum(len(duals.a) + 16)
        centre = projected.centre - q @ slope
        lost = projected.lost + sizes @ (rounded + slack * np.abs(slope)) + 2.0 * UNIT * np.abs(projected.centre)
        lost += projected.missing * float(np.abs(self.scores.value + slope).max() + self.scores.error.max())
        square = projected.apart + 2.0 * BOUND_INFLATION * ((q * q) @ curvature)
        distance = self.measure_distance(square, projected.missing)
        forward = np.where(q > 0, up / q, np.where(q < 0, -down / q, np.inf)).min(axis=1, initial=np.inf)
        backward = np.where(q > 0, down / q, np.where(q < 0, -up / q, np.inf)).min(axis=1, initial=np.inf)
        # what a change of the duals by `moved` does to <y, phi(x) - z> and to the slopes
        lost += radius.drift * distance + 2.0 * radius.moved * sizes.max(axis=1) * float((curvature + terms.e).max())
        below, above = (price_distance(distance, radius.square, ROOM_SHARE * limit) for limit in (forward, backward))
        return np.stack([centre - (below + lost) * BOUND_INFLATION, centre + (above + lost) * BOUND_INFLATION])


class SmoothProjection(Projection):
    """Other conjugates, evaluated at both ends of the way."""

    def price(self, projected: Projected, radius: Radius) -> np.ndarray:
        """At a few tau."""
        q, terms, a = projected.q, self.duals.terms, self.duals.a
        curvature = 1.0 / np.maximum(terms.second_derivative(-terms.slopes(a)[0]), 1e-300)
        distance = self.measure_distance(projected.apart, projected.missing)
        about = np.sqrt(projected.apart + 2.0 * ((q * q) @ curvature))
        before, lost_before = terms.conjugate(a), terms.bound_conjugate_error(a)
        slope = np.abs(terms.slopes(a)[0])
        lost = projected.lost + 2.0 * UNIT * np.abs(projected.centre) + radius.drift * distance
        lost += projected.missing * float((np.abs(self.scores.value) + slope).max() + self.scores.error.max())
        ends = np.full((2, len(q)), -np.inf)
        for scale in SMOOTH_TAU_SCALES:
            tau = scale * 2.0 * np.sqrt(max(radius.square, 1e-280)) / about
            for end, side in enumerate((1.0, -1.0)):
                after = a + side * tau[:, None] * q
                moved = np.stack([terms.conjugate(row) for row in after])
                steep = np.stack([np.maximum(*np.abs(terms.slopes(row))) for row in after]) + slope
                errors = np.stack([terms.bound_conjugate_error(row) for row in after]) + lost_before
                errors += 4.0 * UNIT * (np.abs(a) + np.abs(after)) * steep
                errors += bound_sum(len(a) + 8) * (np.abs(moved) + np.abs(before))
                rise = (moved - before).sum(axis=1) + BOUND_INFLATION * errors.sum(axis=1)
                # what a change of the duals by `moved` does to the slopes
                price = radius.square + 2.0 * radius.moved * steep.max(axis=1)
                paid = BOUND_INFLATION * (price / tau + 0.25 * tau * distance * distance + lost)
                paid += rise / tau + 4.0 * UNIT * np.abs(rise / tau)
                ends[end] = np.fmax(ends[end], side * projected.centre - paid)
        return np.stack([ends[0], -ends[1]])


def price_distance(distance: np.ndarray, square_radius: float, limit: np.ndarray | float) -> np.ndarray:
    """min over tau <= limit of r^2/tau + tau distance^2/4: r distance at tau = 2 r / distance."""
    radius = np.sqrt(square_radius)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        short = square_radius / limit + 0.25 * limit * distance * distance
        price = np.where(limit * distance >= 2.0 * radius, radius * distance, short)
    return np.where((np.asarray(limit) > 0) & ~np.isnan(price), price, np.inf)


def make_projection(
    space: RowSpace, duals: FlatDuals, f: Enclosed, room: float, ridge: float, n_balances: int
) -> Projection | None:
    """Onto the duals with at least so much room both ways; None if there are none."""
    if duals.terms.piecewise:
        up, down, rising, falling, curvature = measure_movements(duals)
        rooms = np.where(rising == falling, np.minimum(up, down), 0.0)  # a kink is no way in both directions
    else:
        rooms = duals.terms.second_derivative(-duals.terms.slopes(duals.a)[0])
        curvature, room = 1.0 / np.maximum(rooms, 1e-300), 1e-12 * float(rooms.max(initial=0.0))
    able = np.flatnonzero(rooms > room)
    if len(able) > MAX_PROJECTED_DUALS:
        able = np.sort(able[np.argsort(-rooms[able], kind="stable")[:MAX_PROJECTED_DUALS]])
    if not len(able):
        return None
    part = duals.take(able)
    K, errors = space.enclose_products(space.rows.take(part.row), part.row)
    K = K * part.sign * part.sign[:, None]
    balanced = np.array([(part.layer == layer).astype(float) for layer in range(n_balances)])
    if n_balances and not balanced.any(axis=1).all():
        return None
    from scipy.linalg import cho_factor

    try:
        factor = cho_factor(K + np.diag(2.0 * curvature[able] + ridge * np.diag(K).mean()))
    except np.linalg.LinAlgError:
        return None
    scores = Enclosed(f.value[able], f.error[able])
    kind = PiecewiseProjection if part.terms.piecewise else SmoothProjection
    return kind(space, part, scores, K, float(errors.max(initial=0.0)), factor, balanced)
