"""When a solve must end: its budget of seconds, of which the last certificate takes a part, and Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from .interrupt import Interrupt

INTERRUPT_RESPONSE_SECONDS = 0.13  # after Ctrl-C within which the last certificate must be there
# A certificate begun in time may end so long after the budget: a constant, and a share of the budget. On a busy machine
# no certificate takes exactly the time that was held back for it.
GRACE_SECONDS, GRACE_SHARE = 0.25, 0.06
RESERVE_FACTOR = 1.1  # times the seconds a certificate is expected to take are held back for it


class Clock:
    """The seconds of a solve, and those that are left of its budget."""

    def __init__(self, budget: float | None):
        self.began, self.budget = time.perf_counter(), float("inf") if budget is None else budget

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Of the budget."""
        return self.budget - self.seconds

    @property
    def is_late(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    @property
    def latest(self) -> float:
        """The seconds after which no certificate may end: those of the budget and its grace."""
        return self.budget + GRACE_SECONDS + GRACE_SHARE * self.budget


class Stopwatch(Clock):
    """A clock that runs only while it is told to."""

    def __init__(self, budget: float | None):
        super().__init__(budget)
        self.counted = 0.0

    @property
    def seconds(self) -> float:
        """While it was running."""
        return self.counted

    @contextmanager
    def running(self) -> Iterator[None]:
        """Within this context the seconds are counted."""
        began = time.perf_counter()
        yield
        self.counted += time.perf_counter() - began


class Deadline(Clock):
    """left = budget - seconds so far - seconds of the last certificate, at the pace measured on this run.

    A certificate that could not end within the budget and its grace is given up, and its time goes to the solver: the
    point is then returned without one.
    """

    def __init__(self, problem, budget: float | None, interrupted: Interrupt):
        super().__init__(budget)
        self.problem, self.interrupted = problem, interrupted
        self.reserve = 0.0  # seconds that are held back for the last certificate
        self.support, self.looked = 0, self.began  # of the run when that was last settled, and the moment

    @property
    def left(self) -> float:
        """Of the budget, without what is held back."""
        return super().left - self.reserve

    def should_stop(self) -> bool:
        """Whether the solver is to stop."""
        return bool(self.interrupted) or self.is_late

    def reserve_certificate_time(self, run) -> None:
        """Hold back the time of the last certificate, and that of the steps before it.

        The next steps are expected to take as long as the last ones did, and to add as much support.
        """
        if self.budget == float("inf"):
            return
        self.problem.measure_pace()
        support, now = run.support, time.perf_counter()
        grown, passed = max(support - self.support, 0), now - self.looked
        self.support, self.looked = support, now
        affordable = self.seconds + self.estimate_certificate_seconds(run, support) <= self.latest
        expected = self.estimate_certificate_seconds(run, support + grown)
        self.reserve = RESERVE_FACTOR * expected + min(passed, expected, 0.25 * self.budget) if affordable else 0.0

    def estimate_certificate_seconds(self, run, support: int) -> float:
        """Seconds of a certificate for the point of a run with so much support."""
        return self.problem.estimate_seconds(support) + run.reserve

    def has_time_to_certify(self, run, times: float = 1.0) -> bool:
        """Whether a certificate of the point of a run, or one that takes `times` as long, would be there in time."""
        return self.has_time_for(times * self.estimate_certificate_seconds(run, run.support))

    def has_time_for(self, seconds: float) -> bool:
        """Whether a certificate that takes so long would be there in time: soon after Ctrl-C, or with the budget."""
        if self.interrupted:
            return self.interrupted.measure_wait() + seconds <= INTERRUPT_RESPONSE_SECONDS
        return self.seconds + seconds <= self.latest
