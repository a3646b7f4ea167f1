"""A linear kernel with few features: solve for w in the feature space, then find duals that reproduce w.

SMO moves two duals at a time, and needs millions of steps where features have unequal scales. In the feature space a
few dozen Newton steps suffice. Two details matter:

    the data are centred, which changes b alone where the intercept is free;
    w = sum_i a_i x_i holds at the optimum only, so the free duals are moved until it holds to rounding.

With features of 1e7 and duals of 1, a sum of a_i x_i is off by 1e-9, which may be a hundredth of w. In that case the
point holds w itself beside the duals: w has all its digits, and the gap 1/2 |w - sum_i a_i x_i|^2 is next to zero.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...contracts.solvers import Run, Solver
from ...contracts.traits import Takes
from ...model.features import Design
from ...model.problem import Point, Problem
from ...model.samples import Dense
from ..result import Outcome, Progress
from .system import NORMAL_MATRIX_MAX_FEATURES

INNER_TOL_FACTOR = 0.1  # by which the inner tolerance falls when the judge finds too wide a gap
MIN_INNER_TOL = 1e-14
PRIMAL_TOL_SHARE = 0.5  # of tol for w; the rest is for the duals
MAX_CORRECTIONS = 3  # of the duals: the first one leaves rounding errors
# of tol: if sum_i a_i x_i differs from w by so much that scores change by more, w itself is kept beside the duals
KEPT_WEIGHTS_TOL_SHARE = 0.1
REPRODUCTION_REL_TOL = 1e-9  # of |w|: a larger |w - sum_i a_i x_i| makes the machine keep separate coefficients


@dataclass(frozen=True)
class FeatureSpace(Solver):
    """min over (w, b) of P by another solver, then a + S^2 Z (Z'S^2 Z)^-1 (w - Z'a) for the duals a it leaves.

    Z holds the samples, with a column of ones where the intercept is free, and S the distances of the duals from their
    bounds, so duals at a bound stay there.

    Parameters
    ----------
    inner : solver object
        A solver for linear machines: Newton, Multipliers or InteriorPoint.
    """

    inner: object
    name = "feature_space"
    formulation = "primal and Wolfe dual"
    takes = Takes("The space of the features", features="kernel rows", loss="piecewise")

    def refuse(self, problem: Problem) -> str | None:
        """Refuse other kernels than the linear one, sparse data and too many features."""
        if not problem.traits.linear_kernel:
            return "is for a linear kernel; use 'smo'"
        samples = problem.features.samples
        if samples.sparse or samples.d > min(NORMAL_MATRIX_MAX_FEATURES, problem.n // 2):
            return "is for dense data with few of them; use 'smo'"
        return None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> FeatureSpaceRun:
        """A run from the beginning: a point where another solver got stuck is a poor start."""
        return FeatureSpaceRun(self, problem, tol)


def pose_in_feature_space(problem: Problem) -> tuple[Problem, np.ndarray]:
    """The same problem for w itself, and what was subtracted from the samples."""
    X = np.asarray(problem.features.samples.X, float)
    moves = problem.balance is not None and not np.any(problem.balance)  # else the cost of a shift depends on w
    centre = X.mean(axis=0) if moves else np.zeros(X.shape[1])
    design = Design(Dense(X - centre), float(np.sqrt(problem.features.offset)))
    return replace(problem, features=design), centre


class FeatureSpaceRun(Run):
    """A run of the inner solver whose point has duals that reproduce its w."""

    def __init__(self, solver: FeatureSpace, problem: Problem, tol: float):
        self.problem, self.tol = problem, tol
        self.posed, self.centre = pose_in_feature_space(problem)
        if reason := solver.inner.accepts(self.posed):
            raise ValueError(reason)
        self.inner = solver.inner.start(self.posed, PRIMAL_TOL_SHARE * tol)

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Steps of the inner run."""
        if self.inner.tol < MIN_INNER_TOL:
            return Outcome.STALLED
        return self.inner.advance(max_steps, seconds)

    @property
    def n_iter(self) -> int:
        """Newton steps so far."""
        return self.inner.n_iter

    @property
    def a(self) -> np.ndarray:
        """The duals."""
        return self.inner.a

    @property
    def support(self) -> int:
        """Samples with a nonzero dual."""
        return self.inner.support

    def progress(self, seconds: float) -> Progress:
        """The inner solver's own view of P and D."""
        return self.inner.progress(seconds)

    def mark_step(self) -> Any:
        """What the inner run has to know."""
        return self.inner.mark_step()

    def describe_step(self, before: Any) -> dict[str, Any]:
        """The step of the inner run."""
        return self.inner.describe_step(before)

    def count(self) -> Counter:
        """What the inner run counts."""
        return self.inner.count()

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found too wide a gap: find w more accurately."""
        self.inner.tol *= INNER_TOL_FACTOR

    def point(self) -> Point:
        """The duals that reproduce w, and the intercept for the original, uncentred data."""
        found = self.inner.point()
        w = self.posed.expand(found)
        shift = float(w[:-1] @ self.centre)
        a = self.reproduce(w, self.problem.feasible(found.a))
        return Point(a, found.b - shift, self.represent(w, a), w=self.keep_weights(w, a))

    def keep_weights(self, w: np.ndarray, a: np.ndarray) -> np.ndarray | None:
        """w itself if rounding in sum_i a_i x_i would change scores by a good part of tol; else None."""
        features, missing = self.problem.features, self.find_missing(w, a)
        lost = float(np.linalg.norm(missing[:-1])) + abs(missing[-1]) * features.samples.displacement
        if features.offset or lost * features.largest_size <= KEPT_WEIGHTS_TOL_SHARE * self.tol * self.problem.scale:
            return None
        return w[:-1].copy()

    def reproduce(self, w: np.ndarray, a: np.ndarray) -> np.ndarray:
        """The duals nearest to a, measured by their distances from their bounds, with Z'a = w."""
        row = self.problem.row
        for _ in range(MAX_CORRECTIONS):
            room = np.minimum(np.minimum(a - row.lo, row.hi - a), 1.0 + np.abs(a))
            if not (room > 0).any():
                return a
            a = np.clip(self.move(a, self.find_missing(w, a), room), row.lo, row.hi)
        return a

    def represent(self, w: np.ndarray, a: np.ndarray) -> np.ndarray | None:
        """Coefficients with Z'coef = w if no duals within their bounds satisfy that, as before the optimum; else None.

        Without them a run that is stopped early would return a machine far worse than the w it has found.
        """
        missing = self.find_missing(w, a)
        if np.linalg.norm(missing) <= REPRODUCTION_REL_TOL * np.linalg.norm(w):
            return None
        return self.move(a, missing, np.ones(len(a)))

    def find_missing(self, w: np.ndarray, a: np.ndarray) -> np.ndarray:
        """w - Z'a; if the intercept is free, the last entry is the imbalance of the duals."""
        missing = w - self.posed.features.combine(a)
        if self.problem.balance is not None:
            missing[-1] = self.problem.balance - a.sum()
        return missing

    def move(self, a: np.ndarray, missing: np.ndarray, room: np.ndarray) -> np.ndarray:
        """a + S^2 Z (Z'S^2 Z)^-1 missing, with S = room."""
        design, inside = self.posed.features, np.flatnonzero(room > 0)
        last = np.full(len(inside), design.scaling if self.problem.balance is None else 1.0)
        scaled = np.column_stack([design.samples.X[inside], last]) * room[inside, None]
        moved = a.copy()
        moved[inside] += room[inside] * np.linalg.lstsq(scaled.T, missing, rcond=None)[0]
        return moved
