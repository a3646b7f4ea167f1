"""How fast a run gets on with its work, measured while it works: processor, load and data all count."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DECAY_FACTOR = 0.8  # of what was measured before is kept at each new measurement
MAX_WEIGHT_SECONDS = 0.2  # that one measurement counts for at most: a long one must not outweigh what comes after it
STALE_SECONDS, STALE_COST_FACTOR = 1.0, 40  # a pace is measured again after so long, and so many times what that took


class Pace:
    """seconds / work over the last measurements, older ones counting less and less."""

    def __init__(self):
        self.seconds = self.work = 0.0
        self.last, self.cost = -float("inf"), 0.0  # when it was measured last, and the seconds of the last sample

    def note(self, seconds: float, work: float) -> None:
        """So much work took so many seconds."""
        share = min(1.0, MAX_WEIGHT_SECONDS / seconds) if seconds > 0 else 1.0
        self.seconds = DECAY_FACTOR * self.seconds + share * seconds
        self.work = DECAY_FACTOR * self.work + share * work
        self.last = time.perf_counter()

    @contextmanager
    def measure(self, work: float) -> Iterator[None]:
        """Note the time of what is within this context; nothing if it is no work, or does not come to its end."""
        began = time.perf_counter()
        yield
        if work > 0:
            self.note(time.perf_counter() - began, work)

    def sample(self, run: Callable[[], object], work: float, seconds: float) -> None:
        """Call run(), which is so much work, for about so many seconds, and note them.

        The very first call is not counted: it may load compiled code, and touches memory for the first time.
        """
        if self.work == 0.0:
            run()
        began, times = time.perf_counter(), 0
        while times == 0 or time.perf_counter() - began < seconds:
            run()
            times += 1
        self.cost = time.perf_counter() - began
        self.note(self.cost, times * work)

    @property
    def is_stale(self) -> bool:
        """Whether the last measurement is long ago, or there is none: other programs come and go."""
        return time.perf_counter() - self.last > max(STALE_SECONDS, STALE_COST_FACTOR * self.cost)

    def estimate(self, work: float) -> float:
        """Seconds that so much work takes; 0 where nothing was measured yet."""
        return work * self.seconds / self.work if self.work > 0 else 0.0
