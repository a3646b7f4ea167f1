"""Ctrl-C and SIGTERM: the best model is saved, and no half of a file is left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from commands import CERTIFICATE, assert_refused, run

from maxmargin import SVC
from maxmargin.cli.exit_codes import Exit, Terminated
from maxmargin.cli.saving import treat_sigterm_as_interrupt
from maxmargin.files import load, save, write_libsvm

# ---- Ctrl-C ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def endless() -> list[str]:
    """A training that does not end by itself: random labels, almost a hard margin, a gap below rounding."""
    rng = np.random.default_rng(0)
    write_libsvm("noise", rng.normal(size=(2500, 10)), np.where(rng.random(2500) < 0.5, 1.0, -1.0))
    return ["train", "noise", "m", "--C", "1e6", "--gamma", "0.01", "--tol", "1e-12"]


def start(argv: list[str]):
    """The program, with a terminal for its stderr; returns when the live line of the fit shows an iteration."""
    import pty

    keyboard, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": "200"}
    process = subprocess.Popen(
        [sys.executable, "-m", "maxmargin", *argv], stdout=subprocess.PIPE, stderr=terminal, text=True, env=environment
    )
    os.close(terminal)
    shown, end = "", time.monotonic() + 90.0
    while "iteration" not in shown and time.monotonic() < end:
        if select.select([keyboard], [], [], 1.0)[0]:
            shown += os.read(keyboard, 4096).decode(errors="replace")
    assert "iteration" in shown, shown
    return process, keyboard


def hang_up(process, keyboard) -> tuple[int, str, str]:
    """The code with which the process ended, and what it said on stdout and stderr."""
    out, _ = process.communicate(timeout=60)
    said = ""
    while select.select([keyboard], [], [], 0.2)[0]:
        try:
            said += os.read(keyboard, 4096).decode(errors="replace")
        except OSError:  # Linux ends a terminal that no process holds with an error
            break
    os.close(keyboard)
    return process.returncode, out, said


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudoterminals")
def test_ctrl_c_saves_the_best_model(endless):
    """Code 130, a certificate, a sentence that says how to go on, and a model with which one can."""
    process, keyboard = start(endless)
    process.send_signal(signal.SIGINT)
    code, out, said = hang_up(process, keyboard)
    assert code == Exit.INTERRUPTED
    judged = all(word in out.splitlines()[-1] for word in CERTIFICATE)
    assert judged or "`maxmargin certify m noise` certifies it" in said
    assert "`maxmargin train --resume m noise` continues it" in said
    assert "Traceback" not in said
    assert run("certify", "-q", "m", "noise", "--tol", "1e-12") == Exit.GAP_TOO_LARGE
    assert run("train", "-q", "--resume", "m", "noise", "--max-seconds", "1") == Exit.UNFINISHED


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudoterminals")
def test_a_second_ctrl_c_leaves_at_once(endless):
    """Code 130 whatever it was doing, and no half of a file."""
    save(SVC().fit(np.eye(2), [0, 1]), "m")
    before = Path("m").read_bytes()
    process, keyboard = start(endless)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    code, _, said = hang_up(process, keyboard)
    assert code == Exit.INTERRUPTED
    assert "Traceback" not in said
    assert {path.name for path in Path().iterdir()} == {"m", "noise"}
    assert Path("m").read_bytes() == before or load("m").n_features_in_ == 10


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudoterminals")
def test_termination_saves_the_best_model(endless):
    """What a batch system sends before it kills: code 143, and a model with which one can go on."""
    process, keyboard = start(endless)
    process.terminate()
    code, _, said = hang_up(process, keyboard)
    assert code == Exit.TERMINATED
    assert "`maxmargin train --resume m noise` continues it" in said
    assert len(load("m").predict(np.zeros((1, 10)))) == 1


def test_ctrl_c_while_the_model_is_written(blobs, monkeypatch):
    """The fit is over: the first one waits for the file, the second one does not."""
    from maxmargin.cli import saving

    write = saving.write_model
    for presses in (1, 2):

        def press(*arguments, presses=presses):
            for _ in range(presses):
                signal.raise_signal(signal.SIGINT)
            write(*arguments)

        monkeypatch.setattr(saving, "write_model", press)
        assert run("train", "-q", blobs, f"m{presses}") == Exit.INTERRUPTED
    assert Path("m1").exists()
    assert not Path("m2").exists()


def test_a_second_termination_means_nothing():
    """A batch system may signal the process and its group."""

    def be_terminated_twice() -> None:
        with treat_sigterm_as_interrupt() as came:
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            assert len(came) == 2
            raise KeyboardInterrupt

    with pytest.raises(Terminated):
        be_terminated_twice()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


# ---- files that are not what they seem ------------------------------------------------------------------------------


def test_interrupted_while_reading(blobs, monkeypatch, capsys):
    """Nothing is fitted, nothing is written, no traceback."""

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.files.read_data", interrupt)
    assert_refused(capsys, Exit.INTERRUPTED, "maxmargin train: interrupted.", "train", blobs)
