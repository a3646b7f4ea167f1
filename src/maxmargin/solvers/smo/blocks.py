"""SMO block by block: hundreds of samples solved in cache, then one update of all scores on all cores."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

from ...model.row_store import RowStore
from ...runtime.interruptible import Interrupted, abortable
from ..result import Outcome
from .active import DUAL, FLOAT32_TOL_FACTOR, POLISH_MAX_TOL, ActiveRun, StepStart
from .polish import polish

MAX_WORKING_SET_SAMPLES = 1024  # samples of a working set
ROUND_NANOSECONDS = 2e8  # nanoseconds of one core that a round may take: Ctrl-C waits for its end
BLOCK_VIOLATION_SHARE = 0.1  # a block is solved until its own violation is this share of the violation of all
BLOCK_STEPS_PER_SAMPLE = 40  # steps in a block for each of its samples, at most
BLOCK_CHECK_STEPS = 16  # steps in a block between two looks at its violation
SHRINK_INTERVAL_ROUNDS = 8  # rounds from one attempt to set samples aside to the next
PROGRESS_CHECK_ROUNDS = 50  # rounds between two looks at whether D still rises


def choose_size(problem, exact: bool) -> int:
    """Samples of a working set: as many as a round has time for, by the data alone, so that fits can be repeated."""
    work = ROUND_NANOSECONDS / (problem.n * problem.features.cost * (2 if exact else 1))
    return int(np.clip(work, 128, max(128, min(MAX_WORKING_SET_SAMPLES, problem.n // 4))))


class BlockRun(ActiveRun):
    """Rounds: choose the worst violators and keep the free ones, solve their block, update f for all the others."""

    def prepare(self) -> None:
        """The row store, its precision, and the size of a working set."""
        problem, solver = self.problem, self.solver
        self.rows = RowStore(problem.features, solver.cache_size, exact=self.tol < POLISH_MAX_TOL)
        self.half = self.rows.half
        self.size = min(solver.working_set or choose_size(problem, self.half is None), problem.n)
        self.work, self.rounds = np.empty(0, np.int64), 0
        self.make_room(problem.n)
        if self.single_precision:
            self.target *= FLOAT32_TOL_FACTOR

    @property
    def single_precision(self) -> bool:
        """Whether kernel rows are held in float32."""
        return self.half is not None

    def switch_to_float64(self) -> None:
        """Rows in float64 from now on."""
        self.half, self.target = None, self.target / FLOAT32_TOL_FACTOR
        self.rows.switch_to_float64()
        self.widen()

    def make_room(self, n: int) -> None:
        """Room for the rates of n samples and their places."""
        self.rates, self.places = np.empty(n), np.empty(n, np.int64)

    def widen(self) -> None:
        """The row store over all samples again, empty."""
        self.rows.reset(self.problem.features, self.half)
        self.work = np.empty(0, np.int64)
        self.make_room(self.problem.n)

    def restrict_to(self, keep: np.ndarray) -> None:
        """The rows held, cut down to the columns `keep`."""
        self.rows.restrict_to(keep)
        place = np.full(keep[-1] + 1, -1)
        place[keep] = np.arange(len(keep))
        self.work = place[self.work[self.work <= keep[-1]]]
        self.work = self.work[self.work >= 0]
        self.make_room(len(keep))

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Rounds for about `seconds`, at most `max_steps` pair steps."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while True:
            moved = self.take_round(last - self.n_iter)
            if self.reached():
                if not self.polishing:
                    return self.finish()
                polish(self, last)
            elif not moved:
                return self.stall()
            self.since_shrink += 1
            if self.solver.shrinking and self.since_shrink >= SHRINK_INTERVAL_ROUNDS:
                self.shrink()
            self.rounds += 1
            if self.n_iter >= self.solver.effort:
                return Outcome.STALLED
            if self.check_precision():
                return Outcome.DONE
            if self.rounds % PROGRESS_CHECK_ROUNDS == 0 and (outcome := self.check_progress()) is not Outcome.GOING:
                return outcome
            if time.perf_counter() >= end or self.n_iter >= last:
                return Outcome.GOING

    def take_round(self, max_steps: int) -> bool:
        """One working set: select, solve, update; whether anything moved. Interrupted within it, nothing did."""
        work = self.select()
        if len(work) == 0:
            return False
        before, numbers, counts = self.a[:, work], self.numbers.copy(), self.counts.copy()
        after = self.solve_block(work, max_steps)
        moved = np.flatnonzero((after != before).any(axis=0))
        free = self.place(work, after)
        try:
            with abortable():
                self.rows.add(self.f, work[moved], (after - before).sum(axis=0)[moved], free[moved])
        except Interrupted:
            self.place(work, before)
            self.numbers[:], self.counts[:] = numbers, counts
            raise
        self.work = work[free]
        return len(moved) > 0

    def place(self, work: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Set the duals of a working set; which of them are free."""
        from ...compiled.smo import update_some_rates

        self.a[:, work] = a
        update_some_rates(work, self.a, self.p, self.d, self.e, self.lo, self.hi, self.up, self.low)
        return ((self.up[:, work] > -1e299) & (self.low[:, work] < 1e299)).any(axis=0)

    def call(self, max_steps: int) -> None:
        """Up to `max_steps` pair steps, in rounds."""
        last = self.n_iter + max_steps
        while self.n_iter < last and self.take_round(last - self.n_iter):
            pass

    def kernel_rows(self, index: np.ndarray) -> np.ndarray:
        """K[index, active]."""
        return self.rows.features.evaluate(index, None)

    def select(self) -> np.ndarray:
        """Half the block from the free samples of the last one, the rest from both ends of the violation."""
        from ...compiled.smo import collect_violators, find_extremes

        n, layers = len(self.f), len(self.a)
        self.m, self.M = np.zeros(layers), np.zeros(layers)
        if self.paired:
            find_extremes(self.up, self.low, self.f, self.m, self.M, self.rates)
        kept = self.work[-(self.size // 2) :]
        taken = np.zeros(n, bool)
        taken[kept] = True
        share = max(1, (self.size - len(kept)) // (2 * layers))
        chosen = [kept]
        for layer in range(layers):
            for above, below, floor in (
                (self.up[layer], self.f, self.M[layer]),
                (self.f, self.low[layer], -self.m[layer]),
            ):
                count = collect_violators(above, below, floor, taken, self.rates, self.places)
                best = self.places[:count]
                if count > share:
                    best = best[np.argpartition(self.rates[:count], count - share)[-share:]]
                taken[best] = True
                chosen.append(best.copy())
        return np.concatenate(chosen)

    def solve_block(self, work: np.ndarray, max_steps: int) -> np.ndarray:
        """The duals of the block after plain SMO on it.

        The scores start at zero, and what they are is put into p, counted from the middle of [M, m]: so small
        violations of large scores survive float32.
        """
        from ...compiled.smo import pair_steps, single_steps, update_all_rates

        with abortable():
            K = self.rows.square(work)
        a, p, d, e, lo, hi = (
            np.ascontiguousarray(part[:, work]) for part in (self.a, self.p, self.d, self.e, self.lo, self.hi)
        )
        p += self.f[work] + 0.5 * (self.m + self.M)[:, None]
        up, low = np.empty(a.shape, K.dtype), np.empty(a.shape, K.dtype)
        update_all_rates(a, p, d, e, lo, hi, up, low)
        slot, curvature = np.arange(len(work)), np.ascontiguousarray(self.curvature[:, work], K.dtype)
        held = (K, slot, slot, np.zeros_like(slot), None)
        f = np.zeros(len(work), K.dtype)
        state = (*held, f, a, p, d, e, lo, hi, up, low, curvature, np.empty_like(f))
        width = float((self.m - self.M).max()) if self.paired else self.spread()
        threshold = max(BLOCK_VIOLATION_SHARE * width, 0.5 * self.threshold)
        steps = min(max_steps, BLOCK_STEPS_PER_SAMPLE * len(work))
        limits = (0.0, threshold, steps, self.numbers, self.counts, np.zeros(len(self.a)))
        if self.paired:
            pair_steps(*state, self.solver.rule, None, None, BLOCK_CHECK_STEPS, *limits)
        else:
            single_steps(*state, None, *limits)
        return a

    def advance_once(self) -> Outcome:
        """One round."""
        return self.advance(BLOCK_STEPS_PER_SAMPLE * self.size, 0.0)

    def describe_step(self, before: StepStart) -> dict[str, Any]:
        """The working set of the round, its pair steps, m and M before it, D after it."""
        values = {"m": before.m, "M": before.M} if self.paired and len(self.a) == 1 else {}
        moved = int(np.count_nonzero((self.store_rows()[:, before.active] != before.a).any(axis=0)))
        return {
            "step": "block", "working_set": self.size, "moved": moved, "pair_steps": self.n_iter - before.n_iter,
            **values, "violation": before.violation, "D_run": float(self.numbers[DUAL]), "active": len(self.active),
        }  # fmt: skip

    def count(self) -> Counter:
        """Rows found in the store when they were needed were hits, the others misses."""
        counters = super().count()
        counters.update(self.rows.counters)
        counters["rows"] += self.rows.counters["misses"]
        return counters
