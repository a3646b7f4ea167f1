"""The rules of the clock: the best of three runs, more if they are brief, one if it is long, and a limit for all."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

from .idle_cores import wait_for_idle_cores

LONG = 5.0  # seconds; what takes longer is run once
RUNS = 3
# What takes less than the first is run again and again for so many seconds, so that caches and clock rate are those of
# a program at work, not of one that has just woken up.
BRIEF, BRIEF_RUNS_SECONDS = 0.1, 0.5


def read_limit() -> float:
    """The seconds that one fit may be expected to take, from the environment variable LIMIT."""
    return float(os.environ.get("LIMIT", 600))


def time_once(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one run and what it returned; that a fit stopped early is left to the gap to tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        outcome = action()
        return time.perf_counter() - began, outcome


def time_best(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the best of several runs, of the only one if it was LONG, and what the last one returned."""
    wait_for_idle_cores()
    best, outcome = time_once(action)
    for _ in range(count_runs(best) - 1):
        outcome = None  # two fitted models at once would double the memory
        if best > BRIEF:
            wait_for_idle_cores()
        seconds, outcome = time_once(action)
        best = min(best, seconds)
    return best, outcome


def count_runs(seconds: float) -> int:
    """How often an action that took so many seconds is run."""
    if seconds > LONG:
        return 1
    return max(RUNS, int(BRIEF_RUNS_SECONDS / seconds)) if seconds <= BRIEF else RUNS
