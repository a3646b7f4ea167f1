"""The next item fetched by another thread while this one is worked on."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import ClassVar, TypeVar

from .interruptible import check_interrupt

Item = TypeVar("Item")
POLL_SECONDS = 0.01  # between two checks for Ctrl-C while an item is awaited
FETCH_WAIT_SECONDS = 0.05  # for an item that is being fetched when it is not wanted any more


class Fetcher:
    """A thread that fetches one item whenever it is asked to; a caller that stops early need not wait for it.

    A read of a pipe or of a disk that stalls cannot be ended, only left: the thread then ends with its item, if ever.
    Items of the same owner are fetched one at a time all the same: the next fetcher lets those that were left come to
    their end first.
    """

    left: ClassVar[list[Fetcher]] = []  # within an item that is not wanted any more

    def __init__(self, items: Iterator, owner: object):
        self.items, self.owner, self.dismissed = items, owner, False
        self.wanted: SimpleQueue = SimpleQueue()  # these queues have no lock that a garbage collector could wait for
        self.found: SimpleQueue = SimpleQueue()
        others = [] if owner is None else list(self.left)
        self.before = [each for each in others if each.owner is owner and each.thread.is_alive()]
        self.thread = threading.Thread(target=self.run, name="maxmargin-fetch", daemon=True)

    def run(self) -> None:
        """Fetch until no more items are wanted."""
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
        """The item that was asked for, or what went wrong; an interrupted caller does not wait for it."""
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


def fetch_ahead(items: Iterable[Item], owner: object = None) -> Generator[Item, None, None]:
    """The items in order, the next one fetched by another thread while this one is worked on.

    A caller that stops early, by Ctrl-C say, waits for the item in hand a moment only. Where the items have an owner,
    no two of its items are fetched at once even then.
    """
    home, fetcher = threading.get_ident(), Fetcher(iter(items), owner)
    try:
        fetcher.ask()
        with suppress(StopIteration):
            while True:
                item = fetcher.take()
                fetcher.ask()
                yield item
    finally:  # perhaps by the garbage collector, on a thread that must not wait: it may be starting this one
        fetcher.dismiss(FETCH_WAIT_SECONDS if threading.get_ident() == home else 0.0)
