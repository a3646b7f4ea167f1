"""Many fits at once: threads, processes, joblib and forks give the answers of one, on no more threads than cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from joblib import Parallel, delayed
from long_fits import make_clouds
from selection import leave_long
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info

import maxmargin.runtime.blas
import maxmargin.runtime.threads
from maxmargin import SVC, SVR, LinearSVC, RiskClassifier
from maxmargin.runtime.blas import single_threaded_blas
from maxmargin.runtime.interruptible import Interrupted, interruptible
from maxmargin.runtime.threads import CORES, count_cores, open_library_lock, run_strips

MODELS = {
    "pairs": (SVC(), (900, 8, 4)),
    "blocks": (SVC(C=10.0), (2600, 8, 2)),
    "regression": (SVR(), (700, 8, 2)),
    "linear": (LinearSVC(loss="hinge"), (4000, 20, 3)),
    "softmax": (RiskClassifier("logistic", multi_class="softmax"), (1500, 10, 4)),
}
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def fit_and_predict(name: str) -> np.ndarray:
    """Decision values of a fit, or predictions where there are none."""
    model, shape = MODELS[name]
    X, y = make_clouds(*shape)
    model = type(model)(**model.get_params()).fit(X, y)
    return getattr(model, "decision_function", model.predict)(X)


@pytest.fixture(scope="module")
def alone() -> dict[str, np.ndarray]:
    """The answers of fits that run by themselves."""
    return {name: fit_and_predict(name) for name in MODELS}


def assert_agree(found: np.ndarray, wanted: np.ndarray) -> None:
    """The same fit; a product may be rounded otherwise where its memory lies otherwise."""
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


@contextmanager
def deadline(seconds: int):
    """A deadlock ends the test, not the day."""

    def give_up(*_):
        raise TimeoutError(f"no end within {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# ---- threads --------------------------------------------------------------------------------------------------------


def test_eight_threads_agree_with_one(alone):
    """Eight threads fit and predict at once, all kinds of machines mixed: the same numbers."""
    names = [*MODELS, *MODELS]
    with deadline(100), ThreadPoolExecutor(8) as pool:
        for name, found in zip(names, pool.map(fit_and_predict, names), strict=True):
            assert_agree(found, alone[name])


def test_threads_beside_the_main_one_agree(alone):
    """The main thread fits with all cores while others fit too."""
    with deadline(100), ThreadPoolExecutor(3) as pool:
        others = [pool.submit(fit_and_predict, name) for name in MODELS]
        for name in MODELS:
            assert_agree(fit_and_predict(name), alone[name])
        for name, other in zip(MODELS, others, strict=True):
            assert_agree(other.result(), alone[name])


def count_blas() -> set[int]:
    """Threads of the BLAS libraries that are loaded."""
    return set(list_blas().values())


def list_blas() -> dict[str, int]:
    """The BLAS libraries that are loaded, and their threads."""
    return {found["filepath"]: found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


def test_every_thread_can_hold_blas():
    """Also one that is not the first to do so, which threadpoolctl would ignore; afterwards all is as before."""
    before = count_blas()
    with single_threaded_blas():
        assert count_blas() == {1}

    def hold() -> set[int]:
        with single_threaded_blas():
            return count_blas()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(hold).result() == {1}
    assert count_blas() == before
    with single_threaded_blas(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(hold).result() == {1}
        assert count_blas() == {1}
    assert count_blas() == before


LATER = """
from maxmargin.runtime.blas import single_threaded_blas
from threadpoolctl import threadpool_info
import numpy

def count():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

before = count()
with single_threaded_blas():
    assert count() == {1}
    if %s:
        import scipy.linalg
with single_threaded_blas():
    import scipy.linalg
    with single_threaded_blas():
        assert count() == {1}
