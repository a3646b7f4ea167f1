"""All cores, by strips: Python threads over pieces of work, each with a BLAS of one thread.

A threaded OpenBLAS waits by spinning: as soon as another process wants the second core, a product of 0.3 ms takes
8 ms, a whole time slice of the scheduler (measured at n = 500, d = 20). So BLAS is held to one thread, and work
worth sharing is cut into strips that threads of our own take one by one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from queue import Empty, SimpleQueue
from typing import ClassVar, TypeVar

from .interrupt import delay_interrupt

ReturnType = TypeVar("ReturnType")
Item = TypeVar("Item")
STRIPS = 8  # pieces of work that has no size of its own: no number of cores, or results would depend on the machine
POLL_SECONDS = 0.01  # seconds between two looks of somebody who waits
FETCH_WAIT_SECONDS = 0.05  # seconds for an item that is being fetched when nobody wants it any more


def count_cores() -> int:
    """The cores of this process, or fewer where OMP_NUM_THREADS says so, as it does in workers of joblib and Dask."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


CORES = count_cores()


def is_main() -> bool:
    """Whether this is the main thread, which has all cores; who made other threads has shared the cores out."""
    return threading.current_thread() is threading.main_thread()


class _ThreadHolds(threading.local):
    """What a thread knows of itself: how many of the holders of BLAS are its own."""

    depth = 0


class _BlasLimit:
    """How many callers hold BLAS to one thread; the first sets the limit and the last lifts it."""

    lock = threading.Lock()
    holders = 0
    limits: ClassVar[list] = []  # one, and another one for each time that a library was loaded while it was held
    modules = 0  # in sys.modules, when the last limit was set
    here = _ThreadHolds()

    @classmethod
    def is_held_here(cls) -> bool:
        """Whether this thread is a holder, and all libraries that are loaded are held."""
        return cls.here.depth > 0 and cls.modules == len(sys.modules)

    @classmethod
    def hold(cls) -> None:
        """One holder more."""
        with cls.lock:
            if cls.holders == 0 or cls.modules != len(sys.modules):
                cls.limit()
            cls.holders += 1
        cls.here.depth += 1

    @classmethod
    def limit(cls) -> None:
        """All libraries that are loaded by now on one thread."""
        cls.limits.append(hold_blas())
        cls.modules = len(sys.modules)

    @classmethod
    def release(cls) -> None:
        """One holder less."""
        cls.here.depth -= 1
        with cls.lock:
            cls.holders -= 1
            if cls.holders == 0:
                cls.lift()

    @classmethod
    def lift(cls) -> None:
        """All as it was before the first limit."""
        while cls.limits:
            set_blas(cls.limits.pop().restore_original_limits)


@lru_cache(maxsize=1)
def find_blas(modules: int):
    """The BLAS libraries that are loaded; a search takes half a millisecond, so it is repeated after imports only.

    NumPy, SciPy and other packages bring a BLAS each, which comes with their first import: the number of modules in
    sys.modules tells that there may be another one.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def set_blas(change: Callable[[], ReturnType]) -> ReturnType:
    """change(), which sets the threads of BLAS: of a thread that threadpoolctl listens to.

    It listens to the first thread that ever set them, and ignores all others without a word. Two fits on threads of
    their own then had a BLAS of all cores each, and took forty times as long as one after the other.
    """

    def free() -> None:
        for library in find_blas(len(sys.modules)).lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)

    free()
    try:
        return change()
    finally:
        free()


def hold_blas():
    """BLAS on one thread, from now until the limit that is returned is lifted."""
    return set_blas(lambda: find_blas(len(sys.modules)).limit(limits=1, user_api="blas"))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Within this context BLAS runs on one thread; a Ctrl-C waits while the limit is being set or lifted."""
    if _BlasLimit.is_held_here():
        yield
        return
    held = False
    try:
        with delay_interrupt():
            _BlasLimit.hold()
            held = True
        yield
    finally:
        with delay_interrupt():
            if held:
                _BlasLimit.release()


def forget_other_threads() -> None:
    """A forked process has none of its parent's threads: a lock they held is free, and they hold no BLAS any more."""
    _BlasLimit.lock = threading.Lock()
    _BlasLimit.holders = _BlasLimit.here.depth
    _BlasLimit.lift()
    if _BlasLimit.holders:  # BLAS forgets its limit when it is forked
        _BlasLimit.limit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_other_threads)


