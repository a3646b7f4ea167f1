"""The model file of a training: looked at before the fit, and after it never lost."""

from __future__ import annotations

import secrets
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from ..contracts.files import ModelFormat
from ..files import formats
from ..runtime.atomic_file import check_place
from ..runtime.threads import is_main
from .exit_codes import Terminated
from .formats import write_model
from .outputs import check_not_overwriting


def check_destination(training, path: str, kind: ModelFormat, data: str, careful: bool) -> None:
    """Refuse before a fit what could not be written after it, as far as one can see.

    If `careful`, what is no model is not written over: the second file may be test data, as predict has it.
    """
    check_place(path, "MODEL")
    check_not_overwriting(path, "MODEL", {"DATA": data})
    is_nonempty = Path(path).is_file() and Path(path).stat().st_size > 0
    if careful and is_nonempty and kind.first_bytes and not formats.is_model_file(path):
        raise ValueError(f"MODEL is {path}, which exists and is not a model file; remove it first.")
    estimator = type(training.machine)
    formats.check_place(kind, estimator)
    has_labels = estimator.task in ("classification", "novelty") and training.y is not None
    kind.check_writable(estimator, np.unique(training.y) if has_labels else None, training.first_index)


def save_model(training, path: str, kind: ModelFormat) -> None:
    """Write the model; if that cannot be, keep it in our format beside its place or in the folder of passing files."""
    try:
        write_model(training.machine, path, kind, *training.hashed_data)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        kept = rescue_model(training, Path(path))
        if kept is None:
            raise
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ValueError(f"{told.rstrip('.')}; the model is in {kept}.") from error


def rescue_model(training, path: Path) -> Path | None:
    """Where the model is now, under a name that nothing has; None if no folder takes it."""
    for folder in (path.absolute().parent, Path(tempfile.gettempdir())):
        kept = folder / f"{path.name}.{secrets.token_hex(3)}{formats.DEFAULT_MODEL_FORMAT.suffixes[0]}"
        with suppress(ValueError, OSError, MemoryError):
            write_model(training.machine, str(kept), formats.DEFAULT_MODEL_FORMAT, *training.hashed_data)
            return kept
    return None


@contextmanager
def treat_sigterm_as_interrupt() -> Iterator[list]:
    """Within this context SIGTERM, which batch systems send before they kill, is Ctrl-C; the list has it if it came.

    It may come to the process and to its group, so a second one means nothing.
    """
    received: list[int] = []

    def interrupt(number: int, frame) -> None:
        received.append(number)
        if len(received) == 1:
            signal.raise_signal(signal.SIGINT)

    if not is_main() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield received
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield received
    except KeyboardInterrupt:
        if received:
            raise Terminated from None
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
