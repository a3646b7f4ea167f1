"""Files on a disk as blocks: LIBSVM text, Parquet and arrays of NumPy, none of them ever whole in memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from ..runtime.streams import find_suffix, is_packed, list_paths, open_file
from .libsvm_text import CHUNK_BYTES, MAX_INT32, MAX_LINE_BYTES, Lines, gather, make_rule, parse_chunks, split_text
from .source import BLOCK_BYTES, ArrayBlocks, Block, Blocks

TEXT_SUFFIXES = (".svm", ".libsvm", ".svmlight", ".txt")


def open_blocks(path, y=None, **options) -> Blocks:
    """The blocks of a file, by its suffix: .npy, .parquet, or .svm, .libsvm, .svmlight and .txt, also compressed.

    Parameters
    ----------
    path : path, or list of paths; for Parquet also a folder
    y : path or array, optional
        Targets for an .npy file; the other formats hold their own.
    **options
        Those of `NpyBlocks`, `ParquetBlocks` or `LibsvmBlocks`.
    """
    paths = list_paths(path)
    suffixes = {find_suffix(each) for each in paths}
    if suffixes == {".npy"} and len(paths) == 1:
        return NpyBlocks(paths[0], y, **options)
    if y is not None:
        raise ValueError(f"y is for .npy files; {paths[0].name!r} holds its own targets.")
    if suffixes <= {".parquet", ".pq", "folder"}:
        return ParquetBlocks(path, **options)
    if suffixes <= set(TEXT_SUFFIXES):
        return LibsvmBlocks(path, **options)
    raise ValueError(
        f"path must end in .npy, .parquet, .svm, .libsvm, .svmlight or .txt, the texts also with .gz, .bz2 or .xz, and "
        f"one kind at a time (.npy one file), got {', '.join(each.name for each in paths[:3])}."
    )


# ---- LIBSVM ---------------------------------------------------------------------------------------------------------


class TextSpan(NamedTuple):
    """Whole lines of a file: the bytes from start to stop of its text."""

    path: Path
    start: int
    stop: int


class LibsvmBlocks(Blocks):
    """Rows of `label index:value index:value ...  # comment` as blocks of CSR, cut at ends of lines.

    A first scan reads everything once, finds the faults, the number of features, and whether indices begin at 0. It is
    left out where `n_features` and `zero_based` are given and no file is compressed. A pass reads and parses each file
    once. A compressed file is unpacked from its beginning to the block that is asked for: blocks in order cost one
    unpacking a pass, blocks out of order one each, so spread plain files over workers, or several small ones.

    Parameters
    ----------
    path : path, or list of paths
        Plain, or compressed with .gz, .bz2 or .xz.
    n_features : int, optional
        By default the largest index found.
    zero_based : bool or "auto"
        "auto" means that indices begin at 0 if there is a 0, and at 1 otherwise.
    dtype : float64 or float32
    block_bytes : int
        Bytes of text in a block.
    """

    def __init__(
        self, path, n_features: int | None = None, zero_based="auto", dtype=np.float64, block_bytes: int = BLOCK_BYTES
    ):
        super().__init__()
        if not isinstance(block_bytes, Integral) or block_bytes < 1:
            raise ValueError(f"block_bytes must be a positive integer, got {block_bytes!r}.")
        self.rule = make_rule(n_features, zero_based, dtype)
        self.reader = TextReader()
        self.pieces = [piece for each in list_paths(path) for piece in split_at_lines(each, block_bytes)]
        self.n_blocks = len(self.pieces)
        self.n: int | None = None
        self.first, self.d = self.rule.first, n_features
        if n_features is None or zero_based == "auto":
            self._scan(zero_based)
        self.rule = self.rule._replace(first=self.first, most=self.d - 1 + self.first)

    def _scan(self, zero_based) -> None:
        """Count rows and features, block by block."""
        self.n, low, high = 0, MAX_INT32, -1
        self.rule = self.rule._replace(most=min(self.rule.most, MAX_INT32 - 1))  # one w for all features must fit
        for piece in self.pieces:
            for lines in chain.from_iterable(self.parse(piece)):
                self.n, low, high = self.n + len(lines.labels), min(low, lines.low), max(high, lines.high)
        self.first = int(low > 0) if zero_based == "auto" else self.first
        self.d = max(high + 1 - self.first, 0) if self.d is None else self.d

    def parse(self, piece: TextSpan) -> Iterator[list[Lines]]:
        """The lines of a piece, read and parsed chunk by chunk."""
        return parse_chunks(self.reader.read(piece), self.rule, piece.path, partial(count_lines, piece))

    def load(self, number: int) -> Block:
        """The rows of a piece."""
        piece = self.pieces[number]
        rows = gather(self.parse(piece), self.rule, piece.stop - piece.start)
        return Block(rows.build(self.d), rows.labels.finish(), None, number)


class TextReader:
    """Pieces of text: sought in plain files, and wound forward to in compressed ones, which stay open in between."""

    def __init__(self):
        self.lock = threading.Lock()
        self.path: Path | None = None
        self.file: BinaryIO | None = None
        self.held = ExitStack()
        self.place = 0

    def __getstate__(self) -> dict:
        return {}

    def __setstate__(self, state: dict) -> None:
        self.__init__()

    def read(self, piece: TextSpan) -> Iterator[bytes]:
        """The text of a piece, in chunks of whole lines."""
        if not is_packed(piece.path):
            with open(piece.path, "rb") as file:
                file.seek(piece.start)
                yield from split_text(file, piece.path, piece.stop - piece.start, begins=piece.start == 0)
            return
        with self.lock:
            if self.path != piece.path or self.place > piece.start:
                self.close()
                self.file = self.held.enter_context(open_file(piece.path))
                self.path, self.place = piece.path, 0
            self.place += skip_decompressed(self.file, piece.start - self.place)
            for text in split_text(self.file, piece.path, piece.stop - piece.start, begins=piece.start == 0):
                self.place += len(text)
                yield text

    def close(self) -> None:
        """Forget the file that is open."""
        self.held.close()
        self.path = self.file = None

    def __del__(self):
        self.close()


def split_at_lines(path: Path, size: int) -> Iterable[TextSpan]:
    """Pieces of about `size` bytes that end at ends of lines; an empty file is one empty piece."""
    start = 0
    with open_file(path) as file:
        while True:
            length = skip_decompressed(file, size) if is_packed(path) else seek_forward(file, size)
            length += len(file.readline(MAX_LINE_BYTES))
            if length or not start:
                yield TextSpan(path, start, start + length)
            start += length
            if not length:
                return


def seek_forward(file: BinaryIO, size: int) -> int:
    """Go forward in a plain file, not beyond its end; by how much."""
    start = file.tell()
    return file.seek(min(start + size, os.fstat(file.fileno()).st_size)) - start


def skip_decompressed(file: BinaryIO, size: int) -> int:
    """Go forward in a compressed file; by how much."""
    done = 0
    while done < size and (step := len(file.read(min(CHUNK_BYTES, size - done)))):
        done += step
    return done


def count_lines(piece: TextSpan) -> int:
    """Lines of the file before a piece."""
    lines, left = 0, piece.start
    with open_file(piece.path) as file:
        while left:
            part = file.read(min(CHUNK_BYTES, left))
            lines, left = lines + part.count(b"\n"), left - len(part)
    return lines


# ---- Parquet --------------------------------------------------------------------------------------------------------


class RowGroups(NamedTuple):
    """Row groups of a Parquet file that make one block."""

    path: Path
    groups: list[int]


class ParquetBlocks(Blocks):
    """Columns of Parquet files as blocks: row groups, small ones together up to 16 MB.

    A row group is read as a whole, so files with row groups of gigabytes need as much memory. Missing values are NaN.

    Parameters
    ----------
    path : path, list of paths, or a folder, whose .parquet files are taken by name
    target : str, optional
        The column of y, of numbers or of labels.
    weight : str, optional
        The column of sample weights.
    features : list of str, optional
        The columns of X; by default all others, without an index that pandas wrote.
    """

    def __init__(
        self, path, target: str | None = None, weight: str | None = None, features: Sequence[str] | None = None
    ):
        super().__init__()
        paths = list_parquet(path)
        schema = read_footer(paths[0]).schema_arrow
        named = [name for name in (target, weight, *(features or ())) if name is not None]
        for name in named:
            if name not in schema.names:
                raise ValueError(f"{paths[0]} has no column {name!r}; it has {', '.join(schema.names[:20])}.")
        self.target, self.weight = target, weight
        self.feature_names = list(features) if features is not None else list_feature_columns(schema, target, weight)
        self.dtype = check_types(schema, self.feature_names)
        self.d = len(self.feature_names)
        self.pieces, self.n = combine_row_groups(paths, schema, self.d * self.dtype.itemsize)
        self.n_blocks = len(self.pieces)

    def load(self, number: int) -> Block:
        """Read some row groups."""
        from pyarrow.parquet import ParquetFile

        path, groups = self.pieces[number]
        named = [name for name in (self.target, self.weight) if name is not None]
        with ParquetFile(path) as file:
            table = file.read_row_groups(groups, columns=[*self.feature_names, *named], use_threads=False)
        X = np.empty((table.num_rows, self.d), self.dtype)
        for j, name in enumerate(self.feature_names):
            X[:, j] = table.column(name).to_numpy()
        y = None if self.target is None else table.column(self.target).to_numpy()
        weight = None if self.weight is None else table.column(self.weight).to_numpy().astype(np.float64)
        return Block(X, y, weight, number)


def list_parquet(path) -> list[Path]:
    """The files of a folder by name, or the paths given."""
    paths = []
    for each in list_paths(path):
        found = sorted(each.rglob("*.parquet")) if each.is_dir() else [each]
        if not found:
            raise ValueError(f"path={str(each)!r} is a folder without .parquet files.")
        paths += found
    return paths


def read_footer(path: Path):
    """What a Parquet file says of itself."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow; install it with: pip install 'maxmargin[tables]'.") from error
    try:
        return ParquetFile(path)
    except ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as a Parquet file: {str(error).splitlines()[0]}") from error


