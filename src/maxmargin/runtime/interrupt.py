"""Ctrl-C as a flag: the loop sees it between two short steps and ends cleanly."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class OuterInterrupt(threading.local):
    """The flag of the work that this thread does fits for, if any."""

    flag: Interrupt | None = None


outer_interrupt = OuterInterrupt()


class Interrupt:
    """A flag that Ctrl-C raises; shared by all solves of one fit. It is up with that of the work around it, too."""

    def __init__(self):
        self.raised, self.seen, self.outer = False, None, outer_interrupt.flag

    def __bool__(self) -> bool:
        return self.raised or bool(self.outer)

    def measure_wait(self) -> float:
        """Seconds since Ctrl-C; for a flag that was raised without it, since the first call."""
        now = time.perf_counter()
        self.seen = now if self.seen is None else self.seen
        return now - self.seen


@contextmanager
def watch_interrupt(shared: Interrupt | None = None, flag: Interrupt | None = None) -> Iterator[Interrupt]:
    """Within this context the first Ctrl-C raises the flag and the second one is a KeyboardInterrupt.

    Only the main thread receives signals; elsewhere, or where the program has a handler of its own, the flag
    simply stays down. A `shared` flag is watched by the code that made it; `flag` is one that nothing watches yet.
    """
    if shared is not None:
        yield shared
        return
    flag = Interrupt() if flag is None else flag
    ours = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if ours else None
    if before is not signal.default_int_handler:
        yield flag
        return

    def raise_flag(signum, frame):
        flag.raised, flag.seen = True, time.perf_counter()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, raise_flag)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def obey_interrupt(flag: Interrupt) -> Iterator[None]:
    """Within this context fits of this thread end when the flag is raised, as if Ctrl-C had been theirs."""
    before, outer_interrupt.flag = outer_interrupt.flag, flag
    try:
        yield
    finally:
        outer_interrupt.flag = before


@contextmanager
def delay_interrupt() -> Iterator[None]:
    """Within this context, which should be short, Ctrl-C waits for its end; only the main thread receives signals."""
    ours = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if ours else None
    if before is None:  # also where a program in C has set the handler
        yield
        return
    pressed = []
    signal.signal(signal.SIGINT, lambda signum, frame: pressed.append(signum))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)
