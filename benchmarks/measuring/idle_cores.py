"""Waiting until other processes leave the cores: with QUIET=60 a timing waits so many seconds for it, at most."""

from __future__ import annotations

import os
import time
from pathlib import Path

SAMPLING_SECONDS = 0.2  # seconds
TOLERATED_CORES = 0.15  # cores that others may use


def count_busy() -> float | None:
    """Seconds that all cores together have worked since the start of the machine; None where Linux does not tell."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    user, nice, system, _, _, interrupts, soft, stolen = map(int, fields[1:9])
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def measure_others(seconds: float = SAMPLING_SECONDS) -> float:
    """The cores that other processes use, by a look of so many seconds."""
    began, busy, own = time.perf_counter(), count_busy(), time.process_time()
    if busy is None:
        return 0.0
    time.sleep(seconds)
    return (count_busy() - busy - (time.process_time() - own)) / (time.perf_counter() - began)


def wait_for_idle_cores() -> None:
    """Return when others are quiet, or when the environment variable QUIET says that it was long enough."""
    max_wait_seconds, began = float(os.environ.get("QUIET", 0)), time.perf_counter()
    while time.perf_counter() - began < max_wait_seconds and measure_others() > TOLERATED_CORES:
        pass
