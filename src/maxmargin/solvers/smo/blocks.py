"""SMO block by block: hundreds of samples solved in cache, then one update of all scores on all cores."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from ...cache import RowStore
from .active import POLISH_BELOW, ActiveRun, Outcome
from .polish import polish

BLOCK = 512  # samples of a working set
CAREFUL = 0.7  # of tol is aimed at where rows are in float32, so that the judge finds the gap within tol
WORK = 2e8  # nanoseconds of one core that a round may take, at (1 + d/16) ns a kernel value: Ctrl-C waits for its end
DEEP = 0.1  # a block is solved until its own violation is this share of the violation of all
SHRINK_EVERY = 8  # rounds


def choose_size(problem) -> int:
    """Samples of a working set: as many as a round has time for, by n and d alone, so that fits can be repeated."""
    d = getattr(getattr(problem.features, "samples", None), "d", 16)
    return int(np.clip(WORK / (problem.n * (1.0 + d / 16.0)), 128, BLOCK))


class BlockRun(ActiveRun):
    """Rounds: choose the worst violators and keep the free ones, solve their block, update f for all the others."""

    def __init__(self, solver, problem, tol, warm):
        super().__init__(solver, problem, tol, warm)
        self.size = min(solver.working_set or choose_size(problem), problem.n)
        self.rows = RowStore(problem.features, solver.cache_size, exact=tol < POLISH_BELOW)
        self.half = self.rows.half
        self.work = np.empty(0, np.int64)
        if self.half is not None:
            self.target *= CAREFUL

    def widen(self) -> None:
        """The row store over all samples again, empty."""
        self.rows.reset(self.problem.features, self.half)
        self.work = np.empty(0, np.int64)

    def narrow(self, keep: np.ndarray) -> None:
        """The rows held, cut down to the columns `keep`."""
        self.rows.narrow(keep)
        place = np.full(keep[-1] + 1, -1)
        place[keep] = np.arange(len(keep))
        self.work = place[self.work[self.work <= keep[-1]]]
        self.work = self.work[self.work >= 0]

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Rounds for about `seconds`, at most `max_steps` pair steps."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while True:
            moved = self.round(last - self.n_iter)
            if self.reached():
                if not self.polishing:
                    return Outcome.DONE
                polish(self, last)
            elif not moved:
                return Outcome.STALLED
            self.since_shrink += 1
            if self.solver.shrinking and self.since_shrink >= SHRINK_EVERY:
                self.shrink()
            if time.perf_counter() >= end or self.n_iter >= last:
                return self.look_back()

    def round(self, max_steps: int) -> bool:
        """One working set: select, solve, update; whether anything moved."""
        work = self.select()
        if len(work) == 0:
            return False
        before = self.a[:, work]
        after = self.solve_block(work, max_steps)
        steps = (after - before).sum(axis=0)
        moved = np.flatnonzero((after != before).any(axis=0))
        self.a[:, work] = after
        self.work = work
        self.rows.add(self.f, work[moved], steps[moved])
        return len(moved) > 0

    def call(self, max_steps: int) -> None:
        """Up to `max_steps` pair steps, in rounds."""
        last = self.n_iter + max_steps
        while self.n_iter < last and self.round(last - self.n_iter):
            pass

    def kernel_rows(self, index: np.ndarray) -> np.ndarray:
        """K[index, active]."""
        return self.rows.features.evaluate(index, None)

    def select(self) -> np.ndarray:
        """Half the block from the free samples of the last one, the rest from both ends of the violation."""
        up, low = self.up - self.f, self.f - self.low
        m, M = self.extremes()
        free = ((self.up > -1e299) & (self.low < 1e299)).any(axis=0)
        kept = self.work[free[self.work]][-(self.size // 2) :]
        taken = np.zeros(len(self.f), bool)
        taken[kept] = True
        share = max(1, (self.size - len(kept)) // (2 * len(self.a)))
        chosen = [kept]
        for rates, floor in ((up, M), (low, -m)):
            for layer in range(len(self.a)):
                rate = np.where(taken | (rates[layer] <= floor[layer if len(floor) > 1 else 0]), -np.inf, rates[layer])
                best = np.argpartition(rate, len(rate) - min(share, len(rate)))[-share:]
                best = best[rate[best] > -np.inf]
                taken[best] = True
                chosen.append(best)
        return np.concatenate(chosen)

    def solve_block(self, work: np.ndarray, max_steps: int) -> np.ndarray:
        """The duals of the block after plain SMO on it, with f of its own; up and low are brought up to date."""
        from ...compiled.smo import pair_steps, single_steps

        K = self.rows.square(work)
        parts = [np.ascontiguousarray(part[:, work]) for part in (self.a, self.p, self.d, self.e, self.lo, self.hi)]
        up, low, curvature = (np.ascontiguousarray(part[:, work]) for part in (self.up, self.low, self.curvature))
        slot = np.arange(len(work))
        state = (K, slot, np.zeros_like(slot), self.f[work], *parts, up, low, curvature)
        threshold = max(DEEP * self.spread(), 0.5 * self.threshold)
        steps = min(max_steps, 40 * len(work))
        limits = (False, 0.0, threshold, steps, self.numbers, self.tally, np.zeros(len(self.a)))
        if self.paired:
            pair_steps(*state, self.solver.rule, *limits)
        else:
            single_steps(*state, *limits)
        self.up[:, work], self.low[:, work] = up, low
        return parts[0]

    def count(self) -> Counter:
        """Rows found in the store when they were needed were hits, the others misses."""
        counters = super().count()
        counters.update(self.rows.counters)
        counters["rows"] += self.rows.counters["misses"]
        return counters
