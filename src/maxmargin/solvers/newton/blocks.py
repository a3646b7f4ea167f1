"""Newton's method and the method of multipliers over blocks: each pass returns sums and a matrix of the features.

The method of multipliers keeps one dual per row. Here the duals are recomputed instead of stored: those of a row follow
from its scores at the u where each width was solved, so the few u and widths so far are the whole state. It does not
depend on which worker holds the rows, and a lost worker takes no state with it.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...blocks.problem import BlockFormulation, BlockPoint, BlockProblem
from ...contracts.blocks import Block
from ...contracts.solvers import Run
from ...contracts.traits import Traits
from ...model.features import Design
from ...model.normal_equations import factor_matrix, form_normal_matrix
from ...model.problem import Problem
from ...model.samples import wrap
from ...runtime.interpreter import cached_property
from ...runtime.scipy_functions import LinAlgError, cho_solve
from ..result import Outcome, Progress
from ..stalling import StallDetector
from .block import RowBlock
from .oracle import RowOracle, TermOracle
from .run import COARSE_TOL, MIN_RELATIVE_WIDTH, SOLVED_GRADIENT_SHARE, WIDTH_FACTOR, NewtonRun

BLOCK_MATRIX_MAX_FEATURES = 2500  # features up to which blocks sum a matrix of the features
PASSES_WITHOUT_PROGRESS_LIMIT = 40  # passes without a fall of the gap by a tenth before a run gives up
SAMPLE_MAX_ENTRIES = 1 << 22  # largest size of the sample that is solved first
SAMPLE_ROW_RATIO, SAMPLE_MIN_ROWS = 8, 4000  # at most one row in 8 is drawn; the smallest sample
STEP_RATIOS = 0.5 ** np.array([0, 1, 2, 3, 4, 6, 8, 11, 14, 18, 24, 32, 40])  # step lengths that the line search tries
SUFFICIENT_DECREASE_SHARE = 1e-4  # of the predicted decrease that a full step must reach


class Steps(NamedTuple):
    """a_k = argmax -a f_k - conj(a) - (width_k/span) (a - a_{k-1})^2 / 2, the method of multipliers.

    Rows of smooth losses need no width: their duals follow from the last scores.
    """

    u: np.ndarray  # (k, d + 1): where each width was solved; the last row is the current u
    widths: np.ndarray
    middle: bool  # whether a_0 is halfway between the bounds, or zero
    constant: float

    def duals(self, problem: Problem) -> np.ndarray:
        """The last a_k of each row."""
        f, oracle = self.follow(problem)
        return oracle.respond(f).a

    def project(self, problem: Problem) -> np.ndarray:
        """The scores at every u, one column each."""
        columns = np.asfortranarray(problem.features.samples.project(np.ascontiguousarray(self.u[:, :-1].T)))
        return columns + self.constant * self.u[:, -1]

    def follow(self, problem: Problem) -> tuple[np.ndarray, RowOracle | TermOracle]:
        """The scores at the last u, and an oracle whose proximal terms are centred as they are there."""
        F = self.project(problem)
        if problem.row is None:
            return np.ascontiguousarray(F[:, -1]), TermOracle(problem.terms)
        row = problem.row
        a0 = np.zeros(problem.n)
        if self.middle:
            a0 = np.multiply(0.5, row.lo + row.hi, out=a0, where=np.isfinite(row.hi - row.lo))
        oracle = RowOracle(row, a0, 0.0)
        for k in range(len(self.widths)):
            oracle.width = float(self.widths[k])
            if k < len(self.widths) - 1:
                oracle.a0 = oracle.respond(np.ascontiguousarray(F[:, k])).a
        return np.ascontiguousarray(F[:, -1]), oracle


class RowSums(NamedTuple):
    """Sums over rows at u: what Newton's method minimises, losses, conjugates, a, l''; and Z'a and Z' diag(l'') Z."""

    smooth: float
    losses: float
    conjugates: float
    total: float
    second_derivatives: float
    curved: int
    pulled: np.ndarray
    matrix: np.ndarray

    def __add__(self, other: RowSums) -> RowSums:
        return RowSums(*(mine + its for mine, its in zip(self, other, strict=True)))


class DirectionalDerivatives(NamedTuple):
    """sum_i a_i move_i at some points of a line."""

    derivatives: np.ndarray

    def __add__(self, other: DirectionalDerivatives) -> DirectionalDerivatives:
        return DirectionalDerivatives(self.derivatives + other.derivatives)


