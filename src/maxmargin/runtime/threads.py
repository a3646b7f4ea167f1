"""All cores, by strips: Python threads over pieces of work, each with a BLAS of one thread (`blas.py`)."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

from .interpreter import release_interpreter
from .interruptible import Interrupted, check_interrupt, interrupt_state

ReturnType = TypeVar("ReturnType")
STRIPS = 8  # pieces of work that has no size of its own: no number of cores, or results would depend on the machine
POLL_SECONDS = 0.01  # between two checks for Ctrl-C while another thread works


def count_cores() -> int:
    """The cores of this process, or fewer where OMP_NUM_THREADS says so, as it does in workers of joblib and Dask."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


CORES = count_cores()


def is_main() -> bool:
    """Whether this is the main thread, which has all cores; code that starts other threads shares them out."""
    return threading.current_thread() is threading.main_thread()


class Strips:
    """Pieces of work that are still to be done, by any thread; and whether nothing more of them is wanted."""

    def __init__(self, starts: Iterable[int], stop_requested: Callable[[], bool] | None):
        self.left, self.stop_requested, self.abandoned = deque(starts), stop_requested, False

    def is_over(self) -> bool:
        """Whether nothing more is wanted."""
        return self.abandoned or (self.stop_requested is not None and self.stop_requested())

    def drain(self, work: Callable[[int], None]) -> None:
        """work(start) for strips that no other thread has taken, until none is left."""
        before, interrupt_state.strips = interrupt_state.strips, self
        try:
            while self.left and not self.is_over():
                try:
                    start = self.left.popleft()  # one step of the interpreter: no two threads get the same strip
                except IndexError:
                    return
                work(start)
        finally:
            interrupt_state.strips = before


def check_interrupt_within_strip() -> None:
    """Raise Interrupted if the strips that this thread is at work on are not wanted any more."""
    if interrupt_state.strips is not None and interrupt_state.strips.is_over():
        raise Interrupted


def run_strips(work: Callable[[int, int], None], n: int, step: int) -> None:
    """work(start, stop) for all strips of `step` of 0..n, on all cores; in place where there is one strip only.

    The thread that asks takes strips too, and others come to help: a call costs one wake-up, not one for each strip.
    Called from a strip, or from a thread that is not the main one, it stays on that thread: the caller that made the
    threads has shared out the cores already.
    """
    starts = range(0, n, step)
    ours = is_main() and not interrupt_state.in_strip
    strips = Strips(
        starts, interrupt_state.stop_requested if interrupt_state.may_stop and not interrupt_state.in_strip else None
    )

    def run(start: int) -> None:
        work(start, min(start + step, n))

    if len(starts) == 1 or CORES == 1 or not ours:
        with release_interpreter():
            strips.drain(run)
    else:
        run_on_pool(strips, run, min(CORES, len(starts)) - 1)
    if strips.is_over():
        raise Interrupted


def run_on_pool(strips: Strips, work: Callable[[int], None], count: int) -> None:
    """The strips here and on `count` other threads; those that have not begun when none is left are cancelled.

    Where this thread is interrupted, by Ctrl-C say, the others give up within their strips.
    """
    pool = open_pool(os.getpid())
    others = [pool.submit(strips.drain, work) for _ in range(count)]
    interrupt_state.in_strip = True
    try:
        strips.drain(work)
    except BaseException:
        strips.abandoned = True
        raise
    finally:
        interrupt_state.in_strip = False
        begun = [other for other in others if not other.cancel()]
        while wait(begun, POLL_SECONDS).not_done:
            pass  # see wait_for_workers
    for other in begun:
        other.result()


def wait_for_workers(workers: Sequence[Future[None]]) -> None:
    """Wait until all workers are done; the error of one is raised at once.

    Python looks at signals in the main thread alone, and the system may deliver Ctrl-C to another one. A main thread
    that sleeps until the workers are done would hear of it only then, so it wakes up again and again.
    """
    left = set(workers)
    while left:
        done, left = wait(left, POLL_SECONDS, FIRST_EXCEPTION)
        for worker in done:
            worker.result()


@cache
def open_pool(process: int) -> ThreadPoolExecutor:
    """The threads of strips, made when first needed; a forked process has none of its parent's and makes its own."""
    return ThreadPoolExecutor(CORES, thread_name_prefix="maxmargin-strip")


def run_on_own_thread(work: Callable[[], ReturnType]) -> ReturnType:
    """work(), a long call that has no strips: on a thread of its own where this one may be interrupted.

    What is left behind comes to its end without being used; the process waits for it before it ends itself. Such a
    call must release the interpreter, as those of LAPACK do.
    """
    if not interrupt_state.may_stop:
        with release_interpreter():
            return work()
    future: Future[ReturnType] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="maxmargin-apart").start()
    with release_interpreter():
        while not wait([future], POLL_SECONDS).done:
            check_interrupt()
    return future.result()


@cache
def open_library_lock(library: str, process: int) -> threading.Lock:
    """The lock of a library that takes one thread at a time; a forked process has one of its own, which is open."""
    return threading.Lock()
