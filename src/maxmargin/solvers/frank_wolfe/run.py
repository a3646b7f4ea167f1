"""A run of Frank-Wolfe: passes of the oracle, passes over the kept labellings, and looks at the gap."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.solvers import Run
from ...structures.problem import StructuredPoint, StructuredProblem
from ..result import Outcome, Progress
from ..stalling import StallDetector
from .chain_labellings import ChainLabellings
from .kept_labellings import KeptLabellings
from .listed_labellings import ListedLabellings

if TYPE_CHECKING:
    from . import FrankWolfe

SEED = 20130617  # of the order of the samples
LOOK_GAP_FACTOR = 0.5  # times the gap at the last look, to which the sum of block gaps must have fallen for another
MAX_PASSES_BETWEEN_LOOKS = 15  # passes after which the gap is looked at in any case
LOOKS_WITHOUT_PROGRESS_LIMIT = 60  # looks without a fall of the gap by a tenth before a run gives up
# of the tolerance, shared out over the samples: a block whose gap is smaller is left alone
SKIPPED_GAP_TOL_SHARE = 0.05
SKIPPED_GAP_MEAN_SHARE = 0.1  # of the mean gap: a sample with less is left out of passes over kept labellings


class FrankWolfeRun(Run):
    """Passes over the samples, and now and then a look at P and D where w stands still."""

    def __init__(self, solver: FrankWolfe, problem: StructuredProblem, tol: float):
        self.solver, self.problem, self.tol = solver, problem, tol
        make = ChainLabellings if problem.examples.packed else ListedLabellings
        self.kept: KeptLabellings = make(problem, solver.kept)
        self.n_iter = self.n_passes = self.n_cached = self.passes_since_look = self.place = 0
        self.phase = "oracle"  # or "cached", or "look"
        # block gaps, rise of D and work: of this pass, and of all since the last one of the oracle
        self.sums, self.cycle_sums = np.zeros(3), np.zeros(3)
        self.primal, self.dual, self.last_gap, self.best = np.inf, -np.inf, np.inf, None
        self.values, self.bounds = np.zeros(problem.n), np.zeros(problem.n)
        self.found = problem.examples.blank()
        self.pass_order: np.ndarray | None = None  # the samples of this pass, in order
        self.due = False  # whether a look follows this cycle
        self.looks, self.limited_by_oracle = 0, False
        self.stall_detector = StallDetector(LOOKS_WITHOUT_PROGRESS_LIMIT)

    # ---- the loop -------------------------------------------------------------------------------------------

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Samples for about `seconds`; a pass that is not finished is gone on with next time."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        if self.limited_by_oracle:
            return Outcome.STALLED
        while self.n_iter < last:
            outcome = self.continue_look() if self.phase == "look" else self.continue_pass()
            if outcome is not Outcome.GOING:
                return outcome
            if time.perf_counter() >= end:
                break
        return Outcome.GOING

    def continue_pass(self) -> Outcome:
        """A few more samples of this pass."""
        order = self.order()
        stop = min(self.place + self.kept.chunk, len(order))
        self.kept.visit(order, self.place, stop, self.phase == "oracle", self.negligible_gap(), self.sums)
        self.place = stop
        if stop == len(order):
            self.finish_pass()
        return Outcome.GOING

    def order(self) -> np.ndarray:
        """The samples of this pass, in an order that depends on the number of the pass only.

        The oracle is asked for all of them. A pass over kept labellings leaves out those whose gap was small when they
        were last visited (Osokin et al. 2016 draw samples by their gaps): towards the end that is more than half.
        """
        if self.pass_order is None:
            self.pass_order = np.random.default_rng([SEED, self.n_passes]).permutation(self.problem.n)
            if self.phase == "cached":
                gaps = np.maximum(self.kept.gaps, 0.0)
                self.pass_order = self.pass_order[gaps[self.pass_order] >= SKIPPED_GAP_MEAN_SHARE * gaps.mean()]
        return self.pass_order

    def negligible_gap(self) -> np.ndarray:
        """Block gaps that are not worth a step."""
        scale = self.primal if np.isfinite(self.primal) else 0.0
        return SKIPPED_GAP_TOL_SHARE * self.tol * scale / float(self.problem.c.sum()) * self.problem.c

    def finish_pass(self) -> None:
        """Which pass comes next: another over kept labellings while that pays, else one of the oracle, or a look."""
        self.cycle_sums += self.sums
        self.n_passes, self.place, self.pass_order = self.n_passes + 1, 0, None
        gap, risen, work = self.sums
        if self.phase == "oracle":
            self.n_iter, self.passes_since_look, self.n_cached = self.n_iter + 1, self.passes_since_look + 1, 0
            self.cycle_sums = self.sums.copy()
            fallen = gap <= LOOK_GAP_FACTOR * self.last_gap or gap <= self.tol * self.scale(gap)
            self.due = fallen or self.passes_since_look >= MAX_PASSES_BETWEEN_LOOKS
            pays = self.solver.cached_passes > 0
        else:
            self.n_cached += 1
            # Shah et al. (2015), section 3.4, with work in place of seconds: the same on every machine.
            pays = risen * self.cycle_sums[2] > self.cycle_sums[1] * work and self.n_cached < self.solver.cached_passes
        self.sums = np.zeros(3)
        self.phase = "cached" if pays else "look" if self.due else "oracle"
        if self.phase == "look":
            self.begin_look()

    def scale(self, gap: float) -> float:
        """About what P is."""
        return self.primal if np.isfinite(self.primal) else gap

    def begin_look(self) -> None:
        """w and D afresh from the weights, so that no rounding piles up."""
        linear = self.kept.recompute()
        w = self.kept.w
        self.dual = linear - 0.5 * float(w @ w)
        self.place, self.due, self.passes_since_look = 0, False, 0

    def continue_look(self) -> Outcome:
        """The oracle for a few more samples, w standing still; at the end, P."""
        examples, n = self.problem.examples, self.problem.n
        stop = min(self.place + examples.step, n)
        examples.maximise(self.kept.w, self.place, stop, self.found, self.values, self.bounds)
        self.place = stop
        return self.finish_look() if stop == n else Outcome.GOING

    def finish_look(self) -> Outcome:
        """P at w, and whether it is near enough to D."""
        w = self.kept.w
        primal = 0.5 * float(w @ w) + float(self.problem.c @ self.values)
        if primal < self.primal:
            self.primal, self.best = primal, w.copy()
        self.phase, self.place, self.looks = "oracle", 0, self.looks + 1
        self.last_gap = primal - self.dual
        if self.reached():
            return Outcome.DONE
        return Outcome.STALLED if self.stall_detector.is_stalled(self.primal - self.dual) else Outcome.GOING

    def reached(self) -> bool:
        """Whether the gap is within tol, as far as the oracle can tell."""
        return self.primal - self.dual <= 0.9 * self.tol * max(abs(self.primal), abs(self.dual))

    # ---- what the loop of all solvers asks for --------------------------------------------------------------

    @property
    def a(self) -> np.ndarray:
        """The weights."""
        return self.kept.a

    @property
    def support(self) -> int:
        """Sheets of a point, about."""
        return self.kept.support

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D, as of the last look."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.problem.n)

    def point(self) -> StructuredPoint:
        """The best w so far, or that of now, and the labellings with their weights."""
        w = self.kept.w if self.best is None else self.best
        return StructuredPoint(w.copy(), tuple(self.kept.sheets()))

    def refresh(self, scores) -> None:
        """The judge found the gap wider than the run did: aim lower, unless the oracle itself is the reason."""
        self.tol *= 0.5
        self.limited_by_oracle = not self.problem.examples.exact

    def count(self) -> Counter:
        """Passes of the oracle and over kept labellings, and looks."""
        return Counter(oracle_passes=self.n_iter + self.looks, cached_passes=self.n_passes - self.n_iter)

    def pack(self) -> dict:
        """Where the run stands, to the sample."""
        counts = [self.n_iter, self.n_passes, self.n_cached, self.passes_since_look, self.place, self.looks]
        best = np.zeros(0) if self.best is None else self.best
        found = self.found if self.problem.examples.packed else self.problem.examples.store([self.found])["sheets"]
        return {
            **self.kept.pack(), "numbers": np.array([*counts, int(self.due)]), "phase": self.phase, "sums": self.sums,
            "cycle": self.cycle_sums, "values": self.values, "bounds": self.bounds, "best": best, "found": found,
            "route": self.order(),
            "beliefs": np.array(
                [self.primal, self.dual, self.last_gap, self.stall_detector.best, self.stall_detector.left]
            ),
        }  # fmt: skip

    def unpack(self, state: dict) -> None:
        """As it was packed."""
        self.kept.unpack(state)
        numbers = [int(each) for each in state["numbers"]]
        self.n_iter, self.n_passes, self.n_cached, self.passes_since_look, self.place, self.looks, due = numbers
        self.due, self.phase = bool(due), str(state["phase"])
        self.sums, self.cycle_sums = state["sums"].copy(), state["cycle"].copy()
        self.pass_order = state["route"].copy()
        self.values[:], self.bounds[:] = state["values"], state["bounds"]
        self.best = state["best"].copy() if state["best"].size else None
        self.primal, self.dual, self.last_gap, self.stall_detector.best, left = (
            float(each) for each in state["beliefs"]
        )
        self.stall_detector.left = int(left)
