"""The one loop: limits, callback, warm start and Ctrl-C, and the judge's last word on all of them."""

from __future__ import annotations

import re
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from keyboard import press_ctrl_c
from reference_problems import ROW_LOSSES, make_problem, say
from time_allowances import SLACK_SECONDS, OwnTimer

import maxmargin.model.features.gram
from maxmargin.certificates.certificate import judge
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import EpsilonInsensitive, Hinge, LeastSquares
from maxmargin.model.problem import Point, Problem
from maxmargin.runtime.interrupt import Interrupt, watch_interrupt
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.choice import plan
from maxmargin.solvers.loop import solve
from maxmargin.solvers.result import SENTENCES, Progress, Status
from maxmargin.solvers.smo import SELECTIONS, SMO

every_selection = pytest.mark.parametrize("selection", SELECTIONS)


def make_long_problem(n: int = 1500) -> Problem:
    """A problem that takes SMO minutes: a large C on a linear kernel and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    y = np.where(X[:, 0] + 2.0 * rng.normal(size=n) > 0, 1.0, -1.0)
    return Problem(Gram.from_data(Linear(), X), y, np.full(n, 1e6), Hinge())


@pytest.fixture(scope="module")
def long_problem() -> Problem:
    """The long problem with its Gram matrix formed and everything compiled."""
    problem = make_long_problem()
    assert solve(problem, tol=1e-9, max_iter=100).status is Status.MAX_ITER
    return problem


# ---- limits -------------------------------------------------------------------------------------------------


@every_selection
@pytest.mark.parametrize("max_iter", [0, 1, 2, 31, 32, 33, 150])
def test_max_iter_is_exact(selection, max_iter, long_problem):
    """As many steps as asked for, not one more, and a certificate all the same."""
    result = solve(long_problem, SMO(selection=selection), tol=1e-9, max_iter=max_iter)
    assert result.n_iter == max_iter
    assert result.status is Status.MAX_ITER
    assert np.isfinite(result.certificate.gap)
    assert result.certificate.relative_gap > 1e-9


@every_selection
@pytest.mark.parametrize("tol", [1e-4, 1e-9])
def test_max_iter_is_never_exceeded(selection, tol):
    """Also not in the last steps before convergence."""
    problem = make_problem(EpsilonInsensitive(0.05), RBF(gamma=0.5), n=60, seed=1)
    needed = solve(problem, SMO(selection=selection), tol=tol, max_seconds=10.0).n_iter
    for max_iter in range(max(1, needed - 40), needed):
        result = solve(problem, SMO(selection=selection), tol=tol, max_iter=max_iter)
        assert result.n_iter <= max_iter
        assert result.status in (Status.MAX_ITER, Status.CONVERGED)


def test_max_iter_is_never_exceeded_with_many_free_duals():
    """Also not where the accuracy asked for calls for more than SMO's own steps."""
    problem = make_problem(LeastSquares(), RBF(gamma=0.5), n=1100)
    halfway = solve(problem, tol=1e-5, max_seconds=10.0).n_iter
    assert solve(problem, tol=1e-9, max_iter=halfway + 1).n_iter <= halfway + 1


@pytest.mark.parametrize("max_iter", [1, 20])
def test_max_iter_is_exact_without_a_free_intercept(max_iter, long_problem):
    """Single steps are counted as pairs are."""
    result = solve(replace(long_problem, balance=None), tol=1e-9, max_iter=max_iter)
    assert (result.n_iter, result.status) == (max_iter, Status.MAX_ITER)


@pytest.mark.parametrize("working_set", [2, 10, None])
@pytest.mark.parametrize("max_iter", [1, 13, 40])
def test_max_iter_is_exact_with_rows_on_demand(working_set, max_iter, monkeypatch):
    """A missing row is not a step, and a block ends where the limit does."""
    monkeypatch.setattr(maxmargin.model.features.gram, "MAX_FULL_GRAM_SAMPLES", 0)
    problem = make_problem(Hinge(), RBF(gamma=0.5), n=200)
    result = solve(problem, SMO(cache_size=3 * 1600 / 2**20, working_set=working_set), tol=1e-9, max_iter=max_iter)
    assert (result.n_iter, result.status) == (max_iter, Status.MAX_ITER)


