"""Model files are written whole or not at all."""

from __future__ import annotations

import errno
import itertools
import os
import resource
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from fitted_models import CLASS, K, fit

from maxmargin import SVC, load, save


def save_in_turn(models: list, path: Path) -> int:
    """The number of a process that does nothing but save one model after the other."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            for model in itertools.cycle(models):
                save(model, path)
        os._exit(1)
    return child


def test_a_process_that_is_killed_leaves_a_whole_file(tmp_path):
    """kill -9 at any moment: the file is the old or the new one."""
    models, path, rng = [fit("svc"), fit("svr")], tmp_path / "model.mm", np.random.default_rng(0)
    whole = set()
    for model in models:
        save(model, path)
        whole.add(path.read_bytes())
    for _ in range(12):
        child = save_in_turn(models, path)
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL  # it was still saving
        assert path.read_bytes() in whole


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_whole(moment, tmp_path, monkeypatch):
    """One sentence says so, and nothing lies about."""
    save(fit("svc"), tmp_path / "model.mm")
    before = (tmp_path / "model.mm").read_bytes()

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    owner, name = {"write": (np.lib.format, "write_array"), "fsync": (os, "fsync"), "replace": (os, "replace")}[moment]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, lambda *arguments, **_: fail(*arguments))
        with pytest.raises(OSError, match=r"model\.mm' could not be written: No space left.*unchanged") as caught:
            save(fit("svr"), tmp_path / "model.mm")
    assert caught.value.errno == errno.ENOSPC
    assert (tmp_path / "model.mm").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.mm"]


def test_a_limit_on_the_size_of_files_is_met_like_a_full_disk(tmp_path):
    """What the system itself refuses to write, in the middle of the file."""
    save(fit("linear_svc"), tmp_path / "model.mm", compact=True)
    before = (tmp_path / "model.mm").read_bytes()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
        with pytest.raises(OSError, match=r"could not be written: File too large; .* unchanged"):
            save(fit("svc"), tmp_path / "model.mm")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert (tmp_path / "model.mm").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.mm"]


@pytest.mark.slow
def test_a_disk_that_is_full_indeed(tmp_path):
    """A disk of 64 kilobytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        save(fit("svc"), disk / "model.mm", compact=True)
        before = (disk / "model.mm").read_bytes()
        with pytest.raises(OSError, match=r"could not be written: No space left on device; .* unchanged"):
            save(SVC(kernel="precomputed").fit(np.kron(K, np.ones((30, 30))), np.repeat(CLASS, 30)), disk / "model.mm")
        assert (disk / "model.mm").read_bytes() == before
        assert isinstance(load(disk / "model.mm"), SVC)
    finally:
        subprocess.run(["umount", disk], check=True)
