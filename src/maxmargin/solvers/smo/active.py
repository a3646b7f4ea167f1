"""The moving state of an SMO solve: duals, scores, and the samples that still take part."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from ...contracts.solvers import Run
from ...model.problem import Point, Problem
from ...runtime.interpreter import cached_property
from ..result import Outcome, Progress
from ..stalling import StallDetector

POLISH_MAX_TOL, POLISH_START_GAP = 1e-6, 1e-5  # for a tol below the first, Newton steps begin at the second
FLOAT32_TOL_FACTOR = 0.7  # of tol is aimed at where rows are in float32, so that the judge finds the gap within tol
# places in `counts` and `numbers`, the state that compiled calls share (see compiled/smo.py)
ITERATIONS, NEGATIVE, POSITION, MISSES = 0, 3, 5, 6
DUAL, FLOOR, HELD = 0, 3, 4
STEPS_WITHOUT_PROGRESS_LIMIT = 1_000_000  # steps without a fall of the gap by a tenth before a run gives up
FLOAT32_STEPS_WITHOUT_PROGRESS_LIMIT = 30_000  # such steps with scores in float32, after which they are made exact
MAX_ROUNDING_SHARE = 0.3  # of the violation that is left: an error of the scores beyond this hides it
MAX_RATE = 1e29  # a rate beyond this is a stand-in for infinity, 1e30 or 1e300: the dual is at its bound
ROUNDING_DEVIATIONS = 4.0  # of a sum of rounding errors, each at most as large as the bound, that are allowed for


class StepStart(NamedTuple):
    """What was known before a step: duals, rates up - f and low - f, m and M, and the kernel rows that were held."""

    active: np.ndarray
    a: np.ndarray
    rates: tuple[np.ndarray, np.ndarray]
    m: float
    M: float
    violation: float
    held: np.ndarray | None
    n_iter: int


class ActiveRun(Run):
    """Duals a and scores f = K a of the active samples; subclasses say how they move, in `advance`.

    The duals are in float64, scores and rates in `dtype`.
    """

    dtype = np.dtype(np.float64)
    precision_exhausted = False  # whether rounding in float32 hides the violation that is left
    still = True  # to ask for its point does not change its way

    def __init__(self, solver, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.paired = problem.balance is not None
        self.flat = problem.y.ndim == 1
        a = np.zeros(problem.y.shape) if warm is None else np.asarray(warm.a, float)
        if warm is not None or np.any(problem.balance):
            a = np.array(problem.feasible(a), float)
        self.a_full = a.reshape(-1, problem.n)
        self.row = [np.ascontiguousarray(part.reshape(-1, problem.n)) for part in problem.row]
        self.row[3:] = np.maximum(self.row[3], -1e300), np.minimum(self.row[4], 1e300)
        self.intercepts = np.zeros(len(self.a_full))
        self.counts = np.zeros(7, np.int64)
        self.numbers = np.array([0.0, 0.0, 0.0, problem.floor, 0.0])
        self.threshold = tol if solver.stop == "kkt" else 0.0
        self.polishing = solver.stop == "gap" and tol < POLISH_MAX_TOL
        self.target = max(tol, POLISH_START_GAP) if self.polishing else tol
        self.counters = Counter(misses=0, shrinks=0, refreshes=0)
        self.rows_before = problem.features.counters["rows"]
        self.prepare()
        coef = problem.features.combine(self.a_full)
        scores = problem.features.scores(coef) if coef.any() else np.zeros(problem.n)
        self.activate(slice(None), scores)

    def prepare(self) -> None:
        """What must be known before the scores are: where kernel rows come from, and in which precision."""

    # ---- the active samples -------------------------------------------------------------------------------

    def activate(self, keep, scores: np.ndarray) -> None:
        """Work on the samples `keep` of all, given the exact scores f = K a of all."""
        from ...compiled.smo import update_all_rates

        self.active = np.arange(self.problem.n)[keep]
        self.f = np.array(scores[keep], self.dtype)
        self.a = np.array(self.a_full[:, keep])
        self.p, self.d, self.e, self.lo, self.hi = (np.ascontiguousarray(part[:, keep]) for part in self.row)
        self.curvature = (self.problem.features.diagonal[keep] + self.d).astype(self.dtype, copy=False)
        self.up, self.low = np.empty(self.a.shape, self.dtype), np.empty(self.a.shape, self.dtype)
        update_all_rates(self.a, self.p, self.d, self.e, self.lo, self.hi, self.up, self.low)
        self.numbers[DUAL] = self.evaluate_dual(scores)
        self.numbers[HELD] = not self.paired or np.any(self.problem.balance)  # duals that cannot be stretched
        self.since_shrink = 0
        self.dual_before, self.misses_before = -np.inf, -1
        steps = max(STEPS_WITHOUT_PROGRESS_LIMIT, 100 * self.problem.n)
        limit = FLOAT32_STEPS_WITHOUT_PROGRESS_LIMIT if self.single_precision else steps
        self.stall_detector, self.last_check_iter = StallDetector(limit + 1), self.n_iter

    def evaluate_dual(self, scores: np.ndarray) -> float:
        """D at the duals of all samples, given their exact scores."""
        if not self.a_full.any():
            return 0.0
        a = self.a_full[0] if self.flat else self.a_full
        coef = self.problem.features.combine(a)
        return self.problem.dual_value(a, self.problem.features.penalty_conjugate(coef, scores))

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """m = max(up - f) and M = min(low - f) of each layer, as columns; zero where no equality ties the duals."""
        if not self.paired:
            return np.zeros((1, 1)), np.zeros((1, 1))
        return (self.up - self.f).max(axis=1, keepdims=True), (self.low - self.f).min(axis=1, keepdims=True)

    def spread(self) -> float:
        """m - M, the widest violation among the active samples."""
        if self.paired:
            m, M = self.extremes()
            return float((m - M).max())
        return float(max((self.up - self.f).max(), (self.f - self.low).max()))

    def store_rows(self) -> np.ndarray:
        """The duals of all samples, one row for each layer."""
        self.a_full[:, self.active] = self.a
        return self.a_full

    def store(self) -> np.ndarray:
        """The duals of all samples, in the shape the problem has."""
        rows = self.store_rows()
        return rows[0] if self.flat else rows

    def shrink(self) -> None:
        """Set aside the samples that no pair can want: blocked or beyond M upwards, blocked or beyond m downwards."""
        self.since_shrink = 0
        m, M = self.extremes()
        keep = np.flatnonzero(((self.up - self.f >= M) | (self.low - self.f <= m)).any(axis=0))
        if len(keep) > 0.8 * len(self.f) or len(keep) < 2 or not self.fits_in_cache_budget(len(keep)):
            return
        self.store()
        self.counters["shrinks"] += 1
        self.active, self.f = self.active[keep], self.f[keep]
        for name in ("a", "p", "d", "e", "lo", "hi", "up", "low", "curvature"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[:, keep]))
        self.restrict_to(keep)
        self.counts[POSITION] = 0
        self.numbers[HELD] += np.count_nonzero(self.a_full) - np.count_nonzero(self.a)

    def fits_in_cache_budget(self, count: int) -> bool:
        """Whether a copy of the data of so many samples fits into what was granted for kernel rows."""
        samples = self.problem.features.samples
        dense = samples is not None and samples.holds_vectors and not samples.sparse
        return not dense or 8 * count * samples.d <= self.solver.cache_size * 2**20

    def restrict_to(self, keep: np.ndarray) -> None:
        """Cut whatever holds kernel rows down to the samples `keep` of the active ones."""
        raise NotImplementedError

    def widen(self) -> None:
        """Hold kernel rows over all samples again."""
        raise NotImplementedError

    @property
    def single_precision(self) -> bool:
        """Whether kernel rows are held in float32."""
        raise NotImplementedError

    def switch_to_float64(self) -> None:
        """Go on in float64."""
        raise NotImplementedError

    def check_precision(self) -> bool:
        """Whether scores from rows in float32 are too rough to see the violation that is left.

        f_i = sum_j a_j K_ij has the error of each K_ij, e, times |a_j|. Those of different samples are independent:
        together about e |a|_2. To these comes what every step adds where f itself is kept in float32.
        """
        if not self.single_precision:
            return False
        error = ROUNDING_DEVIATIONS * self.rounding * float(np.linalg.norm(self.store())) + self.accumulated_rounding()
        self.precision_exhausted = error > MAX_ROUNDING_SHARE * self.spread()
        return self.precision_exhausted

    @cached_property
    def rounding(self) -> float:
        """A bound on the error of a kernel value in float32."""
        features = self.problem.features
        return features.kernel.bound_rounding(features.samples)

    def accumulated_rounding(self) -> float:
        """What steps may have added to the error of a score since scores were exact."""
        return 0.0

    @property
    def takes_rough_scores(self) -> bool:
        """Whether the run goes on in float32: until that can tell no more, or the judge has found it wrong twice."""
        return self.single_precision and not self.precision_exhausted and self.counters["refreshes"] == 0

    def refresh(self, scores: np.ndarray) -> None:
        """Take the judge's exact scores: rounding errors of f are gone, and all samples are active again."""
        ends_float32 = self.single_precision and not self.takes_rough_scores
        self.counters["refreshes"] += 1
        self.store()
        if ends_float32:
            self.switch_to_float64()
        elif len(self.active) < self.problem.n:
            self.widen()
        self.activate(slice(None), scores)

    def check_progress(self) -> Outcome:
        """Whether D has risen at all since the last look, and the gap has fallen within so many steps: else give up."""
        dual = self.numbers[DUAL]
        fetched, self.misses_before = self.counters["misses"] > self.misses_before, self.counters["misses"]
        stuck = not fetched and dual - self.dual_before <= 1e-15 * max(abs(dual), self.numbers[FLOOR])
        self.dual_before = dual
        steps, self.last_check_iter = self.n_iter - self.last_check_iter, self.n_iter
        hopeless = self.stall_detector.is_stalled(self.progress(0.0).relative_gap, looks=steps)
        return self.stall() if stuck or hopeless else Outcome.GOING

    def finish(self) -> Outcome:
        """The target is met, as far as can be seen: where it cannot, the next step is taken in float64."""
        self.check_precision()
        return Outcome.DONE

    def stall(self) -> Outcome:
        """No step helps any more; in float32 that is the end of float32, and the judge's scores are what comes next."""
        self.precision_exhausted = self.single_precision
        return Outcome.DONE if self.single_precision else Outcome.STALLED

    # ---- what a trace asks --------------------------------------------------------------------------------

    def mark_step(self) -> StepStart:
        """Duals and scores before the step, m and M among them, and which kernel rows are held."""
        m, M = (restore_infinity(float(part[0, 0])) for part in self.extremes())
        rates = (self.up - self.f, self.low - self.f)
        violation = restore_infinity(self.spread())
        return StepStart(self.active, self.a.copy(), rates, m, M, violation, self.held_rows(), self.n_iter)

    def held_rows(self) -> np.ndarray | None:
        """Whether the kernel row of each active sample is held; None where that is not known."""
        return None

    def describe_step(self, before: StepStart) -> dict[str, Any]:
        """i, j, their rates, how far they moved and whether a bound stopped them; m and M before the step, D after."""
        values = {"m": before.m, "M": before.M} if self.paired and len(self.a) == 1 else {}
        values |= {"violation": before.violation, "D_run": float(self.numbers[DUAL]), "active": len(self.active)}
        after = np.array(before.a)
        after[:] = self.a if len(self.active) == len(before.active) else self.store_rows()[:, before.active]
        layers, moved = np.nonzero(after != before.a)
        if len(moved) > 2 or len(moved) == 0:
            return {"step": "none" if len(moved) == 0 else "many duals", "moved": len(moved), **values}
        kind = "pair" if self.paired else "single"
        return {"step": kind, **self.describe_moves(before, after, layers, moved), **values}

    def describe_moves(
        self, before: StepStart, after: np.ndarray, layers: np.ndarray, moved: np.ndarray
    ) -> dict[str, Any]:
        """Of one or two duals that have moved: the one that rose is i, the one that fell is j."""
        found: dict[str, Any] = dict.fromkeys(("i", "j", "g_i", "g_j", "lambda") if self.paired else ("i", "g_i"))
        clipped = False
        for layer, k in zip(layers, moved, strict=True):
            rises = after[layer, k] > before.a[layer, k]
            sample = before.active[k]
            letter = "i" if rises or not self.paired else "j"
            bound = self.row[4 if rises else 3][layer, sample]
            clipped |= bool(after[layer, k] == bound)
            found |= {letter: int(sample), f"g_{letter}": float(before.rates[0 if rises else 1][layer, k])}
            found["lambda"] = float(abs(after[layer, k] - before.a[layer, k]))
            if len(before.a) > 1:
                found["layer"] = int(layer)
        if not self.paired:
            found["lambda"] = float(after[layers[0], moved[0]] - before.a[layers[0], moved[0]])
        held = {} if before.held is None else {"cache_hit": bool(before.held[moved].all())}
        return {**found, "clipped": clipped, **held}

    # ---- what the loop asks -------------------------------------------------------------------------------

    @property
    def n_iter(self) -> int:
        """Pair steps so far."""
        return int(self.counts[ITERATIONS])

    @property
    def support(self) -> int:
        """Samples with a nonzero dual, those that were set aside included."""
        return int(np.count_nonzero(self.store()))

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        from ...compiled.smo import estimate_gap

        gap = estimate_gap(
            self.f, self.a, self.p, self.d, self.e, self.lo, self.hi, self.up, self.low, self.paired, self.intercepts
        )
        dual = float(self.numbers[DUAL])
        return Progress(self.n_iter, seconds, dual + gap, dual, len(self.active))

    def reached(self) -> bool:
        """Whether the solver's own gap, or its own rule m - M < tol, is within the target."""
        from ...compiled.smo import is_gap_within

        if self.solver.stop == "kkt":
            return self.spread() < self.threshold
        progress = self.progress(0.0)
        return is_gap_within(progress.primal - progress.dual, self.target, self.numbers)

    def point(self) -> Point:
        """The duals, and the intercept averaged over the free ones."""
        self.progress(0.0)
        a = self.store().copy()
        b = float(self.intercepts[0]) if self.flat else self.intercepts.copy()
        return Point(a, b if self.paired else 0.0)

    def count(self) -> Counter:
        """Cache hits, misses, kernel rows evaluated, shrinks, refreshes, pairs of negative curvature."""
        counters = Counter(self.counters)
        counters["rows"] = self.problem.features.counters["rows"] - self.rows_before
        counters["negative_curvature"] = int(self.counts[NEGATIVE])
        return counters


def restore_infinity(rate: float) -> float:
    """The rate, with infinity where it is one of its finite stand-ins."""
    return float(np.copysign(np.inf, rate)) if abs(rate) > MAX_RATE else rate
