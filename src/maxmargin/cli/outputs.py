"""Where a command writes: stdout, a device, or a file that is there when all is written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def is_stdout(path: str | None) -> bool:
    """Whether no file was named, or that of stdout."""
    return path in (None, "-")


def check_not_overwriting(path: str | None, name: str, inputs: dict[str, str]) -> None:
    """Refuse to write where a command reads; names are those of the arguments."""
    if is_stdout(path) or not Path(path).is_file():
        return
    for other, source in inputs.items():
        if Path(source).exists() and Path(path).samefile(source):
            raise ValueError(f"{name} and {other} are the same file, {path}, which would be overwritten.")


@contextmanager
def open_output(path: str | None, name: str = "OUT") -> Iterator[BinaryIO | StandardOutput]:
    """A binary file to write to; `name` is the argument that named it."""
    from ..runtime.streams import write_file

    if is_stdout(path):
        yield StandardOutput()
    elif Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():  # /dev/null, a pipe
        with open(path, "wb") as file:
            yield file
    else:
        with write_file(path, name) as file:
            yield file


class StandardOutput:
    """Bytes to stdout as text: a replaced stdout may take texts only."""

    def write(self, lines: bytes | memoryview) -> None:
        """Write some lines."""
        sys.stdout.write(bytes(lines).decode())
