"""The state of a run as a file of arrays, so that another process, or another machine, can go on with it."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

SAVED_EVERY = 5.0  # seconds between two checkpoints


def write_state(state: dict, path: str | os.PathLike) -> None:
    """Write the state beside the file, then put it in its place: an old file is whole until the new one is."""
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **state)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_state(path: str | os.PathLike, needed: tuple[str, ...], name: str) -> dict:
    """The state in a file; `name` is the parameter that gave the path."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            state = {key: arrays[key] for key in arrays.files}
        missing = [key for key in needed if key not in state]
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{name}={str(path)!r} is not a checkpoint that can be read: {error}.") from error
    if missing:
        raise ValueError(f"{name}={str(path)!r} is not a checkpoint that can be read: it lacks {missing[0]!r}.")
    return state


class Store:
    """The checkpoint of a run; where it cannot be written the run goes on, and says so once."""

    def __init__(self, path: str | os.PathLike):
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"checkpoint must be the path of a file, got {path!r}.")
        self.path, self.saved, self.failed = Path(path), time.perf_counter(), False
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint must be in a folder that exists, and there is no {str(self.path.parent)!r}.")
        if self.path.is_dir():
            raise ValueError(f"checkpoint must be a file, and {str(self.path)!r} is a folder.")

    def load(self, fingerprint: dict) -> dict | None:
        """The state of an earlier run of the same problem, or None if there is no file; another problem is refused."""
        if not self.path.exists():
            return None
        state = read_state(self.path, ("solver", *("problem_" + key for key in fingerprint)), "checkpoint")
        for key, value in fingerprint.items():
            kept = state["problem_" + key].item()
            if kept != value:
                raise ValueError(
                    f"checkpoint={str(self.path)!r} is of another problem: its {key} is {kept!r}, and this one has "
                    f"{value!r}; give another file, or delete this one."
                )
        return state

    def save_now_and_then(self, pack: Callable[[], dict]) -> None:
        """Save if the last time is long ago."""
        if time.perf_counter() - self.saved > SAVED_EVERY:
            self.save(pack)

    def save(self, pack: Callable[[], dict]) -> None:
        """Write the state that `pack` returns."""
        try:
            write_state(pack(), self.path)
        except OSError as error:
            if not self.failed:
                warnings.warn(
                    f"checkpoint={str(self.path)!r} could not be written ({error}); the run goes on without it.",
                    RuntimeWarning,
                    stacklevel=4,
                )
            self.failed = True
        self.saved = time.perf_counter()
