"""Workers that take turns at the Python interpreter."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class HeldTurn(threading.local):
    """The lock of the turn that a thread holds; None where it holds none."""

    lock: threading.Lock | None = None


class InterpreterTurn:
    """Workers side by side take turns at the interpreter, and step aside while they compute.

    NumPy gives the interpreter away for every operation on more than 500 numbers. Two workers that both want it then
    hand it over twenty times for each problem, and each time costs up to 50 microseconds: 325 small problems took
    longer on two threads than on one. With turns it changes hands only around long computations.
    """

    held = HeldTurn()

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


class release_interpreter:
    """Within this context, which should hold one long compiled call, another worker may take its turn."""

    __slots__ = ("lock",)

    def __enter__(self) -> None:
        self.lock = InterpreterTurn.held.lock
        if self.lock is not None:
            InterpreterTurn.held.lock = None  # within, there is nothing left to step aside from
            self.lock.release()

    def __exit__(self, *error: object) -> None:
        if self.lock is not None:
            self.lock.acquire()
            InterpreterTurn.held.lock = self.lock


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
