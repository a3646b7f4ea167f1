"""The seconds that tests grant, and a clock that does not count what other programs took away.

On a busy machine a fit with a budget of half a second may end after four: it was ready to run, and others had the
cores. Linux counts that time for each thread. A test that asks whether a fit ended in time asks an `OwnTimer`, so that
it says the same on an idle machine and on a busy one. Where a test asks what a fit had time for, the fit itself looks
at such a clock: `OwnClock`, by the fixture `own_clock`. How many seconds of the clock on the wall a budget takes, idle
and busy, is measured by `python -m benchmarks budgets`.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

SLACK_SECONDS = 3.0  # for what the timer does not see: disks, caches, hosts of virtual machines
HANG_SECONDS = 300.0  # after which a test ends that would run for ever; none asserts that it takes less
THREADS = Path("/proc/self/task")  # of this process, where the system has such a folder
MAIN_THREAD = Path("/proc/self/schedstat")


class OwnTimer:
    """Seconds since it was made, without those for which a thread of this process waited for a core.

    Threads may wait at the same time, so only the longest wait of one of them is left out.
    """

    def __init__(self):
        self.began, self.waited = perf_counter(), read_waits()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        elapsed = perf_counter() - self.began
        waits = (seconds - self.waited.get(thread, 0.0) for thread, seconds in read_waits().items())
        return elapsed - min(max(waits, default=0.0), elapsed)


def read_waits() -> dict[str, float]:
    """For each thread, the seconds for which it was ready to run and others had the cores; empty if not known."""
    waits = {}
    for thread in THREADS.glob("*/schedstat"):
        try:
            waits[thread.parent.name] = 1e-9 * int(thread.read_text().split()[1])
        except (OSError, IndexError, ValueError):  # the thread has ended, or the system does not count
            continue
    return waits


class OwnClock:
    """`time.perf_counter` without the seconds for which the main thread waited for a core; it never goes back."""

    def __init__(self):
        self.latest = perf_counter()
        self.waits = os.open(MAIN_THREAD, os.O_RDONLY) if MAIN_THREAD.exists() else None
        self.waited = self.read_wait()

    def __call__(self) -> float:
        """Seconds since some moment."""
        self.latest = max(self.latest, perf_counter() - (self.read_wait() - self.waited))
        return self.latest

    def read_wait(self) -> float:
        """Seconds for which the main thread was ready to run and others had the cores; 0 if not known."""
        return 0.0 if self.waits is None else 1e-9 * int(os.pread(self.waits, 100, 0).split()[1])


OWN_CLOCK = OwnClock()  # one for all tests, and never closed: libraries that are first loaded in a test keep it
