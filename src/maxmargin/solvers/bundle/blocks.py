"""Cuts of a risk over blocks: each pass returns a value and a subgradient, and a cut is known by where it was made.

The dual point of the master is a mean of the duals that rows answered with at some places. Those are not kept: the
places are, and the judge has the rows answer again.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from ...blocks.problem import BlockFormulation, BlockPoint, BlockProblem
from ...contracts.blocks import Block
from ...contracts.solvers import Run
from ...model.loss_oracle import choose_loss_oracle
from ...model.problem import Problem
from ..result import Outcome, Progress
from ..stalling import StallDetector
from .cuts import Cuts
from .descent import Descent, take_rounds
from .functions import FunctionOracle, FunctionPlace
from .model import choose_faint_ridge
from .oracle import Oracle
from .rules import RULES
from .state import pack, unpack

ROUNDS_WITHOUT_PROGRESS_LIMIT = 400  # rounds without a fall of the gap by a tenth before a run gives up


class Places(NamedTuple):
    """a = sum_k weight_k times the duals that rows answer with at the k-th place."""

    weights: np.ndarray
    coefs: np.ndarray
    tails: np.ndarray

    def duals(self, problem: Problem) -> np.ndarray:
        """The weighted mean of the answers."""
        loss_oracle, total = choose_loss_oracle(problem), np.zeros(problem.shape)
        for weight, coef, tail in zip(self.weights, self.coefs, self.tails, strict=True):
            f = problem.features.scores(coef)
            total += weight * loss_oracle.loss_response(f, shape_tail(tail, f)).a
        return total


def shape_tail(tail: np.ndarray, f: np.ndarray):
    """Intercepts as scores want them: one number, or a column with one for each class."""
    return float(tail[0]) if f.ndim == 1 else tail[:, None]


class BlockCut(NamedTuple):
    """The risk of some rows at a place, sum_i a_i x_i, and sum_i a_i of each intercept."""

    value: float
    pulled: np.ndarray
    total: np.ndarray

    def __add__(self, other: BlockCut) -> BlockCut:
        return BlockCut(*(mine + its for mine, its in zip(self, other, strict=True)))


def cut_block(block: Block, pose: BlockFormulation, coef: np.ndarray, tail: np.ndarray) -> BlockCut:
    """The cut of one block."""
    problem = pose.pose(block)
    f = problem.features.scores(coef)
    loss_response = choose_loss_oracle(problem).loss_response(f, shape_tail(tail, f))
    with np.errstate(over="ignore", invalid="ignore"):  # an exponential may leave the numbers there are
        return BlockCut(
            loss_response.value, problem.features.combine(loss_response.a), np.atleast_1d(loss_response.total)
        )


class BlockOracle(FunctionOracle):
    """The risk over all blocks as a function of w and the free intercepts; a cut remembers its place."""

    def __init__(self, problem: BlockProblem):
        super().__init__(self.ask)
        self.problem, self.grows_exponentially = problem, problem.loss.grows_exponentially
        k = problem.pose.n_classes
        self.tails = 0 if not problem.pose.free else 1 if k is None else k
        self.head = int(np.prod(problem.shape))
        self.shift = 0.0  # of the intercept of real targets: the centre of the targets, so that the first is near

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return self.head + self.tails

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The coefficients, and the free intercepts."""
        return (slice(0, self.head), slice(self.head, None)) if self.tails else (slice(None),)

    def part(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts of a vector of coordinates."""
        tail = x[self.head :] + self.shift if self.tails else np.zeros(self.problem.pose.n_classes or 1)
        return x[: self.head].reshape(self.problem.shape), tail

    def ask(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """A pass: value and subgradient at x."""
        cut = self.problem.blocks.run(cut_block, self.problem.pose, *self.part(x))
        slope = -cut.pulled.ravel()
        return cut.value, np.concatenate([slope, -cut.total]) if self.tails else slope

    def locate(self, x: np.ndarray) -> FunctionPlace:
        """Value and subgradient at x; infinite values are for losses that grow like an exponential."""
        self.n_calls += 1
        value, slope = self.fun(x)
        return FunctionPlace(x, value if np.isfinite(value) else np.inf, slope)

    def cut(self, place: FunctionPlace) -> tuple[np.ndarray, float, list]:
        """phi, its offset, and where it was made."""
        return place.slope, place.value - float(place.slope @ place.x), [(1.0, place.x)]

    def check(self, best: FunctionPlace, place: FunctionPlace, slope: np.ndarray, cuts: Cuts) -> None:
        """Losses of the table are convex."""

    def aggregate(self, keys: list, shares: np.ndarray) -> list:
        """The places of a mean of cuts."""
        return Oracle.aggregate(self, keys, shares)


class BlockBundleRun(Run):
    """A descent on the risk over blocks, as the one loop of all solvers wants it."""

    def __init__(self, solver, rule: str, problem: BlockProblem, tol: float, warm: BlockPoint | None):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.oracle = BlockOracle(problem)
        self.oracle.shift = problem.centre if self.oracle.tails == 1 else 0.0
        self.stall_detector, self.descent = StallDetector(ROUNDS_WITHOUT_PROGRESS_LIMIT), None
        self.rule, self.start = RULES[rule](), self.place(warm)

    def place(self, warm: BlockPoint | None) -> np.ndarray:
        """The coordinates of a point, or zero."""
        x = np.zeros(self.oracle.size)
        if warm is not None:
            x[: self.oracle.head] = np.ravel(warm.coef)
            if self.oracle.tails:
                x[self.oracle.head :] = np.asarray(warm.b) - self.oracle.shift
        return x

    def begin(self) -> None:
        """The first cut."""
        cuts = Cuts(self.oracle.size, self.oracle.blocks, self.solver.max_cuts)
        self.scale = self.oracle.locate(np.zeros(self.oracle.size)).value
        self.descent = Descent(self.oracle, self.rule, self.start, cuts, self.ridges())

    def ridges(self) -> tuple[float, ...]:
        """1 for w; for free intercepts one so small that it costs next to nothing."""
        if not self.oracle.tails:
            return (1.0,)
        return 1.0, choose_faint_ridge(self.tol, self.scale / self.problem.scale**2)

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Rounds for about `seconds`, at most `max_steps`; each is a pass."""
        if self.descent is None:
            self.begin()
        return take_rounds(self, max_steps, seconds)

    def reached(self) -> bool:
        """Whether the gap is within tol."""
        least, bound = self.descent.least, self.descent.bound
        return bool(np.isfinite(bound)) and self.descent.gap <= 0.9 * self.tol * max(abs(least), abs(bound))

    @property
    def n_iter(self) -> int:
        """Rounds."""
        return 0 if self.descent is None else self.descent.n_iter

    @property
    def a(self) -> np.ndarray:
        """The duals are not kept."""
        return np.zeros(1)

    @property
    def support(self) -> int:
        """All rows: any of them may have a dual."""
        return self.problem.n

    @property
    def reserve(self) -> float:
        """Seconds that the judge needs for the answers at all places, beside those of a pass."""
        weights = None if self.descent is None else self.descent.pad_weights(self.descent.plain)
        return 0.0 if weights is None else 0.5 * self.problem.blocks.seconds * np.count_nonzero(weights)

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        if self.descent is None:
            return Progress(0, seconds, np.inf, -np.inf, 0)
        return Progress(self.n_iter, seconds, self.descent.least, self.descent.bound, self.descent.cuts.m)

    def point(self) -> BlockPoint:
        """The best w, its intercepts, and the places behind the best bound."""
        if self.descent is None:
            return self.problem.origin(None)
        descent = self.descent
        descent.bound_by_ridge()
        weights = descent.pad_weights(descent.plain)
        kept = [(weights[k] * share, x) for k in np.flatnonzero(weights) for share, x in descent.cuts.keys[k]]
        parts = [self.oracle.part(x) for _, x in kept]
        places = Places(
            np.array([weight for weight, _ in kept]), np.array([coef for coef, _ in parts]),
            np.array([tail for _, tail in parts]),
        )  # fmt: skip
        coef, tail = self.oracle.part(descent.best.x)
        b = 0.0 if not self.oracle.tails else float(tail[0]) if self.problem.pose.n_classes is None else tail.copy()
        return BlockPoint(places, b, coef.copy())

    def refresh(self, scores) -> None:
        """The judge found the gap wider than the run did: aim lower."""
        self.tol *= 0.5
        self.descent.model.ridges = self.ridges()

    def count(self) -> Counter:
        """Cuts made, passes, and the bytes that moved."""
        return Counter({"oracle_calls": self.oracle.n_calls, **self.problem.blocks.counters})

    def pack(self) -> dict:
        """The descent, and where its cuts were made."""
        if self.descent is None:
            return {"begun": False}
        keys = self.descent.cuts.keys
        flat = [(k, share, x) for k, key in enumerate(keys) for share, x in key]
        owners, shares, places = zip(*flat, strict=True)
        return {
            "begun": True, "scale": self.scale, "shift": self.oracle.shift, "owners": np.array(owners),
            "shares": np.array(shares), "places": np.array(places), "factor": self.descent.cuts.factor,
            **pack(self.descent),
        }  # fmt: skip

    def unpack(self, state: dict) -> None:
        """Stand where a run was packed."""
        if not state["begun"]:
            return
        self.scale, self.oracle.shift = float(state["scale"]), float(state["shift"])
        cuts = Cuts(self.oracle.size, self.oracle.blocks, self.solver.max_cuts)
        self.descent = unpack(state, self.oracle, cuts, self.ridges())
        keys: list[list] = [[] for _ in range(cuts.m)]
        for owner, share, x in zip(state["owners"], state["shares"], state["places"], strict=True):
            keys[owner].append((float(share), x))
        cuts.keys = keys
