"""Data in blocks that are slow to come: budgets and Ctrl-C end a pass, not only a fit."""

from __future__ import annotations

import threading
import time

import numpy as np
from block_problems import make_data, pose_in_blocks

from maxmargin.blocks import ArrayBlocks
from maxmargin.blocks.problem import BlockProblem
from maxmargin.blocks.survey import survey_block
from maxmargin.interrupt import Interrupt
from maxmargin.loop import solve
from maxmargin.losses import LOSSES
from maxmargin.result import Status


class SlowBlocks(ArrayBlocks):
    """Blocks that take their time."""

    delay = 0.02

    def load(self, number):
        """Wait, then load."""
        time.sleep(self.delay)
        return super().load(number)


def slow_problem(tol_blocks: int = 10) -> BlockProblem:
    """A hinge problem whose passes take a fifth of a second."""
    loss = LOSSES["hinge"]()
    X, y = make_data(loss)
    problem = pose_in_blocks(X, y, loss, "free", tol_blocks)
    slow = SlowBlocks(X, y, rows=problem.blocks.rows)
    slow.run(survey_block, "label")
    return BlockProblem(slow, problem.pose, problem.survey, problem.weight)


def test_a_budget_holds_with_slow_blocks():
    """max_seconds ends the fit between two blocks, and the certificate still comes."""
    began = time.perf_counter()
    result = solve(slow_problem(), tol=1e-12, max_seconds=1.5)
    assert time.perf_counter() - began < 2.5
    assert result.status is Status.MAX_SECONDS
    assert np.isfinite(result.certificate.relative_gap)


def test_an_interrupt_ends_a_pass():
    """Ctrl-C does not wait for the end of the data, nor for a certificate that takes two passes."""
    flag = Interrupt()
    timer = threading.Timer(0.7, lambda: setattr(flag, "raised", True))
    timer.start()
    began = time.perf_counter()
    result = solve(slow_problem(), tol=1e-12, interrupt=flag)
    assert time.perf_counter() - began < 1.5
    assert result.status is Status.INTERRUPTED
    assert result.certificate.relative_gap == np.inf
    assert "no time to judge the point" in result.message
