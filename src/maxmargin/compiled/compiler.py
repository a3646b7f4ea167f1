"""Numba's `njit`, for machines where its compiled code can be kept and for those where it cannot.

Numba keeps what it compiled beside the source or in the user's home. In a container the package is often read-only and
the user has no home. Compiled code is then kept in a folder for temporary files that belongs to this user alone, or not
at all, and one warning says so.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numba

from .functions import CompiledFunction
from .stored_code import StoredCode

SPACE_BYTES = 1 << 26  # that must be free for compiled code
# Elsewhere than under POSIX, folders for temporary files are a user's own.
OWNER = os.getuid() if os.name == "posix" else os.environ.get("USERNAME", "user")
REMEDY = "Set NUMBA_CACHE_DIR to a folder that this user can write to."


def njit(**options) -> Callable:
    """numba.njit(**options), without a cache where there is no place for one."""
    stored = options.pop("cache", False) and find_cache()

    def decorate(function: Callable) -> Callable:
        if numba.config.DISABLE_JIT:
            return function
        return CompiledFunction(
            function, targetoptions={"nopython": True, "boundscheck": None, **options}, stored=stored
        )

    return decorate


@cache
def find_cache() -> bool:
    """Whether compiled code can be kept: where Numba keeps it, or in a private temporary folder."""
    if is_cacheable():
        return True
    folder = open_private_folder()
    if folder is not None:
        os.environ["NUMBA_CACHE_DIR"] = str(folder)  # of this process, and of workers that it starts
        numba.config.reload_config()
        if is_cacheable():
            warnings.warn(f"Compiled code is kept in {folder}, a temporary folder. {REMEDY}", stacklevel=2)
            return True
        del os.environ["NUMBA_CACHE_DIR"]
        numba.config.reload_config()
    warnings.warn(f"Compiled code cannot be kept: every process spends seconds compiling. {REMEDY}", stacklevel=2)
    return False


def is_cacheable() -> bool:
    """Whether there is a place for what is compiled of this folder, or where that was left."""
    try:
        StoredCode(probe)
    except (RuntimeError, OSError):  # "cannot cache function 'probe': no locator available for file ..."
        return False
    return True


def find_folder() -> str | None:
    """The folder in which compiled code is kept; None if it cannot be."""
    return StoredCode(probe).cache_path if find_cache() else None


def probe() -> None:
    """A function that could be compiled."""


def open_private_folder() -> Path | None:
    """A folder for temporary files that only this user can read or write; None where there is none.

    It has the same name in every process, so that code is compiled once. A folder of that name which another user made,
    or could write to, is not trusted: what lies there would be executed.
    """
    try:
        folder = Path(tempfile.gettempdir()) / f"maxmargin-{OWNER}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        ours = os.name != "posix" or (found.st_uid == OWNER and not found.st_mode & 0o077)
        if stat.S_ISDIR(found.st_mode) and ours and shutil.disk_usage(folder).free >= SPACE_BYTES:
            return folder
    except OSError:
        pass
    return None
