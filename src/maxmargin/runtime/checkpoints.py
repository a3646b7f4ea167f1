"""The state of a run as a file of arrays, so that another process, or another machine, can go on with it."""

from __future__ import annotations

import math
import os
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .atomic_file import check_place, write_atomically

SAVE_INTERVAL_SECONDS = 5.0  # seconds between two checkpoints
FINGERPRINT_REL_TOL = 1e-8  # by which sums over the same rows may differ


def write_state(state: dict, path: str | os.PathLike) -> None:
    """The arrays of a state as a file; an old file is whole until the new one is."""
    with write_atomically(path, "checkpoint") as file:
        np.savez(file, **state)


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


def is_same(kept, value) -> bool:
    """Whether two numbers or names are the same; sums may have been added in another order, on another machine."""
    both = isinstance(kept, float) and isinstance(value, float)
    return math.isclose(kept, value, rel_tol=FINGERPRINT_REL_TOL) if both else kept == value


def describe_failure(error: OSError | ValueError) -> str:
    """Why a file could not be written."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


class CheckpointFile:
    """The checkpoint of a run; where it cannot be written the run goes on, and says so once."""

    def __init__(self, path: str | os.PathLike):
        check_place(path, "checkpoint")
        self.path, self.saved, self.failed = Path(path), time.perf_counter(), False

    def load(self, fingerprint: dict) -> dict | None:
        """The state of an earlier run of the same problem, or None if there is no file; another problem is refused."""
        if not self.path.exists():
            return None
        state = read_state(self.path, ("solver", *("problem_" + key for key in fingerprint)), "checkpoint")
        for key, value in fingerprint.items():
            kept = state["problem_" + key].item()
            if not is_same(kept, value):
                raise ValueError(
                    f"checkpoint={str(self.path)!r} belongs to another problem: its {key} is {kept!r}, and this one "
                    f"has {value!r}; give another file, or delete this one."
                )
        return state

    def save_periodically(self, pack: Callable[[], dict | None]) -> None:
        """Save if the last time is long ago."""
        if time.perf_counter() - self.saved > SAVE_INTERVAL_SECONDS:
            self.save(pack)

    def save(self, pack: Callable[[], dict | None]) -> None:
        """Write the state that `pack` returns, if any."""
        try:
            state = pack()
            if state is not None:
                write_state(state, self.path)
        except (OSError, ValueError) as error:  # a full disk, or a folder that has gone
            if not self.failed:
                warnings.warn(
                    f"{describe_failure(error)} The run continues without it.",
                    RuntimeWarning,
                    stacklevel=4,
                )
            self.failed = True
        self.saved = time.perf_counter()
