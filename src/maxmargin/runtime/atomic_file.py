"""A file that is there whole or not at all: written beside its place, brought to the disk, then put there."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def write_atomically(path: str | os.PathLike, name: str = "path") -> Iterator[BinaryIO]:
    """A new binary file, to be written and read, that takes the place of `path` when the context ends without an error.

    Until then the old file is whole: a process that is killed, or a disk that is full, leaves it as it was. The new
    file has the permissions of the old one, or those that the umask allows. A link is followed.

    Parameters
    ----------
    path : path
    name : str
        The parameter that gave the path, for messages.
    """
    place = check_place(path, name)
    part = place.with_name(f".{place.name[:40]}.{secrets.token_hex(6)}.part")
    try:
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(handle, "w+b") as file:
                yield file
                file.flush()
                if place.exists() and hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), stat.S_IMODE(place.stat().st_mode))
                os.fsync(file.fileno())
            os.replace(part, place)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        sync_folder(place.parent)
    except OSError as error:
        kept = "; the file that was there is unchanged" if place.exists() else ""
        raise OSError(
            error.errno, f"{name}={str(path)!r} could not be written: {error.strerror or error}{kept}."
        ) from error


def check_place(path: str | os.PathLike, name: str) -> Path:
    """Where the file will be, links followed; a folder, a device or a place in no folder is refused."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be the path of a file, got {path!r}.")
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise ValueError(f"{name} must be in a folder that exists, and there is no {str(place.parent)!r}.")
    if place.is_dir():
        raise ValueError(f"{name} must be a file, and {str(path)!r} is a folder.")
    if place.exists() and not place.is_file():
        raise ValueError(f"{name} must be a plain file, and {str(path)!r} is a device or a pipe.")
    return place


def sync_folder(folder: Path) -> None:
    """The name on the disk too, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
