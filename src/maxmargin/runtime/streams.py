"""Files as streams of bytes, plain or packed as their suffix says."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

from .atomic_file import write_atomically

OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
CLOSE_WAIT_SECONDS = 0.05  # seconds for a file to be closed in which another thread may be reading
COMPRESSION_SAMPLE_BYTES = 1 << 21  # bytes that tell how well a file is packed
GZIP_LEVEL = 6  # of gzip, as its program has it: 9 takes twice as long for a percent or two


@runtime_checkable
class Writable(Protocol):
    """A file that is open for writing."""

    def write(self, data: bytes, /) -> Any:
        """Write some bytes."""


def is_packed(path: Path) -> bool:
    """Whether the suffix is one of compression."""
    return path.suffix.lower() in OPENERS


def find_suffix(path: Path) -> str:
    """The suffix that says what a file holds, beneath that of its compression."""
    if path.is_dir():
        return "folder"
    return Path(path.stem).suffix.lower() if is_packed(path) else path.suffix.lower()


def list_paths(path) -> list[Path]:
    """One path or several, all of them there."""
    single = isinstance(path, str | os.PathLike)
    if not single and not (isinstance(path, Sequence) and path and all(isinstance(p, str | os.PathLike) for p in path)):
        raise TypeError(f"path must be a path or a list of paths, got {path!r}.")
    paths = [Path(each) for each in ([path] if single else path)]
    for each in paths:
        if not each.exists():
            raise FileNotFoundError(f"path={str(each)!r} does not exist.")
    return paths


def find_file(path: object, name: str = "path") -> Path:
    """A path at which there is something to read; `name` is the parameter that gave it."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be the path of a file, got {path!r}.")
    if not Path(path).exists():
        raise FileNotFoundError(f"{name}={str(path)!r} does not exist.")
    if Path(path).is_dir():
        raise ValueError(f"{name} must be a file, and {str(path)!r} is a folder.")
    return Path(path)


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked; a broken packing is a ValueError with the name of the file.

    Where an error or Ctrl-C ends it, another thread may still be in a read that stalls, and is not waited for.
    """
    try:
        file = OPENERS.get(path.suffix.lower(), open)(path, "rb")
        try:
            yield file
        except GeneratorExit:  # perhaps by the garbage collector, in which no thread can be started
            file.close()
            raise
        except BaseException:
            close_soon(file)
            raise
        file.close()
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path} cannot be unpacked: {str(error).rstrip('.')}.") from error
    except OSError as error:
        if error.errno is not None or not is_packed(path):
            raise
        raise ValueError(f"{path} cannot be unpacked: {str(error).rstrip('.')}.") from error


def close_soon(file: BinaryIO) -> None:
    """Close a file now, or as soon as the thread that reads from it is back: closing waits for that one's lock."""

    def close() -> None:
        with suppress(OSError, ValueError):
            file.close()

    closing = threading.Thread(target=close, name="maxmargin-close", daemon=True)
    closing.start()
    closing.join(CLOSE_WAIT_SECONDS)


def estimate_length(path: Path) -> int:
    """About how many bytes a file has when it is unpacked, rather more; 0 if there is no knowing, as of a pipe."""
    size = path.stat().st_size
    if not is_packed(path) or not path.is_file():  # what is read from a pipe now would be missing later
        return size
    with suppress(EOFError, OSError, zlib.error, lzma.LZMAError), open(path, "rb") as raw:  # said when it is read
        with OPENERS[path.suffix.lower()](raw, "rb") as file:
            part = len(file.read(COMPRESSION_SAMPLE_BYTES))
        # 1.3: the next block may be read already without being unpacked
        return part if part < COMPRESSION_SAMPLE_BYTES else int(1.3 * part / raw.tell() * size)
    return 0


@contextmanager
def write_file(path: str | os.PathLike | BinaryIO, name: str = "path") -> Iterator[BinaryIO]:
    """A file to write to, packed if the suffix says so, there whole or not at all; an open file is written to as it is.

    The same bytes are packed into the same bytes: neither the name nor the date is part of it.
    """
    if isinstance(path, Writable):
        yield path
        return
    with write_atomically(path, name) as file:
        suffix = Path(path).suffix.lower()
        if suffix == ".gz":
            with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed:
                yield packed
        elif suffix in OPENERS:
            with OPENERS[suffix](file, "wb") as packed:
                yield packed
        else:
            yield file
