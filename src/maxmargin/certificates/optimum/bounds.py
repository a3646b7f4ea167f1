"""Intervals in which the scores of the exact optimum lie: f*(x) = <w*, phi(x)> + b*, for one problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...runtime.interpreter import cached_property
from ...runtime.rounding import BOUND_INFLATION, UNIT, Enclosed, bound_sum
from .directions import Direction, find_direction
from .duals import FlatDuals
from .projections import Projection, Radius, make_projection, price_distance
from .space import RowSpace, Vector

TAU_SCALES = (1.0, 6.0)  # times 2 r over a typical |phi(x) - z|
PROJECTION_ROOMS = (0.5, 0.02)  # of that tau, that duals must have both ways to be projected onto
RIDGES = (1e-9, 1e-3)  # of the mean of k(x, x): less of the radius, or less of the room of the duals


class Interval(NamedTuple):
    """lower <= f*(x) <= upper for each sample."""

    lower: np.ndarray
    upper: np.ndarray

    def meet(self, other: Interval) -> Interval:
        """Where both hold."""
        return Interval(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))


class Movable(NamedTuple):
    """The distinct rows of some duals, which of them each dual belongs to, and <phi_i, phi_j> with their error."""

    space: RowSpace
    place: np.ndarray
    products: np.ndarray
    error: float


class Fixed(NamedTuple):
    """A direction, z = sum_i q_i phi(x_i), |z|^2 from above, and <y, z> + slope with its error."""

    direction: Direction
    z: Vector
    square: float
    known: Enclosed


@dataclass(frozen=True, eq=False)
class OptimumBounds:
    """What the certificate of a point proves of <w*, phi(x)> + sum_l shares_l b*_l.

    Attributes
    ----------
    space : RowSpace
    centre : Vector
        y = (w + sum_i a_i phi(x_i)) / 2.
    square_radius : float
        r^2, the certified gap: |w* - y| <= r.
    moved : float
        By how much the duals may have to change to balance exactly, in all.
    b : ndarray of shape (layers,)
    balanced : bool
        Whether the duals must balance: there is a free intercept, or something like it.
    duals : FlatDuals or None
        Those that may move; None if there are no such.
    shares : ndarray of shape (layers,)
        What each intercept counts; zeros without a free one.
    known : Enclosed or None
        <y, phi_i> of these duals, where the judge has evaluated it.
    """

    space: RowSpace
    centre: Vector
    square_radius: float
    moved: float
    b: np.ndarray
    balanced: bool
    duals: FlatDuals | None
    shares: np.ndarray
    known: Enclosed | None = None

    def for_shares(self, *shares: float) -> OptimumBounds:
        """The same for other shares of the intercepts."""
        return replace(self, shares=np.array(shares, float))

    @property
    def is_void(self) -> bool:
        """Whether nothing is proven: there is no certificate."""
        return not np.isfinite(self.square_radius)

    @cached_property
    def drift(self) -> float:
        """By how far y is from that of duals which balance exactly."""
        return 0.5 * self.moved * float(self.space.sizes.max(initial=0.0))

    @cached_property
    def movable(self) -> Movable:
        """The rows of the duals that may move, and their products."""
        rows, place = np.unique(self.duals.row, return_inverse=True)
        part = RowSpace(self.space.kernel, self.space.rows.take(rows), self.space.offset)
        K, error = part.enclose_products(part.rows, np.arange(len(rows)))
        return Movable(part, place, K, float(error.max(initial=0.0)))

    @cached_property
    def scores(self) -> Enclosed:
        """<y, phi_i> of the duals that may move."""
        if self.known is not None:
            return self.known
        found, place = self.space.enclose(self.movable.space.rows, [self.centre]), self.movable.place
        return Enclosed(found.value[:, 0][place] * self.duals.sign, found.error[:, 0][place])

    @cached_property
    def spread(self) -> float:
        """The mean of |phi(x_i) - phi(x_j)|^2 / 2 over the rows that may move, roughly; of one row |phi|^2."""
        K = self.movable.products
        mean = float(np.diag(K).mean())
        return max(mean - float(K.mean()), 1e-3 * mean, 1e-300)

    @cached_property
    def tau(self) -> float:
        """2 r over a typical |phi(x) - z|."""
        return 2.0 * float(np.sqrt(max(self.square_radius, 1e-300) / (2.0 * self.spread)))

    @cached_property
    def first_fixed(self) -> list[list[Fixed]]:
        """One direction for bounds from below, and one for those from above."""
        return self.list_fixed(TAU_SCALES[:1])

    @cached_property
    def fixed(self) -> list[list[Fixed]]:
        """Directions for bounds from below, and for those from above."""
        return [[*few, *more] for few, more in zip(self.first_fixed, self.list_fixed(TAU_SCALES[1:]), strict=True)]

    def list_fixed(self, scales: Sequence[float]) -> list[list[Fixed]]:
        """Directions of both sides, at some tau."""
        if not self.shares.any() or self.duals is None:
            return [[], []]
        return [
            [found for scale in scales if (found := self.find_fixed(side, scale)) is not None] for side in (1.0, -1.0)
        ]

    def find_fixed(self, side: float, scale: float) -> Fixed | None:
        """The direction of one side, at tau times a number."""
        duals, f = self.duals, self.scores
        found = find_direction(duals, f.value, self.b, side * self.shares, scale * self.tau, 0.5 * self.spread)
        if found is None:
            return None
        used = np.flatnonzero(found.q)
        q, movable = found.q[used], self.movable
        weights = np.bincount(movable.place[used], weights=q * duals.sign[used], minlength=len(movable.products))
        z, sizes, slack = movable.space.combine(weights), np.abs(q), bound_sum(len(q) + len(weights) + 16)
        total, lengths = float(sizes.sum()), float(sizes @ movable.space.sizes[movable.place[used]])
        z = z._replace(error=z.error + 4.0 * UNIT * lengths)  # a row of several duals is rounded once more
        square = float(weights @ movable.products @ weights) + total * total * movable.error + slack * lengths * lengths
        lost = float(sizes @ f.error[used] + slack * (sizes @ np.abs(f.value[used])))
        lost += 2.0 * UNIT * abs(found.slope) + self.bound_imbalance(q, used)
        known = Enclosed(float(q @ f.value[used]) + found.slope, BOUND_INFLATION * lost)
        return Fixed(found, z, max(square, 0.0) * BOUND_INFLATION, known)

    def bound_imbalance(self, q: np.ndarray, used: np.ndarray) -> float:
        """What it costs that q sums to the shares but for rounding: one of the duals takes that up."""
        missing = bound_sum(len(q) + 16) * float(np.abs(q).sum())
        slopes = self.scores.value[used] + self.slopes[used]
        return missing * float(np.abs(slopes).max(initial=0.0))

    @cached_property
    def slopes(self) -> np.ndarray:
        """The larger slope of each conjugate, in size."""
        left, right = (np.where(np.isfinite(each), each, 0.0) for each in self.duals.terms.slopes(self.duals.a))
        return np.where(np.abs(left) > np.abs(right), left, right)

    @cached_property
    def projections(self) -> list[Projection]:
        """Onto free support vectors, for some of the room that they have, and some ridges."""
        if self.duals is None:
            return []
        layers = len(self.b) if self.balanced else 0
        made = [
            make_projection(self.space, self.duals, self.scores, room * self.tau, ridge, layers)
            for room in (PROJECTION_ROOMS if self.duals.terms.piecewise else PROJECTION_ROOMS[:1])
            for ridge in RIDGES
        ]
        return [each for each in made if each is not None]

    # ---- intervals ----------------------------------------------------------------------------------------------

    def bound(self, samples: Any, known: Enclosed | None = None) -> Interval:
        """One direction for all samples; <y, phi(x)> may be known."""
        nothing = Interval(np.full(samples.n, -np.inf), np.full(samples.n, np.inf))
        if self.is_void:
            return nothing
        squares = self.space.enclose_squares(samples)
        if known is None:
            scores = self.space.enclose(samples, [self.centre])
            known = Enclosed(scores.value[:, 0], scores.error[:, 0])
        value, error = known.value, known.error + self.drift * np.sqrt(squares.high)
        if not self.shares.any():
            width = np.sqrt(self.square_radius * squares.high) + error
            width = (width + 2.0 * UNIT * np.abs(value)) * BOUND_INFLATION
            return Interval(value - width, value + width)
        vectors, ends, column = [each.z for side in self.fixed for each in side], [], 0
        scores = self.movable.space.enclose(samples, vectors) if vectors else None
        for side, found in zip((1.0, -1.0), self.fixed, strict=True):
            best = np.full(samples.n, -np.inf)
            for each in found:
                # those of the side -1 prove a bound on -f*, whose z is that of -f
                products = Enclosed(scores.value[:, column], scores.error[:, column])
                best = np.maximum(best, self.bound_fixed(each, side, value, error, squares, products))
                column += 1
            ends.append(side * best)
        return Interval(ends[0], ends[1])

    def bound_roughly(self, samples: Any, known: Enclosed) -> Interval:
        """One direction, and |phi(x) - z| <= |phi(x)| + |z|: where <y, phi(x)> is known, no kernel value is needed."""
        if self.is_void or not self.shares.any():
            return self.bound(samples, known)
        squares, ends = self.space.enclose_squares(samples), []
        value, error = known.value, known.error + self.drift * np.sqrt(squares.high)
        for side, found in zip((1.0, -1.0), self.first_fixed, strict=True):
            best = np.full(samples.n, -np.inf)
            for each in found:
                farthest = Enclosed(-side * np.sqrt(squares.high * each.square), np.zeros(samples.n))
                best = np.maximum(best, self.bound_fixed(each, side, value, error, squares, farthest))
            ends.append(side * best)
        return Interval(ends[0], ends[1])

    def bound_fixed(self, fixed: Fixed, side, value, error, squares: Enclosed, products: Enclosed) -> np.ndarray:
        """side f* from below: <y, side phi(x) - z> - slope - r^2/tau - tau (|side phi(x) - z|^2/4 + curvature/2)."""
        centre = side * value - fixed.known.value
        lost = error + fixed.known.error + 4.0 * UNIT * (np.abs(value) + abs(fixed.known.value))
        size = squares.high + 2.0 * np.abs(products.value) + fixed.square
        apart = squares.high - 2.0 * side * products.value + fixed.square + 2.0 * products.error + 8.0 * UNIT * size
        apart = np.maximum(apart, 0.0)
        # what a change of the duals by `moved` does to <y, z> and to the slope of the conjugate
        length = np.sqrt(apart + 2.0 * fixed.direction.curvature) * BOUND_INFLATION
        lost = lost + self.drift * np.sqrt(fixed.square) + self.moved * fixed.direction.sensitivity
        return centre - (price_distance(length, self.square_radius, fixed.direction.limit) + lost) * BOUND_INFLATION

    def bound_intercepts(self) -> tuple[float, float]:
        """Of the intercepts alone, without a sample."""
        if self.is_void or not self.shares.any():
            return -np.inf, np.inf
        zero, ends = np.zeros(1), []
        none = Enclosed(zero, zero)
        for side, found in zip((1.0, -1.0), self.fixed, strict=True):
            bounds = [float(self.bound_fixed(each, side, zero, zero, none, none)[0]) for each in found]
            ends.append(side * max(bounds, default=-np.inf))
        return ends[0], ends[1]

    def refine(self, samples: Any, known: Interval, wanted: np.ndarray) -> Interval:
        """Directions of their own for the samples that are wanted."""
        rows = np.flatnonzero(wanted)
        if self.is_void or not len(rows) or not self.projections:
            return known
        part = samples.take(rows)
        squares, scores = self.space.enclose_squares(part), self.space.enclose(part, [self.centre])
        scores = Enclosed(scores.value[:, 0], scores.error[:, 0])
        radius = Radius(self.square_radius, self.drift, self.moved)
        lower, upper = known.lower.copy(), known.upper.copy()
        for projection in self.projections:
            found = projection.bound(part, squares, scores, self.shares, radius)
            lower[rows], upper[rows] = np.maximum(lower[rows], found[0]), np.minimum(upper[rows], found[1])
        return Interval(lower, upper)