def list_feature_columns(schema, *taken: str | None) -> list[str]:
    """All columns but those taken, and but an index of pandas."""
    return [name for name in schema.names if name not in taken and not name.startswith("__index_level_")]


def check_types(schema, names: Sequence[str]) -> np.dtype:
    """float32 if all columns are, else float64; columns that are no numbers are refused."""
    import pyarrow.types as kinds

    if not names:
        raise ValueError("features must name at least one column, and none is left.")
    types = [schema.field(name).type for name in names]
    for name, kind in zip(names, types, strict=True):
        if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
            raise ValueError(f"features must be columns of numbers, but {name!r} is of type {kind}.")
    return np.dtype(np.float32 if all(map(kinds.is_float32, types)) else np.float64)


def combine_row_groups(paths: list[Path], schema, width: int) -> tuple[list[RowGroups], int]:
    """Row groups of each file, together up to 16 MB, and the number of rows; all files have the same columns."""
    pieces, n = [], 0
    for path in paths:
        with read_footer(path) as footer:
            if not footer.schema_arrow.equals(schema, check_metadata=False):
                raise ValueError(f"{path} has other columns than {paths[0]}, or other types.")
            rows = [footer.metadata.row_group(k).num_rows for k in range(footer.num_row_groups)]
        groups, filled = [], 0
        for k, count in enumerate(rows):
            if groups and filled + count * width > BLOCK_BYTES:
                pieces.append(RowGroups(path, groups))
                groups, filled = [], 0
            groups, filled = [*groups, k], filled + count * width
        if groups:
            pieces.append(RowGroups(path, groups))
        n += sum(rows)
    if not pieces:
        raise ValueError(f"{paths[0]} has no rows.")
    return pieces, n


