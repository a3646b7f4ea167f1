"""Minibatches: an iteration is a pass over all samples in random order, with gradients of a few samples at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.problem import Point, Problem
from .objective import Iterate, Objective
from .run import FirstOrderRun


class BatchSteps:
    """2 (1 - beta) / (t + 2 L) at the t-th batch: right for modulus 1 and gradients of expected smoothness L.

    For batches of m samples L = 1 + n (m - 1) / (m (n - 1)) lambda + (n - m) / (m (n - 1)) n max_i s_i |phi(x_i)|^2
    (Gower et al. 2019), with lambda as in the L of all samples; if the loss has kinks, s_i is that of the
    smoothed loss.
    """

    def __init__(self, objective: Objective, batch: int):
        n = objective.problem.n
        m = min(batch, n)
        whole, single = (
            objective.smoothness - 1.0,
            n * float(np.max(objective.curvatures * objective.squares, initial=0.0)),
        )
        share = (n - m) / (m * max(n - 1, 1))
        self.smoothness = 1.0 + n * (m - 1) / (m * max(n - 1, 1)) * whole + share * single
        self.taken = 0

    def choose(self, run: FirstOrderRun, here: Iterate) -> float:
        """The next step."""
        self.taken += 1
        return 2.0 * (1.0 - run.mover.beta) / (self.taken + 2.0 * self.smoothness)


class BatchRun(FirstOrderRun):
    """Passes over batches. P, the free intercept and the gap are evaluated after each, at the mean of the iterates."""

    moved = (*FirstOrderRun.moved, "middle", "moves")

    def __init__(self, solver, problem: Problem, tol: float, warm: Point | None):
        self.random = np.random.default_rng(solver.seed)
        self.middle, self.moves = None, 0
        super().__init__(solver, problem, tol, warm)

    def take_step(self) -> None:
        """A pass over all samples."""
        n, size = self.problem.n, min(self.solver.batch, self.problem.n)
        order = self.random.permutation(n)
        share = 2.0 / (self.n_iter + 2.0)
        for start in range(0, n, size):
            self.take_batch(np.sort(order[start : start + size]), share)
        self.place = self.objective.place(self.middle)

    def check_gap(self) -> None:
        """Try the mean of the duals for smooth losses too: it has less noise than those of any one iterate."""
        super().check_gap()
        self.raise_bound(self.problem.feasible(self.average))

    def describe_step(self, before: Iterate) -> dict[str, Any]:
        """The mean of the iterates before the pass and after it, and the step of the last batch."""
        return super().describe_step(before) | {"step": "pass over batches", "w_next": self.place.u}

    def take_batch(self, index: np.ndarray, share: float) -> None:
        """One move along the gradient of some samples; their duals enter the mean over the passes."""
        objective, here = self.objective, self.mover.look_ahead(self.u)
        coef, tail = objective.part(here)
        a = objective.find_batch_duals(index, coef, tail if objective.tails else self.place.b)
        pull, missing = objective.combine_batch(index, a * (self.problem.n / len(index)))
        gradient = objective.join(coef - pull, missing)
        if self.solver.coordinatewise and not objective.linear:
            gradient = objective.features.scores(gradient)
        self.average[..., index] += share * (a - self.average[..., index])
        self.last_step = self.steps.choose(self, self.place)
        self.u = self.mover.move(self.u, gradient, self.last_step)
        self.moves += 1
        self.middle = self.u if self.middle is None else self.middle + 2.0 / (self.moves + 1.0) * (self.u - self.middle)