assert count() == before
"""


@pytest.mark.parametrize("before", [False, True])
def test_a_blas_that_is_loaded_later_is_held_too(before):
    """SciPy brings one of its own, with whatever module of it needs one first; afterwards both are free again."""
    program = [sys.executable, "-c", LATER % before]  # which asserts how many threads there are
    assert subprocess.run(program, check=False, timeout=60).returncode == 0


def test_ctrl_c_waits_while_the_limit_is_set(monkeypatch):
    """Pressed within: KeyboardInterrupt comes a moment later, and BLAS is as it was."""
    before = count_blas()
    monkeypatch.setattr(maxmargin.runtime.blas, "hold_blas", press_and(maxmargin.runtime.blas.hold_blas))
    with pytest.raises(KeyboardInterrupt), single_threaded_blas():
        raise AssertionError("The context began.")
    monkeypatch.undo()
    monkeypatch.setattr(maxmargin.runtime.blas, "set_blas", press_and(maxmargin.runtime.blas.set_blas))
    with pytest.raises(KeyboardInterrupt), single_threaded_blas():
        raise AssertionError("The context began.")
    assert count_blas() == before


def press_and(function):
    """`function`, in whose midst Ctrl-C is pressed."""

    def pressed(*arguments):
        signal.raise_signal(signal.SIGINT)
        return function(*arguments)

    return pressed


def test_no_more_threads_than_cores():
    """Fits on threads of the caller start none of their own, and BLAS is held to one."""
    seen, blas, running = set(), [], [True]

    def count() -> None:
        while running:
            seen.update(thread.name for thread in threading.enumerate() if thread.name.startswith("maxmargin"))
            blas.append(list_blas())
            time.sleep(0.005)

    before = {thread.name for thread in threading.enumerate()}
    watcher = threading.Thread(target=count)
    with single_threaded_blas(), ThreadPoolExecutor(8) as pool:
        watcher.start()
        list(pool.map(fit_and_predict, MODELS))
        running.clear()
        watcher.join()
    assert seen <= before
    assert all(set(threads.values()) == {1} for threads in blas), blas


def test_the_main_thread_has_all_cores():
    """At most as many strips and tasks at work as there are cores."""
    most, running = [0], [True]

    def count() -> None:
        while running:
            ours = [thread.name for thread in threading.enumerate() if thread.name.startswith("maxmargin-task")]
            most[0] = max(most[0], len(ours))
            time.sleep(0.002)

    watcher = threading.Thread(target=count)
    watcher.start()
    for _ in range(3):
        fit_and_predict("pairs")
    running.clear()
    watcher.join()
    assert most[0] <= CORES
    strips = [thread for thread in threading.enumerate() if thread.name.startswith("maxmargin-strip")]
    assert len(strips) <= CORES


def test_what_one_thread_listens_to_is_its_own():
    """A thread that stops listening does not bring back what another has long stopped asking."""
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with interruptible(lambda: False):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with interruptible(lambda: True):
        thread.start()
        inside.wait()
        with pytest.raises(Interrupted):
            run_strips(lambda start, stop: None, 10, 1)
    leave.set()
    thread.join()
    done = []
    run_strips(lambda start, stop: done.append(start), 10, 1)
    assert sorted(done) == list(range(10))


def test_an_error_in_one_pair_ends_all():
    """A kernel that fails in one of many problems is heard of at once; the others are not waited for."""
    calls = []

    def fail(A, B):
        calls.append(len(A))
        raise ZeroDivisionError

    X, y = make_clouds(900, 8, 4)
    with pytest.raises(ZeroDivisionError):
        SVC(kernel=fail).fit(X, y)
    assert SVC().fit(X, y).result_.converged


# ---- joblib ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefer", leave_long(["threads", "processes"], "processes"))
def test_joblib_agrees(prefer, alone):
    """Two at a time, by threads or by processes of loky."""
    names = list(MODELS)
    with deadline(100):
        found = Parallel(n_jobs=2, prefer=prefer)(delayed(fit_and_predict)(name) for name in names)
    for name, each in zip(names, found, strict=True):
        assert_agree(each, alone[name])


def count_own_threads() -> tuple[int, int]:
    """Cores that this process believes to have, and threads of ours after a fit."""
    fit_and_predict("pairs")
    return maxmargin.runtime.threads.CORES, sum(t.name.startswith("maxmargin") for t in threading.enumerate())


@pytest.mark.slow
def test_workers_of_joblib_share_the_cores():
    """As many workers as cores: each has one core, and no threads of ours."""
    found = Parallel(n_jobs=CORES)(delayed(count_own_threads)() for _ in range(CORES))
    assert found == [(1, 0)] * CORES


@pytest.mark.parametrize("n_jobs", leave_long([1, 2], 2))
def test_grid_searches_agree(n_jobs):
    """The scores of a grid do not depend on the number of workers."""
    X, y = make_clouds(400, 8, 3)
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=3, n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"],
        GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(X, y).cv_results_["mean_test_score"],
    )


@pytest.mark.parametrize(
    ("text", "cores"), [("1", 1), ("1,2", 1), ("9999", None), ("", None), ("all", None), ("0", None)]
)
def test_cores_by_environment(text, cores, monkeypatch):
    """OMP_NUM_THREADS is a limit, where it is a number."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    own = count_cores()
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert count_cores() == (own if cores is None else cores)


# ---- forks ----------------------------------------------------------------------------------------------------------


@forks
def test_eight_processes_agree(alone):
    """Forked after fits in this process, eight at a time."""
    names = list(MODELS) * 2
    with deadline(150), multiprocessing.get_context("fork").Pool(8) as pool:
        for name, found in zip(names, pool.map(fit_and_predict, names), strict=True):
            assert_agree(found, alone[name])


def run_in_fork(work) -> bytes:
    """What work() writes in a forked process; killed if it does not end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(30)  # a child that hangs dies of it
            os.write(writing, work())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return answer


@forks
def test_a_fork_after_a_fit(alone):
    """The child has none of the threads that its parent used, and makes its own."""
    with single_threaded_blas():
        run_strips(lambda start, stop: None, 100, 1)
    answer = run_in_fork(lambda: fit_and_predict("blocks")[:20].tobytes())
    assert_agree(np.frombuffer(answer), alone["blocks"][:20])


@forks
def test_a_fork_amid_locks(alone):
    """Another thread is just taking or lifting the limit of BLAS: the child does not wait for it."""
    with maxmargin.runtime.blas.BlasLimit.lock:
        answer = run_in_fork(lambda: fit_and_predict("pairs")[:20].tobytes())
    assert_agree(np.frombuffer(answer), alone["pairs"][:20].ravel())


@forks
def test_a_fork_has_its_blas_back():
    """What other threads of the parent held to one thread is free in the child, and what it holds itself stays held."""

    def say_threads() -> bytes:
        return bytes([max(count_blas())])

    free = say_threads()
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with single_threaded_blas():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    assert run_in_fork(say_threads) == free
    with single_threaded_blas():
        assert run_in_fork(say_threads) == b"\x01"
    leave.set()
    thread.join()
    assert say_threads() == free


@forks
def test_a_fork_finds_gates_open():
    """A library that another thread is in does not lock out a forked process."""
    with open_library_lock("a library", os.getpid()):
        assert run_in_fork(lambda: str(open_library_lock("a library", os.getpid()).locked()).encode()) == b"False"


if sys.version_info >= (3, 12):  # Python warns of what these tests are about
    pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
