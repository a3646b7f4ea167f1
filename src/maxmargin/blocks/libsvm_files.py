"""LIBSVM text as blocks of CSR: files that are never whole in memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from ..contracts.blocks import Block, Blocks
from ..runtime.streams import is_packed, list_paths, open_file
from .arrays import BLOCK_BYTES
from .libsvm_text import CHUNK_BYTES, MAX_INT32, MAX_LINE_BYTES, Lines, gather, make_rule, parse_chunks, split_text


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
    unpacking per pass, blocks out of order one each, so spread plain files over workers, or several small ones.

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
        self.first_index, self.d = self.rule.first, n_features
        if n_features is None or zero_based == "auto":
            self._scan(zero_based)
        self.rule = self.rule._replace(first=self.first_index, most=self.d - 1 + self.first_index)

    def _scan(self, zero_based) -> None:
        """Count rows and features, block by block."""
        self.n, low, high = 0, MAX_INT32, -1
        self.rule = self.rule._replace(most=min(self.rule.most, MAX_INT32 - 1))  # one w for all features must fit
        for piece in self.pieces:
            for lines in chain.from_iterable(self.parse(piece)):
                self.n, low, high = self.n + len(lines.labels), min(low, lines.low), max(high, lines.high)
        self.first_index = int(low > 0) if zero_based == "auto" else self.first_index
        self.d = max(high + 1 - self.first_index, 0) if self.d is None else self.d

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
