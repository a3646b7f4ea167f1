"""BLAS on one thread while this library computes.

A threaded OpenBLAS waits by spinning: as soon as another process wants the second core, a product of 0.3 ms takes
8 ms, a whole time slice of the scheduler (measured at n = 500, d = 20). So BLAS is held to one thread, and work
worth sharing is cut into strips (`threads.py`).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from .interrupt import delay_interrupt

ReturnType = TypeVar("ReturnType")
# Up to so many numbers in a matrix or a vector, and so many multiplications, OpenBLAS stays on one thread by itself.
ONE_THREAD_MAX_NUMBERS, ONE_THREAD_MAX_PRODUCTS = 2**13, 2**18


class ThreadHolds(threading.local):
    """What a thread knows of itself: how many of the holders of BLAS are its own."""

    depth = 0


class BlasLimit:
    """How many callers hold BLAS to one thread; the first sets the limit and the last lifts it."""

    lock = threading.Lock()
    holders = 0
    limits: ClassVar[list] = []  # one, and another one for each time that a library was loaded while it was held
    modules = 0  # in sys.modules, when the last limit was set
    here = ThreadHolds()

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


class HeldThreads:
    """The libraries of BLAS that are held to one thread, and how many threads each of them had before.

    threadpoolctl's own limit says the same of every library that is loaded, in a fifth of a millisecond.
    """

    def __init__(self, libraries: Iterable[Any]):
        before = [(library, library.get_num_threads()) for library in libraries if library.user_api == "blas"]
        self.before = [(library, threads) for library, threads in before if threads is not None and threads > 1]
        for library, _ in self.before:
            library.set_num_threads(1)

    def restore_original_limits(self) -> None:
        """Each library has its threads again."""
        for library, threads in self.before:
            library.set_num_threads(threads)


def hold_blas() -> HeldThreads:
    """BLAS on one thread, from now until the limit that is returned is lifted."""
    return set_blas(lambda: HeldThreads(find_blas(len(sys.modules)).lib_controllers))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Within this context BLAS runs on one thread; a Ctrl-C waits while the limit is being set or lifted."""
    if BlasLimit.is_held_here():
        yield
        return
    held = False
    try:
        with delay_interrupt():
            BlasLimit.hold()
            held = True
        yield
    finally:
        with delay_interrupt():
            if held:
                BlasLimit.release()


def forget_other_threads() -> None:
    """A forked process has none of its parent's threads: a lock they held is free, and they hold no BLAS any more."""
    BlasLimit.lock = threading.Lock()
    BlasLimit.holders = BlasLimit.here.depth
    BlasLimit.lift()
    if BlasLimit.holders:  # BLAS forgets its limit when it is forked
        BlasLimit.limit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_other_threads)