class InterpreterTurn:
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
            InterpreterTurn.held.lock = self.lock
            try:
                yield
            finally:
                InterpreterTurn.held.lock = None


@contextmanager
def release_interpreter() -> Iterator[None]:
    """Within this context, which should hold one long compiled call, another worker may take its turn."""
    lock = getattr(InterpreterTurn.held, "lock", None)
    if lock is None:
        yield
        return
    InterpreterTurn.held.lock = None  # whoever steps aside within has nothing to give
    lock.release()
    try:
        yield
    finally:
        lock.acquire()
        InterpreterTurn.held.lock = lock


class cached_property:
    """functools.cached_property without its lock.

    Until Python 3.12 one lock stands for all objects of a class. A worker that steps aside while it computes would hold
    it, and the next one, whose turn it is, would wait for it for ever.
    """

    def __init__(self, method: Callable):
        self.method, self.__doc__ = method, method.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance, owner: type | None = None):
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.method(instance)
        return value


class Interrupted(Exception):
    """Somebody asked to stop while something was computed."""


class _InterruptState(threading.local):
    """What a thread asks whether to go on, and whether now is a moment to stop; nothing outside of `interruptible`."""

    stop_requested: Callable[[], bool] | None = None
    may_stop = False
    in_strip = False  # whether the main thread is within a strip
    strips: Strips | None = None  # those that this thread is at work on


_interrupt_state = _InterruptState()


@contextmanager
def interruptible(stop_requested: Callable[[], bool], *, always: bool = True) -> Iterator[None]:
    """Within this context strips of this thread end with Interrupted as soon as asked() is true.

    Where not `always`, only what is `abortable` ends: the rest changes what must stay whole.
    """
    before = _interrupt_state.stop_requested, _interrupt_state.may_stop
    _interrupt_state.stop_requested, _interrupt_state.may_stop = stop_requested, always
    try:
        yield
    finally:
        _interrupt_state.stop_requested, _interrupt_state.may_stop = before


@contextmanager
def abortable() -> Iterator[None]:
    """Within this context nothing is changed that is needed later, so that whoever listens may stop at once."""
    before, _interrupt_state.may_stop = _interrupt_state.may_stop, _interrupt_state.stop_requested is not None
    try:
        yield
    finally:
        _interrupt_state.may_stop = before


def check_interrupt() -> None:
    """Raise Interrupted if this thread was asked to stop, and may."""
    if _interrupt_state.may_stop and _interrupt_state.stop_requested():
        raise Interrupted


def run_on_own_thread(work: Callable[[], ReturnType]) -> ReturnType:
    """work(), a long call that has no strips: on a thread of its own where this one listens, which then may leave it.

    What is left behind comes to its end, and nobody looks at it; the process waits for it before it ends itself. Such a
    call must give up the interpreter, as those of LAPACK do.
    """
    if not _interrupt_state.may_stop:
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


@cache
def open_pool(process: int) -> ThreadPoolExecutor:
    """The threads of strips, made when first needed; a forked process has none of its parent's and makes its own."""
    return ThreadPoolExecutor(CORES, thread_name_prefix="maxmargin-strip")


