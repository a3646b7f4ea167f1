"""One live line while a fit runs: gap so far, seconds, how long it may still take, solver, iteration, cache hits.

    SVC: gap 3.1e-04 of 1e-05, 4.2 s, about 6 s left, smo, iteration 84,211, 97% cache hits

The gap is what the solver itself believes; the certificate comes at the end. What matters most comes first, since a
terminal may be narrow.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import TextIO

import numpy as np

from ..solvers.result import Progress

REFRESH_SECONDS = 0.1  # seconds between two changes of the line
MIN_OBSERVATIONS = 5  # looks at the gap before the time left is estimated
MIN_FORECAST_SECONDS = 0.3  # seconds before the time left is estimated
# times the least gap so far: a gap that large is a new beginning, for instance when shrunk samples are looked at again
GAP_RESET_FACTOR = 3.0
MAX_OBSERVATIONS = 1000  # looks that are remembered; beyond them, every second one is dropped
FIT_WINDOW_SHARE = 0.5  # of the time so far: the estimate uses the end of it, since the gap falls in phases


class Forecast:
    """How long a solve may still take, from the fall of its gap.

    log gap is taken as a straight line in the time, as it is for a method that gains a digit in a fixed time, and as
    one in the logarithm of the time, as for a method whose gap falls like a power of it: whichever fits the second
    half of what was seen better.
    """

    def __init__(self):
        self.seconds: list[float] = []
        self.gaps: list[float] = []  # the smallest so far

    def note(self, progress: Progress) -> None:
        """Take in what a solver believes of its gap."""
        gap = abs(progress.relative_gap)
        if not np.isfinite(gap) or progress.seconds <= 0:
            return
        if self.gaps and gap > GAP_RESET_FACTOR * self.gaps[-1]:
            self.seconds, self.gaps = [], []
        if len(self.gaps) >= MAX_OBSERVATIONS:
            self.seconds, self.gaps = self.seconds[1::2], self.gaps[1::2]
        self.seconds.append(progress.seconds)
        self.gaps.append(min(gap, self.gaps[-1]) if self.gaps else gap)

    def seconds_left(self, tol: float | None) -> float | None:
        """Seconds until the gap is tol, or None where that is not known: too early, or the gap does not fall."""
        if (
            tol is None
            or not tol > 0
            or len(self.seconds) < MIN_OBSERVATIONS
            or self.seconds[-1] < MIN_FORECAST_SECONDS
        ):
            return None
        t, gap = np.array(self.seconds), np.maximum(self.gaps, 1e-300)
        recent = t >= (1.0 - FIT_WINDOW_SHARE) * t[-1]
        t, falls = t[recent], np.log(gap[recent])
        if gap[-1] <= tol:
            return 0.0
        if len(t) < MIN_OBSERVATIONS or falls[0] - falls[-1] < 0.01:
            return None
        ends = [self.extrapolate(t, falls, np.log(tol), scale) for scale in (np.asarray, np.log)]
        left = min(ends)[1] - t[-1]
        return float(left) if left < 1e9 else None

    def extrapolate(self, t: np.ndarray, falls: np.ndarray, wanted: float, scale) -> tuple[float, float]:
        """The misfit of a straight line in scale(t), and the time at which it comes to what is wanted."""
        x = scale(t)
        slope, offset = np.polyfit(x - x[-1], falls, 1)
        misfit = float(np.sum((falls - offset - slope * (x - x[-1])) ** 2))
        if slope >= 0:
            return misfit, np.inf
        # from where the gap is now, not from where the line is: the last look is the one that is known
        ahead = x[-1] + (wanted - falls[-1]) / slope
        return misfit, float(np.exp(min(ahead, 700.0)) if scale is np.log else ahead)


class ProgressLine:
    """A line that is written over itself, at most ten times a second; several solves may share it.

    In a terminal it moves by carriage returns, in a notebook it is one output that changes. Elsewhere nothing is
    written.

    Parameters
    ----------
    stream : text stream, optional
        Where to write; stderr by default.
    title : str
        What the line begins with, such as the name of an estimator.
    tol : float, optional
        The relative gap to be reached; without it there is no estimate of the time left.
    solves : int
        How many problems are to be solved.
    max_seconds : float, optional
        The budget of all of them.
    quiet : bool
        True for a line that is not shown.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        title: str = "",
        tol: float | None = None,
        solves: int = 1,
        max_seconds: float | None = None,
        quiet: bool = False,
    ):
        self.screen = None if quiet else open_screen(sys.stderr if stream is None else stream)
        self.title, self.tol, self.solves, self.max_seconds = title, tol, solves, max_seconds
        self.began, self.shown, self.solved = time.perf_counter(), -np.inf, 0
        self.forecast, self.lock = Forecast(), threading.Lock()

    @property
    def live(self) -> bool:
        """Whether it is shown."""
        return self.screen is not None

    def show(self, progress: Progress) -> None:
        """Write what a solver believes, if the last time is long enough ago."""
        if not self.live or not self.lock.acquire(blocking=False):  # another solve is writing: that one will do
            return
        try:
            self.forecast.note(progress)
            if time.perf_counter() - self.shown >= REFRESH_SECONDS:
                self.shown = time.perf_counter()
                self.screen.write(self.describe(progress))
        finally:
            self.lock.release()

    def announce(self, text: str) -> None:
        """Leave a line of its own above the live one."""
        if self.live:
            with self.lock:
                self.screen.leave(text)

    def finish(self) -> None:
        """Count a problem as solved."""
        with self.lock:
            self.solved += 1

    def close(self, last: str = "") -> None:
        """Leave one last line, or none."""
        if self.live:
            with self.lock:
                self.screen.close(last)
                self.screen = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *failure) -> None:
        self.close()

    def describe(self, progress: Progress) -> str:
        """The line."""
        seconds = time.perf_counter() - self.began
        gap, hits = abs(progress.relative_gap), progress.hit_rate
        parts = [
            f"{self.solved} of {self.solves} problems solved" if self.solves > 1 else "",
            f"gap {gap:.1e}" + (f" of {self.tol:g}" if self.tol else "") if np.isfinite(gap) else "gap not known yet",
            f"{seconds:.1f} s",
            self.say_left(seconds),
            progress.solver,
            f"iteration {progress.n_iter:,}",
            "" if hits is None else f"{100.0 * hits:.0f}% cache hits",
        ]
        return f"{self.title}: " * bool(self.title) + ", ".join(part for part in parts if part)

    def say_left(self, seconds: float) -> str:
        """How long it may still take, at most what the budget leaves; a question mark where that is not known."""
        if self.solves == 1:
            left = self.forecast.seconds_left(self.tol)
        else:  # those to come at the pace of those that are solved
            left = seconds / self.solved * (self.solves - self.solved) if self.solved else None
        budget = None if self.max_seconds is None else max(self.max_seconds - seconds, 0.0)
        if budget is not None and (left is None or left > budget):
            return f"at most {say_duration(budget)} left"
        if left == 0.0:
            return "to be certified"
        return "? left" if left is None else f"about {say_duration(left)} left"


