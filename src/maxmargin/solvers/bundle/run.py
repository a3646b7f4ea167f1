"""A run of a bundle method on the risk of a problem in memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.solvers import Run
from ...model.problem import Point, Problem
from ..result import Outcome, Progress
from ..stalling import StallDetector
from .cuts import Cuts
from .descent import Descent, take_rounds
from .model import choose_faint_ridge
from .oracle import Place
from .risk import RiskOracle
from .rules import RULES

if TYPE_CHECKING:
    from . import Bundle

ROUNDS_WITHOUT_PROGRESS_LIMIT = 400  # rounds without a fall of the gap by a tenth before a run gives up
# of P at zero is the proximity of the free intercepts of classes where nothing else holds a step
INTERCEPT_PROXIMITY_SHARE = 1e-3


class BundleRun(Run):
    """A descent on the risk of a problem, as the one loop of all solvers wants it."""

    def __init__(
        self, solver: Bundle, problem: Problem, tol: float, warm: Point | None, previous: BundleRun | None = None
    ):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.cuts_handed_over = False
        self.oracle = RiskOracle(problem, tol)
        rule = RULES[solver.rule]()
        cuts = None if previous is None else previous.hand_over_cuts(problem)
        if cuts is None:
            cuts = Cuts(self.oracle.size, self.oracle.blocks, solver.max_cuts)
        elif warm is None:
            warm = previous.point()
        self.oracle.loss_oracle.unit = cuts.factor
        self.descent = Descent(self.oracle, rule, self.place(warm), cuts, self.ridges())
        if self.oracle.tails:  # without that the steps of free intercepts are those of a linear program
            self.descent.block_proximities = (0.0, INTERCEPT_PROXIMITY_SHARE * self.oracle.scale)
        self.stall_detector = StallDetector(ROUNDS_WITHOUT_PROGRESS_LIMIT)

    def hand_over_cuts(self, problem: Problem) -> Cuts | None:
        """The cuts, scaled to a problem that differs from that of this run in C only, for a run that comes after this.

        The cuts of C r are C times those of r. None for other problems, and if another run has got them already.
        """
        own = self.problem
        if self.cuts_handed_over or own.features is not problem.features or own.loss != problem.loss:
            return None
        if not np.array_equal(own.y, problem.y) or (own.balance is None) != (problem.balance is None):
            return None
        ratio = float(problem.c.sum()) / float(own.c.sum())
        if not np.allclose(problem.c, ratio * own.c, rtol=1e-12, atol=0.0) or np.any(problem.balance):
            return None
        self.cuts_handed_over = True
        self.descent.cuts.factor *= ratio
        return self.descent.cuts

    def place(self, warm: Point | None) -> np.ndarray:
        """The coordinates of a point, or zero."""
        x = np.zeros(self.oracle.size)
        if warm is None:
            if self.oracle.free:
                self.oracle.intercept.last = self.problem.centre
            return x
        coef = self.problem.expand_start(warm)
        x[: coef.size] = coef.ravel()
        if self.oracle.tails:
            x[coef.size :] = warm.b
        elif self.oracle.free:
            self.oracle.intercept.last = float(warm.b)
        # A start worse than zero is none: the exponential loss may be beyond all numbers there.
        value = self.oracle.locate(x).value + 0.5 * float(x @ x)
        return x if value <= self.oracle.scale else np.zeros_like(x)

    def ridges(self) -> tuple[float, ...]:
        """1 for w; for free intercepts of classes one so small that it costs next to nothing."""
        if not self.oracle.tails:
            return (1.0,)
        return 1.0, choose_faint_ridge(self.tol, self.oracle.scale)

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Rounds for about `seconds`, at most `max_steps`."""
        return take_rounds(self, max_steps, seconds)

    def reached(self) -> bool:
        """Whether the gap is within tol."""
        least, bound = self.descent.least, self.descent.bound
        limit = self.tol * max(abs(least), abs(bound), self.problem.floor)
        return bool(np.isfinite(bound)) and self.descent.gap <= 0.9 * limit

    @property
    def n_iter(self) -> int:
        """Rounds."""
        return self.descent.n_iter

    @property
    def kept(self) -> list[tuple[float, np.ndarray]]:
        """The answers behind the best bound, and their weights."""
        descent = self.descent
        descent.bound_by_ridge()
        weights = descent.pad_weights(descent.plain)
        used = np.flatnonzero(weights)
        return [(weights[k] * share, each) for k in used for share, each in descent.cuts.keys[k]]

    @property
    def a(self) -> np.ndarray:
        """The duals: those of the cuts, weighted as the master weighs them."""
        return self.oracle.loss_oracle.mix(self.kept, self.problem.shape)

    @property
    def reserve(self) -> float:
        """Seconds in which a loss of the whole list answers to all scores that are kept: here, and to the judge."""
        loss_oracle, weights = self.oracle.loss_oracle, self.descent.pad_weights(self.descent.plain)
        if not loss_oracle.keeps_scores or weights is None:
            return 0.0
        return 2.5 * sum(len(self.descent.cuts.keys[k]) for k in np.flatnonzero(weights)) * loss_oracle.seconds

    @property
    def support(self) -> int:
        """All samples: any of them may have a dual."""
        return self.problem.n

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        return Progress(self.n_iter, seconds, self.descent.least, self.descent.bound, self.descent.cuts.m)

    def point(self) -> Point:
        """The best w, its intercept, and the dual point of the master."""
        best, kept = self.descent.best, self.kept
        coef, b = self.oracle.part(best.x)
        loss_oracle = self.oracle.loss_oracle
        mixture = loss_oracle.mixture(kept)
        b = np.array(b) if self.oracle.tails else best.b if self.oracle.free else 0.0
        return Point(loss_oracle.mix(kept, self.problem.shape), b, coef.copy(), mixture)

    def mark_step(self) -> tuple[Place, float]:
        """The centre, and P there."""
        return self.descent.mark_step()

    def describe_step(self, before: tuple[Place, float]) -> dict[str, Any]:
        """Where the cut was made, and what the model said of it."""
        return self.descent.describe_step(before)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found the gap wider than the run did: aim lower."""
        self.tol *= 0.5
        self.oracle.tol = self.tol
        self.descent.model.ridges = self.ridges()

    def count(self) -> Counter:
        """Cuts made, each two products with the data."""
        return Counter(oracle_calls=self.oracle.n_calls)
