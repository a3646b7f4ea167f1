"""The machines of a model, one for each of its problems, and what is proven of the scores of their optima together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...runtime.rounding import Enclosed
from .bounds import Interval, OptimumBounds


class MachineBounds(NamedTuple):
    """One machine.

    Attributes
    ----------
    scores : OptimumBounds
        On <w*, phi(x)> + b*.
    margin : OptimumBounds or None
        On rho*, by which nu classifiers divide.
    judged : Enclosed or None
        <y, phi_i> of the samples of its problem, where the judge has evaluated it.
    """

    scores: OptimumBounds
    margin: OptimumBounds | None = None
    judged: Enclosed | None = None

    def bound(self, samples: Any, known: Enclosed | None = None) -> Interval:
        """One direction for all samples."""
        return self.divide(self.scores.bound(samples, known))

    def bound_roughly(self, samples: Any) -> Interval:
        """Of the samples of its problem, from what the judge has evaluated; as `bound` where it has not."""
        if self.judged is None:
            return self.bound(samples)
        return self.divide(self.scores.bound_roughly(samples, self.judged))

    def divide(self, found: Interval) -> Interval:
        """The interval of f* itself."""
        if self.margin is None:
            return found
        low, high = self.margin.bound_intercepts()
        with np.errstate(divide="ignore", invalid="ignore"):
            lower = np.where(found.lower >= 0.0, found.lower / high, found.lower / low if low > 0 else -np.inf)
            upper = np.where(found.upper <= 0.0, found.upper / high, found.upper / low if low > 0 else np.inf)
        slack = 4.0 * np.finfo(float).eps
        lower, upper = np.nan_to_num(lower, nan=0.0, neginf=-np.inf), np.nan_to_num(upper, nan=0.0, posinf=np.inf)
        return Interval(lower - slack * np.abs(lower), upper + slack * np.abs(upper))


@dataclass(frozen=True, eq=False)
class OptimumScores:
    """What is proven of the scores of all machines of a model: one column for each, in the sign of its problem."""

    machines: Sequence[MachineBounds]

    def bound(self, samples: Any) -> Interval:
        """One direction for all samples."""
        return stack([machine.bound(samples) for machine in self.machines])

    def refine(self, samples: Any, wanted: np.ndarray) -> Interval:
        """Directions of their own for the samples and machines that are wanted, an array of shape (n, machines)."""
        parts = []
        for machine, column in zip(self.machines, wanted.T, strict=True):
            known = machine.scores.bound(samples)
            parts.append(machine.divide(machine.scores.refine(samples, known, column)))
        return stack(parts)


def stack(parts: Sequence[Interval]) -> Interval:
    """One column for each machine."""
    return Interval(np.stack([part.lower for part in parts], axis=1), np.stack([part.upper for part in parts], axis=1))
