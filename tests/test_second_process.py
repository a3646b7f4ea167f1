"""What is compiled in a second process, and what becomes of a fit where there is none."""

import os
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest

from maxmargin.compiled import second_process
from maxmargin.compiled.small_problems import pack_segments

ARGUMENTS = (np.empty((1, 1)), np.zeros(2, np.int64), np.zeros(2, np.int64), np.empty((1, 1, 8)), np.empty(1))
TYPES = tuple(map(pack_segments.typeof_pyval, ARGUMENTS))
JOB = ("maxmargin.compiled.small_problems", "pack_segments", TYPES)
SLEEP = "import time; time.sleep(600)"


@pytest.fixture(autouse=True)
def nothing_expected(monkeypatch):
    """No other test expects anything, and there is a core to spare."""
    monkeypatch.setattr(second_process, "expected", {})
    monkeypatch.setattr(second_process, "at_work", {})
    monkeypatch.setattr(second_process, "CORES", 2)
    yield
    second_process.end_all()


class Function:
    """A function that is to be compiled."""

    __module__, __name__ = JOB[:2]
    overloads = ()

    def typeof_pyval(self, value):
        """Its type."""
        return pack_segments.typeof_pyval(value)

    def is_to_be_stored(self, types):
        """Always."""
        return True


def test_its_code_is_found(tmp_path, monkeypatch):
    """The process leaves code in the folder that NUMBA_CACHE_DIR names."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    process = second_process.open_process(pickle.dumps([JOB]))
    assert process.wait(timeout=300) == 0
    assert [path.name for path in tmp_path.rglob("*.nbc")] != []


def test_jobs_are_those_expected(monkeypatch):
    """Types are found from the arguments, and the process is waited for once."""
    asked = []
    monkeypatch.setattr(
        second_process, "open_process", lambda jobs: asked.append(jobs) or subprocess.Popen([sys.executable, "-c", ""])
    )
    second_process.expect(Function(), lambda: ARGUMENTS)
    second_process.start()
    assert pickle.loads(asked[0]) == [JOB]
    second_process.start()
    assert len(asked) == 1
    assert not second_process.wait_for(*JOB[:2], TYPES[:1])
    second_process.at_work[JOB][0].wait()
    assert second_process.wait_for(*JOB)
    assert not second_process.wait_for(*JOB)


@pytest.mark.parametrize("reason", ["one core", "no interpreter", "another program", "within another", "cannot start"])
def test_without_a_second_process(reason, monkeypatch):
    """Nothing is started and nothing is waited for."""
    if reason == "one core":
        monkeypatch.setattr(second_process, "CORES", 1)
    elif reason == "within another":
        monkeypatch.setenv(second_process.MARK, "1")
    else:
        path = {"no interpreter": None, "another program": "/bin/false", "cannot start": "/nowhere/python3"}[reason]
        monkeypatch.setattr(sys, "executable", path)
    second_process.expect(Function(), lambda: ARGUMENTS)
    second_process.start()
    assert not second_process.at_work
    assert not second_process.wait_for(*JOB)


@pytest.mark.parametrize("code", ["import os; os._exit(3)", SLEEP])
def test_a_process_that_fails_or_hangs_is_given_up(code, monkeypatch):
    """And is not there any more."""
    monkeypatch.setattr(second_process, "LEAST_WAIT_SECONDS", 0.01)
    process = subprocess.Popen([sys.executable, "-c", code])
    second_process.at_work[JOB] = process, time.monotonic()
    if code != SLEEP:
        process.wait()
    assert not second_process.wait_for(*JOB)
    assert process.returncode is not None


def test_a_process_that_nobody_waits_for_ends_with_this_one():
    """At exit."""
    process = subprocess.Popen([sys.executable, "-c", SLEEP])
    second_process.at_work[JOB] = process, time.monotonic()
    second_process.end_all()
    assert process.returncode is not None
    assert not second_process.at_work


def test_arguments_that_have_to_be_compiled_do_not_hang(monkeypatch):
    """What makes them may compile, and so start again."""
    monkeypatch.setattr(second_process, "open_process", lambda jobs: subprocess.Popen([sys.executable, "-c", ""]))

    def make_arguments():
        second_process.expect(Function(), lambda: ARGUMENTS)
        second_process.start()
        return ARGUMENTS

    second_process.expect(Function(), make_arguments)
    second_process.start()
    assert list(second_process.at_work) == [JOB]
    second_process.at_work[JOB][0].wait()


def test_functions_that_are_not_compiled_are_not_expected(monkeypatch):
    """Where Numba is switched off they are functions of Python."""
    second_process.expect(os.getcwd, lambda: ())
    assert not second_process.expected
