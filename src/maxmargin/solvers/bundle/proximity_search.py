"""The proximity at which a step meets its aim: Newton's method on 1/h, h the proximity and the ridge.

    x(1/h) = argmin max_k offset_k + <phi_k, x> + ridge/2 |x|^2 + proximity/2 |x - centre|^2

is piecewise affine in 1/h, since times 1/h this is a quadratic program whose linear term is affine in 1/h. So along
the piece that holds x the length of the step and the value of the model are known, and the equation of the aim is
solved there. If the root lies on the same piece, the next step meets the aim to rounding. Both are monotone, so that
every step narrows a bracket, which holds the method where it leaves its piece.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from .aims import Aim
from .model import EPSILON, Model, Motion, Step

MAX_PROXIMITIES_TRIED = 30  # master programs for one step
MIN_PROXIMITY_FACTOR = 1e-20  # of the last proximity, and the least one that is tried
NARROW_BRACKET = 1e-7  # relative: x differs by no more of its way from the centre between such proximities
ROUNDED_SHARE = 0.01  # of the excess between both ends: a trial between them that is further beyond one is rounding
MAX_SHARES_TRIED = 30  # points between both ends of such a bracket
STILL_SHARE = 1e-7  # of the way to the centre: x moves by less where nothing but rounding moves it
NEGATIVE_WEIGHT = -1e-9  # a weight that counts as zero


class Trial(NamedTuple):
    """A proximity, its step, and the excess of the step over the aim."""

    proximity: float
    step: Step
    excess: float


class ProximitySearch:
    """The search for one step; `near` and `far` are the nearest trials on both sides of the aim."""

    def __init__(self, model: Model, centre: np.ndarray, aim: Aim):
        self.model, self.centre, self.aim = model, centre, aim
        self.near: Trial | None = None
        self.far: Trial | None = None
        self.factor = 4.0  # by which the proximity changes where nothing better is known
        self.widths: list[float] = []
        self.rounded = False  # whether a trial between the two exceeded one of them: only rounding does that

    def run(self, first: float, weights: np.ndarray | None) -> Trial:
        """The trial that meets the aim, or that is the minimum of the model if this is nearer than the aim."""
        trial = self.try_proximity(first, weights)
        for _ in range(MAX_PROXIMITIES_TRIED):
            if abs(trial.excess) <= self.aim.tol:
                return trial
            self.narrow(trial)
            motion = self.model.differentiate(trial.step, trial.proximity, self.centre)
            found = self.follow_piece(trial, motion)
            if found is None:
                found = self.mix() if self.is_at_rounding() else self.find_lowest(trial, motion)
            if found is not None:
                return found
            proximity = self.choose(trial, motion)
            if proximity < MIN_PROXIMITY_FACTOR * first:
                break
            trial = self.try_proximity(proximity, trial.step.weights)
        return self.mix() if self.bracketed else trial

    def try_proximity(self, proximity: float, weights: np.ndarray | None) -> Trial:
        """The step of a proximity."""
        step = self.model.minimise((proximity,) * len(self.model.ridges), self.centre, weights)
        return Trial(proximity, step, self.aim.excess(step))

    def narrow(self, trial: Trial) -> None:
        """The bracket with the trial as one of its ends."""
        if self.near is not None and self.far is not None:
            beyond = max(self.near.excess - trial.excess, trial.excess - self.far.excess)
            self.rounded = self.rounded or beyond > ROUNDED_SHARE * (self.far.excess - self.near.excess)
        if trial.excess < 0.0:
            self.near = trial
        else:
            self.far = trial
        if self.near is not None and self.far is not None:  # a bracket
            self.widths.append(float(np.log(self.near.proximity / self.far.proximity)))

    def predict(self, trial: Trial, motion: Motion) -> float:
        """The proximity of the root on the piece of a trial; 0 where there is none."""
        tau = self.aim.predict(trial.step, trial.proximity, motion.x)
        found = (trial.proximity - self.model.ridges[0] * tau) / (1.0 + tau) if -1.0 < tau < np.inf else 0.0
        return max(found, 0.0)

    def follow_piece(self, trial: Trial, motion: Motion) -> Trial | None:
        """The root on the piece of a trial, if the piece reaches as far: the weights are affine in h there."""
        proximity, ridge = self.predict(trial, motion), self.model.ridges[0]
        weights = trial.step.weights + (proximity - trial.proximity) / (trial.proximity + ridge) * motion.weights
        if proximity == 0.0 or weights.min() < NEGATIVE_WEIGHT:
            return None
        weights = np.maximum(weights, 0.0)
        step = self.model.take_step(weights / weights.sum(), proximity, self.centre)
        excess = self.aim.excess(step)
        return Trial(proximity, step, excess) if abs(excess) <= self.aim.tol and self.model.is_minimum(step) else None

    @property
    def bracketed(self) -> bool:
        """Whether the aim lies between two trials."""
        return self.near is not None and self.far is not None

    def is_at_rounding(self) -> bool:
        """Whether nothing but rounding lies between the two: their proximities hardly differ, or order is lost."""
        return self.bracketed and (self.rounded or self.widths[-1] <= NARROW_BRACKET)

    def mix(self) -> Trial:
        """The point between both ends that meets the aim.

        x(1/h) moves by at most |x - centre| d log h, so where proximities hardly differ the steps do not either, but
        for rounding; the model is convex, so between them it is no higher than at the worse of the two.
        """
        near, far = cast(Trial, self.near), cast(Trial, self.far)
        low, high, below, above, found = 0.0, 1.0, near.excess, far.excess, near
        for _ in range(MAX_SHARES_TRIED):  # by false position
            share = low + (high - low) * below / (below - above)
            step = self.model.mix(near.step, far.step, share)
            found = Trial(near.proximity, step, self.aim.excess(step))
            if abs(found.excess) <= self.aim.tol:
                break
            if found.excess < 0.0:
                low, below, above = share, found.excess, above if low == 0.0 else 0.5 * above
            else:
                high, above, below = share, found.excess, below if high == 1.0 else 0.5 * below
        return found

    def find_lowest(self, trial: Trial, motion: Motion) -> Trial | None:
        """The minimum of the model, if x stays where it is down to no proximity at all.

        While x stays, the weights are affine in the proximity: at none they must still be weights, and their mean flat.
        """
        model, step = self.model, trial.step
        if trial.excess > 0.0 or self.far is not None or min(model.ridges) > 0:
            return None
        rounding = 8.0 * EPSILON * (np.linalg.norm(step.x) + model.measure_steepness(step) / trial.proximity)
        moved = float(np.linalg.norm(motion.x))
        weights = step.weights - motion.weights
        if moved > STILL_SHARE * np.linalg.norm(step.x - self.centre) + rounding or weights.min() < NEGATIVE_WEIGHT:
            return None
        weights = np.maximum(weights, 0.0)
        weights /= weights.sum()
        lowest = step._replace(weights=weights, mean=model.cuts.combine(weights))
        return trial._replace(step=lowest) if model.is_flat(lowest) else None

    def choose(self, trial: Trial, motion: Motion) -> float:
        """The next proximity: the root on the piece of the last step, if it is in the bracket; else between its ends.

        Where the last three have not halved the bracket, its middle.
        """
        found = self.predict(trial, motion)
        if self.near is not None and self.far is not None:
            low, high = self.far.proximity, self.near.proximity
            slow = len(self.widths) > 3 and self.widths[-1] > 0.5 * self.widths[-4]
            if slow:
                self.widths.clear()
            return found if low < found < high and not slow else float(np.sqrt(low * high))
        limits = trial.proximity / self.factor, trial.proximity * self.factor
        self.factor = min(self.factor**2, 65536.0)
        if found == 0.0:
            return limits[0] if trial.excess < 0.0 else limits[1]
        return float(np.clip(found, *limits))
