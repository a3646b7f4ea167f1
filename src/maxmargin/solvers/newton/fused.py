"""Newton's method where the features are few and the rows many: a step is one pass over the rows.

    (R + Z' diag(l'') Z) step = -gradient,     u <- u + step,     f = Z u

One compiled pass finds P, D, the gradient and the matrix at u + step together (`compiled/fused_rows.py`), so that a
full step needs no other one. Some of the rows, drawn at random, are solved first, and where these are many, some of
them before: most steps are taken on an eighth of the rows, or on a sixty-fourth.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from ...contracts.solvers import Run
from ...model.normal_equations import factor_matrix
from ...model.problem import Point, Problem
from ...model.samples import Dense
from ...model.samples.rows import make_writable
from ...runtime.scipy_functions import LinAlgError, cho_solve
from ...runtime.threads import STRIPS, run_strips
from ..result import Outcome, Progress
from .oracle import FORMULAS
from .run import NewtonRun
from .system import find_far_rows

MAX_FEATURES = 32  # up to which the matrix of all rows takes no longer than a few readings of them
FUSED_MIN_ROWS = 1 << 16  # below which steps with a search along the scores take no longer
MIN_ROWS, MIN_ROWS_PER_FEATURE = 8_000, 160  # below which rows are too few for a start on some of them
DRAWN_ROW_RATIO = 8  # one row in so many, drawn at random, is solved first
STRIP_ENTRIES = 1 << 16  # of X, at least, in a strip: a tenth of a millisecond, a few times what a thread costs
# The optimum of m rows is off by about d/m of P in the problem of all (a step with their matrix leaves as much of the
# distance in P); they are solved to this share of that.
SAMPLE_SHARE = 0.1
KEPT_SHARE = 0.02  # of the distance in P: as long as a step leaves less, the next one has the same matrix
GAP_SHARE = 0.9  # of tol: the gap that a run aims at, so that the judge agrees
SLOPE_SHARE = 0.1  # of the first slope: the largest slope at which a step ends
LONGEST_GROWTH, SHORTEST_SHARE = 4.0, 0.1  # of a step that is too short, and of a bracket: limits of a search
MAX_LOOKS = 30  # passes of one line search
BALANCED_SHARE = 1e-13  # of sum |a|: what duals that balance sum to
MAX_STEPS = 60  # of all levels, before the run is left to steps with a search along the scores


def can_fuse(problem: Problem) -> bool:
    """Whether passes over the rows of a problem are compiled: dense rows, few features, and a known smooth loss."""
    samples: Any = problem.features.samples
    dense = type(samples) is Dense and samples.X.dtype == np.float64 and samples.X.flags.c_contiguous
    many = samples.n >= FUSED_MIN_ROWS and has_many_rows(samples.n, samples.d)
    if not (dense and many) or problem.balance not in (None, 0.0):
        return False
    row = problem.row
    return type(problem.terms) in FORMULAS if row is None else bool((row.d > 0.0).all() and np.isfinite(row.d).all())


def has_many_rows(n: int, d: int) -> bool:
    """Whether there are few features, and so many rows for each that some of these are solved first."""
    return d <= MAX_FEATURES and n >= max(MIN_ROWS, MIN_ROWS_PER_FEATURE * (d + 1))


class RowPass(NamedTuple):
    """What a pass over the rows found at u: P, D, the gradient, Z'a, and the lower half of the matrix where formed."""

    u: np.ndarray
    primal: float
    dual: float
    gradient: np.ndarray
    pulled: np.ndarray
    matrix: np.ndarray | None

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    @property
    def size(self) -> float:
        """The larger of |P| and |D|, which the gap is compared with."""
        return max(abs(self.primal), abs(self.dual))


