"""Block-coordinate Frank-Wolfe for structured problems: one sample a step, over the labellings kept for it.

Lacoste-Julien, Jaggi, Schmidt and Pletscher (2013) move the weight of one sample towards the labelling its oracle
finds, by an exact line search. Here, as in Osokin et al. (2016), weight moves in pairs, from the worst labelling kept
for the sample to the best one, until the sample's gap has fallen to a tenth: labellings lose their weight for good, and
the method converges at a linear rate. As in Shah, Kolmogorov and Lampert (2015), passes over the kept labellings alone
come between two passes of the oracle, as long as they lift D by more for the same work.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ..contracts.solvers import Run, Solver
from ..contracts.traits import Takes
from ..structures.examples import Sheet, freeze
from ..structures.problem import StructuredPoint, StructuredProblem
from .result import Outcome, Progress
from .stalling import StallDetector

SEED = 20130617  # of the order of the samples
IDLE_VISITS_LIMIT = 10  # visits that a labelling may be without weight
MAX_CACHED_PASSES = 20  # passes over kept labellings between two of the oracle, at most
UNKNOWN_ORACLE_WORK = 20.0  # work of an oracle that is not known, in products with one labelling
LOOK_GAP_FACTOR = 0.5  # of the gap at the last look, by which the sum of block gaps must have fallen for another
MAX_PASSES_BETWEEN_LOOKS = 15  # passes after which the gap is looked at in any case
LOOKS_WITHOUT_PROGRESS_LIMIT = 60  # looks without a fall of the gap by a tenth before a run gives up
# of the tolerance, shared out over the samples: a block whose gap is smaller is left alone
SKIPPED_GAP_TOL_SHARE = 0.05
SKIPPED_GAP_MEAN_SHARE = 0.1  # of the mean gap: a sample with less is left out of passes over kept labellings
LABELS_PER_CHUNK = 4096  # labels of the sequences between two looks at the clock: a few milliseconds
LABELLING_MEMORY_BYTES = (
    1 << 28
)  # bytes for labellings kept; beyond that the lightest of a sample makes room for a new one


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """alpha_i(z) up, alpha_i(z') down, by the exact step, for the best and the worst of the labellings kept for i.

    Parameters
    ----------
    kept : int, default=10
        Visits for which a labelling without weight is kept.
    cached_passes : int, default=20
        Passes over the kept labellings between two passes of the oracle, at most; 0 is the method without a cache.
    """

    kept: int = IDLE_VISITS_LIMIT
    cached_passes: int = MAX_CACHED_PASSES
    name = "frank_wolfe"
    formulation = "Wolfe dual"
    forms = ("structures",)
    takes = Takes("The block Frank-Wolfe method", scores="any")

    def __post_init__(self):
        for name in ("kept", "cached_passes"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 0:
                raise ValueError(f"{name} must be a whole number, 0 or more, got {value!r}.")

    def start(self, problem: StructuredProblem, tol: float, warm: StructuredPoint | None = None) -> FrankWolfeRun:
        """A run at the labellings of `warm`, or at the labels themselves."""
        run = FrankWolfeRun(self, problem, tol)
        if warm is not None:
            run.blocks.set_labellings(warm.sheets)
        return run

    def resume(self, problem: StructuredProblem, tol: float, state: dict) -> FrankWolfeRun:
        """The run as it was packed."""
        run = FrankWolfeRun(self, problem, tol)
        run.unpack(state)
        return run


class ChainBlocks:
    """The kept labellings of chains as sheets: slot s of sequence i weighs a[s, i]; used[i] slots are in use."""

    def __init__(self, problem: StructuredProblem, patience: int):
        self.examples, self.c, self.patience = problem.examples, problem.c, patience
        self.chunk = max(1, LABELS_PER_CHUNK * problem.n // len(problem.examples.right))
        self.w, self.buffer = np.zeros(problem.size), np.zeros(problem.size)
        self.reserve(4)
        self.kept[0], self.a[0] = self.examples.right, self.c
        self.used = np.ones(problem.n, np.int64)
        self.gaps = np.full(problem.n, np.inf)

    def reserve(self, slots: int) -> None:
        """Room for so many labellings a sequence, unless it is too much memory."""
        n, tokens = len(self.c), len(self.examples.right)
        self.limit = max(
            8, min(LABELLING_MEMORY_BYTES // (2 * tokens + 10 * n), int((LABELLING_MEMORY_BYTES / (8 * n)) ** 0.5))
        )
        slots = min(slots, self.limit)
        kept, a, idle = np.zeros((slots, tokens), np.int16), np.zeros((slots, n)), np.zeros((slots, n), np.int16)
        G = np.zeros((n, slots, slots))
        if hasattr(self, "kept"):
            old = len(self.kept)
            kept[:old], a[:old], idle[:old], G[:, :old, :old] = self.kept, self.a, self.idle, self.G
        self.kept, self.a, self.idle, self.G = kept, a, idle, G

    def visit(self, order: np.ndarray, first: int, last: int, asked: bool, negligible_gap: np.ndarray, sums) -> None:
        """Block steps for the sequences order[first:last]."""
        from ..compiled.chains import pass_over_chains

        while first < last:
            first += pass_over_chains(
                self.examples.chains, self.w, self.c, self.kept, self.a, self.idle, self.G, self.used, order, first,
                last, asked, len(self.kept) >= self.limit, self.patience, negligible_gap, self.gaps, self.buffer, sums,
            )  # fmt: skip
            if first < last:
                self.reserve(2 * len(self.kept))

    def sheets(self) -> list[Sheet]:
        """The labellings that have weight; slots that a sequence does not use hold its labels."""
        found, free = [], ~np.repeat(np.arange(len(self.kept))[:, None] < self.used, self.lengths, axis=1)
        for s in range(int(self.used.max())):
            if self.a[s].any():
                found.append(Sheet(np.where(free[s], self.examples.right, self.kept[s]), self.a[s].copy()))
        return found

    @property
    def support(self) -> int:
        """Slots in use."""
        return int(self.used.max())

    @property
    def lengths(self) -> np.ndarray:
        """Labels of each sequence."""
        return np.diff(self.examples.chains.starts)

    def set_labellings(self, sheets) -> None:
        """Stand at these labellings, each kept once, with weights that sum to c_i."""
        starts = self.examples.chains.starts[:-1]
        self.a[:], self.used[:] = 0.0, 0
        for labelling, weight in sheets:
            z, weight = self.examples.from_labelling(labelling), np.maximum(weight, 0.0)
            left = weight > 0
            for s in range(int(self.used.max(initial=0))):
                same = np.logical_and.reduceat(self.kept[s] == z, starts) & (s < self.used) & left
                self.a[s] += np.where(same, weight, 0.0)
                left &= ~same
            if left.any() and self.used[left].max() >= len(self.kept):
                self.reserve(2 * len(self.kept))
                left &= self.used < len(self.kept)
            for s in np.unique(self.used[left]):
                these = left & (self.used == s)
                tokens = np.repeat(these, self.lengths)
                self.kept[s, tokens], self.a[s, these] = z[tokens], weight[these]
            self.used[left] += 1
        bare = self.used == 0
        tokens = np.repeat(bare, self.lengths)
        self.kept[0, tokens], self.a[0, bare], self.used[bare] = self.examples.right[tokens], 1.0, 1
        self.a *= self.c / self.a.sum(axis=0)
        self.multiply()
        self.recompute()

    def multiply(self) -> None:
        """The products of all labellings that are kept."""
        from ..compiled.chains import fill_all_products

        fill_all_products(self.examples.chains, self.kept, self.used, self.buffer, self.G)

    def recompute(self) -> float:
        """w afresh from the weights; returns sum_i sum_z alpha_i(z) Delta(y_i, z)."""
        total, linear = np.zeros_like(self.w), 0.0
        for labelling, weight in self.sheets():
            self.examples.combine(labelling, weight, total)
            linear += float(weight @ self.examples.losses(labelling))
        self.w[:] = total
        return linear

    def pack(self) -> dict:
        """All that is kept."""
        slots = int(self.used.max())
        return {
            **self.examples.store(list(self.kept[:slots])), "G": self.G[:, :slots, :slots],
            "alpha": self.a[:slots], "idle": self.idle[:slots],
            "used": self.used, "w": self.w, "gaps": self.gaps,
        }  # fmt: skip

    def unpack(self, state: dict) -> None:
        """As it was packed."""
        slots = len(state["alpha"])
        self.reserve(max(slots, 4))
        self.kept[:slots], self.a[:slots], self.idle[:slots] = state["sheets"], state["alpha"], state["idle"]
        self.used[:], self.w[:], self.gaps[:] = state["used"], state["w"], state["gaps"]
        self.G[:, :slots, :slots] = state["G"]


class ListedBlocks:
    """The kept labellings of any model as rows of its library, with their products."""

    chunk = 1  # nobody knows how long its oracle takes

    def __init__(self, problem: StructuredProblem, patience: int):
        self.examples, self.c, self.patience = problem.examples, problem.c, patience
        self.w = np.zeros(problem.size)
        self.rows = [[int(row)] for row in self.examples.right]
        self.weights = [np.array([each]) for each in self.c]
        self.idle = [np.zeros(1, np.int64) for _ in self.c]
        self.G = [np.zeros((1, 1)) for _ in self.c]
        self.gaps = np.full(problem.n, np.inf)

    def visit(self, order: np.ndarray, first: int, last: int, asked: bool, negligible_gap: np.ndarray, sums) -> None:
        """Block steps for the samples order[first:last]."""
        for i in order[first:last]:
            if asked or len(self.rows[i]) > 1:
                self.visit_one(int(i), asked, float(negligible_gap[i]), sums)

    def visit_one(self, i: int, asked: bool, negligible_gap: float, sums) -> None:
        """The step of one sample."""
        from ..compiled.chains import step_in_pairs

        examples, w = self.examples, self.w
        heights = np.array([examples.height(row, w) for row in self.rows[i]])
        new, value = examples.oracle(i, freeze(w)) if asked else (-1, float(heights.max()))
        gap = self.c[i] * value - float(self.weights[i] @ heights)
        self.gaps[i] = gap
        sums[0] += max(gap, 0.0)
        sums[2] += len(heights) + (UNKNOWN_ORACLE_WORK if asked else 0.0)
        if gap <= negligible_gap:
            return
        if asked and new not in self.rows[i]:
            self.append(i, new)
            heights = np.append(heights, value)
        before = self.weights[i].copy()
        sums[1] += step_in_pairs(
            self.G[i], heights, self.weights[i], len(before), self.c[i], 0.1 * gap, 20 + 10 * len(before)
        )  # fmt: skip
        for row, change in zip(self.rows[i], self.weights[i] - before, strict=True):
            if change != 0.0:
                indices, values = examples.entries[row]
                w[indices] += change * values
        self.forget(i)

    def append(self, i: int, row: int) -> None:
        """Keep another labelling, without weight so far."""
        m = len(self.rows[i])
        G = np.zeros((m + 1, m + 1))
        G[:m, :m] = self.G[i]
        self.rows[i].append(row)
        G[m] = G[:, m] = [self.examples.product(row, other) for other in self.rows[i]]
        self.G[i] = G
        self.weights[i], self.idle[i] = np.append(self.weights[i], 0.0), np.append(self.idle[i], 0)

    def forget(self, i: int) -> None:
        """Let go of labellings that had no weight for longer than the patience."""
        self.idle[i] = np.where(self.weights[i] > 0.0, 0, self.idle[i] + 1)
        stay = np.flatnonzero(self.idle[i] <= self.patience)
        if len(stay) < len(self.idle[i]):
            self.rows[i] = [self.rows[i][s] for s in stay]
            self.weights[i], self.idle[i] = self.weights[i][stay], self.idle[i][stay]
            self.G[i] = np.ascontiguousarray(self.G[i][np.ix_(stay, stay)])

    @property
    def support(self) -> int:
        """Slots in use."""
        return max(map(len, self.rows))

    @property
    def a(self) -> np.ndarray:
        """The weights, one row a slot."""
        return self.tabulate(self.weights, 0.0)

    def tabulate(self, lists, blank) -> np.ndarray:
        """Lists of different lengths as the columns of one array."""
        table = np.full((max(map(len, lists)), len(lists)), blank)
        for i, each in enumerate(lists):
            table[: len(each), i] = each
        return table

    def sheets(self) -> list[Sheet]:
        """The labellings that have weight; slots that a sample does not use hold its labels."""
        rows, a = self.tabulate(self.rows, -1), self.a
        rows = np.where(rows < 0, self.examples.right, rows)
        return [Sheet(self.examples.to_labelling(rows[s]), a[s]) for s in range(len(a)) if a[s].any()]

    def set_labellings(self, sheets) -> None:
        """Stand at these labellings, each kept once, with weights that sum to c_i."""
        totals = [{} for _ in self.c]
        for labelling, weight in sheets:
            for i, row in enumerate(self.examples.from_labelling(labelling)):
                if weight[i] > 0:
                    totals[i][int(row)] = totals[i].get(int(row), 0.0) + float(weight[i])
        for i, total in enumerate(totals):
            total = total or {int(self.examples.right[i]): 1.0}
            self.set_sample_labellings(i, list(total), np.array(list(total.values())), np.zeros(len(total), np.int64))
        self.recompute()

    def set_sample_labellings(self, i: int, rows: list[int], weights: np.ndarray, idle: np.ndarray) -> None:
        """Keep these labellings of sample i."""
        self.rows[i], self.weights[i], self.idle[i] = rows, weights * (self.c[i] / weights.sum()), idle
        self.G[i] = np.zeros((len(rows), len(rows)))
        for s, row in enumerate(rows):  # as `append` forms them, to the last digit
            self.G[i][s, : s + 1] = self.G[i][: s + 1, s] = [self.examples.product(row, each) for each in rows[: s + 1]]

    def recompute(self) -> float:
        """w afresh from the weights; returns sum_i sum_z alpha_i(z) Delta(y_i, z)."""
        total, linear = np.zeros_like(self.w), 0.0
        for rows, weights in zip(self.rows, self.weights, strict=True):
            for row, weight in zip(rows, weights, strict=True):
                indices, values = self.examples.entries[row]
                total[indices] += weight * values
                linear += weight * self.examples.costs[row]
        self.w[:] = total
        return float(linear)

    def pack(self) -> dict:
        """All that is kept."""
        rows = self.tabulate(self.rows, -1)
        sheets = np.where(rows < 0, self.examples.right, rows)
        return {
            **self.examples.store(list(sheets)), "alpha": self.a, "idle": self.tabulate(self.idle, 0),
            "used": np.array(list(map(len, self.rows))), "w": self.w, "gaps": self.gaps,
        }  # fmt: skip

    def unpack(self, state: dict) -> None:
        """As it was packed."""
        sheets = np.array(self.examples.restore(state))
        for i, m in enumerate(state["used"]):
            self.set_sample_labellings(
                i, [int(row) for row in sheets[:m, i]], state["alpha"][:m, i], state["idle"][:m, i]
            )
            self.weights[i] = state["alpha"][:m, i].copy()
        self.w[:], self.gaps[:] = state["w"], state["gaps"]


class FrankWolfeRun(Run):
    """Passes over the samples, and now and then a look at P and D where w stands still."""

    def __init__(self, solver: FrankWolfe, problem: StructuredProblem, tol: float):
        self.solver, self.problem, self.tol = solver, problem, tol
        blocks = ChainBlocks if problem.examples.packed else ListedBlocks
        self.blocks = blocks(problem, solver.kept)
        self.n_iter = self.n_passes = self.n_cached = self.passes_since_look = self.place = 0
        self.phase = "oracle"  # or "cached", or "look"
        self.sums, self.cycle_sums = (
            np.zeros(3),
            np.zeros(3),
        )  # block gaps, rise of D, work: of this pass, and of all since
        self.primal, self.dual, self.last_gap, self.best = np.inf, -np.inf, np.inf, None
        self.values, self.bounds = np.zeros(problem.n), np.zeros(problem.n)
        self.found = problem.examples.blank()
        self.pass_order: np.ndarray | None = None  # the samples of this pass, in order
        self.due = False  # whether a look follows this cycle
        self.looks, self.limited_by_oracle, self.stall_detector = 0, False, StallDetector(LOOKS_WITHOUT_PROGRESS_LIMIT)

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
        stop = min(self.place + self.blocks.chunk, len(order))
        self.blocks.visit(order, self.place, stop, self.phase == "oracle", self.negligible_gap(), self.sums)
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
                gaps = np.maximum(self.blocks.gaps, 0.0)
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
        linear = self.blocks.recompute()
        w = self.blocks.w
        self.dual = linear - 0.5 * float(w @ w)
        self.place, self.due, self.passes_since_look = 0, False, 0

    def continue_look(self) -> Outcome:
        """The oracle for a few more samples, w standing still; at the end, P."""
        examples, n = self.problem.examples, self.problem.n
        stop = min(self.place + examples.step, n)
        examples.maximise(self.blocks.w, self.place, stop, self.found, self.values, self.bounds)
        self.place = stop
        return self.finish_look() if stop == n else Outcome.GOING

    def finish_look(self) -> Outcome:
        """P at w, and whether it is near enough to D."""
        w = self.blocks.w
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
        return self.blocks.a

    @property
    def support(self) -> int:
        """Sheets of a point, about."""
        return self.blocks.support

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D, as of the last look."""
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.problem.n)

    def point(self) -> StructuredPoint:
        """The best w so far, or that of now, and the labellings with their weights."""
        w = self.blocks.w if self.best is None else self.best
        return StructuredPoint(w.copy(), tuple(self.blocks.sheets()))

    def refresh(self, scores) -> None:
        """The judge found the gap wider than the run did: aim lower, unless the oracle itself is the reason."""
        self.tol *= 0.5
        self.limited_by_oracle = not self.problem.examples.exact

    def count(self) -> Counter:
        """Passes of the oracle and over kept labellings, and looks."""
        return Counter(oracle_passes=self.n_iter + self.looks, cached_passes=self.n_passes - self.n_iter)

    def pack(self) -> dict:
        """Where the run stands, to the sample."""
        numbers = [
            self.n_iter,
            self.n_passes,
            self.n_cached,
            self.passes_since_look,
            self.place,
            self.looks,
            int(self.due),
        ]
        best = np.zeros(0) if self.best is None else self.best
        found = self.found if self.problem.examples.packed else self.problem.examples.store([self.found])["sheets"]
        return {
            **self.blocks.pack(), "numbers": np.array(numbers), "phase": self.phase, "sums": self.sums,
            "cycle": self.cycle_sums, "values": self.values, "bounds": self.bounds, "best": best, "found": found,
            "route": self.order(),
            "beliefs": np.array(
                [self.primal, self.dual, self.last_gap, self.stall_detector.best, self.stall_detector.left]
            ),
        }  # fmt: skip

    def unpack(self, state: dict) -> None:
        """As it was packed."""
        self.blocks.unpack(state)
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
