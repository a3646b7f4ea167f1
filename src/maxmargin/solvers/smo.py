"""Sequential minimal optimisation: two duals at a time, on kernel rows fetched on demand."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..cache import RowCache
from ..problem import Point, Problem
from ..result import Progress


class Outcome(Enum):
    """What a run believes of itself after a step."""

    GOING = 0
    DONE = 1
    STALLED = 2


POLISH_BELOW, POLISH_FROM = 1e-6, 1e-5  # for a tol below the first, Newton steps begin at the second
POLISH_FREE = 1000  # the most free duals whose linear system is solved

SELECTIONS = ("second-order", "mvp", "keerthi")
STOPS = ("gap", "kkt")


@dataclass(frozen=True)
class SMO:
    """Maximise D(a) two duals at a time: select a violating pair, search along it, update f = K a.

    Parameters
    ----------
    selection : {"second-order", "mvp", "keerthi"}
        The partner of largest gain (Fan, Chen and Lin 2005); the maximal violating pair of the lecture's algorithm
        6.2; or Platt's two loops with the two thresholds of Keerthi et al. 2001 (Shevade et al. for regression).
    stop : {"gap", "kkt"}
        Stop when the relative duality gap is at most tol, or by the lecture's rule m - M < tol.
    shrinking : bool
        Set samples aside that sit at a bound and want to stay there; the judge's exact scores bring back those that
        were set aside in error.
    cache_size : float
        Megabytes for kernel rows.
    batch : int
        Rows evaluated together when one is missing: the one wanted and those of the worst violators. One BLAS call
        for 6 rows costs little more than two calls for one.
    """

    selection: str = "second-order"
    stop: str = "gap"
    shrinking: bool = True
    cache_size: float = 200.0
    batch: int = 6

    def __post_init__(self):
        for name, choices in (("selection", SELECTIONS), ("stop", STOPS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"SMO's {name} must be one of {list(choices)}, got {getattr(self, name)!r}.")
        if not self.cache_size > 0:
            raise ValueError(f"SMO's cache_size must be a positive number of megabytes, got {self.cache_size!r}.")

    def accepts(self, problem: Problem) -> str | None:
        """None, or the reason why this solver cannot take the problem."""
        if problem.row is None:
            return f"SMO needs a piecewise linear or quadratic loss, and {problem.loss.name!r} is neither."
        if not hasattr(problem.features, "block"):
            return "SMO needs kernel rows, and these features have none."
        return None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> Run:
        """A run at the duals of `warm`, made feasible, or at the simplest feasible point."""
        return Run(self, problem, tol, warm)


class Run:
    """The moving state of one solve: duals, f = K a, the active samples and their kernel rows."""

    def __init__(self, solver: SMO, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.paired = problem.balance is not None
        layers = problem.y.shape[:-1]
        a = np.zeros(problem.y.shape) if warm is None else np.asarray(warm.a, float)
        self.a_full = np.array(problem.feasible(a), float).reshape(-1, problem.n)
        self.row = [np.ascontiguousarray(part.reshape(-1, problem.n)) for part in problem.row]
        self.row[3:] = [np.clip(bound, -1e300, 1e300) for bound in self.row[3:]]
        self.flat = layers == ()
        coef = problem.features.combine(self.a_full)
        self.intercepts = np.zeros(len(self.a_full))
        self.tally = np.zeros(6, np.int64)
        self.numbers = np.array([0.0, 0.0, 0.0, problem.floor])
        self.threshold = tol if solver.stop == "kkt" else 0.0
        self.polishing = solver.stop == "gap" and tol < POLISH_BELOW
        self.target = max(tol, POLISH_FROM) if self.polishing else tol
        self.counters = Counter(misses=0, shrinks=0, refreshes=0)
        self.rows_before = problem.features.counters["rows"]
        self.cache = RowCache(problem.features, solver.cache_size)
        self.steps_a_second = 2e8 / max(problem.n, 100)
        scores = problem.features.scores(coef) if coef.any() else np.zeros(problem.n)
        self.activate(slice(None), scores)

    # ---- the active samples -------------------------------------------------------------------------------

    def activate(self, keep, scores: np.ndarray) -> None:
        """Work on the samples `keep` of all, given the exact scores f = K a of all."""
        from ..compiled.smo import mark_all

        n = self.problem.n
        self.active = np.arange(n)[keep]
        self.f = np.array(scores[keep])
        self.a = np.array(self.a_full[:, keep])
        self.p, self.d, self.e, self.lo, self.hi = (np.ascontiguousarray(part[:, keep]) for part in self.row)
        self.curvature = self.problem.features.diagonal[keep] + self.d
        self.up, self.low = np.empty_like(self.a), np.empty_like(self.a)
        mark_all(self.a, self.p, self.d, self.e, self.lo, self.hi, self.up, self.low)
        a = self.a_full if not self.flat else self.a_full[0]
        coef = self.problem.features.combine(a)
        self.numbers[0] = self.problem.dual_value(a, self.problem.features.square_norm(coef, scores))
        self.since_shrink = 0
        self.dual_before = -np.inf
        if self.solver.selection == "keerthi" and self.solver.stop == "gap":
            self.threshold = max(0.1 * self.spread(), 1e-15)

    def spread(self) -> float:
        """m - M, the widest violation among the active samples."""
        m = (self.up - self.f).max(axis=1)
        M = (self.low - self.f).min(axis=1)
        return float((m - M).max()) if self.paired else float(max(m.max(), -M.min()))

    def store(self) -> np.ndarray:
        """The duals of all samples, in the shape the problem has."""
        self.a_full[:, self.active] = self.a
        return self.a_full[0] if self.flat else self.a_full

    def shrink(self) -> None:
        """Set aside the samples that no pair can want: blocked or beyond M upwards, blocked or beyond m downwards."""
        self.since_shrink = 0
        up, low = self.up - self.f, self.low - self.f
        if self.paired:
            m, M = up.max(axis=1, keepdims=True), low.min(axis=1, keepdims=True)
        else:
            m, M = 0.0, 0.0
        keep = np.flatnonzero(((up >= M) | (low <= m)).any(axis=0))
        if len(keep) > 0.8 * len(self.f) or len(keep) < 2:
            return
        self.store()
        self.counters["shrinks"] += 1
        self.active, self.f = self.active[keep], self.f[keep]
        for name in ("a", "p", "d", "e", "lo", "hi", "up", "low", "curvature"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[:, keep]))
        self.cache.narrow(keep)

    def refresh(self, scores: np.ndarray) -> None:
        """Take the judge's exact scores: rounding errors of f are gone, and all samples are active again."""
        self.counters["refreshes"] += 1
        self.store()
        if len(self.active) < self.problem.n:
            self.cache = RowCache(self.problem.features, self.solver.cache_size)
        self.activate(slice(None), scores)

    # ---- the steps ----------------------------------------------------------------------------------------

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Pair steps for about `seconds`, at most `max_steps`."""
        from ..compiled.smo import BUDGET, CONVERGED, ITERATIONS, MISSING, STALLED

        end = time.perf_counter() + seconds
        last = self.tally[ITERATIONS] + max_steps
        while True:
            before, began = self.tally[ITERATIONS], time.perf_counter()
            planned = int(max(1, min(last - before, self.steps_a_second * (end - began), self.until_shrink())))
            code = self.call(planned)
            done = self.tally[ITERATIONS] - before
            self.since_shrink += done
            now = time.perf_counter()
            if code == MISSING:
                self.fetch()
            elif code == CONVERGED and self.polishing:
                self.polish()
            elif code == CONVERGED:
                if not self.tighten():
                    return Outcome.DONE
            elif code == STALLED:
                return Outcome.STALLED
            elif code == BUDGET and done >= 32:
                self.steps_a_second = done / max(now - began, 1e-9)
            if self.solver.shrinking and self.since_shrink >= self.shrink_every():
                self.shrink()
            if now >= end or self.tally[ITERATIONS] >= last:
                return self.look_back()

    def call(self, max_steps: int) -> int:
        """One compiled call."""
        from ..compiled.smo import pair_steps, single_steps

        cache, gap_stops = self.cache, self.solver.stop == "gap"
        state = (cache.rows, cache.slot, cache.stamp, self.f, self.a, self.p, self.d, self.e, self.lo, self.hi)
        limits = (gap_stops, self.target, self.threshold, max_steps, self.numbers, self.tally, self.intercepts)
        if self.paired:
            selection = SELECTIONS.index(self.solver.selection)
            return pair_steps(*state, self.up, self.low, self.curvature, selection, *limits)
        return single_steps(*state, self.up, self.low, self.curvature, *limits)

    def shrink_every(self) -> int:
        """LIBSVM's rhythm: every n steps, at most 1000."""
        return min(len(self.f), 1000)

    def until_shrink(self) -> int:
        """Steps left until shrinking is looked at again."""
        return self.shrink_every() - self.since_shrink if self.solver.shrinking else 1 << 30

    def tighten(self) -> bool:
        """Keerthi's sweep ends at its threshold; if the gap is still open, lower the threshold and go on."""
        if self.solver.selection != "keerthi" or self.solver.stop == "kkt" or not self.paired:
            return False
        progress = self.progress(0.0)
        if progress.relative_gap <= self.target or self.threshold < 1e-14:
            return False
        self.threshold *= 0.1
        return True

    def look_back(self) -> Outcome:
        """Whether D has risen at all since the last look: if not, rounding is all that is left."""
        dual = self.numbers[0]
        stuck = dual - self.dual_before <= 1e-15 * abs(dual)
        self.dual_before = dual
        return Outcome.STALLED if stuck else Outcome.GOING

    def fetch(self) -> None:
        """Fill the cache with the row wanted, and with those of the worst violators while BLAS is at it."""
        from ..compiled.smo import CLOCK, WANTED

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
        up, low = self.up - self.f, self.low - self.f
        middle = 0.5 * (up.max(axis=1, keepdims=True) + low.min(axis=1, keepdims=True)) if self.paired else 0.0
        return np.maximum(up - middle, middle - low).max(axis=0)

    # ---- Newton steps at the end --------------------------------------------------------------------------

    def polish(self) -> None:
        """Once the active set has settled, solve for the free duals exactly; SMO goes on where that is not enough."""
        self.polishing, self.target = False, self.tol
        for _ in range(30):
            if self.newton_step() < 1.0:
                continue  # a dual has hit its bound and is no longer free
            violation = self.spread()
            if violation <= 1e-12 * max(1.0, np.abs(self.f).max()):
                return
            before = self.n_iter
            self.call(len(self.f))
            if self.n_iter == before:
                return

    def newton_step(self) -> float:
        """Move the free duals towards the point where all rates up - f of a layer equal its b; how far it got.

        (K_FF + d_F) delta + b = up_F - f_F with sum delta = 0 in each layer: the conditions of the lecture, solved
        for all free duals at once.
        """
        from ..compiled.smo import mark_all

        layer, free = np.nonzero((self.up == self.low) & ((self.a != 0) | (self.e == 0)))
        if not 0 < len(free) <= POLISH_FREE:
            return 1.0
        rows = self.cache.features.block(free)
        ties = np.eye(len(self.a))[layer] if self.paired else np.zeros((len(free), 0))
        ties = ties[:, ties.any(axis=0)]
        bend, rates = rows[:, free] + np.diag(self.d[layer, free]), self.up[layer, free] - self.f[free]
        delta = solve_tied(bend, rates, ties)
        reach = find_reach(self.a[layer, free], delta, self.lo[layer, free], self.hi[layer, free], self.e[layer, free])
        share = min(1.0, reach.min())
        moved = self.a[layer, free] + share * delta
        stopped = reach <= share
        edge = np.where(delta > 0, self.hi[layer, free], self.lo[layer, free])
        crossing = (self.e[layer, free] > 0) & (np.sign(self.a[layer, free]) == -np.sign(delta))
        moved[stopped] = np.where(crossing, 0.0, edge)[stopped]
        step = moved - self.a[layer, free]
        self.numbers[0] += step @ rates - 0.5 * step @ bend @ step
        self.f += step @ rows
        self.a[layer, free] = moved
        mark_all(self.a, self.p, self.d, self.e, self.lo, self.hi, self.up, self.low)
        return share

    # ---- what the loop asks -------------------------------------------------------------------------------

    @property
    def n_iter(self) -> int:
        """Pair steps so far."""
        return int(self.tally[0])

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        from ..compiled.smo import estimate_gap

        gap = estimate_gap(
            self.f, self.a, self.p, self.d, self.e, self.lo, self.hi, self.up, self.low, self.paired, self.intercepts
        )
        dual = float(self.numbers[0])
        return Progress(self.n_iter, seconds, dual + gap, dual, len(self.active))

    def point(self) -> Point:
        """The duals, and the intercept averaged over the free ones."""
        self.progress(0.0)
        a = self.store().copy()
        b = float(self.intercepts[0]) if self.flat else self.intercepts.copy()
        return Point(a, b if self.paired else 0.0)

    def count(self) -> Counter:
        """Cache hits, misses, kernel rows evaluated, shrinks, refreshes, pairs of negative curvature."""
        counters = Counter(self.counters)
        counters["hits"] = max(0, (2 if self.paired else 1) * self.n_iter - counters["misses"])
        counters["rows"] = self.problem.features.counters["rows"] - self.rows_before
        counters["shared"] = self.problem.features.counters["shared"]
        counters["negative_curvature"] = int(self.tally[3])
        return counters


def solve_tied(K: np.ndarray, rates: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """delta with K delta + ties b = rates and ties' delta = 0, for K positive semidefinite and perhaps singular."""
    n, m = ties.shape
    system = np.zeros((n + m, n + m))
    system[:n, :n] = K
    system[np.arange(n), np.arange(n)] += 1e-13 * max(np.trace(K) / n, 1e-300)
    system[:n, n:], system[n:, :n] = ties, ties.T
    try:
        return np.linalg.solve(system, np.concatenate([rates, np.zeros(m)]))[:n]
    except np.linalg.LinAlgError:
        return np.zeros(n)


def find_reach(a: np.ndarray, delta: np.ndarray, lo: np.ndarray, hi: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The share of delta each dual can take before it meets a bound, or zero where |a| has a kink."""
    upper = np.where((e > 0) & (a < 0), 0.0, hi)
    lower = np.where((e > 0) & (a > 0), 0.0, lo)
    room = np.where(delta > 0, upper - a, a - lower)
    with np.errstate(divide="ignore", over="ignore"):
        return np.divide(room, np.abs(delta), out=np.full(len(a), np.inf), where=delta != 0)