# ---- arrays of NumPy ------------------------------------------------------------------------------------------------


class NpyBlocks(ArrayBlocks):
    """Rows of X in an .npy file, y and weight in another or in memory; the files are mapped, not read.

    Parameters
    ----------
    path : path of an .npy file of shape (n, d)
    y, weight : path of an .npy file, or array of shape (n,), optional
    rows : int, optional
        Rows of a block; by default as many as make 16 MB.
    """

    def __init__(self, path, y=None, weight=None, rows: int | None = None):
        self.sources = (path, y, weight)
        X, y, weight = (map_array(each, name) for each, name in zip(self.sources, ("path", "y", "weight"), strict=True))
        if X is None or X.ndim != 2:
            raise ValueError(f"path must be an .npy file of two dimensions, got {path!r} of {getattr(X, 'ndim', 0)}.")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"path must hold real numbers, got {path!r} of {X.dtype}.")
        for name, values in (("y", y), ("weight", weight)):
            if values is not None and values.shape != (len(X),):
                raise ValueError(f"{name} must have one value for each of the {len(X)} rows, got shape {values.shape}.")
        super().__init__(X, y, weight, rows)

    def __getstate__(self) -> dict:
        """The paths and not what is mapped, or a pickle would hold the data."""
        return {key: value for key, value in self.__dict__.items() if key not in ("X", "y", "weight")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.X, self.y, self.weight = map(map_array, self.sources, ("path", "y", "weight"))


def map_array(source, name: str) -> np.ndarray | None:
    """An .npy file as a mapped array; an array as it is."""
    if source is None or not isinstance(source, str | os.PathLike):
        return source if source is None else np.asarray(source)
    try:
        return np.load(source, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{name}={str(source)!r} cannot be mapped as an .npy file: {error}") from error
