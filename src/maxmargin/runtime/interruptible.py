"""Long computations that end early when they are asked to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .threads import Strips


class Interrupted(Exception):
    """A computation was asked to stop."""


class InterruptState(threading.local):
    """What a thread asks whether to stop, and whether it may stop now; nothing outside of `interruptible`."""

    stop_requested: Callable[[], bool] | None = None
    may_stop = False
    in_strip = False  # whether the main thread is within a strip
    strips: Strips | None = None  # those that this thread is at work on


interrupt_state = InterruptState()


@contextmanager
def interruptible(stop_requested: Callable[[], bool], *, always: bool = True) -> Iterator[None]:
    """Within this context strips of this thread end with Interrupted as soon as stop_requested() is true.

    Where not `always`, only what is `abortable` ends: the rest changes what must stay whole.
    """
    before = interrupt_state.stop_requested, interrupt_state.may_stop
    interrupt_state.stop_requested, interrupt_state.may_stop = stop_requested, always
    try:
        yield
    finally:
        interrupt_state.stop_requested, interrupt_state.may_stop = before


@contextmanager
def abortable() -> Iterator[None]:
    """Within this context nothing is changed that is needed later, so that the computation may stop at once."""
    before, interrupt_state.may_stop = interrupt_state.may_stop, interrupt_state.stop_requested is not None
    try:
        yield
    finally:
        interrupt_state.may_stop = before


def check_interrupt() -> None:
    """Raise Interrupted if this thread was asked to stop, and may."""
    if interrupt_state.may_stop and interrupt_state.stop_requested():
        raise Interrupted
