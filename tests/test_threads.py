"""Strips on all cores, workers that take turns, and strips that listen."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import maxmargin.threads
from maxmargin.threads import Interrupted, Turn, listen, run_strips, step_aside


@pytest.mark.parametrize("n", [1, 5, 64, 65])
@pytest.mark.parametrize("cores", [1, 2])
def test_strips_cover_everything_once(n, cores, monkeypatch):
    """Every number from 0 to n is in one strip, on one core or several."""
    monkeypatch.setattr(maxmargin.threads, "CORES", cores)
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
    turn, inside, most, aside = Turn(), [0], [0], [0]

    def work(_):
        with turn.take():
            for _ in range(20):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(1e-4)
                inside[0] -= 1
                with step_aside(), step_aside():
                    aside[0] += 1
                    time.sleep(1e-4)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert most[0] == 1
    assert aside[0] == 80
    assert turn.lock.acquire(blocking=False)


def test_a_worker_that_fails_gives_its_turn_back():
    """An error within a turn, or while stepping aside, leaves the lock free."""
    turn = Turn()
    for context in (turn.take, step_aside):

        def fail(context=context):
            with turn.take(), step_aside() if context is step_aside else threading.Lock():
                raise ValueError

        with pytest.raises(ValueError):
            fail()
        assert not turn.lock.locked()


def test_outside_a_turn_nobody_steps_aside():
    """Without a turn `step_aside` does nothing."""
    with step_aside():
        assert getattr(Turn.held, "lock", None) is None


@pytest.mark.parametrize("cores", [1, 2])
def test_strips_that_listen_stop(cores, monkeypatch):
    """Once asked, no further strip is computed, and the caller hears of it."""
    monkeypatch.setattr(maxmargin.threads, "CORES", cores)
    done = []
    with pytest.raises(Interrupted), listen(lambda: len(done) >= 5):
        run_strips(lambda start, stop: done.append(start), 1000, 10)
    assert 5 <= len(done) <= 5 + cores
    run_strips(lambda start, stop: done.append(start), 100, 10)
    assert len(done) >= 15