class SampledRows(NamedTuple):
    """Rows sampled at random, their targets and weights, block after block."""

    X: list
    y: list
    c: list

    def __add__(self, other: SampledRows) -> SampledRows:
        return SampledRows(self.X + other.X, self.y + other.y, self.c + other.c)


def sum_block(block: Block, pose: BlockFormulation, steps: Steps) -> RowSums:
    """The sums of one block at the last of the steps."""
    problem = pose.pose(block)
    f, oracle = steps.follow(problem)
    place = RowBlock(problem.features.samples, oracle, steps.constant, 0.0, np.zeros(problem.features.samples.d + 1))
    response = oracle.respond(f)
    matrix = form_normal_matrix(problem.features.samples, response.second_derivative, steps.constant)
    return RowSums(
        response.smooth, response.losses, response.conjugates, response.total, float(response.second_derivative.sum()),
        response.curved, place.combine(response.a), matrix,
    )  # fmt: skip


def differentiate_block(block: Block, pose: BlockFormulation, steps: Steps, step: np.ndarray) -> DirectionalDerivatives:
    """The directional derivatives of one block along `step` from the last of the steps, at several lengths."""
    problem = pose.pose(block)
    f, oracle = steps.follow(problem)
    move = problem.features.samples.project(step[:-1]) + steps.constant * step[-1]
    return DirectionalDerivatives(np.array([oracle.directional_derivative(f, move, float(t))[0] for t in STEP_RATIOS]))


def draw_block(block: Block, pose: BlockFormulation, share: float) -> SampledRows:
    """Some rows of one block; which ones depends on its number only."""
    y, c = pose.targets.read(block)
    drawn = np.random.default_rng(block.number).random(len(c)) < share
    rows = np.flatnonzero(drawn & (c > 0))
    return SampledRows([block.X[rows]], [y[rows]], [c[rows] / share])


@dataclass
class Iterate:
    """The current u, and the sums there."""

    u: np.ndarray
    sums: RowSums


