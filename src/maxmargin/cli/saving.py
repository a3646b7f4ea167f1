"""The model file of a training: looked at before the fit, and after it never lost."""

from __future__ import annotations

import secrets
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from ..runtime.atomic_file import check_place
from ..runtime.threads import is_main
from .exit_codes import Terminated
from .formats import LIBLINEAR, LIBSVM, MAXMARGIN, ONNX, check_kind, detect_model_format, write_model
from .outputs import check_not_overwriting


def check_destination(training, path: str, kind: str, data: str, careful: bool) -> None:
    """Refuse before a fit what could not be written after it, as far as one can see.

    If `careful`, what is no model is not written over: the second file may be test data, as predict has it.
    """
    check_place(path, "MODEL")
    check_not_overwriting(path, "MODEL", {"DATA": data})
    is_nonempty = Path(path).is_file() and Path(path).stat().st_size > 0
    if careful and is_nonempty and kind != ONNX and detect_model_format(path) is None:
        raise ValueError(f"MODEL is {path}, which is there and no model file; remove it first, if it is not needed.")
    check_kind(kind, type(training.machine).__name__)
    if kind in (LIBSVM, LIBLINEAR):
        from ..files.liblinear_model import ZERO_INDEX_MESSAGE
        from ..files.model_text import write_labels

        if hasattr(training.machine, "decision_function") and training.y is not None:
            write_labels(np.unique(training.y), "LIBSVM" if kind == LIBSVM else "LIBLINEAR")
        if kind == LIBLINEAR and training.first_index == 0:
            raise ValueError(ZERO_INDEX_MESSAGE)
    if kind == ONNX:
        from ..files.onnx_graph import import_onnx

        import_onnx()


def save_model(training, path: str, kind: str) -> None:
    """Write the model; if that cannot be, keep it in our format beside its place or in the folder of passing files."""
    try:
        write_model(training.machine, path, kind, *training.hashed_data)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        kept = rescue_model(training, Path(path))
        if kept is None:
            raise
        told = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"{told.rstrip('.')}; the model is in {kept}.") from error


def rescue_model(training, path: Path) -> Path | None:
    """Where the model is now, under a name that nothing has; None if no folder takes it."""
    for folder in (path.absolute().parent, Path(tempfile.gettempdir())):
        kept = folder / f"{path.name}.{secrets.token_hex(3)}.maxmargin"
        with suppress(ValueError, OSError, MemoryError):
            write_model(training.machine, str(kept), MAXMARGIN, *training.hashed_data)
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
