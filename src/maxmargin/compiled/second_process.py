"""A second process compiles what this one will call next, while this one still compiles what it calls now.

A first fit compiles its solver, and then its judge. Numba compiles one function at a time in a process, whatever the
number of cores. So a fit says ahead what it expects to call (`expect`). Once something has to be compiled, a process
without scikit-learn compiles that, and leaves it where all processes find it. This one waits for it no longer than
that process has been at work, and compiles it itself where nothing comes of it.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any

from ..runtime.threads import CORES

PROGRAM = """
import pickle, sys
from importlib import import_module
for module, name, types in pickle.load(sys.stdin.buffer):
    getattr(import_module(module), name).compile(types)
"""
MARK = "MAXMARGIN_SECOND_PROCESS"  # set in that process, which starts no other
LEAST_WAIT_SECONDS = 2.0

lock = Lock()
expected: dict[Any, Callable[[], tuple]] = {}  # functions, and what makes arguments of the types of the call
at_work: dict[tuple, tuple[subprocess.Popen, float]] = {}  # by module, name and types: the process, and its beginning


def is_uncalled(function) -> bool:
    """Whether this process has no code of a function yet, and needs some: where Numba is switched off, none does."""
    return not getattr(function, "overloads", True)


def expect(function, make_arguments: Callable[[], tuple]) -> None:
    """Say that a function will be called with arguments of some types: `make_arguments()`, asked only if need be."""
    if is_uncalled(function):
        expected[function] = make_arguments


def is_of_use() -> bool:
    """Whether a second process can be started, and would have a core of its own."""
    name = os.path.basename(sys.executable or "").lower()
    return CORES > 1 and MARK not in os.environ and name.startswith("python") and not getattr(sys, "frozen", False)


def start() -> None:
    """Let a second process compile what is expected and not there yet."""
    if not (expected and is_of_use() and lock.acquire(blocking=False)):
        return
    try:
        wanted, jobs = dict(expected), []
        expected.clear()
        for function, make_arguments in wanted.items():
            types = tuple(map(function.typeof_pyval, make_arguments()))
            if function.is_to_be_stored(types):
                jobs.append((function.__module__, function.__name__, types))
        if jobs:
            with suppress(OSError):
                process = open_process(pickle.dumps(jobs))
                at_work.update(dict.fromkeys(jobs, (process, time.monotonic())))
    finally:
        lock.release()


def open_process(jobs: bytes) -> subprocess.Popen:
    """An interpreter that finds what this one finds, at work on the jobs."""
    environment = {**os.environ, MARK: "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    silent = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=silent, stderr=silent, env=environment
    )
    assert process.stdin is not None
    with suppress(OSError), process.stdin as pipe:
        pipe.write(jobs)
    return process


def wait_for(module: str, name: str, types: tuple) -> bool:
    """Whether a second process was at work on a function and has come to its end by now."""
    process, began = at_work.pop((module, name, types), (None, 0.0))
    if process is None:
        return False
    try:
        process.wait(timeout=max(LEAST_WAIT_SECONDS, time.monotonic() - began))
    except subprocess.TimeoutExpired:
        end(process)
    return process.returncode == 0


def end(process: subprocess.Popen) -> None:
    """Stop a process, and leave nothing of it."""
    process.kill()
    process.wait()


@atexit.register
def end_all() -> None:
    """Stop what is still at work."""
    while at_work:
        end(at_work.popitem()[1][0])
