"""The contract of file formats: one class says how a kind of file is named, recognised, read and written.

A format is one class and one line in `files/formats.py`. Importing a format is light: what it needs to read and write,
its methods import themselves.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, NamedTuple

if TYPE_CHECKING:
    import os

    import numpy as np
    import scipy.sparse as sp
    from numpy.typing import DTypeLike

    from .blocks import Blocks
    from .estimators import Estimator, EstimatorFamily


class Data(NamedTuple):
    """The content of a data file; None where the file has none of a kind.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n, d)
        Samples.
    y : ndarray of shape (n,) or None
        Labels or targets: float64, or texts.
    weight : ndarray of shape (n,) or None
        Sample weights.
    query : ndarray of shape (n,) in int64, or None
        The query of each sample, for rankings.
    names : list of d str, or None
        Names of the features.
    first_index : int or None
        In LIBSVM text, the index of the first feature, 0 or 1.
    target : str or None
        In a table, the name of the column y.
    """

    X: np.ndarray | sp.csr_array
    y: np.ndarray | None = None
    weight: np.ndarray | None = None
    query: np.ndarray | None = None
    names: list[str] | None = None
    first_index: int | None = None
    target: str | None = None


class DataRequest(NamedTuple):
    """What a caller wants of a data file; `files.read_data` explains each of these."""

    n_features: int | None = None
    features: Sequence[str] | None = None
    target: str | int | None = None
    weight: str | int | os.PathLike[str] | None = None
    query: str | int | None = None
    zero_based: bool | str = "auto"
    header: bool | str = "auto"
    delimiter: str | None = None
    dtype: DTypeLike = float


class FileFormat(ABC):
    """A kind of file.

    Attributes
    ----------
    name : str
        The word for it on the command line, as in --to csv. Two formats of the same registry have different names.
    title : str
        What it is called in sentences, such as "LIBSVM text", or whose format it is, such as "LIBLINEAR".
    suffixes : tuple of str
        With the dot and in lower case: the suffixes that messages name. A suffix of compression does not count.
    other_suffixes : tuple of str
        Suffixes that are taken too; "folder" stands for a directory.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    other_suffixes: ClassVar[tuple[str, ...]] = ()

    def has_suffix(self, suffix: str) -> bool:
        """Whether files of this suffix are of this format."""
        return suffix in self.suffixes or suffix in self.other_suffixes


class DataFormat(FileFormat):
    """A kind of data file: what it can do its attributes say, and each of them goes with a method.

    Attributes
    ----------
    can_read : bool
        Whether `read` is there.
    can_write : bool
        Whether `write` is there.
    can_stream : bool
        Whether `open_blocks` and `stream` are there.
    is_text : bool
        Whether files may be compressed, and may be written to stdout.
    is_table : bool
        Whether features are columns; otherwise they have indices, which begin at 0 or 1.
    has_targets_apart : bool
        Whether y is not in the file, and `open_blocks` takes it beside the path.
    takes_several_files : bool
        Whether `open_blocks` takes a list of files.
    """

    can_read: ClassVar[bool] = True
    can_write: ClassVar[bool] = True
    can_stream: ClassVar[bool] = False
    is_text: ClassVar[bool] = True
    is_table: ClassVar[bool] = True
    has_targets_apart: ClassVar[bool] = False
    takes_several_files: ClassVar[bool] = True

    def read(self, path: Path, request: DataRequest) -> Data:
        """All of a file; what is missing, not finite or not as requested is a ValueError with its line and column."""
        raise NotImplementedError(f"{self.title} is not read as a whole.")

    def write(self, path: str | os.PathLike[str] | BinaryIO, data: Data) -> None:
        """Write a file, whole or not at all; what the format has no place for is a ValueError."""
        raise NotImplementedError(f"{self.title} is not written.")

    def open_blocks(self, path: Any, **options: Any) -> Blocks:
        """The rows of a file, or of several, block by block; the options are those of its class of `Blocks`."""
        raise NotImplementedError(f"{self.title} is not read in blocks.")

    def stream(self, path: Path, request: DataRequest) -> Blocks:
        """The rows that `read` would return, block by block."""
        raise NotImplementedError(f"{self.title} is not read in blocks.")


class ModelFormat(FileFormat):
    """A kind of model file.

    Attributes
    ----------
    first_bytes : bytes
        What every file begins with, by which it is recognised; empty for a format that is written and not read.
    families : tuple of str
        The families of estimators whose files the suffix stands for, where several formats have the same one.
    is_complete : bool
        Whether a file holds all of a fit: the number of features, the parameters, and duals from which to go on.
    """

    first_bytes: ClassVar[bytes] = b""
    families: ClassVar[tuple[EstimatorFamily, ...]] = ("kernel", "linear", "structured")
    is_complete: ClassVar[bool] = False

    def has_place_for(self, estimator: type[Estimator]) -> bool:
        """Whether fitted estimators of this class can be written at all."""
        return True

    def check_writable(self, estimator: type[Estimator], labels: np.ndarray | None, first_index: int | None) -> None:
        """Refuse before a fit what could not be written after it.

        Parameters
        ----------
        estimator : the class that is to be fitted
        labels : ndarray or None
            The different labels of its training data; None for targets that are real numbers.
        first_index : int or None
            The index of the first feature in the file that it is trained on; None if features have no index.
        """

    def read(self, path: str | os.PathLike[str], n_features: int | None = None) -> Any:
        """The fitted estimator of a file."""
        raise NotImplementedError(f"{self.title} is not read.")

    def write(
        self, model: Any, path: str | os.PathLike[str], X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> dict[str, float]:
        """Write a fitted estimator, whole or not at all; returns numbers that tell how well it went, by their names.

        X, y and sample_weight are the data of the fit, of which a file may hold the hash.
        """
        raise NotImplementedError(f"{self.title} is not written.")

    def read_label_order(self, path: str | os.PathLike[str]) -> list[float] | None:
        """The labels in the order in which a file lists them; None if that is the ascending one."""
        return None