@pytest.mark.usefixtures("own_clock")
@pytest.mark.parametrize("max_seconds", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("working_set", [2, 512])
def test_max_seconds_is_obeyed(max_seconds, working_set, long_problem):
    """The loop ends within 0.3 s of its budget, and not before it."""
    watch, began = OwnTimer(), time.perf_counter()
    result = solve(long_problem, SMO(working_set=working_set), tol=1e-12, max_seconds=max_seconds)
    elapsed = time.perf_counter() - began
    assert result.status is Status.MAX_SECONDS
    assert watch.seconds <= max_seconds + 0.3 + SLACK_SECONDS
    assert max_seconds <= elapsed
    assert watch.seconds - SLACK_SECONDS <= result.seconds <= elapsed
    assert np.isfinite(result.certificate.gap)


# ---- callback and history -----------------------------------------------------------------------------------


def test_callback_sees_progress(long_problem):
    """Called with one Progress after another, which are the history of the result."""
    seen = []
    result = solve(long_problem, tol=1e-12, max_seconds=0.4, callback=seen.append)
    assert len(seen) >= 3
    assert all(isinstance(progress, Progress) for progress in seen)
    assert seen == result.history
    assert all(progress.active <= long_problem.n for progress in seen)


def test_callback_can_stop(long_problem):
    """A true return value ends the solve at once, with a certificate."""
    calls = []

    def stop_at_the_third(progress):
        calls.append(progress)
        return len(calls) == 3

    result = solve(long_problem, tol=1e-12, max_seconds=10.0, callback=stop_at_the_third)
    assert len(calls) == 3
    assert result.status is Status.STOPPED
    assert result.n_iter == calls[-1].n_iter
    assert np.isfinite(result.certificate.gap)


def test_callback_may_fail(long_problem):
    """What the callback raises reaches the caller, and Ctrl-C works as before."""
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        solve(long_problem, tol=1e-12, max_seconds=5.0, callback=lambda progress: 1 / 0)
    assert signal.getsignal(signal.SIGINT) is before


@every_selection
@pytest.mark.parametrize("working_set", [2, 512])
def test_history_rises(selection, working_set, long_problem):
    """D never falls beyond rounding, iterations and seconds never fall, and the gap is not negative."""
    solver = SMO(selection=selection, working_set=working_set)
    history = solve(long_problem, solver, tol=1e-12, max_seconds=0.6).history
    assert len(history) > 3
    duals = np.array([progress.dual for progress in history])
    assert (np.diff(duals) >= -1e-12 * np.abs(duals[1:])).all()
    assert (np.diff([progress.n_iter for progress in history]) >= 0).all()
    assert (np.diff([progress.seconds for progress in history]) > 0).all()
    assert all(progress.relative_gap >= -1e-10 for progress in history)


@pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)
def test_history_rises_step_by_step(loss):
    """Every single step raises D, with shrinking and near the end too."""
    problem = make_problem(loss, RBF(gamma=0.5), n=40, seed=2)
    duals = []
    for max_iter in range(0, 60, 3):
        duals.append(solve(problem, tol=1e-13, max_iter=max_iter).certificate.dual)
    assert (np.diff(duals) >= -1e-12 * np.maximum(np.abs(duals[1:]), 1.0)).all()


# ---- results ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_converged_means_certified(loss, tol):
    """The certificate is the judge's own, and within tol."""
    problem = make_problem(loss, RBF(gamma=0.5), n=60, seed=3)
    result = solve(problem, tol=tol, max_seconds=10.0)
    assert result.converged
    assert result.certificate.relative_gap <= tol
    again = judge(problem, result.point)
    assert (again.primal, again.dual) == (result.certificate.primal, result.certificate.dual)
    assert (result.point.a >= problem.row.lo).all()
    assert (result.point.a <= problem.row.hi).all()


def test_results_do_not_share_state():
    """Two solves of one problem give two results, equal and apart."""
    problem = make_problem(Hinge(), RBF(gamma=0.5), n=60)
    first, second = solve(problem, tol=1e-6), solve(problem, tol=1e-6)
    np.testing.assert_array_equal(first.point.a, second.point.a)
    assert first.n_iter == second.n_iter
    assert not np.shares_memory(first.point.a, second.point.a)


def test_every_status_has_a_sentence():
    """Why a solve stopped, in words."""
    assert set(SENTENCES) == set(Status)
    result = solve(make_problem(Hinge()), tol=1e-3)
    assert result.message == SENTENCES[result.status]


@pytest.mark.parametrize("name", [*SOLVERS, "auto"])
def test_solvers_by_name(name):
    """Every name of the table, and "auto", gives a solver that takes the problem, or a sentence why it does not."""
    problem = make_problem(Hinge())
    reason = SOLVERS[name]().accepts(problem) if name != "auto" else None
    if reason is None:
        assert plan(problem, name)[0].solver.accepts(problem) is None
    else:
        with pytest.raises(ValueError, match=re.escape(reason)):
            plan(problem, name)


@pytest.mark.parametrize("name", ["simplex", "", "SMO"])
def test_unknown_solvers_are_refused(name):
    """The sentence lists the names and repeats the one given."""
    with pytest.raises(ValueError, match=f"solver must be 'auto', one of .*'smo'.* or a solver object, got '{name}'"):
        solve(make_problem(Hinge()), name)


