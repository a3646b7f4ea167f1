"""Fits that take long, interrupted by Ctrl-C; the fits themselves are those of the benchmark of budgets."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from contextlib import suppress
from typing import NamedTuple

from sklearn.base import clone
from time_allowances import OwnTimer

from benchmarks.waiting.long_fits import LONG, ONCE, fit_quietly, make_clouds, make_sequences

__all__ = [
    "LONG",
    "ONCE",
    "Interruption",
    "fit_quietly",
    "interrupt_fit",
    "load_compiled",
    "make_clouds",
    "make_sequences",
]


@functools.cache
def load_compiled(name: str) -> None:
    """Fit for a moment, so that nothing is compiled or loaded while the clock runs."""
    model, X, y = LONG[name]()
    fit_quietly(clone(model).set_params(max_seconds=0.2), X, y)


class Interruption(NamedTuple):
    """A fit that was interrupted: the estimator, seconds until control was back, whether the signal came in time."""

    model: object
    late: float
    in_time: bool


def interrupt_fit(name: str, after: float, times: int = 1) -> Interruption:
    """Fit, and press Ctrl-C after a while, once or more often."""
    model, X, y = LONG[name]()
    model, sent = clone(model), []

    def press() -> None:
        for _ in range(times):
            sent.append(OwnTimer())
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    timer, late, in_time = threading.Timer(after, press), None, True
    with suppress(KeyboardInterrupt):  # the second press may come after the fit was left by the first
        with suppress(KeyboardInterrupt):
            timer.start()
            fit_quietly(model, X, y)
            timer.cancel()
            in_time = False
        late = sent[-1].seconds if sent and in_time else 0.0
        timer.join()
    for _ in range(times):  # a signal may be delivered as late as after the thread that sent it has ended
        with suppress(KeyboardInterrupt):
            timer.join()
            time.sleep(0.001)
    return Interruption(model, sent[-1].seconds if late is None else late, in_time)
