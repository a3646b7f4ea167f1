"""Ctrl-C at any moment, in a fit of any solver: control is back at once, and the estimator can be used."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from long_fits import LONG, ONCE, Interruption, fit_quietly, interrupt_fit, load_compiled, make_clouds
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info
from time_allowances import HANG_SECONDS, SLACK_SECONDS, OwnTimer

from maxmargin import SVC, LinearSVC, Status
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Problem
from maxmargin.runtime.threads import wait_for_workers
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.loop import solve

pytestmark = pytest.mark.usefixtures("own_clock")

SOON = 0.2  # seconds within which control is back on a machine that has nothing else to do


@pytest.fixture(autouse=True)
def _default_handler():
    """Python's own handler for Ctrl-C before and after, and a BLAS that is not held."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threads = count_blas()
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert threads.items() <= count_blas().items()
    signal.signal(signal.SIGINT, before)


def count_blas() -> dict[str, int]:
    """The threads of every BLAS that is loaded."""
    return {found["filepath"]: found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


def check_usable(name: str, seen: Interruption) -> None:
    """Fitted with a certificate, or not fitted; and it can be fitted again."""
    _, X, y = LONG[name]()
    model = seen.model
    if hasattr(model, "certificate_"):
        done = Status.CONVERGED, Status.ROUNDING_LIMIT  # it may have been done just then
        assert model.result_.status in (Status.INTERRUPTED, *done)
        assert model.certificate_.primal >= model.certificate_.dual
        few = X[:5]
        assert len(model.predict(few)) == 5
    else:
        with pytest.raises((NotFittedError, AttributeError)):
            model.predict(X[:5])
    fit_quietly(model.set_params(max_seconds=0.05), X, y)
    assert hasattr(model, "certificate_")


def test_every_solver_is_interrupted():
    """The registry has no solver without a long fit here."""
    assert set(SOLVERS) <= set(ONCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONCE)
def test_control_is_back_soon(name):
    """One moment for each solver; on a busy machine with some patience."""
    load_compiled(name)
    seen = interrupt_fit(name, random.Random(name).uniform(0.02, 0.15))
    assert seen.late < SOON + SLACK_SECONDS
    if seen.in_time:
        check_usable(name, seen)


@pytest.mark.slow
def test_two_hundred_moments():
    """Over all fits, at moments sampled at random: each within 0.2 s, and what other programs take away."""
    draw, late = random.Random(0), {}
    for name in LONG:
        load_compiled(name)
    for k in range(200):
        name = list(LONG)[k % len(LONG)]
        seen = interrupt_fit(name, draw.uniform(0.0, 1.0))
        late.setdefault(name, []).append(seen.late)
        if k < len(LONG) and seen.in_time:
            check_usable(name, seen)
    waits = np.concatenate(list(late.values()))
    report = ", ".join(f"{name} {max(each):.2f}" for name, each in late.items())
    shares = {share: round(float(np.quantile(waits, share)), 3) for share in (0.5, 0.9, 0.95, 0.99, 1.0)}
    print(f"\nseconds until control was back: {shares}; the longest of each: {report}")
    assert waits.max() < SOON + SLACK_SECONDS, report


@pytest.mark.parametrize("name", ["smo", "qp", pytest.param("classes", marks=pytest.mark.slow), "newton"])
def test_a_second_one_leaves_at_once(name):
    """Pressed twice: KeyboardInterrupt goes through whatever is being done, and the estimator can be fitted again."""
    load_compiled(name)
    seen = interrupt_fit(name, 0.3, times=2)
    assert seen.late < SOON + SLACK_SECONDS
    _, X, y = LONG[name]()
    fit_quietly(seen.model.set_params(max_seconds=0.2), X, y)
    assert hasattr(seen.model, "certificate_")


def test_before_the_solver_begins():
    """While data are checked and kernels evaluated, Ctrl-C is what it always is; nothing is fitted."""

    def slow_kernel(A, B):
        signal.raise_signal(signal.SIGINT)
        time.sleep(10.0)
        return A @ B.T

    X, y = make_clouds(200, 5)
    model = SVC(kernel=slow_kernel)
    watch = OwnTimer()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert watch.seconds < SOON + SLACK_SECONDS
    assert not hasattr(model, "certificate_")


# ---- points that there was no time to judge -------------------------------------------------------------------------


class Slow(Gram):
    """Features whose scores would take ten seconds, and are not to be asked for."""

    def estimate_seconds(self, support: int) -> float:
        return 10.0

    def scores(self, coef):
        raise AssertionError("There was no time to judge the point.")


def press_at_once(progress) -> None:
    """Ctrl-C at the first report."""
    signal.raise_signal(signal.SIGINT)


def test_a_certificate_that_takes_long_is_left_out():
    """The point is there, its gap is unknown, and the sentence says what the solver saw."""
    X, y = make_clouds(3000, 5)
    problem = Problem(Slow(RBF(0.1), Gram.from_data(RBF(0.1), X).samples), 2.0 * y - 1.0, np.full(3000, 1e3), Hinge())
    result = solve(problem, tol=1e-12, callback=press_at_once)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.relative_gap == np.inf
    assert np.abs(result.point.a).max() > 0
    assert "no time to judge" in result.message
    assert f"{result.history[-1].relative_gap:.2g}" in result.message


def test_an_estimator_without_a_certificate_predicts(monkeypatch):
    """The machine is the solver's point; the width of its margin is not known, and certify finds out."""
    monkeypatch.setattr(Gram, "estimate_seconds", lambda self, support: 1.0)
    X, y = make_clouds(3000, 5)
    model = SVC(C=1e4, tol=1e-12)
    load_compiled("smo pairs")

    def press(*_):
        signal.raise_signal(signal.SIGINT)

    timer = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        signal.signal(signal.SIGALRM, timer)
    assert model.certificate_.relative_gap == np.inf
    assert np.isnan(model.margin_width_).all()
    assert np.isfinite(model.decision_function(X[:5])).all()
    assert str(model.certificate_) == "no certificate: there was no time to judge the point"


# ---- programs -------------------------------------------------------------------------------------------------------

PROGRAM = """
    import signal, sys, threading, time
    sys.path.insert(0, {folder!r})
    from long_fits import LONG, load_compiled

    def announce():
        while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            time.sleep(0.001)
        print("listens", flush=True)

    load_compiled({name!r})
    model, X, y = LONG[{name!r}]()
    threading.Thread(target=announce, daemon=True).start()
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print("fitted" if hasattr(model, "certificate_") else "not fitted", flush=True)
        raise
"""


@pytest.mark.slow
@pytest.mark.parametrize("presses", [1, 2])
@pytest.mark.parametrize("name", ["smo", "qp"])
def test_a_program_ends(name, presses):
    """A program of its own dies of the signal, once pressed or twice; it is sent when the fit has begun to listen."""
    folder = os.path.dirname(os.path.abspath(__file__))
    code = textwrap.dedent(PROGRAM.format(folder=folder, name=name))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout.readline() == "listens\n"
        time.sleep(0.3)  # into the fit
        for _ in range(presses):
            program.send_signal(signal.SIGINT)
            time.sleep(0.02)
        out, err = program.communicate(timeout=30)
    assert program.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in err
    assert out.strip() in (("fitted",) if presses == 1 else ("fitted", "not fitted", ""))


READERS = {
    "command": ["-m", "maxmargin", "train", "{pipe}", "{model}"],
    "python": ["-c", "from maxmargin import read_libsvm; read_libsvm({pipe!r})"],
}


def wait_for_reader(pipe: Path) -> int:
    """The end of the pipe to write to, once a process reads from the other."""
    for _ in range(600):
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # none does yet
            time.sleep(0.1)
    raise TimeoutError


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_program_that_reads_a_pipe_ends(name, tmp_path):
    """The first Ctrl-C ends it at once though no more data come: with its exit code, or as any program of Python."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = [word.format(pipe=str(pipe), model=tmp_path / "model") for word in READERS[name]]
    with subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True) as program:
        writer = wait_for_reader(pipe)
        try:
            os.write(writer, b"1 1:1\n-1 1:2\n")
            time.sleep(0.3)
            program.send_signal(signal.SIGINT)
            watch = OwnTimer()
            err = program.communicate(timeout=30)[1]
            late = watch.seconds
        finally:
            program.kill()
            os.close(writer)
    assert late < SOON + SLACK_SECONDS
    if name == "command":
        assert (program.returncode, err) == (130, "maxmargin train: interrupted.\n")
    else:
        assert program.returncode == -signal.SIGINT
        assert err.rstrip().endswith("KeyboardInterrupt")


def test_threads_do_not_hear_of_it():
    """A fit on another thread goes on while the main thread is interrupted."""
    from concurrent.futures import ThreadPoolExecutor

    X, y = make_clouds(3000, 10)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: LinearSVC().fit(X, y))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert other.result(timeout=60).result_.converged


def test_interrupt_delivered_to_a_worker():
    """Ctrl-C that the system gives to a worker interrupts the main thread, which waits for that worker."""
    waited_for, done = threading.Event(), threading.Event()

    def interrupt_oneself() -> None:
        waited_for.wait(HANG_SECONDS)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        done.wait(HANG_SECONDS)

    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(interrupt_oneself)
        try:
            with pytest.raises(KeyboardInterrupt):
                waited_for.set()
                wait_for_workers([worker])
            assert not worker.done()
        finally:
            done.set()
