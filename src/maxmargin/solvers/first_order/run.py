"""First-order runs: iterates, moves, the best P so far, and the matching dual points."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from copy import copy
from typing import Any, ClassVar

import numpy as np

from ...contracts.solvers import Run
from ...model.problem import Point, Problem
from ...runtime.interruptible import Interrupted, abortable
from ..result import Outcome, Progress
from ..stalling import StallDetector
from .objective import Iterate, Objective

BOUND_CHECK_SPACING = 1.05  # factor between the iterations of one gap check and the next
GAP_CHECKS_WITHOUT_PROGRESS_LIMIT = 80  # gap checks without a fall by a tenth before a run gives up
MIN_ITERATIONS_BETWEEN_CHECKS = 5  # iterations between two gap checks


class FirstOrderRun(Run):
    """Coordinates u of w, a mover, the best iterate so far, and the best dual point so far.

    The duals of a kinked loss jump, so those of one iterate bound P loosely even near the optimum. Its dual point is
    the `average` over all iterates, which makes the same moves as w: w = sum_i average_i phi(x_i) throughout,
    and without momentum the run is Frank and Wolfe's method on the dual (Bach 2015).
    """

    moved: ClassVar[tuple[str, ...]] = ("u", "average", "place", "mover", "dual_mover", "steps")  # by a step

    def __init__(self, solver, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.objective = Objective(problem, tol)
        self.average = problem.feasible(np.zeros(problem.shape) if warm is None else warm.a)
        self.u = self.begin(warm)
        self.place = self.best = self.objective.place(self.u)
        self.steps = solver.choose_steps(self.objective)
        self.mover, self.dual_mover = solver.make_mover(self.objective), solver.make_dual_mover(self.objective)
        self.n_iter, self.next_gap_check = 0, 1
        self.last_step: float | np.ndarray = 0.0
        self.stall_detector = StallDetector(GAP_CHECKS_WITHOUT_PROGRESS_LIMIT)
        self.own_rule_detector = StallDetector(solver.patience)
        self.a, self.bound = self.average, -np.inf
        self.counters = Counter(looks=0)
        self.check_gap()

    def begin(self, warm: Point | None) -> np.ndarray:
        """The coordinates of a point, or of w = sum_i a_i phi(x_i) at the simplest feasible duals."""
        coef = warm.coef if warm is not None and warm.coef is not None else self.problem.features.combine(self.average)
        tail = np.zeros(self.objective.tails) if warm is None else np.broadcast_to(warm.b, self.objective.tails)
        return self.objective.join(np.array(coef, float), np.array(tail, float))

    # ---- iterations ---------------------------------------------------------------------------------------

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Iterations for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.n_iter < last:
            self.take_whole_step()
            self.n_iter += 1
            with abortable():  # with a kernel, evaluating the dual bound takes as long as a step
                outcome = self.check_progress()
            if outcome is not Outcome.GOING or time.perf_counter() >= end:
                return outcome
        return Outcome.GOING

    def take_whole_step(self) -> None:
        """A full step, or none if an interrupt falls within it: with a kernel, a step may take many seconds."""
        before = {name: copy(vars(self)[name]) for name in self.moved}
        try:
            with abortable():
                self.take_step()
        except Interrupted:
            vars(self).update(before)
            raise

    def take_step(self) -> None:
        """One move along the gradient; the duals make the same move."""
        here = self.place
        step = self.last_step = self.steps.choose(self, here)
        if self.problem.kinked:
            self.average = self.dual_mover.move(self.average, self.dual_mover.look_ahead(self.average) - here.a, step)
        self.u = self.mover.move(self.u, here.slope if self.solver.coordinatewise else here.gradient, step)
        self.place = self.objective.place(self.mover.look_ahead(self.u))
        if self.place.value > here.value and self.mover.restart_momentum():
            self.u, self.place = here.u, here

    def check_progress(self) -> Outcome:
        """Whether the run is done: by its gap, or by its own rule."""
        if not np.isfinite(self.place.value):  # a given step that is too long
            return Outcome.STALLED
        improved = self.place.value < self.best.value
        self.best = self.place if improved else self.best
        met = self.own_rule_detector.count(improved)
        if self.solver.stop == "patience":
            return Outcome.DONE if met else Outcome.GOING
        if self.n_iter < self.next_gap_check:
            return Outcome.GOING
        self.check_gap()
        if self.reached():
            return Outcome.DONE
        return Outcome.STALLED if self.stall_detector.is_stalled(self.gap) else Outcome.GOING

    # ---- the dual side ------------------------------------------------------------------------------------

    def check_gap(self) -> None:
        """D at the duals of the best iterate, or at their mean if the loss has kinks."""
        self.counters["looks"] += 1
        self.next_gap_check = max(
            self.n_iter + (MIN_ITERATIONS_BETWEEN_CHECKS if self.n_iter else 1), int(BOUND_CHECK_SPACING * self.n_iter)
        )
        self.raise_bound(self.problem.feasible(self.average if self.problem.kinked else self.best.a))

    def raise_bound(self, a: np.ndarray) -> float:
        """D at some duals, which are kept if they are the best so far."""
        bound = self.objective.bound(a)
        if bound > self.bound:
            self.a, self.bound = a, bound
        return bound

    @property
    def gap(self) -> float:
        """P - D."""
        return self.best.value - self.bound

    def reached(self) -> bool:
        """Whether the gap is within tol, or the solver's own rule is met."""
        if self.solver.stop == "patience":
            return self.own_rule_detector.exhausted
        scale = max(abs(self.best.value), abs(self.bound), self.problem.floor)
        return self.gap <= 0.9 * self.tol * scale

    # ---- what a trace asks --------------------------------------------------------------------------------

    def mark_step(self) -> Iterate:
        """Where the gradient of the step is taken."""
        return self.place

    def describe_step(self, before: Iterate) -> dict[str, Any]:
        """u where the gradient was taken, P and its gradient there, the step, and u after it.

        u holds w, or its coefficients on the phi(x_i) where there is a kernel, and then the intercepts of classes.
        """
        return {
            "step": "gradient", "w": before.u, "value": before.value, "gradient": before.gradient,
            "gradient_norm": float(np.sqrt(before.steepness)), "step_length": self.last_step, "w_next": self.u,
            "best": self.best.value,
        }  # fmt: skip

    # ---- the contract of a run ----------------------------------------------------------------------------

    @property
    def support(self) -> int:
        """Samples with a nonzero dual, and with a kernel also those with a coefficient: the judge scores both."""
        duals = int(np.count_nonzero(np.atleast_2d(self.a).any(axis=0)))
        return duals if self.objective.linear else duals + int(np.count_nonzero(self.best.coef))

    def progress(self, seconds: float) -> Progress:
        """The best P so far, and D as of the last gap check."""
        return Progress(self.n_iter, seconds, self.best.value, self.bound, self.problem.n)

    def point(self) -> Point:
        """The best w and b so far, and the best duals, including the current ones if there is time to evaluate them."""
        with suppress(Interrupted), abortable():
            self.check_gap()
        return Point(self.problem.feasible(self.a), self.best.b, self.best.coef)

    def here(self) -> Point:
        """The current iterate, which is not always the best one so far, with the best duals."""
        return self.point()._replace(b=self.place.b, coef=self.place.coef)

    def refresh(self, scores: np.ndarray) -> None:
        """The judge found a wider gap than the run did: aim at a smaller one."""
        if self.solver.stop == "gap":
            self.tol *= 0.5

    def count(self) -> Counter:
        """Gap checks."""
        return Counter(self.counters)