def say_duration(seconds: float) -> str:
    """0.03 s, 0.4 s, 4 s, 12 min, 3 h or 2 days."""
    if seconds < 1.0:
        return f"{max(seconds, 0.001):.1g} s" if seconds < 0.1 else f"{seconds:.1f} s"
    for unit, length, until in (("s", 1.0, 100.0), ("min", 60.0, 5940.0), ("h", 3600.0, 172_800.0)):
        if seconds < until:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86_400.0:.0f} days"


# ---- where it is written --------------------------------------------------------------------------------------------


def parent_process() -> object:
    """The process whose pool this one belongs to; one that has not imported `multiprocessing` belongs to none."""
    return sys.modules["multiprocessing"].parent_process() if "multiprocessing" in sys.modules else None


def open_screen(stream: TextIO) -> Terminal | Notebook | None:
    """What shows a line that changes: the terminal behind a stream, the notebook of this process, or nothing.

    Workers of a pool of processes show nothing: their lines would run over each other.
    """
    if parent_process() is not None:
        return None
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is not None:
        return Notebook()
    try:
        return Terminal(stream) if stream.isatty() else None
    except (AttributeError, ValueError, OSError):  # no stream at all, or one that is closed
        return None


class Terminal:
    """A line of a terminal, written over by a carriage return; cut where it would wrap."""

    def __init__(self, stream: TextIO):
        self.stream, self.width = stream, 0

    def write(self, text: str) -> None:
        """The text in place of what was there."""
        text = text[: self.count_columns() - 1]
        self.put("\r" + text.ljust(self.width))
        self.width = len(text)

    def leave(self, text: str) -> None:
        """A line that stays, however long."""
        self.put("\r" + text.ljust(self.width) + "\n")
        self.width = 0

    def close(self, last: str) -> None:
        """The last line, which stays; or an empty one, to be written over."""
        if last:
            self.leave(last)
        else:
            self.put("\r" + " " * self.width + "\r")

    def put(self, text: str) -> None:
        """Write; a terminal that is gone is no reason to stop."""
        with suppress(ValueError, OSError):
            self.stream.write(text)
            self.stream.flush()

    def count_columns(self) -> int:
        """How long a line may be before it wraps."""
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or 80
        except (AttributeError, ValueError, OSError):
            return 80


class Notebook:
    """An output of a notebook that changes."""

    def __init__(self):
        self.handle = None

    def write(self, text: str) -> None:
        """The text in place of what was there."""
        from IPython.display import display

        if self.handle is None:
            self.handle = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self.handle.update({"text/plain": text}, raw=True)

    def leave(self, text: str) -> None:
        """An output of its own."""
        from IPython.display import display

        display({"text/plain": text}, raw=True)

    def close(self, last: str) -> None:
        """The last line."""
        if last or self.handle is not None:
            self.write(last)
