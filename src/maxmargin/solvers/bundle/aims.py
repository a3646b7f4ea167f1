"""What the proximity of a step is searched for: a step as long as a radius, or one at which the model meets a level."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .model import EPSILON, Model, Step

RADIUS_REL_TOL = 1e-10  # of the radius that a step may miss
LEVEL_REL_TOL = 1e-10  # of the way from F down to the level that the model may miss


class Aim(ABC):
    """excess(step) = 0, for an excess that falls as the proximity grows.

    Attributes
    ----------
    tol : float
        The excess that counts as zero.
    """

    tol: float

    @abstractmethod
    def excess(self, step: Step) -> float:
        """Positive where the step goes too far, and less proximity would take it further."""

    @abstractmethod
    def predict(self, step: Step, proximity: float, motion: np.ndarray) -> float:
        """tau at which x - tau motion meets the aim: the root of what x does while the same cuts hold it.

        `motion` is dx / d log h, h being the proximity and the ridge; then tau is the relative change of 1/h.
        """


class Radius(Aim):
    """|x - centre| = radius."""

    def __init__(self, centre: np.ndarray, radius: float):
        self.centre, self.radius = centre, radius
        self.tol = max(RADIUS_REL_TOL, 4.0 * EPSILON * float(np.linalg.norm(centre)) / radius)

    def excess(self, step: Step) -> float:
        """|x - centre| / radius - 1."""
        return float(np.linalg.norm(step.x - self.centre)) / self.radius - 1.0

    def predict(self, step: Step, proximity: float, motion: np.ndarray) -> float:
        """|x - centre - tau motion| = radius, a quadratic equation."""
        way = (step.x - self.centre) / self.radius
        motion = motion / self.radius
        return find_near_root(1.0 - float(way @ way), -float(way @ motion), float(motion @ motion))


class Level(Aim):
    """model(x) = level, or |x - centre| = reach where that is nearer; `target` is the way down to the level."""

    def __init__(self, model: Model, centre: np.ndarray, level: float, target: float, reach: float):
        self.model, self.centre, self.level, self.target = model, centre, level, max(target, 1e-300)
        self.radius = Radius(centre, reach)
        self.tol = max(LEVEL_REL_TOL, model.measure_rounding(centre) / self.target)

    def excess(self, step: Step) -> float:
        """How far below its level the model is, in units of the way to the level."""
        below = (self.level - step.height - self.model.quadratic(step.x)) / self.target
        return max(below, self.radius.excess(step)) if self.radius.radius < np.inf else below

    def predict(self, step: Step, proximity: float, motion: np.ndarray) -> float:
        """The cuts in use are affine along the motion and the ridge is quadratic: another quadratic equation.

        The gradient of the model there is proximity (centre - x), by the optimality of x.
        """
        above = step.height + self.model.quadratic(step.x) - self.level
        falls = proximity * float((self.centre - step.x) @ motion)
        curved = float((self.model.spread(self.model.ridges) * motion) @ motion)
        # above - falls tau + curved/2 tau^2 = 0
        tau = find_near_root(2.0 * above / self.target, falls / self.target, -curved / self.target)
        if self.radius.radius < np.inf:
            tau = min(tau, self.radius.predict(step, proximity, motion))
        return tau


def find_near_root(constant: float, half: float, square: float) -> float:
    """tau with constant = 2 half tau + square tau^2 that tends to 0 with the constant; infinite where nothing moves.

    Where there is no root, that of the linear part.
    """
    root = half * half + constant * square
    slope = half + np.sqrt(root) if root >= 0.0 else 2.0 * half
    return constant / slope if slope > 0.0 else float(np.copysign(np.inf, constant))
