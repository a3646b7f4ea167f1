"""Which format a model file gets: by what is asked for, or by the name of the file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..files.formats import DEFAULT_MODEL_FORMAT, MODEL_FORMATS, check_place, find_model_format

if TYPE_CHECKING:
    from ..contracts.estimators import Estimator
    from ..contracts.files import ModelFormat

PROGRAM_SUFFIX = ".model"  # of the model files of LIBSVM and LIBLINEAR


def choose_format(
    path: str, asked: str | None, imitated_program: str | None, estimator: type[Estimator]
) -> ModelFormat:
    """The format of a model file.

    What is asked for comes first, then the suffix: .maxmargin, .onnx, or .model for the text of LIBSVM (kernel
    machines) or LIBLINEAR (linear machines). Any other name gets our format, or that of LIBSVM and LIBLINEAR where
    short options of theirs were used.
    """
    if asked is not None:
        return MODEL_FORMATS[asked]
    default = DEFAULT_MODEL_FORMAT if imitated_program is None else find_model_format(PROGRAM_SUFFIX, estimator)
    return find_model_format(Path(path).suffix, estimator) or default


def default_model_path(data: str, imitated_program: str | None) -> str:
    """Where a model goes if the command line does not say: into this folder, under the name of the data."""
    suffix = DEFAULT_MODEL_FORMAT.suffixes[0] if imitated_program is None else PROGRAM_SUFFIX
    return f"{Path(data).name}{suffix}"


def write_model(model: Estimator, path: str, kind: ModelFormat, X=None, y=None, sample_weight=None) -> dict[str, float]:
    """Write a model in a format, whole or not at all; ours keeps the hash of the data, if they are given."""
    check_place(kind, type(model))
    return kind.write(model, path, X, y, sample_weight)