class Fetcher:
    """A thread that fetches one item whenever it is asked to; who has enough of it need not wait, nor need the process.

    A read of a pipe or of a disk that stalls cannot be ended, only left: the thread then ends with its item, if ever.
    Items of the same owner are fetched one at a time all the same: the next fetcher lets those that were left come to
    their end first.
    """

    left: ClassVar[list[Fetcher]] = []  # within an item that nobody waits for

    def __init__(self, items: Iterator, owner: object):
        self.items, self.owner, self.dismissed = items, owner, False
        self.wanted: SimpleQueue = SimpleQueue()  # these queues have no lock that a garbage collector could wait for
        self.found: SimpleQueue = SimpleQueue()
        others = [] if owner is None else list(self.left)
        self.before = [each for each in others if each.owner is owner and each.thread.is_alive()]
        self.thread = threading.Thread(target=self.run, name="maxmargin-fetch", daemon=True)

    def run(self) -> None:
        """Fetch, until there is nobody any more who wants to have it."""
        while self.before:
            self.before.pop().thread.join()
        while self.wanted.get() and not self.dismissed:
            try:
                self.found.put((next(self.items), None))
            except BaseException as error:  # also StopIteration, which is the end
                self.found.put((None, error))
        self.items = self.owner = self.found = None
        with suppress(ValueError):
            self.left.remove(self)

    def ask(self) -> None:
        """Have the next item fetched."""
        self.wanted.put(True)
        if self.thread.ident is None:
            self.thread.start()

    def take(self):
        """The item that was asked for, or what went wrong; who was asked to stop does not wait for it."""
        while True:
            try:
                item, error = self.found.get(timeout=POLL_SECONDS)
            except Empty:
                check_interrupt()
                continue
            if error is None:
                return item
            try:
                raise error
            finally:
                error = None  # or its traceback would hold itself

    def dismiss(self, patience: float) -> None:
        """No more items are wanted; the one in hand is waited for so many seconds."""
        self.dismissed = True
        self.left.append(self)
        self.wanted.put(False)
        if patience and self.thread.is_alive():
            self.thread.join(patience)
        if not self.thread.is_alive():  # nor was it ever, if Ctrl-C came first
            with suppress(ValueError):
                self.left.remove(self)


def fetch_ahead(items: Iterable[Item], owner: object = None) -> Iterator[Item]:
    """The items in order, the next one fetched by another thread while this one is worked on.

    Who stops early, by Ctrl-C say, waits for the one in hand a moment only. Where the items have an owner, no two of
    his are fetched at once even then.
    """
    home, fetcher = threading.get_ident(), Fetcher(iter(items), owner)
    try:
        fetcher.ask()
        with suppress(StopIteration):
            while True:
                item = fetcher.take()
                fetcher.ask()
                yield item
    finally:  # perhaps by the garbage collector, on a thread that must not wait: somebody may be starting it
        fetcher.dismiss(FETCH_WAIT_SECONDS if threading.get_ident() == home else 0.0)


class Strips:
    """Pieces of work that are still to be done, by any thread; and whether nothing more of them is wanted."""

    def __init__(self, starts: Iterable[int], stop_requested: Callable[[], bool] | None):
        self.left, self.stop_requested, self.abandoned = deque(starts), stop_requested, False

    def is_over(self) -> bool:
        """Whether nothing more is wanted."""
        return self.abandoned or (self.stop_requested is not None and self.stop_requested())

    def drain(self, work: Callable[[int], None]) -> None:
        """work(start) for strips that no other thread has taken, until none is left."""
        before, _interrupt_state.strips = _interrupt_state.strips, self
        try:
            while self.left and not self.is_over():
                try:
                    start = self.left.popleft()  # one step of the interpreter: no two threads get the same strip
                except IndexError:
                    return
                work(start)
        finally:
            _interrupt_state.strips = before


def check_interrupt_within_strip() -> None:
    """Raise Interrupted if the strips that this thread is at work on are not wanted any more."""
    if _interrupt_state.strips is not None and _interrupt_state.strips.is_over():
        raise Interrupted


def run_strips(work: Callable[[int, int], None], n: int, step: int) -> None:
    """work(start, stop) for all strips of `step` of 0..n, on all cores; in place where there is one strip only.

    The thread that asks takes strips too, and others come to help: a call costs one wake-up, not one for each strip.
    Called from a strip, or from a thread that is not the main one, it stays on that thread: the caller that made the
    threads has shared out the cores already.
    """
    starts = range(0, n, step)
    ours = is_main() and not _interrupt_state.in_strip
    strips = Strips(
        starts, _interrupt_state.stop_requested if _interrupt_state.may_stop and not _interrupt_state.in_strip else None
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
    """The strips here and on `count` other threads; those that have not begun when none is left are sent home.

    Where this thread is interrupted, by Ctrl-C say, the others give up within their strips.
    """
    pool = open_pool(os.getpid())
    others = [pool.submit(strips.drain, work) for _ in range(count)]
    _interrupt_state.in_strip = True
    try:
        strips.drain(work)
    except BaseException:
        strips.abandoned = True
        raise
    finally:
        _interrupt_state.in_strip = False
        begun = [other for other in others if not other.cancel()]
        for other in begun:
            other.exception()
    for other in begun:
        other.result()