class BlockNewtonRun(Run):
    """Newton steps on all rows, one pass each; for kinked losses within the method of multipliers."""

    def __init__(self, solver, problem: BlockProblem, tol: float, warm: BlockPoint | None, state: dict | None = None):
        self.solver, self.problem, self.tol = solver, problem, tol
        self.free, self.kinked = problem.pose.free, problem.kinked
        self.constant = 1.0 if self.free else problem.pose.scaling
        self.ridge = 0.0 if self.free else 1.0
        self.stall_detector = StallDetector(PASSES_WITHOUT_PROGRESS_LIMIT)
        self.n_iter, self.counters = 0, Counter()
        self.solved: list[tuple[np.ndarray, float]] = []  # u and width, for every width that was solved
        self.middle, self.width = False, 2.0 * problem.scale if self.kinked else 0.0
        self.current: Iterate | None = None
        self.shortened = False  # whether the last step was too long
        if state is not None:
            self.unpack(state)
        elif warm is not None:
            self.start_from(warm)
        else:
            self.u = np.zeros(problem.d + 1)
            self.u[-1] = problem.centre if self.free else 0.0
            self.start_coarse()

    # ---- where to start -----------------------------------------------------------------------------------

    def start_from(self, warm: BlockPoint) -> None:
        """Start at a point, with kinks wide enough to leave it."""
        self.u = np.array(warm.coef, float)
        if self.free:
            self.u[-1] = float(warm.b)
        self.middle, self.width = True, 0.1 * self.width

    def start_coarse(self) -> None:
        """Solve a weighted sample of the rows first, if there are many more rows than the sample needs."""
        problem = self.problem
        rows = min(SAMPLE_MAX_ENTRIES // (problem.d + 1), problem.n // SAMPLE_ROW_RATIO)
        if rows < max(SAMPLE_MIN_ROWS, 80 * problem.d):
            return
        drawn = problem.blocks.run(draw_block, problem.pose, rows / problem.n)
        part = join_rows(drawn, problem.pose)
        run = NewtonRun(self.solver, part, max(COARSE_TOL, self.tol), None)
        while run.advance(1 << 30, 1.0) is Outcome.GOING:
            pass
        run.point()
        self.u = run.whole.u.copy()
        self.middle, self.width = True, max(float(run.whole.oracle.width), self.uncertainty(part.n))

    def uncertainty(self, rows: int) -> float:
        """The width at which the solution of a sample is near that of all rows: the error of a mean score."""
        return self.problem.scale * float(np.sqrt((self.problem.d + 1) / rows)) if self.kinked else 0.0

    # ---- steps --------------------------------------------------------------------------------------------

    def steps_at(self, u: np.ndarray) -> Steps:
        """The points and widths that determine the duals at u."""
        us = [each for each, _ in self.solved]
        widths = [width for _, width in self.solved]
        return Steps(np.array([*us, u]), np.array([*widths, self.width]), self.middle, self.constant)

    def ask(self, u: np.ndarray) -> Iterate:
        """A pass: the sums at u."""
        self.counters["passes"] += 1
        return Iterate(u, self.problem.blocks.run(sum_block, self.problem.pose, self.steps_at(u)))

    def advance(self, max_steps: int, seconds: float) -> Outcome:
        """Passes for about `seconds`, at most `max_steps`."""
        end, last = time.perf_counter() + seconds, self.n_iter + max_steps
        if self.current is None:
            self.current = self.ask(self.u)
        while True:
            if self.reached():
                return Outcome.DONE
            if self.n_iter >= last or time.perf_counter() >= end:
                return Outcome.GOING
            if self.kinked and self.is_solved():
                self.reduce_width()
            else:
                self.take_step()
            self.n_iter += 1
            if self.stall_detector.is_stalled(self.gap) or not np.isfinite(self.gap):
                return Outcome.STALLED

    def take_step(self) -> None:
        """A Newton step, shortened where the full one leads up.

        If the last step was too long, this one mostly is too: then the line is searched before the step is tried.
        """
        step = self.find_step()
        slope = float(self.gradient @ step)
        ahead = None if self.shortened else self.ask(self.u + step)
        if ahead is None or not self.is_lower(ahead, slope):
            low, t = self.search(step, slope)
            ahead = self.ask(self.u + t * step)
            if low < t and not self.value(ahead) <= self.value(self.current):
                ahead = self.ask(self.u + low * step)
            self.shortened = t < 1.0
        self.current, self.u = ahead, ahead.u

    def is_lower(self, ahead: Iterate, slope: float) -> bool:
        """Whether a full step lowered the value by enough."""
        return self.value(ahead) <= self.value(self.current) + SUFFICIENT_DECREASE_SHARE * slope

    def find_step(self) -> np.ndarray:
        """(R + Z' diag(l'') Z) step = -gradient, by Cholesky."""
        matrix = self.current.sums.matrix.copy()
        size = len(matrix)
        matrix[np.arange(size - 1), np.arange(size - 1)] += 1.0
        damping = abs(self.gradient[-1]) / (10.0 * self.problem.scale) + 1e-14 if self.free else 0.0
        matrix[-1, -1] += self.ridge + damping
        if matrix[-1, -1] <= 0.0:
            matrix[-1, -1] = 1.0  # no constant feature
        try:
            factor = factor_matrix(matrix, overwrite=False)
        except LinAlgError:
            matrix[np.arange(size), np.arange(size)] += 1e-10 * np.trace(matrix)
            factor = factor_matrix(matrix, overwrite=False)
        return -cho_solve(factor, self.gradient, check_finite=False)

    def search(self, step: np.ndarray, slope: float) -> tuple[float, float]:
        """A shorter length, and t <= 1 where the slope vanishes; one pass gives the slopes at all STEP_RATIOS."""
        self.counters["passes"] += 1
        found = self.problem.blocks.run(differentiate_block, self.problem.pose, self.steps_at(self.u), step)
        curve = float(step[:-1] @ step[:-1] + self.ridge * step[-1] ** 2)
        slopes = slope + float(self.current.sums.pulled @ step) - found.derivatives + STEP_RATIOS * curve
        slopes = np.where(np.isfinite(slopes), slopes, np.inf)
        below = np.flatnonzero(slopes <= 0)  # STEP_RATIOS fall, and so do the slopes
        k = int(below[0]) if len(below) else len(STEP_RATIOS) - 1
        low, at_low = float(STEP_RATIOS[k]), float(slopes[k])
        if k == 0 or len(below) == 0 or not np.isfinite(slopes[k - 1]):
            return low, low
        return low, low - at_low * (float(STEP_RATIOS[k - 1]) - low) / (float(slopes[k - 1]) - at_low)

    def reduce_width(self) -> None:
        """The method of multipliers: the duals found are the centres of narrower proximal terms."""
        self.solved.append((self.u, self.width))
        self.width *= WIDTH_FACTOR
        self.counters["widths"] += 1
        self.current = self.ask(self.u)

    # ---- distance from the optimum ------------------------------------------------------------------------

    def gradient_at(self, iterate: Iterate) -> np.ndarray:
        """R u - Z'a."""
        gradient = iterate.u - iterate.sums.pulled
        gradient[-1] += (self.ridge - 1.0) * iterate.u[-1]
        return gradient

    @property
    def gradient(self) -> np.ndarray:
        """The gradient at the current u."""
        return self.gradient_at(self.current)

    def penalty(self, u: np.ndarray) -> float:
        """1/2 |w|^2, and that of a regularised intercept."""
        return 0.5 * float(u[:-1] @ u[:-1] + self.ridge * u[-1] ** 2)

    def value(self, iterate: Iterate) -> float:
        """What a step must lower."""
        value = self.penalty(iterate.u) + iterate.sums.smooth
        return value if np.isfinite(value) else np.inf

    @property
    def primal(self) -> float:
        """P at u."""
        return self.penalty(self.u) + self.current.sums.losses

    @property
    def dual(self) -> float:
        """D at the duals, with b fixed: b times the imbalance of the duals is subtracted."""
        sums = self.current.sums
        price = self.u[-1] * sums.total if self.free else 0.0
        return -self.penalty(sums.pulled) - sums.conjugates - price

    @property
    def gap(self) -> float:
        """P - D."""
        return self.primal - self.dual

    def gradient_gap(self) -> float:
        """What the gradient adds to the gap: |g|^2 / 2, that of a free intercept over its curvature."""
        slope, tail = self.gradient[:-1], float(self.gradient[-1])
        last = 1.0 if not self.free else max(self.current.sums.second_derivatives, 1e-12)
        return 0.5 * float(slope @ slope) + 0.5 * tail * tail / last

    def is_solved(self) -> bool:
        """Whether the gradient is a small part of the gap: what is left is the width of the kinks."""
        return (
            self.gradient_gap() <= SOLVED_GRADIENT_SHARE * self.gap
            and self.width > MIN_RELATIVE_WIDTH * self.problem.scale
        )

    def reached(self) -> bool:
        """Whether the gap and the intercept's part in it are within tol."""
        limit = self.tol * max(abs(self.primal), abs(self.dual))
        tail = abs(self.gradient[-1]) * self.problem.scale if self.free else 0.0
        return self.gap <= 0.9 * limit and tail <= limit

    # ---- the contract of a run ----------------------------------------------------------------------------

    @cached_property
    def a(self) -> np.ndarray:
        """The duals are not kept."""
        return np.zeros(1)

    @property
    def support(self) -> int:
        """All rows."""
        return self.problem.n

    def progress(self, seconds: float) -> Progress:
        """The solver's own view of P and D."""
        if self.current is None:
            return Progress(self.n_iter, seconds, np.inf, -np.inf, 0)
        return Progress(self.n_iter, seconds, self.primal, self.dual, self.current.sums.curved)

    def point(self) -> BlockPoint:
        """w, the intercept, and the steps that determine the duals."""
        coef = self.u.copy()
        if self.free:
            coef[-1] = 0.0
        return BlockPoint(self.steps_at(self.u), float(self.u[-1]) if self.free else 0.0, coef)

    def refresh(self, scores) -> None:
        """The judge found a wider gap than the run did: aim at half of the current gap."""
        self.tol = 0.5 * min(self.tol, abs(self.gap) / max(abs(self.primal), 1e-300))

    def count(self) -> Counter:
        """Passes over the data, widths, and the bytes sent."""
        return Counter({**self.counters, **self.problem.blocks.counters})

    def pack(self) -> dict:
        """The state that a resumed run needs."""
        steps = self.steps_at(self.u)
        return {"u": steps.u, "widths": steps.widths, "middle": steps.middle, "n_iter": self.n_iter, "tol": self.tol}

    def unpack(self, state: dict) -> None:
        """Restore a packed state; the tolerance is that of this run."""
        *earlier, self.u = np.array(state["u"], float)
        *widths, self.width = (float(width) for width in state["widths"])
        self.solved = list(zip(earlier, widths, strict=True))
        self.middle, self.n_iter = bool(state["middle"]), int(state["n_iter"])


def join_rows(drawn: SampledRows, pose: BlockFormulation) -> Problem:
    """The problem of the sampled rows, one block under another."""
    X = sp.vstack(drawn.X, format="csr") if sp.issparse(drawn.X[0]) else np.concatenate(drawn.X)
    y, c = np.concatenate(drawn.y), np.concatenate(drawn.c)
    return Problem(Design(wrap(X), pose.scaling), y, c, pose.loss, 0.0 if pose.free else None)


def refuse_width(traits: Traits) -> str | None:
    """Why a second-order method cannot take so many features in blocks, or None."""
    if traits.form == "blocks" and traits.d > BLOCK_MATRIX_MAX_FEATURES:
        return f"adds up a matrix of the features over blocks, and {traits.d} are too many; use 'bundle'"
    return None
