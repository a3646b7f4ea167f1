"""The risk r(w) = min_b sum_i c_i l(<w, x_i> + b; y_i) + balance b as an oracle of places and cuts.

A place knows its scores, so a place between two others costs no product with the data. A free intercept is minimised
out: r is convex in w, and its cuts have duals that balance. Where each class has an intercept of its own they are
coordinates like others, with a ridge too small to matter.
"""

from __future__ import annotations

import numpy as np

from ...model.intercept import Intercept, InterceptMinimum
from ...model.loss_oracle import choose_loss_oracle
from ...model.problem import Problem
from ...runtime.interpreter import cached_property
from .line import search_line
from .model import Model
from .oracle import Oracle


class RiskPlace:
    """w as x, its scores, and what the risk answers there."""

    def __init__(self, oracle: RiskOracle, x: np.ndarray, f: np.ndarray, b: float):
        self.oracle, self.x, self.f, self.near = oracle, x, f, b

    @cached_property
    def settled(self) -> InterceptMinimum:
        """Risk, intercept, duals and cut, found when first asked for."""
        return self.oracle.minimise_intercept(self.f, self.near)

    @property
    def value(self) -> float:
        """The risk."""
        return self.settled.value

    @property
    def b(self) -> float:
        """The best intercept."""
        return self.settled.b


class RiskOracle(Oracle):
    """The risk of a problem over linear features."""

    def __init__(self, problem: Problem, tol: float):
        self.problem, self.features, self.tol = problem, problem.features, tol
        self.loss_oracle = choose_loss_oracle(problem)
        self.many = self.features.n_classes or 0
        self.grows_exponentially = problem.loss.grows_exponentially
        unseen = problem.terms.joint and problem.terms.shift_invariant  # an intercept that does not matter stays 0
        self.free = problem.balance is not None and not self.many and not unseen
        self.tails = self.many if problem.balance is not None else 0  # intercepts that are coordinates

    # ---- coordinates --------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the coefficients."""
        d = self.features.samples.d + 1
        return (self.many, d) if self.many else (d,)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(np.prod(self.shape)) + self.tails

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The coefficients, and the intercepts of classes if they are free."""
        head = self.size - self.tails
        return (slice(0, head), slice(head, None)) if self.tails else (slice(None),)

    def part(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
        """Coefficients and intercepts of a vector of coordinates."""
        head = self.size - self.tails
        return x[:head].reshape(self.shape), x[head:] if self.tails else 0.0

    # ---- places -------------------------------------------------------------------------------------------

    def locate(self, x: np.ndarray) -> RiskPlace:
        """Scores of w: one product with the data."""
        coef, tail = self.part(x)
        f = self.features.scores(coef) if x.any() else np.zeros(self.problem.shape)
        return RiskPlace(self, x, f + np.reshape(tail, (-1, 1)) if self.tails else f, self.near)

    @property
    def near(self) -> float:
        """The intercept of the last place, where the next one is looked for."""
        return self.intercept.last if self.free else 0.0

    def between(self, one: RiskPlace, other: RiskPlace, t: float) -> RiskPlace:
        """The place one + t (other - one): no product with the data."""
        if t == 0.0:
            return one
        return RiskPlace(self, one.x + t * (other.x - one.x), one.f + t * (other.f - one.f), self.near)

    def minimise_intercept(self, f: np.ndarray, near: float) -> InterceptMinimum:
        """The risk at these scores, its duals, and its cut."""
        if self.free:
            return self.intercept.minimise_intercept(f, near, self.tol)
        loss_response = self.loss_oracle.loss_response(f, 0.0)
        value = loss_response.value if np.isfinite(loss_response.value) else np.inf
        return InterceptMinimum(
            value,
            0.0,
            loss_response.a,
            loss_response.value + loss_response.product,
            [(1.0, self.loss_oracle.keep(loss_response, f, 0.0))],
        )

    @cached_property
    def intercept(self) -> Intercept:
        """Where a free intercept is found."""
        return Intercept(self.loss_oracle, float(self.problem.balance), self.scale)

    @cached_property
    def scale(self) -> float:
        """The size of P: the risk at zero."""
        return self.loss_oracle.loss_response(np.zeros(self.problem.shape), 0.0).value

    # ---- cuts ---------------------------------------------------------------------------------------------

    def cut(self, place: RiskPlace) -> tuple[np.ndarray, float, list]:
        """phi = -X'a, offset = risk + a.f: the other product with the data."""
        self.n_calls += 1
        a = place.settled.a
        slope = -self.features.combine(a).ravel()
        slope = np.concatenate([slope, -a.sum(axis=1)]) if self.tails else slope
        return slope, place.settled.offset, place.settled.kept

    def search(self, one: RiskPlace, other: RiskPlace, model: Model) -> RiskPlace:
        """The least P on the line from one through the other, the intercept held; it is settled where the line ends."""
        way, move, b = other.x - one.x, other.f - one.f, one.b
        ridge = model.spread(model.ridges)
        first, second = float((ridge * one.x) @ way), float((ridge * way) @ way)

        def slope(t: float) -> float:
            return first + t * second - self.loss_oracle.directional_derivative(one.f, move, t, b)

        return self.between(one, other, search_line(slope, slope(0.0)))

    def slope_along(self, place: RiskPlace, one: RiskPlace, other: RiskPlace) -> float:
        """<phi, other - one> = -a.(f of the other - f of the one), the best intercept at each place."""
        slope = -float(np.vdot(place.settled.a, other.f - one.f)) if np.isfinite(place.value) else np.inf
        return slope if np.isfinite(slope) else np.inf

    def aggregate(self, keys: list, shares: np.ndarray) -> list:
        """What is kept of a mean of cuts: the mean of their duals; of scores, all of them."""
        kept = super().aggregate(keys, shares)
        if self.loss_oracle.keeps_scores:
            return kept
        return [(1.0, self.loss_oracle.mix(kept, self.problem.shape) / self.loss_oracle.unit)]
