"""The one problem over blocks: posed on each block by itself, summed over all.

    minimise over (w, b)   P = 1/2 |w|^2 + sum over blocks of sum_i c_i l(f_i; y_i)

Everything of the size of n stays with the blocks. What travels are points of the size of w, and sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..contracts.blocks import Block, Blocks
from ..contracts.traits import Traits
from ..model.features import ClassDesign, Design
from ..model.losses import Loss
from ..model.problem import FLOOR, TINY, Problem
from ..model.samples import wrap
from ..runtime.interpreter import cached_property
from .survey import Survey, zero_tiny_weights


@dataclass(frozen=True, eq=False)
class Targets:
    """How the targets and weights of a block become y and c.

    Attributes
    ----------
    C : float
        c_i = C times sample weight times class weight.
    classes : ndarray or None
        The labels of y; None for real targets.
    positive : int or None
        The class that is +1, all others being -1; None if all classes are solved as one.
    class_weight : ndarray or None
        A factor for each class.
    """

    C: float
    classes: np.ndarray | None = None
    positive: int | None = None
    class_weight: np.ndarray | None = None

    def read(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """y and c of a block."""
        c = np.full(block.X.shape[0], self.C)
        if block.weight is not None:
            c *= zero_tiny_weights(np.asarray(block.weight, float))
        if self.classes is None:
            return np.asarray(block.y, float), c
        if self.positive is not None and (self.class_weight is None or (self.class_weight == 1.0).all()):
            return np.where(np.asarray(block.y) == self.classes[self.positive], 1.0, -1.0), c
        index = np.searchsorted(self.classes, np.asarray(block.y))
        if self.class_weight is not None:
            c *= self.class_weight[index]
        return (index.astype(float) if self.positive is None else np.where(index == self.positive, 1.0, -1.0)), c


@dataclass(frozen=True, eq=False)
class BlockFormulation:
    """All that a worker must know to pose the problem of its block."""

    targets: Targets
    loss: Loss
    free: bool
    scaling: float = 0.0
    n_classes: int | None = None

    def pose(self, block: Block) -> Problem:
        """The problem of one block alone."""
        y, c = self.targets.read(block)
        # Dense float32 is widened once: strip by strip, for every product, that took a fifth of a pass.
        X = block.X if sp.issparse(block.X) else block.X.astype(np.float64, copy=False)
        features = Design(wrap(X), self.scaling)
        if self.n_classes is None:
            return Problem(features, y, c, self.loss, 0.0 if self.free else None)
        balance = np.zeros(self.n_classes) if self.free else None
        return Problem(ClassDesign(features, self.n_classes), y, c, self.loss, balance)


class BlockPoint(NamedTuple):
    """w and b as coefficients, and the duals as a recipe: a.duals(problem of a block) gives those of its rows."""

    a: Any
    b: float | np.ndarray
    coef: np.ndarray


class ZeroDuals(NamedTuple):
    """All duals at zero."""

    def duals(self, problem: Problem) -> np.ndarray:
        """0."""
        return np.zeros(problem.shape)


@dataclass(frozen=True, eq=False)
class BlockProblem:
    """P over all blocks. `survey` is what the first pass found; `weight` is the sum of all c."""

    blocks: Blocks
    pose: BlockFormulation
    survey: Survey
    weight: float
    floor = FLOOR
    supports_close_certificate = True

    @property
    def loss(self) -> Loss:
        """The row of the loss table."""
        return self.pose.loss

    @property
    def n(self) -> int:
        """Rows that count."""
        return self.survey.n

    @property
    def d(self) -> int:
        """Features."""
        return self.survey.d

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the coefficients: w and the constant feature, one row per class."""
        return (self.d + 1,) if self.pose.n_classes is None else (self.pose.n_classes, self.d + 1)

    @cached_property
    def traits(self) -> Traits:
        """What kind of problem it is."""
        many = self.pose.n_classes
        return Traits(
            form="blocks",
            n_scores=1 if many is None else many,
            vector=many is not None,
            piecewise=many is None and self.loss.row(np.ones(1), np.ones(1)) is not None,
            kinked=self.kinked,
            exponential=self.loss.grows_exponentially,
            loss=self.loss.name,
            structure=self.loss.structure,
            target=self.loss.target,
            free_intercept=self.pose.free,
            n=self.n,
            d=self.d,
        )

    @property
    def kinked(self) -> bool:
        """Whether the loss has a row without curvature."""
        row = None if self.pose.n_classes else self.loss.row(np.ones(1), np.ones(1))
        return row is not None and row.d[0] <= 0

    @property
    def labelled(self) -> bool:
        """Whether targets are classes."""
        return self.pose.targets.classes is not None

    @cached_property
    def centre(self) -> float:
        """The mean of real targets; 0 for labels."""
        return 0.0 if self.labelled or self.loss.target != "real" else self.survey.mean / max(self.survey.weight, TINY)

    @cached_property
    def scale(self) -> float:
        """How far scores may have to go: 1 for labels, the spread of the targets for regression."""
        if self.labelled or self.loss.target != "real":
            return 1.0
        middle = self.centre if self.pose.free else 0.0
        spread = self.survey.square / max(self.survey.weight, TINY) - 2.0 * middle * self.survey.mean / max(
            self.survey.weight, TINY
        )
        spread = float(np.sqrt(max(spread + middle**2, 0.0)))
        size = self.survey.size / max(self.survey.weight, TINY)
        return max(spread, 1e-12 * size) or 1.0

    def measure_pace(self) -> None:
        """Nothing: every pass is timed."""

    def estimate_seconds(self, support: int) -> float:
        """How long a certificate takes: about two passes."""
        return 2.5 * self.blocks.seconds

    def origin(self, warm: BlockPoint | None) -> BlockPoint:
        """Where a run stands before its first step."""
        if warm is not None:
            return warm
        k = self.pose.n_classes
        return BlockPoint(ZeroDuals(), 0.0 if k is None or not self.pose.free else np.zeros(k), np.zeros(self.shape))

    def fingerprint(self) -> dict[str, str | int | float]:
        """Which problem it is; not in how many blocks the rows come, nor in which order: neither changes P."""
        intercept = "free" if self.pose.free else f"{self.pose.scaling:g}"
        positive = -1 if self.pose.targets.positive is None else self.pose.targets.positive
        return {
            "loss": repr(self.loss), "rows": self.n, "features": self.d, "weight": float(f"{self.weight:.12g}"),
            "intercept": intercept, "class": positive, "sum_of_X": self.survey.rows, "sum_of_y": self.survey.targets,
            "sum_of_both": self.survey.target_correlation,
        }  # fmt: skip