# ---- warm start ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_warm_start_at_the_solution(loss, intercept):
    """From the solution there is nearly nothing left to do."""
    problem = make_problem(loss, RBF(gamma=0.5), intercept, weighted=True, n=60)
    cold = solve(problem, tol=1e-8, max_seconds=10.0)
    warm = solve(problem, tol=1e-8, warm=cold.point, max_seconds=10.0)
    assert warm.converged
    assert warm.n_iter <= 5
    assert warm.certificate.dual == pytest.approx(cold.certificate.dual, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_warm_start_along_a_path(factor):
    """Duals scaled with C start nearer to the solution than zero does."""
    problem = make_problem(Hinge(), RBF(gamma=0.5), n=200)
    point = solve(problem, tol=1e-6).point
    scaled = replace(problem, c=problem.c * factor)
    cold = solve(scaled, tol=1e-6, max_seconds=10.0)
    warm = solve(scaled, tol=1e-6, warm=Point(point.a * factor, point.b), max_seconds=10.0)
    assert warm.converged
    assert warm.certificate.dual == pytest.approx(cold.certificate.dual, rel=2e-6)
    assert warm.n_iter < cold.n_iter


@pytest.mark.parametrize("loss", ROW_LOSSES, ids=say)
def test_warm_start_anywhere(loss):
    """Duals that are not feasible are made so; the solution is the same."""
    problem = make_problem(loss, RBF(gamma=0.5), weighted=True, n=40)
    wild = Point(100.0 * np.random.default_rng(4).normal(size=40), 3.0)
    before = wild.a.copy()
    warm = solve(problem, tol=1e-7, warm=wild, max_seconds=10.0)
    assert warm.converged
    np.testing.assert_array_equal(wild.a, before)
    cold = solve(problem, tol=1e-7, max_seconds=10.0)
    assert warm.certificate.dual == pytest.approx(cold.certificate.dual, rel=2e-7)


# ---- Ctrl-C -------------------------------------------------------------------------------------------------


@pytest.fixture
def _default_handler():
    """Python's own handler for Ctrl-C, whatever runs these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_default_handler", "own_clock")
@pytest.mark.parametrize("working_set", [2, 512])
def test_interrupt_ends_in_good_order(working_set, long_problem):
    """Ctrl-C ends the loop within 0.2 s with a certificate, and leaves the handler as it was."""
    with press_ctrl_c() as sent:
        result = solve(long_problem, SMO(working_set=working_set), tol=1e-12, max_seconds=60.0)
    assert sent[0].seconds < 0.2 + SLACK_SECONDS
    assert result.status is Status.INTERRUPTED
    assert np.isfinite(result.certificate.gap)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("_default_handler", "own_clock")
def test_second_interrupt_is_a_keyboard_interrupt():
    """Ctrl-C pressed twice is meant."""
    with watch_interrupt() as flag:
        assert not flag
        signal.raise_signal(signal.SIGINT)
        assert flag
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def fail_while_watching() -> None:
    """An exception within the context."""
    with watch_interrupt():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        raise RuntimeError


@pytest.mark.usefixtures("_default_handler", "own_clock")
def test_watching_ends_with_its_context():
    """Also when the context ends by an exception; and a shared flag is watched by its maker alone."""
    with pytest.raises(RuntimeError):
        fail_while_watching()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with watch_interrupt() as outer:
        with watch_interrupt(outer) as inner:
            assert inner is outer
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler


@pytest.mark.usefixtures("_default_handler", "own_clock")
def test_a_handler_of_the_program_is_respected():
    """Where the program handles Ctrl-C itself the library does not interfere."""
    pressed = []
    signal.signal(signal.SIGINT, lambda signum, frame: pressed.append(signum))
    own = signal.getsignal(signal.SIGINT)
    with watch_interrupt() as flag:
        assert signal.getsignal(signal.SIGINT) is own
        signal.raise_signal(signal.SIGINT)
        assert not flag
    assert pressed == [signal.SIGINT]


def test_a_shared_flag_stops_every_solve(long_problem):
    """Several solves that stop together: a raised flag ends each at its next look."""
    flag = Interrupt()
    flag.raised = True
    result = solve(long_problem, tol=1e-12, max_seconds=10.0, interrupt=flag)
    assert result.status is Status.INTERRUPTED
    assert result.n_iter == 0
    assert np.isfinite(result.certificate.gap)


def test_solving_in_threads():
    """Away from the main thread nothing is watched and everything works, two solves at a time."""
    results = {}

    def work(seed: int) -> None:
        results[seed] = solve(make_problem(Hinge(), RBF(gamma=0.5), n=200, seed=seed), tol=1e-6, max_seconds=10.0)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, result in results.items():
        alone = solve(make_problem(Hinge(), RBF(gamma=0.5), n=200, seed=seed), tol=1e-6)
        assert result.converged
        assert result.certificate.dual == pytest.approx(alone.certificate.dual, rel=2e-6)
    assert len(results) == 4
