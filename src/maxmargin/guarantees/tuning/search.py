"""The search over C: fits and interpolated anchors until the lower bound is high enough everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...contracts.solvers import Solver
from ...model.problem import Point
from ...runtime.deadline import Clock
from ...runtime.interrupt import Interrupt
from ...solvers.loop import solve
from .anchors import Anchor, interpolate, make_anchor
from .fold_machine import FoldMachine
from .proofs import ErrorFloor, Fold, bound_error, bound_error_at
from .result import ERROR_ROUNDING

FIRST_VALUES = 3  # values of C that are fitted before anything is known
TIGHTER_TOLERANCES = (1e-3, 1e-6)  # times tol: where a label at a fit is not decided, it is solved again
LEAST_WIDTH = 1e-9  # relative width of a range of C that is not split any further
LEAST_UNDECIDED_WIDTH = 0.02  # the same beside a fit whose labels are not decided
LEAST_SHARE = 1e-3  # of a range that is split, which each part has
UNDECIDED = "Some labels stay undecided: their intercept is not unique, or their score is close to zero."

LEAST_SECONDS = 1e-3  # for a fit that was begun


@dataclass(frozen=True, eq=False)
class Node:
    """One C: anchors of all machines of all folds, the error that they have and the one that they prove.

    `is_fitted` says whether the anchors are fits; what others have for an error counts for nothing.
    """

    C: float
    anchors: list[list[Anchor]]
    error: float
    proven_error: float
    is_fitted: bool = True


@dataclass(eq=False)
class CoverRun:
    """Nodes in the order of C, and the lower bound of the error between each two of them.

    Parameters
    ----------
    folds : sequence of Fold
    eps : float
        How far below the best error the lower bound may be.
    tol : float
        The certified relative gap of each fit.
    max_values : int
        Values of C that are fitted at most.
    clock : Clock
    interrupt : Interrupt
    solver : str or Solver
    """

    folds: Sequence[Fold]
    eps: float
    tol: float
    max_values: int
    clock: Clock
    interrupt: Interrupt
    solver: str | Solver = "auto"
    n_fits: int = 0
    worst_gap: float = 0.0
    nodes: list[Node] = field(default_factory=list)
    floors: list[ErrorFloor] = field(default_factory=list)

    @property
    def fitted(self) -> list[Node]:
        """The nodes that are fits."""
        return [node for node in self.nodes if node.is_fitted]

    @property
    def best(self) -> Node:
        """The fit with the least error; of several the one with the least C."""
        return min(self.fitted, key=lambda node: (node.error, node.C))

    @property
    def target(self) -> float:
        """What the lower bound must reach."""
        return self.best.error - self.eps - ERROR_ROUNDING

    @property
    def least(self) -> float:
        """The least value of the lower bound."""
        return min((floor.least for floor in self.floors), default=0.0)

    def run(self, low: float, high: float) -> str:
        """Cover [low, high]; a sentence says why it ended before that, or nothing."""
        for C in np.geomspace(low, high, FIRST_VALUES if high > low else 1):
            self.nodes.append(self.fit(float(min(max(C, low), high)), None))
        ends = zip(self.nodes[:-1], self.nodes[1:], strict=True) if high > low else [(self.nodes[0], self.nodes[0])]
        self.floors = [self.bound(first, second) for first, second in ends]
        reason = ""
        while not reason and self.least < self.target:
            reason = self.look_for_limit() or self.improve()
        return reason

    def look_for_limit(self) -> str:
        """A sentence if a limit is reached."""
        if self.interrupt:
            return "It was interrupted."
        if self.clock.is_late:
            return "max_seconds came first."
        return ""

    def improve(self) -> str:
        """Another node where the lower bound is least; a sentence if there can be none."""
        splittable = [k for k in range(len(self.floors)) if self.can_split(k)]
        if not splittable:
            return UNDECIDED
        k = min(splittable, key=lambda place: self.floors[place].least)
        first, second = self.nodes[k], self.nodes[k + 1]
        C = self.choose_split(k)
        node = self.make_between(first, second, C)
        if node.proven_error < self.target:
            if len(self.fitted) >= self.max_values:
                return f"max_values={self.max_values} came first."
            node = self.fit(C, node)
        self.nodes.insert(k + 1, node)
        self.floors[k : k + 1] = [self.bound(first, node), self.bound(node, second)]
        return ""

    def can_split(self, k: int) -> bool:
        """Whether another node may raise the lower bound between nodes k and k + 1.

        At a fit whose labels are not decided, as where the intercept is not, nothing helps: its surroundings are
        narrowed down from the side where they are.
        """
        if not (self.floors[k].least < self.target and k + 1 < len(self.nodes)):
            return False
        ends = self.nodes[k : k + 2]
        undecided = sum(node.is_fitted and node.proven_error < self.target for node in ends)
        width = LEAST_WIDTH if undecided == 0 else LEAST_UNDECIDED_WIDTH
        return undecided < 2 and ends[0].C * (1.0 + width) < ends[1].C

    def choose_split(self, k: int) -> float:
        """The middle, on a logarithmic scale, of the range in which the lower bound is too low, or of all of it."""
        first, second = self.nodes[k].C, self.nodes[k + 1].C
        low, high = self.floors[k].find_gap(self.target)
        C = float(np.sqrt(low) * np.sqrt(high))
        inner = LEAST_SHARE * (second - first)
        return C if first + inner < C < second - inner else float(np.sqrt(first) * np.sqrt(second))

    def make_between(self, first: Node, second: Node, C: float) -> Node:
        """A node without a fit."""
        pairs = zip(first.anchors, second.anchors, strict=True)
        anchors = [[interpolate(low, high, C) for low, high in zip(*pair, strict=True)] for pair in pairs]
        return Node(C, anchors, np.nan, bound_error_at(self.folds, anchors), is_fitted=False)

    def fit(self, C: float, start: Node | None) -> Node:
        """All machines at C, solved further where labels are not decided that the target needs."""
        node = self.solve_all(C, start, self.tol)
        for share in TIGHTER_TOLERANCES:
            best = min([self.best.error, node.error]) if self.nodes else node.error
            if self.interrupt or node.proven_error >= best - self.eps - ERROR_ROUNDING:
                break
            node = self.solve_all(C, node, share * self.tol)
        return node

    def solve_all(self, C: float, start: Node | None, tol: float) -> Node:
        """All machines at C, from the anchors of a node."""
        anchors = []
        for place, fold in enumerate(self.folds):
            starts = [None] * len(fold.machines) if start is None else start.anchors[place]
            anchors.append(
                [self.solve(machine, C, own, tol) for machine, own in zip(fold.machines, starts, strict=True)]
            )
        error = np.mean([np.mean(fold.find_errors(own)) for fold, own in zip(self.folds, anchors, strict=True)])
        return Node(C, anchors, float(error), bound_error_at(self.folds, anchors))

    def solve(self, machine: FoldMachine, C: float, start: Anchor | None, tol: float) -> Anchor:
        """One machine at C."""
        self.n_fits += 1
        warm = None
        if start is not None:
            warm = Point(start.a, start.b, start.weights.coef if machine.features.linear else None)
        left = None if self.clock.left == np.inf else max(self.clock.left, LEAST_SECONDS)
        result = solve(machine.problem(C), self.solver, tol=tol, warm=warm, max_seconds=left, interrupt=self.interrupt)
        if result.certificate.convex is False:
            raise ValueError("certify_tuning needs a positive semidefinite kernel, and this one is not.")
        self.worst_gap = max(self.worst_gap, result.certificate.relative_gap)
        return make_anchor(machine, C, result.point)

    def bound(self, first: Node, second: Node) -> ErrorFloor:
        """The lower bound between two nodes."""
        return bound_error(self.folds, first.anchors, second.anchors)
