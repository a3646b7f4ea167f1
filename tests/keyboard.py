"""Ctrl-C from another thread, at a moment that does not depend on how busy the machine is."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from time_allowances import OwnTimer


@contextmanager
def press_ctrl_c(after: float = 0.2, *, listened: bool = True) -> Iterator[list[OwnTimer]]:
    """Press it so many seconds after a fit has begun to listen; the list will hold a timer started then.

    If it need not have `listened`, the seconds count from now.
    """
    sent, over = [], threading.Event()

    def press() -> None:
        while listened and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            if over.wait(0.001):
                return
        if not over.wait(after):
            sent.append(OwnTimer())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()
