"""Comma-separated values: rows of numbers, one column of which may be labels.

Python's own reader is the measure of what a file holds, and says what is wrong with it. Where pyarrow is installed it
reads the files in which nothing is, some six times as fast; whatever it does not take is left to the other.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from ..blocks.growing_array import GrowingArray
from ..contracts.files import Data, DataRequest
from ..runtime.prefetch import fetch_ahead
from ..runtime.streams import find_suffix, open_file
from .columns import Columns, check_integers, choose_columns, is_weight_file, read_weights, show_column

DELIMITERS = {".csv": ",", ".tsv": "\t"}
MISSING = ("", "?", "NA", "N/A", "NULL", "NAN")  # in capitals or not
BATCH_FIELDS = 1 << 16  # fields that are taken together
BLOCK_BYTES = 1 << 22  # bytes
MAX_CHARACTERS_SHOWN = 20  # characters of a wrong field that are shown


class Table(NamedTuple):
    """The columns of a table: features, labels as texts, weights and queries as numbers."""

    X: np.ndarray
    labels: list[str] | None
    weight: np.ndarray | None
    query: np.ndarray | None


class TableHead(NamedTuple):
    """What the first line tells: names of columns or how many there are, whether it is a header, and where it ends."""

    names: list[str] | int
    is_header: bool
    line: int

    @property
    def count(self) -> int:
        """The number of columns."""
        return self.names if isinstance(self.names, int) else len(self.names)


class UnsupportedByPyarrow(Exception):
    """A file that pyarrow does not take."""


# ---- Python's reader ------------------------------------------------------------------------------------------------


def stream_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a file that are not empty, as their number and their fields."""
    with open_file(path) as file:
        reader = csv.reader(io.TextIOWrapper(file, "utf-8-sig", newline=""), delimiter=delimiter, strict=True)
        try:
            for fields in reader:
                if fields:
                    yield reader.line_num, fields
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}.") from None
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not UTF-8 text after line {reader.line_num}.") from None


def read_head(path: Path, delimiter: str, header: bool | str) -> TableHead:
    """The names or the number of the columns; a first line without a single number is a header."""
    line, fields = next(stream_rows(path, delimiter), (1, []))
    if not fields:
        raise ValueError(f"{path} has no rows.")
    is_header = not any(map(is_number, fields)) if header == "auto" else header
    return TableHead([field.strip() for field in fields] if is_header else len(fields), is_header, line)


def is_number(field: str) -> bool:
    """Whether a field can be read as a number, or stands for one that is missing."""
    try:
        float(field)
    except ValueError:
        return is_missing(field)
    return True


def is_missing(field: str) -> bool:
    """Whether a field stands for a value that is not there."""
    return field.strip().upper() in MISSING


