"""The risk r(w) = min_b sum_i c_i l(<w, x_i> + b; y_i) + balance b as an oracle of places and cuts.

A place knows its scores, so a place between two others costs no product with the data. A free intercept is minimised
out: r is convex in w, and its cuts have duals that balance. Where each class has an intercept of its own they are
coordinates like others, with a ridge too small to matter.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...problem import Problem
from .answers import Answer, choose_answers
from .cuts import Cuts
from .line import search_line

BALANCED = 2e-2  # of the tolerance may be lost where the intercept is not at its very best


class RiskPlace:
    """w as x, its scores, and what the risk answers there."""

    def __init__(self, oracle: RiskOracle, x: np.ndarray, f: np.ndarray, b: float):
        self.oracle, self.x, self.f, self.near = oracle, x, f, b

    @cached_property
    def settled(self) -> tuple[float, float, np.ndarray, float, list]:
        """Risk, intercept, duals, offset of the cut, and what is kept of the duals."""
        return self.oracle.settle(self.f, self.near)

    @property
    def value(self) -> float:
        """The risk."""
        return self.settled[0]

    @property
    def b(self) -> float:
        """The best intercept."""
        return self.settled[1]


class RiskOracle:
    """The risk of a problem over linear features."""

    def __init__(self, problem: Problem, tol: float):
        self.problem, self.features, self.tol = problem, problem.features, tol
        self.answers = choose_answers(problem)
        self.many = getattr(self.features, "n_classes", 0)
        self.explosive = problem.loss.name in ("exponential", "poisson")
        seen = not getattr(problem.terms, "shift_invariant", False)  # an intercept that the loss does not see stays 0
        self.free = problem.balance is not None and not self.many and seen
        self.tails = self.many if problem.balance is not None else 0  # intercepts that are coordinates
        self.balance = float(problem.balance) if self.free else 0.0
        self.width, self.seen = 1.0, np.inf  # of the last bracket of the intercept, and the risk there
        self.n_calls = 0

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

    def locate(self, x: np.ndarray, b: float | None = None) -> RiskPlace:
        """Scores of w: one product with the data."""
        coef, tail = self.part(x)
        f = self.features.scores(coef) if x.any() else np.zeros(self.problem.shape)
        return RiskPlace(self, x, f + np.reshape(tail, (-1, 1)) if self.tails else f, self.last if b is None else b)

    last = 0.0  # the intercept of the last place

    def between(self, one: RiskPlace, other: RiskPlace, t: float) -> RiskPlace:
        """The place one + t (other - one): no product with the data."""
        if t == 0.0:
            return one
        return RiskPlace(self, one.x + t * (other.x - one.x), one.f + t * (other.f - one.f), self.last)

    def settle(self, f: np.ndarray, near: float) -> tuple[float, float, np.ndarray, float, list]:
        """The best intercept, the risk there, and duals that balance."""
        if not self.free:
            answer = self.answers.answer(f, 0.0)
            value = answer.value if np.isfinite(answer.value) else np.inf
            return value, 0.0, answer.a, answer.value + answer.product, [(1.0, self.keep(answer, f, 0.0))]
        low, high = self.bracket(f, near)
        ends = [(self.answers.answer(f, b), b) for b in ((low, high) if low < high else (low,))]
        values = [answer.value + self.balance * b for answer, b in ends]
        if not np.isfinite(values).all():
            return np.inf, low, ends[0][0].a, np.inf, []
        best = int(np.argmin(values))
        self.seen = abs(values[best])
        self.last = ends[best][1]
        shares = self.balanced([answer for answer, _ in ends])
        a = sum(share * answer.a for share, (answer, _) in zip(shares, ends, strict=True))
        offset = sum(share * (answer.value + answer.product) for share, (answer, _) in zip(shares, ends, strict=True))
        kept = [(share, self.keep(answer, f, b)) for share, (answer, b) in zip(shares, ends, strict=True) if share > 0]
        return values[best], self.last, a, offset, kept

    def keep(self, answer: Answer, f: np.ndarray, b: float) -> np.ndarray:
        """What is kept of an answer."""
        return self.answers.keep(answer, f, b)

    def balanced(self, ends: list[Answer]) -> list[float]:
        """The shares of two answers whose duals sum to the balance."""
        if len(ends) == 1:
            return [1.0]
        above, below = ends[0].total - self.balance, self.balance - ends[1].total
        return [below / (above + below), above / (above + below)]

    def bracket(self, f: np.ndarray, near: float) -> tuple[float, float]:
        """Two intercepts with the best one between them, as near to each other as the tolerance asks; or the best one.

        The duals sum to less the larger b is: doubling until their sum crosses the balance, then false position.
        """

        def surplus(b: float) -> float:
            return float(np.clip(self.answers.weigh(f, b) - self.balance, -1e200, 1e200))  # an exponential overflows

        low = high = None
        b, width = near, max(self.width, 1e-9 * (1.0 + abs(near)))
        while low is None or high is None:
            now = surplus(b)
            if now == 0.0 or now != now:
                return b, b
            if now > 0:
                low, at_low, b = b, now, b + width
            else:
                high, at_high, b = b, now, b - width
            width *= 4.0
            if not np.isfinite(b) or abs(b) > 1e100:
                return near, near
        enough = BALANCED * self.tol * max(min(self.scale, self.seen), 1e-12 * self.scale, 1e-300)
        weight_low, weight_high = at_low, at_high
        for _ in range(100):
            lost = (high - low) * at_low * -at_high / (at_low - at_high)
            if lost <= enough or high - low <= 1e-15 * (abs(low) + abs(high)):
                break
            b = low + (high - low) * weight_low / (weight_low - weight_high)
            b = min(max(b, low + 0.02 * (high - low)), high - 0.02 * (high - low))
            now = surplus(b)
            if now == 0.0:
                low = high = b
                break
            if now > 0:
                low, at_low, weight_low, weight_high = b, now, now, 0.5 * weight_high
            else:
                high, at_high, weight_high, weight_low = b, now, now, 0.5 * weight_low
        self.width = max(4.0 * abs(0.5 * (low + high) - near), 4.0 * (high - low), 1e-9)
        return low, high

    @cached_property
    def scale(self) -> float:
        """The size of P: the risk at zero."""
        return self.answers.answer(np.zeros(self.problem.shape), 0.0).value

    # ---- cuts ---------------------------------------------------------------------------------------------

    def cut(self, place: RiskPlace) -> tuple[np.ndarray, float, list]:
        """phi = -X'a, offset = risk + a.f: the other product with the data."""
        self.n_calls += 1
        _, _, a, offset, kept = place.settled
        slope = -self.features.combine(a).ravel()
        return np.concatenate([slope, -a.sum(axis=1)]) if self.tails else slope, offset, kept

    def search(self, one: RiskPlace, other: RiskPlace, model) -> RiskPlace:
        """The least P on the line from one through the other, the intercept held; it is settled where the line ends."""
        way, move, b = other.x - one.x, other.f - one.f, one.b
        ridge = model.spread(model.ridges)
        first, second = float((ridge * one.x) @ way), float((ridge * way) @ way)

        def slope(t: float) -> float:
            return first + t * second - self.answers.lean(one.f, move, t, b)

        return self.between(one, other, search_line(slope, slope(0.0)))

    def seen_on_line(self) -> list:
        """A search asks for slopes only, and leaves no cuts behind."""
        return []

    def check(self, best: RiskPlace, place: RiskPlace, slope: np.ndarray, cuts: Cuts) -> None:
        """The table's losses are convex."""

    def release(self, keys: list) -> None:
        """Nothing is kept beside the cuts."""

    def melt(self, keys: list, shares: np.ndarray) -> list:
        """What is kept of a mean of cuts: the mean of their duals; of scores, all of them."""
        kept = [(share * weight, each) for share, key in zip(shares, keys, strict=True) for weight, each in key]
        if hasattr(self.answers, "mixture"):
            return kept
        return [(1.0, self.answers.mix(kept, self.problem.shape) / self.answers.unit)]
