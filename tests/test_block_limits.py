"""Data in blocks that are slow to come: budgets and Ctrl-C end a pass, not only a fit."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from block_problems import make_data, pose_in_blocks
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin import LinearSVC
from maxmargin.blocks import ArrayBlocks
from maxmargin.blocks.problem import BlockProblem
from maxmargin.blocks.survey import survey_block
from maxmargin.model.losses import LOSSES
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import Status

pytestmark = pytest.mark.usefixtures("own_clock")


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


@pytest.mark.slow
def test_a_budget_holds_with_slow_blocks():
    """max_seconds ends the fit between two blocks, and the certificate still comes."""
    solve(slow_problem(), max_iter=1)  # loads what is compiled
    watch = OwnTimer()
    result = solve(slow_problem(), tol=1e-12, max_seconds=1.5)
    assert watch.seconds < 2.5 + SLACK_SECONDS
    assert result.status is Status.MAX_SECONDS
    assert np.isfinite(result.certificate.relative_gap)


def test_an_interrupt_ends_a_pass():
    """Ctrl-C does not wait for the end of the data, nor for a certificate that takes two passes."""
    flag = Interrupt()
    timer = threading.Timer(0.7, lambda: setattr(flag, "raised", True))
    timer.start()
    watch = OwnTimer()
    result = solve(slow_problem(), tol=1e-12, interrupt=flag)
    assert watch.seconds < 1.5 + SLACK_SECONDS
    assert result.status is Status.INTERRUPTED
    assert result.certificate.relative_gap == np.inf
    assert "no time to judge the point" in result.message


class StalledBlocks(ArrayBlocks):
    """Blocks of a disk that stalls: in the third pass the second block does not come before the test says so."""

    def __init__(self, X, y, rows):
        super().__init__(X, y, rows=rows)
        self.event = threading.Event()

    def load(self, number):
        """Wait where it stalls, then load."""
        if number == 1 and self.counters["passes"] >= 2:
            self.event.wait(60)
        return super().load(number)


def test_a_disk_that_stalls_is_left():
    """Ctrl-C and max_seconds do not wait for a block that does not come."""
    loss = LOSSES["hinge"]()
    X, y = make_data(loss)
    problem = pose_in_blocks(X, y, loss, "free", 10)
    stalled = StalledBlocks(X, y, problem.blocks.rows)
    flag, watch = Interrupt(), OwnTimer()
    timer = threading.Timer(0.3, lambda: setattr(flag, "raised", True))
    timer.start()
    result = solve(BlockProblem(stalled, problem.pose, problem.survey, problem.weight), tol=1e-12, interrupt=flag)
    assert watch.seconds < 1.5 + SLACK_SECONDS
    assert result.status is Status.INTERRUPTED
    stalled.event.set()
    fetchers = [thread for thread in threading.enumerate() if thread.name == "maxmargin-fetch"]
    for thread in fetchers:
        thread.join(timeout=60.0)
        assert not thread.is_alive()


def test_ctrl_c_ends_the_first_pass():
    """While the data are surveyed there is nothing to keep: KeyboardInterrupt at once, and nothing is fitted."""
    X, y = make_data(LOSSES["hinge"]())
    slow, machine = SlowBlocks(X, y, rows=3), LinearSVC()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    watch = OwnTimer()
    try:
        with pytest.raises(KeyboardInterrupt):
            machine.fit(slow)
        assert watch.seconds < 0.5 + SLACK_SECONDS  # a pass takes six seconds
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert not hasattr(machine, "coef_")
    assert slow.counters["passes"] == 0
