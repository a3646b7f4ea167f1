"""The one registry of file formats: suffixes, first bytes, and which class reads and writes each.

A new format is a class that derives from `contracts.files.DataFormat` or `ModelFormat`, and a line here. `read_data`,
`open_blocks`, `load`, and every command then take it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..contracts.files import DataFormat, ModelFormat
from ..runtime.streams import find_suffix, list_paths, open_file
from .data_formats import CsvTable, LibsvmText, NpyArray, ParquetTable
from .model_formats import LiblinearModel, LibsvmModel, MaxmarginArchive, OnnxModel

if TYPE_CHECKING:
    from ..contracts.blocks import Blocks
    from ..contracts.estimators import Estimator
    from ..contracts.inputs import VectorLike
DATA_FORMATS: dict[str, DataFormat] = {
    kind.name: kind for kind in (LibsvmText(), CsvTable(), ParquetTable(), NpyArray())
}
MODEL_FORMATS: dict[str, ModelFormat] = {
    kind.name: kind for kind in (MaxmarginArchive(), LibsvmModel(), LiblinearModel(), OnnxModel())
}
DEFAULT_DATA_FORMAT = DATA_FORMATS["libsvm"]  # of files with any other suffix
DEFAULT_MODEL_FORMAT = MODEL_FORMATS["maxmargin"]
LONGEST_FIRST_BYTES = 16  # bytes that are read to recognise a model file


# ---- data -----------------------------------------------------------------------------------------------------------


def find_data_format(path: str | os.PathLike[str]) -> DataFormat:
    """The format in which a data file is read or written as a whole, by its suffix beneath that of a compression."""
    suffix = find_suffix(Path(path))
    readable = (kind for kind in DATA_FORMATS.values() if kind.can_read and kind.has_suffix(suffix))
    return next(readable, DEFAULT_DATA_FORMAT)


def open_blocks(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    y: str | os.PathLike[str] | VectorLike | None = None,
    **options: Any,
) -> Blocks:
    """The blocks of a file, by its suffix: .npy, .parquet, or .svm, .libsvm, .svmlight and .txt, also compressed.

    Parameters
    ----------
    path : path, or list of paths; for Parquet also a folder
    y : path or array, optional
        Targets for an .npy file; the other formats hold their own.
    **options
        Those of `NpyBlocks`, `ParquetBlocks` or `LibsvmBlocks`.

    Returns
    -------
    Blocks
        What linear machines take in place of X and y.

    See Also
    --------
    read_libsvm : A file that fits into memory.
    LinearSVC : A machine that takes blocks.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from maxmargin import LinearSVC, open_blocks
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]]), np.array([0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(os.path.join(folder, "X.npy"), X)
    ...     model = LinearSVC(loss="hinge").fit(open_blocks(os.path.join(folder, "X.npy"), y))
    >>> model.predict(X).tolist()
    [0, 0, 1, 1]
    """
    paths = list_paths(path)
    found = find_streaming_format(paths)
    if y is not None and (found is None or not found.has_targets_apart):
        apart = list_suffixes(kind for kind in DATA_FORMATS.values() if kind.has_targets_apart)
        raise ValueError(f"y is for {join_words(apart)} files; {paths[0].name!r} holds its own targets.")
    if found is None:
        raise ValueError(f"{describe_streaming_formats()}, got {', '.join(each.name for each in paths[:3])}.")
    targets = {} if y is None else {"y": y}
    return found.open_blocks(path if found.takes_several_files else paths[0], **targets, **options)


def find_streaming_format(paths: list[Path]) -> DataFormat | None:
    """The format of files that can be read block by block; None where there is none for all of them."""
    suffixes = {find_suffix(each) for each in paths}
    for kind in DATA_FORMATS.values():
        if kind.can_stream and all(map(kind.has_suffix, suffixes)) and (kind.takes_several_files or len(paths) == 1):
            return kind
    return None


def describe_streaming_formats() -> str:
    """Which suffixes files in blocks must have."""
    kinds = sorted((kind for kind in DATA_FORMATS.values() if kind.can_stream), key=lambda kind: kind.suffixes)
    single = list_suffixes(kind for kind in kinds if not kind.takes_several_files)
    return (
        f"path must end in {join_words(list_suffixes(kinds))}, the texts also with .gz, .bz2 or .xz, and one kind at a "
        f"time ({join_words(single)} one file)"
    )


# ---- models ---------------------------------------------------------------------------------------------------------


def detect_model_format(path: str | os.PathLike[str]) -> ModelFormat | None:
    """The format of a model file by its first bytes; None if it is no model that can be read."""
    with open_file(Path(path)) as file:
        begin = file.read(LONGEST_FIRST_BYTES)
    readable = (kind for kind in MODEL_FORMATS.values() if kind.first_bytes)
    return next((kind for kind in readable if begin.startswith(kind.first_bytes)), None)


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is there and begins as a model does; one whose suffix names a format of data is data all the same.

    First bytes are not enough: data may lie in a ZIP archive too, as NumPy's .npz, and the first column of a table may
    be called svm_type. Files of `DEFAULT_DATA_FORMAT` have any name, so of them only the first bytes are left.
    """
    path = Path(path)
    if not path.is_file() or find_data_format(path) is not DEFAULT_DATA_FORMAT:
        return False
    return detect_model_format(path) is not None


def find_model_format(suffix: str, estimator: type[Estimator]) -> ModelFormat | None:
    """The format that the suffix of a model file names, for estimators of this family; None if it names none."""
    named = [kind for kind in MODEL_FORMATS.values() if kind.has_suffix(suffix.lower())]
    return next((kind for kind in named if estimator.family in kind.families), named[0] if named else None)


def check_place(kind: ModelFormat, estimator: type[Estimator]) -> None:
    """Refuse a format that has no place for an estimator."""
    if not kind.has_place_for(estimator):
        raise ValueError(f"The model files of {kind.title} have no place for a {estimator.__name__}.")


# ---- for messages ---------------------------------------------------------------------------------------------------


def list_suffixes(kinds: Iterable[DataFormat]) -> list[str]:
    """The suffixes of some formats that messages name."""
    return [suffix for kind in kinds for suffix in kind.suffixes]


def join_words(words: list[str], last: str = "or") -> str:
    """a, b or c."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
