"""Which format a model file has: by the name it is given, or by what is asked for."""

from __future__ import annotations

from pathlib import Path

from ..runtime.streams import open_file
from .options import LINEAR_ESTIMATORS

MAXMARGIN, LIBSVM, LIBLINEAR, ONNX = "maxmargin", "libsvm", "liblinear", "onnx"
MODEL_FORMATS = (MAXMARGIN, LIBSVM, LIBLINEAR, ONNX)


def choose_format(path: str, asked: str | None, family: str | None, estimator: str) -> str:
    """The format of a model file.

    What is asked for comes first, then the suffix: .maxmargin, .onnx, or .model for the text of LIBSVM (kernel
    machines) or LIBLINEAR (linear machines); any other name holds our format, or that of the family whose letters were
    used.
    """
    if asked is not None:
        return asked
    text = LIBLINEAR if is_linear(estimator) else LIBSVM
    by_suffix = {".maxmargin": MAXMARGIN, ".onnx": ONNX, ".model": text}
    return by_suffix.get(Path(path).suffix.lower(), MAXMARGIN if family is None else text)


def is_linear(estimator: str) -> bool:
    """Whether a machine is kept as w and b."""
    return estimator.startswith(("Linear", "Risk", "Metric", "Rank"))


def default_model_path(data: str, family: str | None) -> str:
    """Where a model goes if nobody says: in this folder, under the name of the data."""
    return f"{Path(data).name}.{'maxmargin' if family is None else 'model'}"


def detect_model_format(path: str) -> str | None:
    """The format of a model file by its first bytes; None if it is no model that can be read."""
    with open_file(Path(path)) as file:
        begin = file.read(16)
    begins = {b"PK\x03\x04": MAXMARGIN, b"svm_type": LIBSVM, b"solver_type": LIBLINEAR}
    return next((kind for bytes_, kind in begins.items() if begin.startswith(bytes_)), None)


def check_kind(kind: str, estimator: str) -> None:
    """Refuse a format that has no place for a machine."""
    if (kind == LIBSVM and is_linear(estimator)) or (kind == LIBLINEAR and estimator not in LINEAR_ESTIMATORS):
        program = "LIBSVM" if kind == LIBSVM else "LIBLINEAR"
        raise ValueError(f"The model files of {program} have no place for a {estimator}.")


def write_model(model, path: str, kind: str, X=None, y=None, sample_weight=None) -> None:
    """Write a model in a format, whole or not at all; ours keeps the hash of the data, if they are given."""
    from .. import files

    check_kind(kind, type(model).__name__)
    if kind == MAXMARGIN:
        files.save(model, path, X=X, y=y, sample_weight=sample_weight)
    elif kind == ONNX:
        files.export_onnx(model, path)
    else:
        (files.write_libsvm_model if kind == LIBSVM else files.write_liblinear_model)(model, path)
