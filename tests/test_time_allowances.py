"""The clocks of the tests count the seconds of this process, and not those for which other programs had the cores."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
import time_allowances
from time_allowances import MAIN_THREAD, OWN_CLOCK, OwnClock, OwnTimer


@pytest.fixture
def stolen(monkeypatch) -> dict[str, float]:
    """Seconds that other programs take from each thread, to be changed by the test."""
    waits = {"1": 5.0, "2": 0.0}
    monkeypatch.setattr(time_allowances, "read_waits", lambda: dict(waits))
    return waits


def test_a_timer_leaves_out_the_longest_wait_of_a_thread(stolen):
    """Waits before it was made do not count, those of several threads count once, and nothing is counted twice."""
    watch = OwnTimer()
    watch.began -= 10.0
    assert watch.seconds >= 10.0
    stolen["1"], stolen["2"] = 8.0, 4.0
    assert 6.0 <= watch.seconds < 10.0
    stolen["3"] = 100.0
    assert watch.seconds == 0.0


def test_an_own_clock_counts_what_a_process_does():
    """A nap is counted in full, and the clock never goes back."""
    began = OWN_CLOCK()
    time.sleep(0.05)
    readings = [OWN_CLOCK() for _ in range(1000)]
    assert readings[0] - began >= 0.045
    assert all(first <= second for first, second in pairwise(readings))


@pytest.mark.skipif(not MAIN_THREAD.exists(), reason="the system does not count the seconds for which threads wait")
def test_an_own_clock_leaves_out_waits(monkeypatch):
    """Seconds for which the main thread was ready to run are not counted."""
    clock = OwnClock()
    began = clock()
    monkeypatch.setattr(time_allowances, "perf_counter", lambda: began + 10.0)
    monkeypatch.setattr(clock, "read_wait", lambda: clock.waited + 7.0)
    assert clock() - began == pytest.approx(3.0)


@pytest.mark.usefixtures("own_clock")
def test_fits_look_at_the_own_clock():
    """The fixture replaces the clock that budgets are kept by."""
    assert time.perf_counter is OWN_CLOCK
