"""`minimize` with limits, callbacks, Ctrl-C and checkpoints: it ends in good order, and goes on where it ended."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time

import numpy as np
import pytest
from minimisation_methods import every_method
from textbook_functions import CATALOGUE
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin import Status, minimize

SHOR = CATALOGUE["Shor"]
BOX = (-5.0, 5.0)


class Counted:
    """A function that counts its calls, and may rest at each."""

    def __init__(self, fun, rest: float = 0.0):
        self.fun, self.rest, self.n_calls = fun, rest, 0

    def __call__(self, x):
        self.n_calls += 1
        time.sleep(self.rest)
        return self.fun(x)


def assert_best_of(found, fun) -> None:
    """x is a point with the value and the bound that it claims."""
    assert found.fun == pytest.approx(fun(found.x)[0], rel=1e-14)
    assert found.fun >= SHOR.minimum * (1.0 - 1e-9)
    assert found.lower_bound <= SHOR.minimum * (1.0 + 1e-9)
    assert not found.converged


# ---- limits -------------------------------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("max_iter", [0, 1, 5])
def test_max_iter(method, max_iter):
    """So many rounds and no more; with none at all x0 is the answer."""
    found = minimize(SHOR.fun, SHOR.x0, method, bounds=BOX, max_iter=max_iter)
    assert found.status is Status.MAX_ITER
    assert found.n_iter == len(found.history) == max_iter
    assert "max_iter" in found.message
    assert_best_of(found, SHOR.fun)
    if max_iter == 0:
        np.testing.assert_array_equal(found.x, SHOR.x0)
        assert found.n_calls == 1


@every_method
@pytest.mark.usefixtures("own_clock")
def test_max_seconds(method):
    """The run ends with the call during which time ran out, give or take what one round asks."""
    watch, began = OwnTimer(), time.perf_counter()
    found = minimize(Counted(SHOR.fun, 0.05), SHOR.x0, method, bounds=BOX, max_seconds=0.3)
    assert found.status is Status.MAX_SECONDS
    assert "max_seconds" in found.message
    assert 0.3 <= found.seconds <= time.perf_counter() - began
    assert watch.seconds < 1.5 + SLACK_SECONDS
    assert_best_of(found, SHOR.fun)


@every_method
def test_a_callback_stops(method):
    """It sees every round, and a true answer is the end."""
    seen = []
    found = minimize(SHOR.fun, SHOR.x0, method, bounds=BOX, callback=lambda each: seen.append(each) or len(seen) == 5)
    assert found.status is Status.STOPPED
    assert found.n_iter == 5
    assert [each._replace(x=None, cut=None) for each in seen] == found.history
    np.testing.assert_array_equal(seen[-1].x, found.x)
    assert [each.n_iter for each in seen] == [1, 2, 3, 4, 5]
    assert "callback" in found.message
    assert_best_of(found, SHOR.fun)


def test_a_callback_that_says_nothing_changes_nothing():
    """None, 0 and False go on."""
    plain = minimize(SHOR.fun, SHOR.x0, bounds=BOX)
    for answer in (None, 0, False, np.False_):
        watched = minimize(SHOR.fun, SHOR.x0, bounds=BOX, callback=lambda _, answer=answer: answer)
        np.testing.assert_array_equal(watched.x, plain.x)


def test_errors_of_fun_and_callback_pass_through():
    """They are not ours to hide."""

    def fail(_):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        minimize(fail, SHOR.x0)
    with pytest.raises(ZeroDivisionError, match="mine"):
        minimize(SHOR.fun, SHOR.x0, callback=fail)


def test_ctrl_c_keeps_the_best_point():
    """The first Ctrl-C ends the run after the call it fell into; the handler is put back."""
    fun = Counted(SHOR.fun, 0.02)
    timer = threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    found = minimize(fun, SHOR.x0, bounds=BOX, tol=0.0)
    timer.join()
    assert found.status is Status.INTERRUPTED
    assert "keyboard" in found.message
    assert 2 <= fun.n_calls <= 60
    assert_best_of(found, SHOR.fun)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# ---- going on -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("source", ["file", "minimum", "saved"])
def test_a_run_goes_on_where_it_ended(method, source, tmp_path):
    """Ten rounds and the rest: the same minimum, and about as many calls as without the break."""
    path = tmp_path / "run.npz"
    through = minimize(SHOR.fun, SHOR.x0, method, bounds=BOX)
    fun = Counted(SHOR.fun)
    first = minimize(fun, SHOR.x0, method, bounds=BOX, max_iter=10, checkpoint=path if source == "file" else None)
    if source == "saved":
        first.save(path)
    again = minimize(fun, SHOR.x0, method, bounds=BOX, resume=first if source == "minimum" else str(path))
    assert again.converged
    assert again.fun == pytest.approx(SHOR.minimum, rel=1.1e-6)
    assert again.fun <= first.fun
    assert again.history[0].n_iter == 11
    assert again.history[0].lower_bound >= first.lower_bound
    assert fun.n_calls == again.n_calls
    assert 0.7 * through.n_calls <= again.n_calls <= 1.3 * through.n_calls + 5


@every_method
def test_a_run_goes_on_with_a_ridge_and_little_memory(method, tmp_path):
    """The aggregate goes into the file as well."""
    path, n = tmp_path / "run.npz", 12
    fun = lambda x: (float(x.max()), np.eye(n)[np.argmax(x)])  # noqa: E731
    settings = {"ridge": 1.0, "tol": 1e-5, "max_cuts": None if method.startswith("cutting") else 8}
    minimize(fun, np.zeros(n), method, max_iter=14, checkpoint=path, **settings)
    again = minimize(fun, np.zeros(n), method, resume=path, **settings)
    assert again.converged, again.message
    assert again.fun == pytest.approx(-0.5 / n, abs=1e-5)
    assert again.lower_bound <= -0.5 / n + 1e-12


@every_method
def test_a_run_with_a_ridge_goes_on_from_its_midst(method):
    """After one round there is still a way to go, and the same minimum is found."""
    first = minimize(SHOR.fun, SHOR.x0, method, ridge=0.1, max_iter=1)
    assert not first.converged
    again, through = (minimize(SHOR.fun, SHOR.x0, method, ridge=0.1, resume=each) for each in (first, None))
    assert again.converged
    assert again.fun == pytest.approx(through.fun, rel=1e-5)


def test_a_run_that_was_done_is_done():
    """With a smaller tol it goes on, with the same one it does not ask fun again."""
    fun = Counted(SHOR.fun)
    found = minimize(fun, SHOR.x0, bounds=BOX, tol=1e-4)
    asked = fun.n_calls
    same = minimize(fun, SHOR.x0, bounds=BOX, tol=1e-4, resume=found)
    assert same.converged
    assert fun.n_calls <= asked + 1
    assert same.fun == found.fun
    closer = minimize(fun, SHOR.x0, bounds=BOX, tol=1e-8, resume=found)
    assert closer.gap <= 1e-8 * closer.fun < found.gap


def test_a_minimum_can_be_resumed_twice():
    """To go on from it does not change it."""
    found = minimize(SHOR.fun, SHOR.x0, bounds=BOX, max_iter=8)
    x, value = found.x.copy(), found.fun
    first, second = (minimize(SHOR.fun, SHOR.x0, bounds=BOX, resume=found) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    np.testing.assert_array_equal(found.x, x)
    assert found.fun == value


def test_an_interrupted_run_has_a_checkpoint(tmp_path):
    """Whatever ends a run in good order, the file is written at the end."""
    path = tmp_path / "run.npz"
    minimize(SHOR.fun, SHOR.x0, bounds=BOX, callback=lambda each: each.n_iter == 6, checkpoint=path)
    assert minimize(SHOR.fun, SHOR.x0, bounds=BOX, resume=path).history[0].n_iter == 7
    assert [each.name for each in tmp_path.iterdir()] == ["run.npz"]


def test_checkpoints_are_written_on_the_way(tmp_path, monkeypatch):
    """A run that is killed leaves the last one."""
    monkeypatch.setattr("maxmargin.runtime.checkpoints.SAVE_INTERVAL_SECONDS", 0.0)
    path = tmp_path / "run.npz"

    def die(each):
        if each.n_iter == 9:
            raise MemoryError

    with pytest.raises(MemoryError):
        minimize(SHOR.fun, SHOR.x0, bounds=BOX, callback=die, checkpoint=path)
    assert minimize(SHOR.fun, SHOR.x0, bounds=BOX, resume=path).history[0].n_iter in (8, 9, 10)


# ---- files that cannot be written or read ---------------------------------------------------------------------


def test_a_folder_that_does_not_exist_is_refused_before_the_first_call(tmp_path):
    """Not after a night of work."""
    fun = Counted(SHOR.fun)
    with pytest.raises(ValueError, match=r"checkpoint must be in a folder that exists.*missing"):
        minimize(fun, SHOR.x0, checkpoint=tmp_path / "missing" / "run.npz")
    assert fun.n_calls == 0


def test_a_full_disk_costs_neither_the_run_nor_the_old_file(tmp_path, monkeypatch):
    """One warning; the minimum is returned, the old checkpoint is whole, and nothing else lies about."""
    path = tmp_path / "run.npz"
    minimize(SHOR.fun, SHOR.x0, bounds=BOX, max_iter=5, checkpoint=path)
    before = path.read_bytes()

    def fail(file, **_):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("maxmargin.runtime.checkpoints.SAVE_INTERVAL_SECONDS", 0.0)
        patch.setattr(np, "savez", fail)
        with pytest.warns(RuntimeWarning, match=r"run\.npz.*could not be written.*No space left") as caught:
            found = minimize(SHOR.fun, SHOR.x0, bounds=BOX, checkpoint=path)
    assert len(caught) == 1
    assert found.converged
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["run.npz"]
    assert minimize(SHOR.fun, SHOR.x0, bounds=BOX, resume=path).converged


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 half a zip"], ids=["empty", "text", "half"])
def test_a_corrupt_file_is_refused(content, tmp_path):
    """One sentence with the name of the file."""
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"resume=.*run\.npz.* is not a checkpoint that can be read"):
        minimize(SHOR.fun, SHOR.x0, resume=path)


def test_half_a_checkpoint_is_refused(tmp_path):
    """Cut off in the middle, or another file of NumPy's: the same sentence."""
    whole, path = tmp_path / "whole.npz", tmp_path / "run.npz"
    minimize(SHOR.fun, SHOR.x0, bounds=BOX, max_iter=8, checkpoint=whole)
    path.write_bytes(whole.read_bytes()[:-200])
    with pytest.raises(ValueError, match="is not a checkpoint that can be read"):
        minimize(SHOR.fun, SHOR.x0, resume=path)
    np.savez(path, x=np.zeros(5))
    with pytest.raises(ValueError, match="is not a checkpoint that can be read"):
        minimize(SHOR.fun, SHOR.x0, resume=path)
    np.save(tmp_path / "array.npy", np.zeros(5))
    with pytest.raises(ValueError, match="is not a checkpoint that can be read"):
        minimize(SHOR.fun, SHOR.x0, resume=tmp_path / "array.npy")


