"""Containers: a package that cannot be written to, a user without a home, and folders that are not to be trusted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

import maxmargin
from maxmargin.compiled import compiler

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes of folders are those of POSIX")


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """A folder for temporary files, and the environment as it was afterwards."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    monkeypatch.undo()
    numba.config.reload_config()


def find_cache_without_numba_s_places(monkeypatch) -> bool:
    """Look for a cache where Numba finds a place only if it is told one."""
    monkeypatch.setattr(compiler, "is_cacheable", lambda: bool(os.environ.get("NUMBA_CACHE_DIR")))
    return compiler.find_cache.__wrapped__()


def test_numba_s_own_places_come_first(recwarn):
    """Where Numba finds a place nothing is changed, and nothing is said."""
    before = os.environ.get("NUMBA_CACHE_DIR")
    assert compiler.find_cache.__wrapped__()
    assert os.environ.get("NUMBA_CACHE_DIR") == before
    assert not recwarn


@posix
def test_a_private_folder_is_next(temporary, monkeypatch):
    """Of this user alone, the same in the next process, and one sentence names it."""
    with pytest.warns(UserWarning, match=r"Compiled code is kept in .*maxmargin-\d+.* Set NUMBA_CACHE_DIR"):
        assert find_cache_without_numba_s_places(monkeypatch)
    folder = temporary / f"maxmargin-{os.getuid()}"
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder) == numba.config.CACHE_DIR
    assert folder.stat().st_mode & 0o777 == 0o700
    assert compiler.open_private_folder() == folder


def lay_link(folder: Path) -> None:
    """A link to a folder elsewhere."""
    elsewhere = folder.with_name("elsewhere")
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)


def lay_file(folder: Path) -> None:
    """A file."""
    folder.write_text("")


def lay_open_folder(folder: Path) -> None:
    """A folder that others may write to."""
    folder.mkdir()
    folder.chmod(0o777)


@posix
@pytest.mark.parametrize("lay", [lay_link, lay_file, lay_open_folder])
def test_what_others_may_have_laid_there_is_not_executed(lay, temporary, monkeypatch):
    """Then nothing is kept, and one sentence says so."""
    lay(temporary / f"maxmargin-{os.getuid()}")
    with pytest.warns(UserWarning, match="Compiled code cannot be kept: every process spends seconds compiling"):
        assert not find_cache_without_numba_s_places(monkeypatch)
    assert not os.environ.get("NUMBA_CACHE_DIR")


def test_full_and_missing_disks(temporary, monkeypatch):
    """No folder for temporary files, or one without space."""
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    assert compiler.open_private_folder() is None
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "missing"))
    assert compiler.open_private_folder() is None


def test_functions_compile_without_a_cache(monkeypatch):
    """As they do with one."""
    monkeypatch.setattr(compiler, "find_cache", lambda: False)
    assert compiler.njit(cache=True, nogil=True)(lambda x: x + 1)(2) == 3


# ---- a real one -----------------------------------------------------------------------------------------------------

PROGRAM = """
import os, sys, warnings
import numba, numpy as np, scipy.sparse.linalg, sklearn.svm, sklearn.model_selection, threadpoolctl, {more}
numba.njit(lambda x: x + 1)(1.0)
threadpoolctl.threadpool_info()
if os.getuid() == 0:  # the interpreter may lie in a home that only root can read: go on as nobody with it loaded
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {code}
print(len(caught), caught[0].message)
"""


@pytest.fixture
def open_folder() -> Path:
    """A folder that every user can enter; those that pytest makes are for one user only."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


ONE_FUNCTION = """from maxmargin.compiled.kernel_rows import exponentiate
    K = np.ones((2, 2))
    exponentiate(K, -1.0)
    assert np.allclose(K, np.exp(-1.0))"""
ONE_FIT = """from maxmargin import SVC
    X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 2
    assert SVC().fit(X, y).certificate_.relative_gap < 1e-5"""


@posix
@pytest.mark.parametrize(
    "code", [ONE_FUNCTION, pytest.param(ONE_FIT, marks=pytest.mark.slow)], ids=["one function", "one fit"]
)
def test_a_read_only_package_and_no_home(code, open_folder):
    """User 65534 with HOME=/nonexistent: it compiles, and says once where that is kept."""
    package, temporary = open_folder / "site", open_folder / "tmp"
    shutil.copytree(
        Path(maxmargin.__file__).parent, package / "maxmargin", ignore=shutil.ignore_patterns("__pycache__")
    )
    temporary.mkdir()
    temporary.chmod(0o1777)
    folders = [package, *(path for path in package.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(package)}
    more = "sklearn.callback" if sys.modules.get("sklearn.callback") else "sklearn.base"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", PROGRAM.format(code=code, more=more)], cwd=open_folder, capture_output=True,
            env=environment | {"TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}, text=True, timeout=300,
        )  # fmt: skip
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"1 Compiled code is kept in {temporary}")
