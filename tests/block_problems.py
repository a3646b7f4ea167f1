"""Problems over blocks beside the same problems in memory."""

from __future__ import annotations

import numpy as np

from maxmargin.blocks import ArrayBlocks
from maxmargin.blocks.problem import BlockFormulation, BlockProblem, Targets
from maxmargin.blocks.survey import survey_block
from maxmargin.model.features import Design
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap

N, D = 900, 6
INTERCEPTS = {"free": (True, 0.0), "regularised": (False, 1.0), "none": (False, 0.0)}


def make_data(loss, seed: int = 0):
    """Rows and the kind of targets that the loss is for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    z = X @ rng.normal(size=D) + 0.5 * rng.normal(size=N) + 0.3
    if loss.target == "label":
        return X, np.where(z > 0, 1.0, -1.0)
    return X, np.round(np.exp(0.3 * z)) if loss.target == "count" else 3.0 * z + 5.0


def pose_in_blocks(X, y, loss, intercept: str, n_blocks: int = 3, C: float = 0.5) -> BlockProblem:
    """The problem over so many blocks."""
    free, scaling = INTERCEPTS[intercept]
    blocks = ArrayBlocks(X, y, rows=-(-len(y) // n_blocks))
    survey = blocks.run(survey_block, loss.target)
    assert survey.fault == ""
    classes = survey.labels if loss.target == "label" else None
    targets = Targets(C, classes, None if classes is None else 1)
    return BlockProblem(blocks, BlockFormulation(targets, loss, free, scaling), survey, C * survey.weight)


def pose_in_memory(X, y, loss, intercept: str, C: float = 0.5) -> Problem:
    """The same problem over all rows at once."""
    free, scaling = INTERCEPTS[intercept]
    return Problem(Design(wrap(X), scaling), y, np.full(len(y), C), loss, 0.0 if free else None)
