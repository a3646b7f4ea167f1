"""LIBSVM text, `label [qid:query] index:value ...  # comment`, as rows: the one parser of files and of blocks.

The text is never whole in memory: chunks of whole lines are cut into strips, each is parsed by one thread, and what
they hold is put behind the rows so far. A file that is wrong gives one sentence with the line and the column.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..runtime.threads import run_strips
from .growing_array import GrowingArray

CHUNK_BYTES = 1 << 21  # bytes of text that are read at a time: from 4 MB on the C library maps new pages for each
STRIP_BYTES = 1 << 18  # bytes that a thread parses at a time
MAX_LINE_BYTES = 1 << 31  # bytes of a line
BINARY_CHECK_BYTES = 1 << 20  # bytes of a line that may not be text
MAX_INT32 = np.iinfo(np.int32).max  # more features or values than that need indices of 64 bits
MAX_INDEX = (1 << 62) - 1  # the largest index that is read
MAX_FLOAT64 = np.finfo(np.float64).max
MAX_SHOWN_CHARACTERS = 20  # characters of a wrong word that are shown
TOKEN_PATTERN = re.compile(rb"[^ \t\r\n#]*")


class Rule(NamedTuple):
    """What a line may hold: indices from `first` to `most`, numbers that the type of X can hold, perhaps queries."""

    first: int = 0
    most: int = MAX_INDEX
    dtype: np.dtype = np.dtype(np.float64)
    queries: bool = False

    @property
    def limit(self) -> float:
        """The largest float64 that does not become infinite in X."""
        return (
            np.finfo(np.float64).max if self.dtype == np.float64 else np.nextafter(np.exp2(128.0) - np.exp2(103.0), 0)
        )


def make_rule(n_features: int | None, zero_based: bool | str, dtype) -> Rule:
    """The rule of a file; where "auto" leaves both open, indices may begin at 0 and reach n_features."""
    if not any(zero_based is each for each in (True, False)) and zero_based != "auto":
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}.")
    if n_features is not None and (not isinstance(n_features, Integral) or not 1 <= n_features <= MAX_INDEX):
        raise ValueError(f"n_features must be a positive integer, got {n_features!r}.")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}.")
    most = MAX_INDEX if n_features is None else int(n_features) - (zero_based is True)
    return Rule(int(zero_based is False), most, np.dtype(dtype))


class Lines(NamedTuple):
    """Parsed lines: indices from 0 on, the lowest and the highest as they are written; bytes and lines of the text."""

    labels: np.ndarray
    queries: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    low: int
    high: int
    size: int
    count: int


class ParseFault(Exception):
    """What is wrong with a text, and at which of its bytes."""

    def __init__(self, place: int, fault_code: int):
        super().__init__(place, fault_code)
        self.place, self.fault_code = place, fault_code


# ---- text to lines --------------------------------------------------------------------------------------------------


def split_text(file: BinaryIO, path: Path, size: int | None = None, *, begins: bool = True) -> Iterator[bytes]:
    """So many bytes of a text, or all that there are, in chunks of whole lines; the last end of line may be missing.

    Where they are those with which the text begins, a byte-order mark counts as blanks.
    """
    while text := file.read(CHUNK_BYTES if size is None else min(CHUNK_BYTES, size)):
        if begins and text.startswith(BOM_UTF8):
            text = text.replace(BOM_UTF8, b" " * len(BOM_UTF8), 1)
        begins = False
        if len(text) >= BINARY_CHECK_BYTES and b"\n" not in text and b"\0" in text:
            raise ValueError(f"{path} is not text: it has bytes of zero, and no end of line among {len(text):,} bytes.")
        if not text.endswith(b"\n"):
            text += file.readline(MAX_LINE_BYTES)
        size = None if size is None else max(size - len(text), 0)
        if not text.endswith(b"\n"):
            if len(text) > MAX_LINE_BYTES:
                raise ValueError(f"{path} has a line of more than {MAX_LINE_BYTES:,} bytes.")
            text += b"\n"
        yield text


def parse_chunks(
    chunks: Iterable[bytes], rule: Rule, path: Path, count_before: Callable[[], int] = int
) -> Iterator[list[Lines]]:
    """The lines of each chunk, in order; `count_before` says how many lines the file has before them, if asked."""
    lines = 0
    for text in chunks:
        try:
            parts = parse_chunk(text, rule)
        except ParseFault as fault:
            raise ValueError(f"{path}, {describe_fault(text, fault, rule, lines + count_before())}") from None
        yield parts
        lines += sum(part.count for part in parts)


def parse_chunk(text: bytes, rule: Rule) -> list[Lines]:
    """The lines of a chunk, strip by strip on all cores; the first fault is that of the first strip that has one."""
    ends = [0]
    while ends[-1] < len(text):
        ends.append(text.find(b"\n", min(ends[-1] + STRIP_BYTES, len(text)) - 1) + 1)
    found: list = [None] * (len(ends) - 1)

    def parse(start: int, stop: int) -> None:
        for k in range(start, stop):
            found[k] = parse_strip(text, ends[k], ends[k + 1], rule)

    run_strips(parse, len(found), 1)
    for each in found:
        if isinstance(each, ParseFault):
            raise each
    return found


def parse_strip(text: bytes, start: int, stop: int, rule: Rule, kind=np.int32) -> Lines | ParseFault:
    """The lines in text[start:stop], or the first thing that is wrong with them; indices of 64 bits if it must be."""
    from ..compiled.libsvm_text import SOUND, TOO_HIGH, TOO_LARGE, count_marks, parse_lines

    characters = np.frombuffer(text, np.uint8, stop - start, start)
    count, pairs = count_marks(characters)
    labels, queries, indptr = np.empty(count), np.empty(count, np.int64), np.empty(count + 1, np.int64)
    indices, values, unsure = np.empty(pairs, kind), np.empty(pairs, rule.dtype), np.empty((count + pairs, 3), np.int64)
    most = min(rule.most, MAX_INT32 + rule.first) if kind == np.int32 else rule.most
    rows, pairs, left, low, high, fault_code, place = parse_lines(
        characters, rule.queries, rule.first, most, rule.limit, labels, queries, indptr, indices, values, unsure
    )
    if fault_code == TOO_HIGH and most < rule.most:
        return parse_strip(text, start, stop, rule, np.int64)
    for slot, begin, end in unsure[:left].tolist():
        value = float(text[start + begin : start + end])
        if not abs(value) <= (MAX_FLOAT64 if slot < 0 else rule.limit):
            return ParseFault(start + begin, TOO_LARGE)
        if slot < 0:
            labels[-1 - slot] = value
        else:
            values[slot] = value
    if fault_code != SOUND:
        return ParseFault(start + place, fault_code)
    parts = labels[:rows], queries[:rows], indptr[: rows + 1], indices[:pairs], values[:pairs]
    return Lines(*parts, low, high, stop - start, count)


def describe_fault(text: bytes, fault: ParseFault, rule: Rule, before: int) -> str:
    """The line, the column, what should have been there, and the word that is."""
    from ..compiled.libsvm_text import NO_NUMBER, NO_PAIR, NO_QUERY, NOT_RISING, TOO_HIGH, TOO_LARGE

    place, fault_code = fault.place, fault.fault_code
    known = "must come after the label" if rule.queries else "is not supported here, as rankings need data in memory"
    word = TOKEN_PATTERN.match(text[place : place + 4 * MAX_SHOWN_CHARACTERS])[0].decode(errors="replace")
    expected = {
        NO_QUERY: "qid: and a whole number was expected",
        NO_PAIR: f"qid: {known}" if word.startswith("qid:") else "index:value was expected",
        NOT_RISING: "the indices of a line must rise",
        TOO_HIGH: f"an index must be at most {rule.most}",
        TOO_LARGE: f"the number is too large for {rule.dtype}",
    }.get(fault_code, f"indices begin at {rule.first}")  # fmt: skip
    if fault_code == NO_NUMBER:
        expected = describe_word(word, text[place - 1 : place] == b":")
    word = word if len(word) <= MAX_SHOWN_CHARACTERS else f"{word[:MAX_SHOWN_CHARACTERS]}..."
    line, column = before + text.count(b"\n", 0, place) + 1, place - text.rfind(b"\n", 0, place)
    return f"line {line}, column {column}: {expected}, got {word!r}."


def describe_word(word: str, is_value: bool) -> str:
    """What is wrong with a word that is no number."""
    if word.lstrip("+-").lower() in ("nan", "inf", "infinity"):
        return "numbers must be finite"
    if not is_value and "," in word:
        return "lines with several labels are not supported"
    if not is_value and ":" in word:
        return "a label was expected before index:value"
    return "a number was expected"


# ---- lines to rows --------------------------------------------------------------------------------------------------


class CsrBuilder:
    """Rows that are put together of parsed lines; indices have 32 bits as long as they fit."""

    def __init__(self, rule: Rule):
        self.low, self.high = MAX_INDEX, -1
        self.labels, self.queries, self.ends = GrowingArray(np.float64), GrowingArray(np.int64), GrowingArray(np.int64)
        self.indices, self.values = GrowingArray(np.int32), GrowingArray(rule.dtype)
        self.ends.append(np.zeros(1, np.int64))

    def reserve(self, parts: list[Lines], size: int) -> None:
        """Room for a text of so many bytes that goes on as these lines do."""
        times = 1.05 * size / sum(part.size for part in parts)
        rows, pairs = (times * sum(len(part[k]) for part in parts) for k in (0, 4))
        for growing, length in ((self.labels, rows), (self.indices, pairs), (self.values, pairs)):
            growing.reserve(length)

    def add(self, parts: list[Lines], *, queries: bool) -> None:
        """Put some lines behind those that are there, on all cores."""
        self.low = min(self.low, *(part.low for part in parts))
        self.high = max(self.high, *(part.high for part in parts))
        if any(part.indices.dtype == np.int64 for part in parts):
            self.widen()
        row, pair = (np.cumsum([0, *(len(part[k]) for part in parts)]) for k in (0, 4))
        before, ends, labels = self.values.size, self.ends.extend(row[-1]), self.labels.extend(row[-1])
        indices, values = self.indices.extend(pair[-1]), self.values.extend(pair[-1])
        query_ids = self.queries.extend(row[-1]) if queries else None

        def copy(start: int, stop: int) -> None:
            for k in range(start, stop):
                rows, pairs = slice(row[k], row[k + 1]), slice(pair[k], pair[k + 1])
                labels[rows], indices[pairs], values[pairs] = parts[k].labels, parts[k].indices, parts[k].values
                np.add(parts[k].indptr[1:], before + pair[k], out=ends[rows])
                if query_ids is not None:
                    query_ids[rows] = parts[k].queries

        run_strips(copy, len(parts), 1)

    def widen(self) -> None:
        """Indices of 64 bits from now on."""
        self.indices.array = self.indices.array.astype(np.int64, copy=False)

    def build(self, n_features: int) -> sp.csr_array:
        """The rows as a matrix; the parser has refused indices that do not rise."""
        if max(self.values.size, n_features) > MAX_INT32:
            self.widen()
        kind = self.indices.array.dtype
        X = sp.csr_array(
            (self.values.finish(), self.indices.finish(), self.ends.finish().astype(kind, copy=False)),
            shape=(self.labels.size, n_features),
        )
        X.has_canonical_format = True
        return X


def gather(chunks: Iterable[list[Lines]], rule: Rule, size: int = 0, *, queries: bool = False) -> CsrBuilder:
    """All lines of a text together; of about so many bytes, if that is known."""
    rows = CsrBuilder(rule)
    for parts in chunks:
        if not rows.labels.size:
            rows.reserve(parts, size)
        rows.add(parts, queries=queries)
    return rows