def test_a_missing_file_is_refused(tmp_path):
    """By its name."""
    with pytest.raises(ValueError, match=r"there is no file .*nowhere\.npz"):
        minimize(SHOR.fun, SHOR.x0, resume=tmp_path / "nowhere.npz")


def test_another_problem_is_refused():
    """Another dimension, method, ridge or box would make a nonsense of the cuts or of the bound."""
    found = minimize(SHOR.fun, SHOR.x0, bounds=BOX, max_iter=8)
    with pytest.raises(ValueError, match="resume holds a run with numbers of x 5, and this one has 4"):
        minimize(lambda x: (0.0, np.zeros(4)), np.zeros(4), resume=found)
    with pytest.raises(ValueError, match=r"resume holds a run with ridge 0\.0, and this one has 1\.0"):
        minimize(SHOR.fun, SHOR.x0, bounds=BOX, ridge=1.0, resume=found)
    with pytest.raises(ValueError, match="resume holds a run with method 'proximal-bundle'"):
        minimize(SHOR.fun, SHOR.x0, "level-bundle", bounds=BOX, resume=found)


def test_another_box_is_refused():
    """A bound proved on a small box says nothing of a larger one."""
    small = minimize(SHOR.fun, np.full(5, 4.5), bounds=(4.0, 5.0))
    assert small.lower_bound > SHOR.minimum + 1.0
    for bounds in (BOX, None, (np.full(5, 4.0), np.full(5, 5.1))):
        with pytest.raises(ValueError, match="resume holds a run with different bounds"):
            minimize(SHOR.fun, np.full(5, 4.5), bounds=bounds, resume=small)
    same = minimize(SHOR.fun, np.full(5, 4.5), bounds=(np.full(5, 4.0), 5.0), resume=small)
    assert same.fun == small.fun
