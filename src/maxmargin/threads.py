"""All cores, by strips: Python threads over pieces of work, each with a BLAS of one thread.

A threaded OpenBLAS waits by spinning: as soon as another process wants the second core, a product of 0.3 ms takes
8 ms, a whole time slice of the scheduler (measured at n = 500, d = 20). So BLAS is held to one thread, and work
worth sharing is cut into strips that threads of our own take one by one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

STRIPS = 8  # pieces of work that has no size of its own: no number of cores, or results would depend on the machine
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Quiet:
    """How many callers hold BLAS to one thread; the first sets the limit and the last lifts it."""

    lock = threading.Lock()
    holders = 0
    limit = None


@cache
def find_blas():
    """The loaded BLAS libraries; looked up once, which costs half a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def quiet_blas() -> Iterator[None]:
    """Within this context BLAS runs on one thread."""
    with _Quiet.lock:
        if _Quiet.holders == 0:
            _Quiet.limit = find_blas().limit(limits=1, user_api="blas")
        _Quiet.holders += 1
    try:
        yield
    finally:
        with _Quiet.lock:
            _Quiet.holders -= 1
            if _Quiet.holders == 0:
                _Quiet.limit.restore_original_limits()


class Turn:
    """Workers side by side take turns at the interpreter, and step aside while they compute.

    NumPy gives the interpreter away for every operation on more than 500 numbers. Two workers that both want it then
    hand it over twenty times for each problem, and each time costs up to 50 microseconds: 325 small problems took
    longer on two threads than on one. With turns it changes hands only where somebody computes for long.
    """

    held = threading.local()

    def __init__(self):
        self.lock = threading.Lock()

    @contextmanager
    def take(self) -> Iterator[None]:
        """Within this context no other worker runs Python code, except while this one steps aside."""
        with self.lock:
            Turn.held.lock = self.lock
            try:
                yield
            finally:
                Turn.held.lock = None


@contextmanager
def step_aside() -> Iterator[None]:
    """Within this context, which should hold one long compiled call, another worker may take its turn."""
    lock = getattr(Turn.held, "lock", None)
    if lock is None:
        yield
        return
    Turn.held.lock = None  # whoever steps aside within has nothing to give
    lock.release()
    try:
        yield
    finally:
        lock.acquire()
        Turn.held.lock = lock


class Interrupted(Exception):
    """Somebody asked to stop while strips were computed."""


class _Ear:
    """What strips ask before each of them whether to go on; nothing unless `listen` is at work."""

    asked: Callable[[], bool] | None = None
    busy = False  # whether the main thread is within a strip


@contextmanager
def listen(asked: Callable[[], bool]) -> Iterator[None]:
    """Within this context strips of the main thread end with Interrupted as soon as asked() is true."""
    before = _Ear.asked
    if threading.current_thread() is threading.main_thread():
        _Ear.asked = asked
    try:
        yield
    finally:
        _Ear.asked = before


def heed() -> None:
    """Raise Interrupted if the main thread, which this is, was asked to stop."""
    if threading.current_thread() is threading.main_thread() and _Ear.asked is not None and _Ear.asked():
        raise Interrupted


@cache
def open_pool(process: int) -> ThreadPoolExecutor:
    """The threads of strips, made when first needed; a forked process has none of its parent's and makes its own."""
    return ThreadPoolExecutor(CORES, thread_name_prefix="maxmargin-strip")


def run_strips(work: Callable[[int, int], None], n: int, step: int) -> None:
    """work(start, stop) for all strips of `step` of 0..n, on all cores; in place where there is one strip only.

    The thread that asks takes strips too, and others come to help: a call costs one wake-up, not one for each strip.
    Called from a strip, or from a thread that is not the main one, it stays on that thread: whoever made the
    threads has shared out the cores already.
    """
    starts = range(0, n, step)
    ours = threading.current_thread() is threading.main_thread() and not _Ear.busy
    asked = _Ear.asked if ours else None
    left = iter(starts)

    def drain() -> None:
        for start in left:  # next() of a range is one step of the interpreter: no two threads get the same strip
            if asked is None or not asked():
                work(start, min(start + step, n))

    if len(starts) == 1 or CORES == 1 or not ours:
        with step_aside():
            drain()
    else:
        share_out(drain, min(CORES, len(starts)) - 1)
    if asked is not None and asked():
        raise Interrupted


def share_out(drain: Callable[[], None], count: int) -> None:
    """drain() here and on `count` other threads; those that have not begun when nothing is left are sent home."""
    pool = open_pool(os.getpid())
    others = [pool.submit(drain) for _ in range(count)]
    _Ear.busy = True
    try:
        drain()
    finally:
        _Ear.busy = False
        begun = [other for other in others if not other.cancel()]
        for other in begun:
            other.exception()
    for other in begun:
        other.result()
