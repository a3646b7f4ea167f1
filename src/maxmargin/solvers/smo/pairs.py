"""SMO pair by pair: the loop of the lecture over kernel rows fetched one at a time, or held whole."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from ...model.kernels import SINGLE_UNIT
from ...model.row_cache import RowCache
from ...runtime.threads import step_aside
from ..result import Outcome
from .active import CAREFUL, MISSES, ActiveRun
from .polish import ROUNDS, polish

HURRY_FREE, HURRY_ROUNDS = 120, 6  # the most free duals of a problem that is hurried, and rounds where n > SMALL
SLOW = 20  # steps a sample after which a small problem counts as slow
FIRST_SHARE, DOUBTFUL = 0.125, 100  # of the steps that are granted, or steps a sample if these are more,
MANY_ROWS = 0.25  # of all, evaluated one at a time: others will follow, and the whole matrix is cheaper
NOWHERE = 0.5  # after which the gap must be less than this
LOOK_BACK = 20_000  # steps between two looks at whether D still rises
SMALL = 400  # samples below which shrinking costs more than it saves


class PairRun(ActiveRun):
    """Compiled pair steps; a kernel row that is missing ends the compiled call, is fetched, and the call goes on."""

    def __init__(self, solver, problem, tol, warm):
        super().__init__(solver, problem, tol, warm)
        self.steps_a_second = 2e8 / max(problem.n, 100)
        self.next_count = max(problem.n // 8, 1) if self.cache.at_once and not self.rounded else np.inf
        self.next_hurry, self.next_doubt = SLOW * problem.n, max(FIRST_SHARE * solver.effort, DOUBTFUL * problem.n)

    def prepare(self) -> None:
        """The row cache, and the precision of its rows."""
        self.widen()
        self.dtype = self.cache.rows.dtype
        if self.rounded:
            self.target *= CAREFUL

    def widen(self) -> None:
        """A row cache over all samples; of a small regression all rows at once, since most of them will be needed."""
        features, real = self.problem.features, self.problem.loss.target == "real"
        self.cache = RowCache(features, self.solver.cache_size, whole=real and features.small)

    def narrow(self, keep: np.ndarray) -> None:
        """The rows held, cut down to the columns `keep`."""
        self.cache.narrow(keep)

    @property
    def rounded(self) -> bool:
        """Whether kernel rows are held in float32."""
        return self.dtype == np.float32

    def drift(self) -> float:
        """Each step rounds a score once, and the errors of many steps partly cancel."""
        steps = self.n_iter - self.exact_iter
        return SINGLE_UNIT * float(np.abs(self.f).max(initial=0.0)) * float(np.sqrt(steps))

    def sharpen(self) -> None:
        """Rows in float64 from now on."""
        self.problem.features.widen_segments()
        self.widen()
        self.dtype, self.target = self.cache.rows.dtype, self.target / CAREFUL

    def activate(self, keep, scores: np.ndarray) -> None:
        """As always; Keerthi's threshold starts at a tenth of the violation."""
        super().activate(keep, scores)
        self.exact_iter = self.n_iter
        self.next_close = self.n_iter + self.problem.n
        self.next_look = self.n_iter + LOOK_BACK
        if self.solver.selection == "keerthi" and self.solver.stop == "gap":
            self.threshold = max(0.1 * self.spread(), 1e-15)

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Pair steps for about `seconds`, at most `max_steps`."""
        from ...compiled.smo import BUDGET, CONVERGED, MISSING, STALLED

        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while True:
            before, began = self.n_iter, time.perf_counter()
            # Where a decision is taken after so many steps, a call ends there: fits must not depend on the clock.
            granted = min(self.next_doubt, self.next_count, self.solver.effort)
            decided = min(last, self.next_hurry, self.next_look, self.next_close, granted) - before
            planned = int(max(1, min(decided, self.steps_a_second * (end - began), self.until_shrink())))
            code = self.call(planned)
            done, now = self.n_iter - before, time.perf_counter()
            self.since_shrink += done
            if code == MISSING:
                self.fetch()
            elif code == CONVERGED and self.polishing:
                polish(self, last)
            elif code == CONVERGED:
                if not self.tighten():
                    return self.finish()
            elif code == STALLED:
                return self.stall()
            elif code == BUDGET and done >= 32:
                self.steps_a_second = done / max(now - began, 1e-9)
            self.hurry(last)
            self.take_whole()
            if self.since_shrink >= self.shrink_every():
                self.shrink()
            if self.n_iter >= self.solver.effort or self.despairs():
                return Outcome.STALLED
            if self.n_iter >= self.next_close:
                self.next_close = self.n_iter + self.problem.n
                if self.look_closely():
                    return Outcome.DONE
            if self.n_iter >= self.next_look:
                self.next_look = self.n_iter + LOOK_BACK
                if (outcome := self.look_back()) is not Outcome.GOING:
                    return outcome
            if now >= end or self.n_iter >= last:
                return Outcome.GOING

    def take_whole(self) -> None:
        """The whole matrix of a small problem, once so many rows were evaluated that it is worth it.

        Looked at after n/8 steps, and after 2, 4, 8, ... times as many.
        """
        if self.n_iter < self.next_count:
            return
        self.next_count *= 2
        features = self.cache.features
        if self.cache.at_once and features.small and self.tally[MISSES] >= MANY_ROWS * features.n and not self.rounded:
            self.cache = RowCache(features, self.solver.cache_size, whole=True)

    def despairs(self) -> bool:
        """Whether a run whose steps are limited has used up its first share of them and is nowhere near."""
        if self.n_iter < self.next_doubt:
            return False
        self.next_doubt = np.inf
        return self.progress(0.0).relative_gap > NOWHERE

    def hurry(self, last: int) -> None:
        """Newton steps for a small problem that is slow to converge: after 1, 2, 4, 8, ... times SLOW n steps."""
        if self.n_iter < self.next_hurry:
            return
        self.next_hurry *= 2
        if self.solver.stop == "gap" and self.problem.features.small and self.problem.features.kernel.psd:
            polish(self, last, HURRY_FREE, ROUNDS if self.problem.n <= SMALL else HURRY_ROUNDS)

    def call(self, max_steps: int) -> int:
        """One compiled call."""
        from ...compiled.smo import CHECK, pair_steps, single_steps

        cache, gap_stops = self.cache, True if self.solver.stop == "gap" else None
        held = (cache.rows, cache.slot, cache.holder, cache.stamp, cache.source)
        state = (*held, self.f, self.a, self.p, self.d, self.e, self.lo, self.hi)
        limits = (self.target, self.threshold, max_steps, self.numbers, self.tally, self.intercepts)
        rates = (self.up, self.low, self.curvature)
        every, sweep = CHECK if gap_stops else 1, True if self.solver.selection == "keerthi" else None
        with step_aside():
            if self.paired:
                return pair_steps(*state, *rates, self.solver.rule, sweep, gap_stops, every, *limits)
            return single_steps(*state, *rates, gap_stops, *limits)

    def kernel_rows(self, index: np.ndarray) -> np.ndarray:
        """K[index, active]."""
        return self.cache.features.block(index)

    def shrink_every(self) -> int:
        """LIBSVM's rhythm: every n steps, at most 1000. Below SMALL a step is too cheap to be worth it."""
        shrinks = self.solver.shrinking and len(self.f) > SMALL and not (self.cache.at_once and self.rounded)
        return min(len(self.f), 1000) if shrinks else 1 << 40

    def until_shrink(self) -> int:
        """Steps left until shrinking is looked at again."""
        return self.shrink_every() - self.since_shrink

    def tighten(self) -> bool:
        """Keerthi's sweep ends at its threshold; if the gap is still open, lower the threshold and go on."""
        if self.solver.selection != "keerthi" or self.solver.stop == "kkt" or not self.paired:
            return False
        if self.reached() or self.threshold < 1e-14:
            return False
        self.threshold *= 0.1
        return True

    def fetch(self) -> None:
        """Fill the cache with the row wanted, and with those of the worst violators while BLAS is at it."""
        from ...compiled.smo import CLOCK, WANTED

        wanted = int(self.tally[WANTED])
        count = min(self.solver.batch, self.cache.capacity // 4) - 1
        self.counters["misses"] += 1
        chosen = np.array([wanted])
        if count > 0:
            missing = self.cache.slot < 0
            missing[wanted] = False
            rates = np.where(missing, self.urgency(), -np.inf)
            count = min(count, len(rates) - 1)
            guess = np.argpartition(rates, len(rates) - count)[-count:]
            chosen = np.concatenate([chosen, guess[missing[guess]]])
        self.cache.fetch(chosen, int(self.tally[CLOCK]))

    def urgency(self) -> np.ndarray:
        """How far each sample violates the middle of [M, m]: the likeliest members of the next pairs come first."""
        m, M = self.extremes()
        middle = 0.5 * (m + M)
        return np.maximum(self.up - self.f - middle, middle - (self.low - self.f)).max(axis=0)

    def count(self) -> Counter:
        """Every step reads the rows of its duals; those that were not fetched for it were hits."""
        counters = super().count()
        counters["misses"] += int(self.tally[MISSES])
        counters["rows"] += int(self.tally[MISSES])
        counters["hits"] = max(0, (2 if self.paired else 1) * self.n_iter - counters["misses"])
        return counters
