"""Strips on all cores, workers that take turns, and strips that listen."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from time_allowances import SLACK_SECONDS, OwnTimer

import maxmargin.runtime.threads
from maxmargin.runtime.interpreter import InterpreterTurn, cached_property, release_interpreter
from maxmargin.runtime.interruptible import Interrupted, interruptible
from maxmargin.runtime.prefetch import fetch_ahead
from maxmargin.runtime.threads import run_strips


@pytest.mark.parametrize("n", [1, 5, 64, 65])
@pytest.mark.parametrize("cores", [1, 2])
def test_strips_cover_everything_once(n, cores, monkeypatch):
    """Every number from 0 to n is in one strip, on one core or several."""
    monkeypatch.setattr(maxmargin.runtime.threads, "CORES", cores)
    seen = []
    run_strips(lambda start, stop: seen.extend(range(start, stop)), n, 8)
    assert sorted(seen) == list(range(n))


def test_an_error_in_a_strip_is_raised():
    """What fails in a thread fails for the caller."""

    def fail(start, stop):
        raise ZeroDivisionError(start)

    with pytest.raises(ZeroDivisionError):
        run_strips(fail, 100, 10)


def test_one_worker_at_a_time_has_the_turn():
    """No two workers run within their turn at once, though they step aside, even twice within each other."""
    turn, inside, most, aside = InterpreterTurn(), [0], [0], [0]

    def work(_):
        with turn.take():
            for _ in range(20):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(1e-4)
                inside[0] -= 1
                with release_interpreter(), release_interpreter():
                    aside[0] += 1
                    time.sleep(1e-4)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert most[0] == 1
    assert aside[0] == 80
    assert turn.lock.acquire(blocking=False)


def test_a_worker_that_fails_gives_its_turn_back():
    """An error within a turn, or while stepping aside, leaves the lock free."""
    turn = InterpreterTurn()
    for context in (turn.take, release_interpreter):

        def fail(context=context):
            with turn.take(), release_interpreter() if context is release_interpreter else threading.Lock():
                raise ValueError

        with pytest.raises(ValueError):
            fail()
        assert not turn.lock.locked()


def test_two_workers_compute_the_same_property_of_two_objects():
    """A thread that steps aside within a property holds nothing that the next worker waits for."""
    turn, both = InterpreterTurn(), threading.Barrier(2)

    class Thing:
        @cached_property
        def value(self) -> int:
            with release_interpreter():
                both.wait(timeout=60.0)
            return 7

    def work(_) -> int:
        with turn.take():
            thing = Thing()
            return thing.value + thing.value  # the second time it is not computed

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2))) == [14, 14]


def test_outside_a_turn_no_thread_steps_aside():
    """Without a turn `release_interpreter` does nothing."""
    with release_interpreter():
        assert getattr(InterpreterTurn.held, "lock", None) is None


@pytest.mark.parametrize("cores", [1, 2])
def test_strips_that_listen_stop(cores, monkeypatch):
    """Once asked, no further strip is computed, and the caller hears of it."""
    monkeypatch.setattr(maxmargin.runtime.threads, "CORES", cores)
    done = []
    with pytest.raises(Interrupted), interruptible(lambda: len(done) >= 5):
        run_strips(lambda start, stop: done.append(start), 1000, 10)
    assert 5 <= len(done) <= 5 + cores
    run_strips(lambda start, stop: done.append(start), 100, 10)
    assert len(done) >= 15


def test_items_are_fetched_ahead():
    """In order, one ahead, by another thread; what fails there fails here."""
    fetched = []

    def make():
        for k in range(5):
            fetched.append((k, threading.current_thread() is threading.main_thread()))
            yield k
        raise ValueError("no more")

    items = fetch_ahead(make())
    assert [next(items) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="no more"):
        next(items)
    assert fetched == [(k, False) for k in range(5)]


def test_a_stream_that_stops_early_leaves_no_thread():
    """Closed here, and dropped by another thread, which must not wait for the one that fetches."""
    items = fetch_ahead(iter(range(100)))
    assert next(items) == 0
    items.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("maxmargin-fetch")]
    held = [fetch_ahead(iter(range(100)))]
    assert next(held[0]) == 0
    dropper = threading.Thread(target=held.clear)
    dropper.start()
    dropper.join(timeout=60.0)
    assert not dropper.is_alive()


# ---- items that do not come ------------------------------------------------------------------------------------------


def list_fetchers() -> list[threading.Thread]:
    """The threads that fetch."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("maxmargin-fetch")]


@pytest.fixture
def stalled():
    """A stream of which the second item is on its way and does not come before the event is set; at the end it is."""
    event, under_way = threading.Event(), threading.Event()

    def make():
        yield 0
        under_way.set()
        event.wait(60)
        yield 1

    def open_stream(owner=None):
        items = fetch_ahead(make(), owner)
        assert next(items) == 0
        assert under_way.wait(60)
        return items

    yield open_stream, event
    event.set()
    for thread in list_fetchers():
        thread.join(timeout=60.0)
    assert not list_fetchers()


def test_an_item_that_does_not_come_is_not_waited_for(stalled):
    """Closed while the next item is on its way: control is back at once, and the thread ends when the item comes."""
    items = stalled[0]()
    watch = OwnTimer()
    items.close()
    assert watch.seconds < SLACK_SECONDS
    assert len(list_fetchers()) == 1


def test_an_interruptible_caller_does_not_wait(stalled):
    """Asked to stop while the next item is on its way, the caller hears of it."""
    items, watch = stalled[0](), OwnTimer()
    with pytest.raises(Interrupted), interruptible(lambda: watch.seconds > 0.1):
        next(items)
    assert 0.1 < watch.seconds < 0.2 + SLACK_SECONDS


def test_an_owner_is_asked_by_one_thread_at_a_time(stalled):
    """A new stream of the same owner begins when the item that was left has come; one of another owner at once."""
    open_stream, event = stalled
    owner = object()
    open_stream(owner).close()
    assert next(fetch_ahead(iter("a"), object())) == "a"
    second, began = fetch_ahead(iter("b"), owner), time.perf_counter()
    threading.Timer(0.2, event.set).start()
    assert next(second) == "b"
    assert time.perf_counter() - began > 0.15


def test_two_streams_of_an_owner_side_by_side():
    """Neither was left, so neither waits for the other."""
    owner = object()
    assert list(zip(*(fetch_ahead(iter(range(5)), owner) for _ in range(2)), strict=True)) == [(k, k) for k in range(5)]


@pytest.mark.parametrize("end", ["", "items.close()", "held = items; raise SystemExit"])
def test_a_process_ends_while_an_item_is_fetched(end):
    """At its end the interpreter waits neither for the thread nor for a lock."""
    code = f"""
from time import sleep
from maxmargin.runtime.prefetch import fetch_ahead
items = fetch_ahead(k if k == 0 else sleep(1000) for k in range(2))
print(next(items), flush=True)
{end}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