def stream_with_csv(path: Path, delimiter: str, head: TableHead, columns: Columns) -> Iterator[Table]:
    """The rows in batches; a field that is wrong is named."""
    rows = stream_rows(path, delimiter)
    if head.is_header:
        next(rows)
    while batch := list(islice(rows, max(1, BATCH_FIELDS // head.count))):
        for line, fields in batch:
            if len(fields) != head.count:
                raise ValueError(f"{path}, line {line}: {head.count} fields were expected, got {len(fields)}.")
        numbers = {
            place: read_numbers(path, head, batch, [place])[:, 0]
            for place in (columns.weight, columns.query) if place is not None
        }  # fmt: skip
        X = read_numbers(path, head, batch, columns.features)
        labels = None if columns.target is None else [read_label(path, head, row, columns.target) for row in batch]
        yield Table(X, labels, numbers.get(columns.weight), numbers.get(columns.query))


def read_numbers(path: Path, head: TableHead, batch: list, places: list[int]) -> np.ndarray:
    """Some columns of a batch, finite numbers."""
    fields = [[fields[place] for place in places] for _, fields in batch]
    try:
        if any("_" in "".join(each) for each in fields):  # float takes 1_000
            raise ValueError
        numbers = np.fromiter(map(float, chain.from_iterable(fields)), np.float64, len(batch) * len(places))
        if np.isfinite(numbers).all():
            return numbers.reshape(len(batch), -1)
    except ValueError:
        pass
    for (line, _), row in zip(batch, fields, strict=True):
        for place, field in zip(places, row, strict=True):
            if reason := describe_fault(field):
                hint = "; if it is the header, pass header=True" if line == 1 and not head.is_header else ""
                raise ValueError(f"{path}, line {line}, {show_column(head.names, place)}: {reason}{hint}.")
    raise AssertionError("a number could not be read")


def describe_fault(field: str) -> str | None:
    """Why a field is no finite number; None if it is one."""
    shown = field if len(field) <= MAX_CHARACTERS_SHOWN else f"{field[:MAX_CHARACTERS_SHOWN]}..."
    if is_missing(field):
        return f"the value is missing, got {shown!r}"
    try:
        value = float(field.replace("_", "x"))
    except ValueError:
        return f"a number was expected, got {shown!r}"
    return None if np.isfinite(value) else f"numbers must be finite, got {shown!r}"


def read_label(path: Path, head: TableHead, row: tuple[int, list[str]], place: int) -> str:
    """The label of a row."""
    label = row[1][place].strip()
    if is_missing(label):
        where = f"{path}, line {row[0]}, {show_column(head.names, place)}"
        raise ValueError(f"{where}: the label is missing, got {label!r}.")
    return label


# ---- pyarrow --------------------------------------------------------------------------------------------------------


def stream_with_pyarrow(path: Path, delimiter: str, head: TableHead, columns: Columns) -> Iterator[Table]:
    """The rows in batches of pyarrow; Unfit if it is not there, or if there is anything to be said of them."""
    try:
        import pyarrow
        from pyarrow import csv as arrow
    except ImportError:
        raise UnsupportedByPyarrow from None
    names = [str(place) for place in range(head.count)]
    types = dict.fromkeys(names, pyarrow.float64())
    if columns.target is not None:
        types[names[columns.target]] = pyarrow.string()
    if head.line > 1:
        raise UnsupportedByPyarrow  # it counts lines where the header has several, or empty ones before it
    try:
        with open_file(path) as file:
            quotes = QuoteCheckingReader(file, delimiter)
            batches = arrow.open_csv(
                quotes,
                arrow.ReadOptions(block_size=BLOCK_BYTES, column_names=names, skip_rows=int(head.is_header)),
                arrow.ParseOptions(delimiter=delimiter),
                arrow.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True),
            )
            for batch in batches:
                yield convert_batch(batch, columns)
            if quotes.count % 2:
                raise UnsupportedByPyarrow
    except pyarrow.ArrowInvalid:
        raise UnsupportedByPyarrow from None


class QuoteCheckingReader:
    """A file to read, and whether quotation marks are where they belong: pyarrow takes them anywhere.

    They belong at an end of a field, or side by side, and there is an even number of them.
    """

    closed = False

    def __init__(self, file: BinaryIO, delimiter: str):
        around = rb'[^\r\n"' + re.escape(delimiter.encode()) + b"]"
        self.file, self.count, self.tail = file, 0, b""
        self.misplaced_quote = re.compile(around + b'"' + around)

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        text = self.file.read(size)
        if found := text.count(b'"'):
            self.count += found
            if self.misplaced_quote.search(self.tail + text):
                self.count = 1
                return b""
        self.tail = text[-2:]
        return text

    def close(self) -> None:
        """Nothing: the file is closed where it was opened."""


def convert_batch(batch, columns: Columns) -> Table:
    """The columns of a batch of pyarrow; `UnsupportedByPyarrow` if anything is missing or not finite."""
    if any(column.null_count for column in batch.columns):
        raise UnsupportedByPyarrow
    X = np.empty((batch.num_rows, len(columns.features)))
    for j, place in enumerate(columns.features):
        X[:, j] = batch.column(place).to_numpy()
    numbers = [None if place is None else batch.column(place).to_numpy() for place in (columns.weight, columns.query)]
    if not all(np.isfinite(each).all() for each in (X, *numbers) if each is not None):
        raise UnsupportedByPyarrow
    labels = None if columns.target is None else [each.strip() for each in batch.column(columns.target).to_pylist()]
    if labels and any(is_missing(label) or not label.isprintable() or '"' in label for label in set(labels)):
        raise UnsupportedByPyarrow
    return Table(X, labels, *numbers)


# ---- both -----------------------------------------------------------------------------------------------------------


def read_table(path: Path, delimiter: str, head: TableHead, columns: Columns, dtype) -> Table:
    """The whole table, by whichever reader takes it."""
    try:
        # By another thread: pyarrow does not hear of Ctrl-C where a disk or a pipe stalls.
        return join(fetch_ahead(stream_with_pyarrow(path, delimiter, head, columns)), columns, dtype)
    except UnsupportedByPyarrow:
        return join(stream_with_csv(path, delimiter, head, columns), columns, dtype)


def join(batches: Iterator[Table], columns: Columns, dtype) -> Table:
    """All batches together."""
    X, weight, query, labels = GrowingArray(dtype), GrowingArray(np.float64), GrowingArray(np.float64), []
    for batch in batches:
        X.append(batch.X.ravel())
        labels += batch.labels or []
        for growing, part in ((weight, batch.weight), (query, batch.query)):
            if part is not None:
                growing.append(part)
    return Table(
        X.finish().reshape(-1, len(columns.features)),
        None if columns.target is None else labels,
        None if columns.weight is None else weight.finish(),
        None if columns.query is None else query.finish(),
    )


def read_labels(texts: Sequence[str]) -> np.ndarray:
    """Numbers if all of them are, else texts."""
    known = dict.fromkeys(texts)
    try:
        numbers = {text: float(text) for text in known if "_" not in text}
    except ValueError:
        numbers = {}
    if len(numbers) == len(known) and all(map(np.isfinite, numbers.values())):
        return np.fromiter(map(numbers.get, texts), np.float64, len(texts))
    return np.array(texts, dtype=str)


def read_csv(path: Path, request: DataRequest) -> Data:
    """Comma-separated values; the delimiter is the requested one, else what the suffix says."""
    header, delimiter = request.header, request.delimiter or DELIMITERS[find_suffix(path)]
    if not any(header is each for each in (True, False)) and header != "auto":
        raise ValueError(f"header must be True, False or 'auto', got {header!r}.")
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"':
        raise ValueError(f"delimiter must be one character, got {delimiter!r}.")
    head = read_head(path, delimiter, header)
    weights_in_file = is_weight_file(path, head.names, request.weight)
    columns = choose_columns(path, head.names, request._replace(weight=None) if weights_in_file else request)
    table = read_table(path, delimiter, head, columns, request.dtype)
    weights = read_weights(request.weight, len(table.X)) if weights_in_file else table.weight
    y = None if table.labels is None else read_labels(table.labels)
    named = not isinstance(head.names, int)
    names = [head.names[place] for place in columns.features] if named else None
    label = head.names[columns.target] if named and columns.target is not None else None
    queries = None if table.query is None else check_integers(path, table.query)
    return Data(table.X, y, weights, queries, names, target=label)
