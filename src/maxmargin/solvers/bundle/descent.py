"""What the bundle methods share: cuts, the best place, the bound, and one round after the other."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ...runtime.rounding import UNIT, Enclosed, bound_sum
from ..result import Outcome
from .cuts import AggregateCut, Cuts
from .model import Model, Step
from .oracle import Oracle, Place

if TYPE_CHECKING:
    from .rule import Rule

MAX_FLOAT = np.finfo(float).max
# times the least value: a cut made where F is larger says little, and leaves few digits to the others
EXPLODED_VALUE_FACTOR = 1e6


class Cut(NamedTuple):
    """r(y) >= offset + <slope, y> for all y, with equality at x, where the risk r has this value."""

    x: np.ndarray
    value: float
    slope: np.ndarray
    offset: float


class Round(NamedTuple):
    """A line of the history of a bundle method.

    `value` is the least value so far and `lower_bound` the largest bound; `serious` says whether the centre moved.
    What a callback is given has `x`, the best place so far, and `cut`, the newest cut, too; the history has not.
    """

    n_iter: int
    n_calls: int
    seconds: float
    value: float
    lower_bound: float
    serious: bool
    n_cuts: int
    proximity: float
    x: np.ndarray | None = None
    cut: Cut | None = None


class Optimality(NamedTuple):
    """F(y) >= F(x) - error + <g, y - x> for all y, with |g| = slope: both are zero at a minimum, but for rounding."""

    error: float
    slope: float


class Descent:
    """A bundle method at work on F(x) = r(x) + ridge/2 |x|^2, r given by an oracle of places and cuts."""

    def __init__(
        self,
        oracle: Oracle,
        rule: Rule,
        x0: np.ndarray,
        cuts: Cuts,
        ridges: tuple[float, ...],
        lo: np.ndarray | None = None,
        hi: np.ndarray | None = None,
        best: Place | None = None,
    ):
        """Begin with a cut at x0; or, where an earlier descent left the cuts and a `best` place, stand there."""
        self.oracle, self.rule, self.cuts, self.start = oracle, rule, cuts, np.array(x0, float)
        self.best = oracle.locate(self.start) if best is None else best
        self.model = Model(cuts, ridges, lo, hi)
        self.n_iter, self.bound, self.serious, self.aggregated = 0, -np.inf, True, 0
        # what is there for rounding, of bound and optimality
        self.rounding, self.optimality_rounding = 0.0, Optimality(0.0, 0.0)
        self.last_serious = 0
        # proximities of blocks whose ridge is too faint to hold a step
        self.block_proximities: tuple[float, ...] | None = None
        self.weights: np.ndarray | None = None  # of the last step, one for each cut
        self.plain: np.ndarray | None = None  # of the best bound, by the ridge or by a linear program
        self.optimality = Optimality(np.inf, np.inf)
        self.measured: Place | None = None
        self.tried: Step | None = None  # the minimum of the model at which, or towards which, the last step asked
        self.newest: Cut | None = None
        if best is None:
            self.add_cut(self.best)
            rule.begin(self)

    # ---- where it stands ----------------------------------------------------------------------------------

    def value(self, place) -> float:
        """F at a place, rounded upwards."""
        quadratic = self.model.quadratic(place.x) * (1.0 + bound_sum(len(place.x) + 8))
        value = place.value + quadratic
        return value + UNIT * abs(value) if quadratic else value

    @property
    def least(self) -> float:
        """F at the best place."""
        return self.value(self.best)

    @property
    def gap(self) -> float:
        """What F can still fall by; infinite where no bound is known."""
        return self.least - self.bound

    def pad_weights(self, weights: np.ndarray | None) -> np.ndarray | None:
        """The weights with zeros for the cuts that came since."""
        if weights is None or len(weights) == self.cuts.m:
            return weights
        return np.append(weights, np.zeros(self.cuts.m - len(weights)))

    @property
    def ridged(self) -> bool:
        """Whether every block has a ridge: then the model without proximity has a minimum, and that is a bound."""
        return min(self.model.ridges) > 0

    # ---- one round ----------------------------------------------------------------------------------------

    def take_round(self) -> None:
        """One step of the rule, its cuts, its bound, and the cuts that are let go."""
        self.n_iter += 1
        self.serious = False
        self.rule.step(self)
        self.prune_cuts()

    def add_cut(self, place) -> None:
        """The cut at a place joins the bundle."""
        slope, offset, key = self.oracle.cut(place)
        self.newest = Cut(place.x, place.value, slope, offset)
        if self.cuts.m:
            self.oracle.check(self.best, place, slope, self.cuts)
        size = abs(place.value) + float(np.abs(slope) @ np.abs(place.x))  # of which the offset is the difference
        self.cuts.add(slope, offset, key, bound_sum(len(slope) + 8) * size)
        self.weights, self.plain = self.pad_weights(self.weights), self.pad_weights(self.plain)

    def take(self, step: Step) -> None:
        """Keep the weights of a step, and what they prove."""
        self.weights = step.weights
        self.raise_bound(self.model.bound(step))
        self.measure(step.mean)

    def measure(self, mean: AggregateCut) -> None:
        """How far the best place is from a minimum, by a mean of the cuts; with what rounding may hide."""
        slope, x = mean.slope, self.best.x
        size = abs(self.best.value) + abs(mean.offset) + float(np.abs(slope) @ np.abs(x))
        optimality_rounding = mean.error + mean.slope_error * float(np.linalg.norm(x)) + bound_sum(len(x) + 8) * size
        error = self.best.value - mean.offset - float(slope @ x)
        ridge_gradient = self.model.spread(self.model.ridges) * x
        slope_error = mean.slope_error + 4.0 * UNIT * float(np.linalg.norm(slope) + np.linalg.norm(ridge_gradient))
        slope = slope + ridge_gradient
        if self.model.boxed:  # what pushes against a bound is no way down
            slope = np.where(((x <= self.model.lo) & (slope > 0)) | ((x >= self.model.hi) & (slope < 0)), 0.0, slope)
        length = float(np.linalg.norm(slope)) * (1.0 + bound_sum(len(x) + 8))
        found = Optimality(max(error + optimality_rounding, 0.0), length + slope_error)
        same_place = self.best is self.measured
        if not same_place or self.suboptimality_bound(found) < self.suboptimality_bound(self.optimality):
            self.optimality, self.measured = found, self.best
            self.optimality_rounding = Optimality(optimality_rounding, slope_error)

    @property
    def reach(self) -> float:
        """How far from the best place F is asked about: as far as the start is."""
        x = self.best.x
        return max(float(np.linalg.norm(x - self.start)), 1e-2 * max(1.0, float(np.linalg.norm(x))))

    def suboptimality_bound(self, optimality: Optimality) -> float:
        """What F may still fall by within reach of the best place."""
        return optimality.error + optimality.slope * self.reach

    def raise_bound(self, bound: Enclosed) -> None:
        """Keep the best bound, rounded downwards."""
        low = float(bound.low) if np.isfinite(bound.value) else -np.inf
        if low > self.bound:
            self.bound, self.rounding = low, float(bound.value) - low

    def bound_by_ridge(self) -> Step:
        """The minimum of the model without proximity: BMRM's step, and the best bound the cuts can give."""
        zero = (0.0,) * len(self.model.ridges)
        step = self.model.minimise(zero, self.best.x, self.pad_weights(self.plain))
        self.plain = step.weights
        self.raise_bound(self.model.bound(step))
        return step

    def locate(self, x: np.ndarray):
        """The place x, pulled back if need be."""
        return self.pull_back(self.oracle.locate(x))

    def pull_back(self, place):
        """The place, or one between it and the best where F is not so large that its cut would drown all others.

        Only an exponential grows so fast: from the first model of it the minimum may lie beyond all numbers.
        """
        limit = MAX_FLOAT
        if self.oracle.grows_exponentially:
            limit = EXPLODED_VALUE_FACTOR * (abs(self.least) + abs(self.best.value))
        while not place.value <= limit:
            # A place whose x has come as near as numbers can tell may still have scores of its own, and no finite cut.
            if np.array_equal(place.x, self.best.x) or not np.isfinite(place.x).all():
                return self.best
            place = self.oracle.between(self.best, place, 0.1)
        return place

    def move_to(self, place) -> None:
        """The best place is this one; what the last cuts prove of the one before says nothing of it."""
        self.best, self.serious, self.last_serious = place, True, self.n_iter
        if self.weights is not None:
            self.measure(self.cuts.combine(self.pad_weights(self.weights)))

    def update_best(self, place) -> bool:
        """Take the place if it is better than the best; whether it was."""
        better = self.value(place) < self.least
        if better:
            self.move_to(place)
        return better

    def measure_slope(self, place: Place, one: Place, other: Place) -> float:
        """A slope of F at a place of the line from one place to another, in units of the way between the two."""
        ridge = self.model.spread(self.model.ridges)
        return self.oracle.slope_along(place, one, other) + float((ridge * place.x) @ (other.x - one.x))

    # ---- what a trace asks --------------------------------------------------------------------------------

    def mark_step(self) -> tuple[Place, float]:
        """The centre, and F there."""
        return self.best, self.least

    def describe_step(self, before: tuple[Place, float]) -> dict[str, Any]:
        """x_t, F and a subgradient of it there, the cut of r, the model at x_t, what it promised, and what came of it.

        The model is max_k offset_k + <phi_k, x> + ridge/2 |x|^2 over the cuts before the step.
        """
        centre, least = before
        cut, tried = cast(Cut, self.newest), cast(Step, self.tried)
        model = tried.height + self.model.quadratic(tried.x)
        value = cut.value + self.model.quadratic(cut.x)
        return {
            "step": "serious" if self.serious else "null", "centre": centre.x, "x_t": cut.x, "value": value,
            "subgradient": cut.slope + self.model.spread(self.model.ridges) * cut.x, "cut_slope": cut.slope,
            "cut_offset": cut.offset, "x_model": tried.x, "model": model, "promised": least - model,
            "fall": least - self.value(self.best), "proximity": float(self.rule.proximity), "n_cuts": self.cuts.m,
        }  # fmt: skip

    # ---- bounded memory -----------------------------------------------------------------------------------

    def prune_cuts(self) -> None:
        """Let go of cuts without weight; where all have one and room is short, aggregate the lighter ones."""
        used = np.zeros(self.cuts.m, bool)
        for weights in (self.weights, self.plain):
            if weights is not None:
                used |= self.pad_weights(weights) > 0
        used[-1] = True  # the newest has not been weighed yet
        self.cuts.count_idle_rounds(used)
        rule = self.rule
        gone = self.cuts.find_idle(rule.idle_rounds_limit if self.ridged else rule.idle_rounds_limit_without_ridge)
        if gone.sum() >= max(8, self.cuts.m // 4) or self.full:
            self.keep(np.flatnonzero(~gone))
        if self.full:
            self.aggregate()

    @property
    def full(self) -> bool:
        """Whether there is no room for another cut."""
        return self.cuts.capacity is not None and self.cuts.m >= self.cuts.capacity

    def keep(self, kept: np.ndarray) -> None:
        """Let go of all other cuts."""
        self.weights = None if self.weights is None else self.pad_weights(self.weights)[kept]
        self.plain = None if self.plain is None else self.pad_weights(self.plain)[kept]
        self.cuts.keep(kept)

    def aggregate(self) -> None:
        """Replace the lightest cuts by their mean, weighted: the last step stays a minimum of the model.

        This is the aggregation of Kiwiel (1983): the mean of all cuts and the newest one are enough to converge. Where
        the weights of the step and those of the bound differ, each has a mean of its own.
        """
        weights, plain = self.pad_weights(self.weights), self.pad_weights(self.plain)
        differ = self.plain is not None and self.plain is not self.weights
        heaviest = np.maximum(weights, plain) if differ else weights
        gone = np.argsort(heaviest[:-1], kind="stable")[: max(3, self.cuts.m // 10)]
        self.weights = self.move_to_aggregate(weights, gone)
        if differ:
            self.plain = self.move_to_aggregate(self.pad_weights(plain), gone)
        elif self.plain is not None:
            self.plain = self.weights
        self.keep(np.setdiff1d(np.arange(self.cuts.m), gone))

    def move_to_aggregate(self, weights: np.ndarray, gone: np.ndarray) -> np.ndarray:
        """The weights with those of the cuts that go moved to their mean, which becomes the newest cut."""
        mass = float(weights[gone].sum())
        if mass <= 0.0:
            return weights
        self.aggregated += 1
        share = np.zeros(self.cuts.m)
        share[gone] = weights[gone] / mass
        used = np.flatnonzero(share)
        mean = self.cuts.combine(share)
        key = self.oracle.aggregate([self.cuts.keys[k] for k in used], share[used])
        self.cuts.add(mean.slope, mean.offset, key, mean.error, mean.slope_error)
        weights = self.pad_weights(weights)
        weights[gone] = 0.0
        weights[-1] = mass
        return weights


def take_rounds(run, max_steps: int, seconds: float) -> Outcome:
    """Rounds of the descent of a run, for about `seconds`, at most `max_steps`."""
    end, last = time.perf_counter() + seconds, run.n_iter + max_steps
    while True:
        if run.reached():
            return Outcome.DONE
        if run.n_iter >= last or time.perf_counter() >= end:
            return Outcome.GOING
        run.descent.take_round()
        if run.stall_detector.is_stalled(run.descent.gap):
            return Outcome.STALLED
