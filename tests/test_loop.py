"""The one loop and the one rule for standing still, with work that is none."""

from __future__ import annotations

import time

import pytest

from maxmargin.runtime.deadline import Clock, Stopwatch
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.solvers.advancing import Advancing
from maxmargin.solvers.loop import advance_to_end
from maxmargin.solvers.result import Outcome, Status
from maxmargin.solvers.stalling import RareLookStallDetector, StallDetector


class Counting(Advancing):
    """Work that counts its steps, and has reached its goal after so many."""

    def __init__(self, goal: float = float("inf"), steps_per_slice: int = 3, interrupt_after: float = float("inf")):
        self.n_iter, self.goal, self.steps_per_slice = 0, goal, steps_per_slice
        self.interrupt, self.interrupt_after = Interrupt(), interrupt_after
        self.asked, self.saved = [], 0

    def advance(self, max_steps, seconds):
        """A few steps."""
        self.n_iter += min(max_steps, self.steps_per_slice)
        self.interrupt.raised = self.n_iter >= self.interrupt_after
        return Outcome.DONE if self.n_iter >= self.goal else Outcome.GOING

    def progress(self, seconds, watched):
        """The number of steps, and whether it will be seen."""
        return self.n_iter, watched

    def decide(self, outcome):
        """Converged where the goal is reached."""
        self.asked.append(outcome)
        return Status.CONVERGED if self.n_iter >= self.goal else None

    def save_periodically(self):
        """Count."""
        self.saved += 1


def follow(work: Counting, **options):
    """The work through the loop, with a minute of time."""
    return advance_to_end(work, Clock(options.pop("max_seconds", 60.0)), work.interrupt, **options)


def test_a_goal_ends_the_work():
    """Each slice has its line, is decided upon and saved; before the first one the work is asked, too."""
    work = Counting(goal=7)
    assert follow(work) == (Status.CONVERGED, [(3, False), (6, False), (9, False)])
    assert work.asked == [Outcome.GOING, Outcome.GOING, Outcome.GOING, Outcome.DONE]
    assert work.saved == 3


def test_work_that_is_done_takes_no_step():
    """What is within its goal at the start ends there, whatever the limits are."""
    work = Counting(goal=0)
    assert follow(work, max_iter=0, max_seconds=0.0) == (Status.CONVERGED, [])
    assert work.n_iter == work.saved == 0


@pytest.mark.parametrize(("limit", "last"), [(0, 0), (1, 1), (3, 3), (7, 7)])
def test_max_iter_is_kept_to_the_step(limit, last):
    """The last slice is as short as the limit asks for."""
    work = Counting()
    assert follow(work, max_iter=limit)[0] is Status.MAX_ITER
    assert work.n_iter == last


def test_a_callback_ends_the_work():
    """It sees every line, and a true return value comes before what the work would decide."""
    seen, work = [], Counting(goal=6)
    status, history = follow(work, callback=lambda line: seen.append(line) or len(seen) == 2)
    assert status is Status.STOPPED
    assert seen == history == [(3, True), (6, True)]
    assert work.asked == [Outcome.GOING, Outcome.GOING]
    assert work.saved == 2


def test_no_time_and_ctrl_c():
    """Ctrl-C comes before the clock, and the clock before the iterations."""
    assert follow(Counting(), max_seconds=0.0, max_iter=0)[0] is Status.MAX_SECONDS
    work = Counting(interrupt_after=3)
    assert follow(work, max_iter=3)[0] is Status.INTERRUPTED
    assert work.n_iter == 3


def test_a_stopwatch_counts_while_it_runs():
    """The judge's time is not that of the run."""
    watch = Stopwatch(10.0)
    time.sleep(0.002)
    assert watch.seconds == 0.0
    with watch.running():
        time.sleep(0.002)
    counted = watch.seconds
    assert counted >= 0.002
    time.sleep(0.002)
    assert watch.seconds == counted
    assert watch.left == 10.0 - counted
    assert not watch.is_late


# ---- standing still -----------------------------------------------------------------------------------------------


def test_small_falls_add_up():
    """The gap is compared with that at the last progress: a fall of a tenth in three looks is progress."""
    detector = StallDetector(3)
    assert not any(detector.is_stalled(0.95**k) for k in range(100))
    standing = [detector.is_stalled(detector.best) for _ in range(3)]
    assert standing == [False, False, True]


def test_a_gap_that_turns_negative_and_grows_is_no_progress():
    """P < D is a rounding error."""
    detector = StallDetector(2)
    assert not detector.is_stalled(1.0)
    assert not detector.is_stalled(-2.0)
    assert detector.is_stalled(-3.0)


def test_no_number_is_a_stall():
    """At once."""
    assert StallDetector(100).is_stalled(float("nan"))


def test_looks_that_count_for_several():
    """Ten at once, and none at all; progress gives all of them back."""
    detector = StallDetector(30)
    assert not detector.count(False, looks=29)
    assert not detector.count(False, looks=0)
    assert not detector.count(True)
    assert not detector.count(False, looks=29)
    assert detector.count(False)
    detector.count(True)
    detector.exhaust()
    assert detector.exhausted


def test_other_factors():
    """How much the gap must fall is a parameter."""
    strict = StallDetector(1, fall_factor=0.5)
    assert not strict.is_stalled(1.0)
    assert strict.is_stalled(0.6)


def test_rare_looks():
    """Too many iterations since the last fall are a stall, however few looks there were."""
    detector = RareLookStallDetector(100, iteration_factor=2, extra_iterations=10)
    assert not detector.is_stalled_at(10, 1.0)
    assert not detector.is_stalled_at(30, 0.99)
    assert detector.is_stalled_at(31, 0.99)
    assert not detector.is_stalled_at(31, 0.5)
    assert not detector.is_stalled_at(72, 0.5)
    assert detector.is_stalled_at(73, 0.5)