class FusedRows:
    """The rows of a problem, or some of them with larger weights.

    Rows that are `far` from the origin stand for none but themselves: a rare feature may be theirs alone.
    """

    def __init__(self, kind: int, X: np.ndarray, constant: float, free: bool, parts: list[np.ndarray], far: np.ndarray):
        self.kind, self.X, self.constant, self.free, self.parts, self.far = kind, X, constant, free, parts, far
        self.a = np.empty(len(X))

    def draw(self, seed: int) -> FusedRows:
        """One row in DRAWN_ROW_RATIO, drawn at random, each of as much weight as that many, and all that are far."""
        n, ratio = len(self.X), DRAWN_ROW_RATIO
        drawn = np.flatnonzero((np.random.default_rng(seed).integers(0, ratio, n, dtype=np.uint8) == 0) | self.far)
        far = self.far[drawn]
        factor = np.where(far, 1.0, float(ratio))
        p, d, e, lo, hi = (part[drawn] for part in self.parts)
        if self.kind:  # p holds y, and all others c
            d = e = lo = hi = factor * d
        else:
            d, lo, hi = d / factor, factor * lo, factor * hi
        return FusedRows(self.kind, self.X[drawn], self.constant, self.free, [p, d, e, lo, hi], far)

    def evaluate(self, u: np.ndarray, formed: bool) -> RowPass:
        """One pass over all rows at u, in strips on all cores; with the matrix where it is to be `formed`."""
        from ...compiled.fused_rows import CONJUGATES, LOSSES, pass_rows

        n, size = len(self.X), len(u)
        step = max(-(-n // STRIPS), STRIP_ENTRIES // size)
        found: dict[int, tuple[np.ndarray, ...]] = {}

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            sums, pulled, matrix = np.empty(3), np.empty(size), np.zeros((size, size) if formed else (0, 0))
            row = [each[part] for each in self.parts]
            pass_rows(self.kind, self.X[part], self.constant, u, *row, formed, self.a[part], sums, pulled, matrix)
            found[start] = sums, pulled, matrix

        run_strips(work, n, step)
        sums, pulled, matrix = (sum(parts) for parts in zip(*(found[k] for k in sorted(found)), strict=True))
        ridge, last, tail = 0.0 if self.free else 1.0, u[-1], pulled[-1]
        primal = 0.5 * float(u[:-1] @ u[:-1] + ridge * last**2) + sums[LOSSES]
        dual = (
            -0.5 * float(pulled[:-1] @ pulled[:-1] + ridge * tail**2) - sums[CONJUGATES] - (1.0 - ridge) * last * tail
        )
        gradient = u - pulled
        gradient[-1] = ridge * last - tail
        return RowPass(u, float(primal), float(dual), gradient, pulled, matrix if formed else None)


class FusedRun(Run):
    """Newton steps level by level; where they fail, or the judge finds a wider gap, `NewtonRun` goes on."""

    def __init__(self, solver, problem: Problem, tol: float, warm: Point | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.n_iter, self.counters, self.successor = 0, Counter(rounds=0, levels=0), None
        self.free = problem.balance is not None
        samples: Any = problem.features.samples
        self.samples, self.constant = samples, 1.0 if self.free else problem.features.scaling
        self.levels = self.open_levels(warm is None)
        u = np.zeros(samples.d + 1)
        if warm is not None:
            u[:] = problem.expand_start(warm)
        if self.free:
            u[-1] = problem.centre if warm is None else float(warm.b)
        self.factors: tuple[np.ndarray, bool] | None = None
        self.enter_level(u, 1.0)
        if self.free and warm is None:
            self.balance_duals()

    def open_levels(self, cold: bool) -> list[FusedRows]:
        """All rows, then one in eight of them, and so on; the last level is where steps are taken."""
        from ...compiled import small_newton, smooth_rows

        problem, X = self.problem, make_writable(self.samples.X)
        if problem.row is None:
            kind = getattr(smooth_rows, FORMULAS[type(problem.terms)])
            y, c = (np.ascontiguousarray(part, np.float64) for part in (problem.terms.y, problem.terms.c))
            parts = [y, c, c, c, c]
        else:
            kind, parts = small_newton.ROWS, [np.ascontiguousarray(part) for part in problem.row]
        far = find_far_rows(self.samples) if cold else np.zeros(len(X), bool)
        levels = [FusedRows(kind, X, self.constant, self.free, parts, far)]
        while cold and has_many_rows(len(levels[-1].X) - np.count_nonzero(levels[-1].far), self.samples.d):
            levels.append(levels[-1].draw(len(levels)))
        return levels

    # ---- steps --------------------------------------------------------------------------------------------

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Steps for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        while self.successor is None:
            if len(self.levels) == 1 and self.reached():
                self.balance_duals()
                if self.reached():
                    return Outcome.DONE
            if len(self.levels) > 1 and self.is_sample_solved():
                self.leave_level()
                continue
            if self.n_iter >= last or time.perf_counter() >= end:
                return Outcome.GOING
            self.take_step()
        return self.advance_successor(max_steps, end)

    def enter_level(self, u: np.ndarray, share: float) -> None:
        """All rows of the level at u; `share` of the distance in P is what a step with the last matrix should leave."""
        self.share, self.distance = share, np.inf
        self.place(self.levels[-1].evaluate(u, self.share > KEPT_SHARE))

    def leave_level(self) -> None:
        """Go on to the level above, at the solution of this one."""
        size, m = len(self.now.u), len(self.levels.pop().X)
        self.counters["levels"] += 1
        self.enter_level(self.now.u, size / m)

    def place(self, now: RowPass) -> None:
        """Take over what a pass found, and find the step from there: by its own matrix, or by the last one."""
        self.now = now
        if now.matrix is not None:
            size = len(now.u)
            now.matrix[np.arange(size - 1), np.arange(size - 1)] += 1.0
            now.matrix[-1, -1] += abs(now.pulled[-1]) / (10.0 * self.problem.scale) + 1e-14 if self.free else 1.0
            try:
                self.factors = factor_matrix(now.matrix, lower=True)
            except LinAlgError:
                self.hand_over()
                return
        self.step = -cho_solve(self.factors, now.gradient, check_finite=False)
        distance = -0.5 * float(now.gradient @ self.step)
        self.share = distance / self.distance if self.distance < np.inf else self.share
        self.distance = distance
        if not 0.0 <= distance < np.inf:
            self.hand_over()

    def take_step(self) -> None:
        """A full step, or one to where the slope along it is near zero; the pass there is the next one."""
        self.n_iter += 1
        self.counters["rounds"] += 1
        found = self.search()
        if found is None or self.n_iter >= MAX_STEPS:
            self.hand_over()
        else:
            self.place(found)

    def search(self) -> RowPass | None:
        """The pass where |slope| is at most SLOPE_SHARE of the first one, by secants within a bracket; None without.

        Of all rows only the full step is tried.
        """
        u, step, first = self.now.u, self.step, -2.0 * self.distance
        formed = self.share > KEPT_SHARE or len(self.levels) > 1
        t, low, high, low_slope = 1.0, 0.0, np.inf, first
        for _ in range(MAX_LOOKS if len(self.levels) > 1 else 1):  # along the scores of all rows looks cost less
            found = self.levels[-1].evaluate(u + t * step, formed)
            slope = float(found.gradient @ step)
            if abs(slope) <= SLOPE_SHARE * abs(first) and found.primal < np.inf:
                return found
            if slope < 0.0:
                ahead = t - slope * (t - low) / (slope - low_slope) if slope > low_slope else np.inf
                low, low_slope = t, slope
                t = min(ahead, LONGEST_GROWTH * t) if high == np.inf else ahead
                t = t if t < high else 0.5 * (low + high)
            else:
                high = t
                share = low_slope / (low_slope - slope) if slope < np.inf else 0.5
                t = low + (high - low) * min(max(share, SHORTEST_SHARE), 1.0 - SHORTEST_SHARE)
        return None

    def is_sample_solved(self) -> bool:
        """Whether the rows of the level are solved as well as they stand for all."""
        share = max(SAMPLE_SHARE * len(self.now.u) / len(self.levels[-1].X), self.tol)
        return self.distance <= share * abs(self.now.primal)

    def balance_duals(self) -> None:
        """Move a free intercept until the duals of the level sum to zero."""
        from ...compiled.small_newton import balance

        rows, now = self.levels[-1], self.now
        if not self.free or abs(now.pulled[-1]) <= BALANCED_SHARE * np.abs(rows.a).sum():
            return
        f = rows.X @ now.u[:-1] + now.u[-1]
        trial, a, curvature = (np.empty_like(f) for _ in range(3))
        shift = balance(rows.kind, True, f, *rows.parts, self.problem.scale, trial, a, curvature)[0]
        u = now.u.copy()
        u[-1] += shift
        self.place(rows.evaluate(u, self.factors is None or self.n_iter == 0))

    # ---- NewtonRun goes on --------------------------------------------------------------------------------

    def hand_over(self) -> None:
        """Leave the rest to steps with a search along the scores, from here."""
        if self.successor is None:
            self.successor = NewtonRun(self.solver, self.problem, self.tol, self.make_point())
            self.successor.n_iter = self.n_iter

    def advance_successor(self, max_steps: int, end: float) -> Outcome:
        """Steps of the run that goes on."""
        outcome = self.successor.advance(max_steps, max(end - time.perf_counter(), 0.0))
        self.n_iter = self.successor.n_iter
        return outcome

    # ---- the contract of a run ----------------------------------------------------------------------------

    def reached(self) -> bool:
        """Whether the gap of all rows, and the intercept's part in it, are within tol."""
        limit = self.tol * max(self.now.size, self.problem.floor)
        tail = abs(self.now.gradient[-1]) * self.problem.scale if self.free else 0.0
        return self.now.gap <= GAP_SHARE * limit and tail <= 1e2 * limit

    @property
    def a(self) -> np.ndarray:
        """The duals."""
        if self.successor is not None:
            return self.successor.a
        return self.levels[0].a if len(self.levels) == 1 else np.zeros(self.problem.n)

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        if self.successor is not None:
            return self.successor.progress(seconds)
        return Progress(self.n_iter, seconds, self.now.primal, self.now.dual, len(self.levels[-1].X))

    def point(self) -> Point:
        """The duals, the intercept, and w."""
        if self.successor is not None:
            return self.successor.point()
        while len(self.levels) > 1:
            self.leave_level()
        self.balance_duals()
        return self.make_point()

    def make_point(self) -> Point:
        """(w, b) where the run stands, and its duals, or zeros where not all rows were looked at."""
        coef = self.now.u.copy()
        b = float(coef[-1]) if self.free else 0.0
        coef[-1] = 0.0 if self.free else coef[-1]
        return Point(self.a.copy(), b, coef)

    def refresh(self, scores: np.ndarray) -> None:
        """Leave the rest to `NewtonRun`, which goes on from the judge's exact scores."""
        self.hand_over()
        self.successor.refresh(scores)

    def count(self) -> Counter:
        """Passes over rows that were steps, and levels."""
        return Counter(self.counters) if self.successor is None else self.counters + self.successor.count()
