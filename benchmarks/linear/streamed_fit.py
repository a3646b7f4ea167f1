"""Time and memory of one linear fit on a memory-mapped file: python -m benchmarks.linear.streamed_fit folder loss n.

Pages of the file are the data, and the system may drop them; what counts is the anonymous memory. Linux keeps no peak
of it, so a thread looks at it again and again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Event, Thread

import numpy as np

from ..measuring.clock import time_best
from ..measuring.machine import read_field
from .linear_cases import LinearCase

TOL = 1e-6
SAMPLING_SECONDS = 0.002  # seconds between two looks at the memory


def read_anonymous() -> float:
    """Megabytes of this process that belong to no file."""
    found = read_field("self/status", "RssAnon")
    if found is None:
        raise SystemExit("Memory is read from /proc/self/status, which is there on Linux only.")
    return int(found.split()[0]) / 1024


class PeakMemory:
    """The peak of the anonymous memory between entering and leaving."""

    def __enter__(self) -> PeakMemory:
        self.before = self.peak = read_anonymous()
        self.over = Event()
        self.watcher = Thread(target=self.look, daemon=True)
        self.watcher.start()
        return self

    def look(self) -> None:
        """Look again and again."""
        while not self.over.wait(SAMPLING_SECONDS):
            self.peak = max(self.peak, read_anonymous())

    def __exit__(self, *_) -> None:
        self.over.set()
        self.watcher.join()
        self.peak = max(self.peak, read_anonymous())


def main() -> None:
    """Map the files, fit a few rows so that code is compiled, watch one fit, and time it."""
    folder, loss, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    X, y = (np.load(folder / f"{name}.npy", mmap_mode="r")[:n] for name in ("X", "y"))
    case = LinearCase("generated", loss, X, y, intercept="free")
    for few in {min(n, 200), min(n, 5000)}:
        case.make_ours(TOL).fit(X[:few], y[:few])
    with PeakMemory() as watch:
        case.make_ours(TOL).fit(X, y)
    seconds, model = time_best(lambda: case.make_ours(TOL).fit(X, y))
    iterations, memory = int(np.max(model.n_iter_)), watch.peak - watch.before
    found = {
        "fit, s": seconds, "gap": model.certificate_.relative_gap, "solver": type(model.result_.solver).__name__,
        "iterations": iterations, "s / iteration": seconds / max(iterations, 1), "memory, MB": memory,
        "bytes / sample": memory * 2**20 / n,
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main()
