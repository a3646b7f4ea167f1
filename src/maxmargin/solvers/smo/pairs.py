"""SMO pair by pair: the loop of Wu (2014) over kernel rows that are fetched one at a time, or held whole."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from ...model.kernels import SINGLE_UNIT
from ...model.row_cache import RowCache
from ...runtime.interpreter import release_interpreter
from ..result import Outcome
from .active import FLOAT32_TOL_FACTOR, MISSES, ActiveRun
from .polish import MAX_NEWTON_ROUNDS, find_last_digits, polish

SLOW_STEPS_PER_SAMPLE = 20  # steps per sample after which a small problem counts as slow, and gets Newton steps
NEWTON_MAX_FREE_DUALS = 120  # the most free duals of a small problem that gets Newton steps for being slow
NEWTON_ROUNDS_LARGE = 6  # rounds of such steps where n > SHRINKING_MIN_SAMPLES
# A run whose steps are limited is on probation for this share of them, or for so many steps per sample if these are
# more. After that its relative gap must be less than PROBATION_MAX_GAP.
PROBATION_EFFORT_SHARE, PROBATION_STEPS_PER_SAMPLE = 0.125, 100
PROBATION_MAX_GAP = 0.5
# of all rows, evaluated one at a time: others will follow, and the whole matrix is cheaper
WHOLE_MATRIX_ROW_SHARE = 0.25
PROGRESS_CHECK_STEPS = 20_000  # steps between two looks at whether D still rises
SPEED_MIN_STEPS = 32  # of a compiled call by which the speed of steps is measured
SHRINKING_MIN_SAMPLES = 400  # samples below which shrinking costs more than it saves


class PairRun(ActiveRun):
    """Compiled pair steps; a kernel row that is missing ends the compiled call, is fetched, and the call goes on."""

    def __init__(self, solver, problem, tol, warm):
        super().__init__(solver, problem, tol, warm)
        self.steps_per_second = 2e8 / max(problem.n, 100)
        single_rows = self.cache.evaluates_single_rows and not self.single_precision
        self.next_matrix_check = max(problem.n // 8, 1) if single_rows else np.inf
        self.next_newton_attempt = SLOW_STEPS_PER_SAMPLE * problem.n
        self.probation_end = max(PROBATION_EFFORT_SHARE * solver.effort, PROBATION_STEPS_PER_SAMPLE * problem.n)

    def prepare(self) -> None:
        """The row cache, and the precision of its rows."""
        self.row_features = self.problem.features  # of which rows are evaluated, in float32 or in float64
        self.widen()
        self.dtype = self.cache.rows.dtype
        if self.single_precision:
            self.target *= FLOAT32_TOL_FACTOR

    def widen(self) -> None:
        """A row cache over all samples; of a small regression all rows at once if they fit: most will be needed."""
        features, real = self.row_features, self.problem.loss.target == "real"
        self.cache = RowCache(features, self.solver.cache_size, whole=real and features.small)

    def restrict_to(self, keep: np.ndarray) -> None:
        """The rows held, cut down to the columns `keep`."""
        self.cache.restrict_to(keep)

    @property
    def single_precision(self) -> bool:
        """Whether kernel rows are held in float32."""
        return self.dtype == np.float32

    def accumulated_rounding(self) -> float:
        """Each step rounds a score once, and the errors of many steps partly cancel."""
        steps = self.n_iter - self.exact_iter
        return SINGLE_UNIT * float(np.abs(self.f).max(initial=0.0)) * float(np.sqrt(steps))

    def switch_to_float64(self) -> None:
        """Rows in float64 from now on."""
        self.row_features = self.row_features.widen_segments()
        self.widen()
        self.dtype, self.target = self.cache.rows.dtype, self.target / FLOAT32_TOL_FACTOR

    def activate(self, keep, scores: np.ndarray) -> None:
        """As always; Keerthi's threshold starts at a tenth of the violation."""
        super().activate(keep, scores)
        self.exact_iter = self.n_iter
        self.next_precision_check = self.n_iter + self.problem.n
        self.next_progress_check = self.n_iter + PROGRESS_CHECK_STEPS
        if self.solver.selection == "keerthi" and self.solver.stop == "gap":
            self.threshold = max(0.1 * self.spread(), 1e-15)

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Pair steps for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while True:
            before, began = self.n_iter, time.perf_counter()
            code = self.call(self.plan_steps(last, end - began))
            now = time.perf_counter()
            self.since_shrink += self.n_iter - before
            self.measure_speed(code, self.n_iter - before, now - began)
            outcome = self.respond_to(code, last)
            if outcome is Outcome.GOING:
                self.try_newton_steps(last)
                self.cache_whole_matrix()
                if self.since_shrink >= self.shrink_every():
                    self.shrink()
                outcome = self.check_limits()
            if outcome is not Outcome.GOING:
                return outcome
            if now >= end or self.n_iter >= last:
                return Outcome.GOING

    def plan_steps(self, last: int, seconds: float) -> int:
        """Steps of the next compiled call, which is to take so many seconds at most.

        Where a decision is taken after so many steps, a call ends there: fits must not depend on the clock.
        """
        granted = min(self.probation_end, self.next_matrix_check, self.solver.effort)
        decided = min(last, self.next_newton_attempt, self.next_progress_check, self.next_precision_check, granted)
        return int(max(1, min(decided - self.n_iter, self.steps_per_second * seconds, self.until_shrink())))

    def measure_speed(self, code: int, steps: int, seconds: float) -> None:
        """Steps per second, by a call that took all the steps that it was allowed."""
        from ...compiled.smo import BUDGET

        if code == BUDGET and steps >= SPEED_MIN_STEPS:
            self.steps_per_second = steps / max(seconds, 1e-9)

    def respond_to(self, code: int, last: int) -> Outcome:
        """Do what a compiled call has ended for: fetch a row, polish, tighten the threshold; or the run ends."""
        from ...compiled.smo import CONVERGED, MISSING, STALLED

        if code == MISSING:
            self.fetch()
        elif code == CONVERGED and self.polishing:
            polish(self, last)
        elif code == CONVERGED and not self.tighten():
            if self.may_find_last_digits():
                find_last_digits(self, last)
            return self.finish()
        elif code == STALLED:
            return self.stall()
        return Outcome.GOING

    def check_limits(self) -> Outcome:
        """Whether the steps that were granted are used up, float32 is too rough, or nothing moves any more."""
        if self.n_iter >= self.solver.effort or self.has_failed_probation():
            return Outcome.STALLED
        if self.n_iter >= self.next_precision_check:
            self.next_precision_check = self.n_iter + self.problem.n
            if self.check_precision():
                return Outcome.DONE
        if self.n_iter >= self.next_progress_check:
            self.next_progress_check = self.n_iter + PROGRESS_CHECK_STEPS
            return self.check_progress()
        return Outcome.GOING

    def cache_whole_matrix(self) -> None:
        """The whole matrix of a small problem, once so many rows were evaluated that it is worth it.

        Looked at after n/8 steps, and after 2, 4, 8, ... times as many.
        """
        if self.n_iter < self.next_matrix_check:
            return
        self.next_matrix_check *= 2
        features = self.cache.features
        if (
            self.cache.evaluates_single_rows
            and features.small
            and self.cache.fits_whole(features)
            and self.counts[MISSES] >= WHOLE_MATRIX_ROW_SHARE * features.n
            and not self.single_precision
        ):
            self.cache = RowCache(features, self.solver.cache_size, whole=True)

    def has_failed_probation(self) -> bool:
        """Whether a run whose steps are limited has used up its first share of them and is nowhere near."""
        if self.n_iter < self.probation_end:
            return False
        self.probation_end = np.inf
        return self.progress(0.0).relative_gap > PROBATION_MAX_GAP

    def try_newton_steps(self, last: int) -> None:
        """Newton steps for a small problem that is slow: after 1, 2, 4, 8, ... times SLOW_STEPS_PER_SAMPLE n steps."""
        if self.n_iter < self.next_newton_attempt:
            return
        self.next_newton_attempt *= 2
        if self.solver.stop == "gap" and self.problem.features.small and self.problem.features.kernel.psd:
            rounds = MAX_NEWTON_ROUNDS if self.problem.n <= SHRINKING_MIN_SAMPLES else NEWTON_ROUNDS_LARGE
            polish(self, last, NEWTON_MAX_FREE_DUALS, rounds)

    def may_find_last_digits(self) -> bool:
        """Whether the problem is small, its scores are in float64, and all of its samples take part."""
        features = self.problem.features
        known = self.solver.stop == "gap" and not self.single_precision and bool(features.kernel.psd)
        return known and features.small and len(self.active) == self.problem.n

    def call(self, max_steps: int) -> int:
        """One compiled call."""
        from ...compiled.smo import GAP_CHECK_STEPS, pair_steps, single_steps

        cache, gap_stops = self.cache, True if self.solver.stop == "gap" else None
        held = (cache.rows, cache.slot, cache.holder, cache.stamp, cache.source)
        state = (*held, self.f, self.a, self.p, self.d, self.e, self.lo, self.hi)
        limits = (self.target, self.threshold, max_steps, self.numbers, self.counts, self.intercepts)
        rates = (self.up, self.low, self.curvature, np.empty_like(self.f))
        every, sweep = GAP_CHECK_STEPS if gap_stops else 1, True if self.solver.selection == "keerthi" else None
        with release_interpreter():
            if self.paired:
                return pair_steps(*state, *rates, self.solver.rule, sweep, gap_stops, every, *limits)
            return single_steps(*state, *rates, gap_stops, *limits)

    def kernel_rows(self, index: np.ndarray) -> np.ndarray:
        """K[index, active]."""
        return self.cache.features.block(index)

    def held_rows(self) -> np.ndarray:
        """Whether the kernel row of each active sample is in the cache."""
        return self.cache.slot >= 0

    def shrink_every(self) -> int:
        """LIBSVM's rhythm: every n steps, at most 1000. Where samples are few, a step is too cheap to be worth it."""
        shrinks = (
            self.solver.shrinking
            and len(self.f) > SHRINKING_MIN_SAMPLES
            and not (self.cache.evaluates_single_rows and self.single_precision)
        )
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

        wanted = int(self.counts[WANTED])
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
        self.cache.fetch(chosen, int(self.counts[CLOCK]))

    def urgency(self) -> np.ndarray:
        """How far each sample violates the middle of [M, m]: the likeliest members of the next pairs come first."""
        m, M = self.extremes()
        middle = 0.5 * (m + M)
        return np.maximum(self.up - self.f - middle, middle - (self.low - self.f)).max(axis=0)

    def count(self) -> Counter:
        """Every step reads the rows of its duals; those that were not fetched for it were hits."""
        counters = super().count()
        counters["misses"] += int(self.counts[MISSES])
        counters["rows"] += int(self.counts[MISSES])
        counters["hits"] = max(0, (2 if self.paired else 1) * self.n_iter - counters["misses"])
        return counters
