"""What model files of LIBSVM and LIBLINEAR share: lines of `key value value ...`, then numbers; labels as integers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..certificates.certificate import Certificate
from ..runtime.streams import find_file, open_file

# Of a model that another library fitted: `certify` tells how good it is.
UNKNOWN_CERTIFICATE = Certificate(np.nan, np.nan, np.nan)
NUMERIC_TEXT = re.compile(rb"[0-9eE+\-.\s]*")  # what a line of numbers is made of
MAX_HEADER_LINE_BYTES = 1 << 24  # bytes of a line of the header
INT32 = np.iinfo(np.int32)
MAX_CHARACTERS_SHOWN = 30  # characters of a wrong word that are shown


class Entry(NamedTuple):
    """A line of the header: its number, and its words after the key."""

    line: int
    words: list[bytes]


class ModelText(NamedTuple):
    """A file taken apart: the lines of its header by their keys, the text after it, and lines before that text."""

    path: Path
    entries: dict[str, Entry]
    body: bytes
    before: int

    def make_error(self, line: int, what: str) -> ValueError:
        """The sentence that ends the reading."""
        return ValueError(f"{self.path}, line {line}: {what}.")

    def entry(self, key: str) -> Entry:
        """A line of the header that must be there."""
        if key not in self.entries:
            raise ValueError(f"{self.path} has no line {key!r} before its numbers.")
        return self.entries[key]

    def word(self, key: str, known) -> str:
        """A word that must be one of those known."""
        line, words = self.entry(key)
        word = words[0].decode(errors="replace") if len(words) == 1 else ""
        if word not in known:
            got = b" ".join(words)[:MAX_CHARACTERS_SHOWN].decode(errors="replace")
            raise self.make_error(line, f"{key} must be one of {', '.join(known)}, got {got!r}")
        return word

    def whole(self, key: str, least: int) -> int:
        """A whole number."""
        return self.wholes(key, 1, least)[0]

    def wholes(self, key: str, count: int, least: int = INT32.min) -> list[int]:
        """So many whole numbers."""
        line, words = self.entry(key)
        is_valid = len(words) == count and all(re.fullmatch(rb"[+-]?[0-9]{1,10}", word) for word in words)
        if not is_valid or not all(least <= int(word) <= INT32.max for word in words):
            got = b" ".join(words)[:MAX_CHARACTERS_SHOWN].decode(errors="replace")
            what = "a whole number" if count == 1 else f"{count} whole numbers"
            raise self.make_error(
                line, f"{key} must be {what}{f' of at least {least}' if least >= 0 else ''}, got {got!r}"
            )
        return [int(word) for word in words]

    def numbers(self, key: str, count: int) -> np.ndarray:
        """So many finite numbers."""
        line, words = self.entry(key)
        return self.parse(b" ".join(words), line, count, f"{key} must be")

    def parse(self, text: bytes, line: int, count: int, intent: str) -> np.ndarray:
        """The finite numbers of a line, as many as there must be."""
        words = text.split()
        if len(words) != count:
            raise self.make_error(line, f"{intent} {count} number{'s' if count != 1 else ''}, got {len(words)}")
        try:
            values = np.array([float(word) for word in words]) if NUMERIC_TEXT.fullmatch(text) else None
        except ValueError:
            values = None
        if values is None or not np.isfinite(values).all():
            raise self.make_error(line, f"{intent} finite numbers, got {find_nonnumber(words)!r}")
        return values


def find_nonnumber(words: list[bytes]) -> str:
    """The first word that is no finite number."""
    for word in words:
        try:
            if NUMERIC_TEXT.fullmatch(word) and np.isfinite(float(word)):
                continue
        except ValueError:
            pass
        return word[:MAX_CHARACTERS_SHOWN].decode(errors="replace")
    return ""


def read_text(path, known: tuple[str, ...], last: str) -> ModelText:
    """The header up to the line `last`, every key a known one and there once, and what follows it.

    Parameters
    ----------
    path : path
        Plain, or packed with .gz, .bz2 or .xz.
    known : keys of the header
    last : str
        The line after which the numbers begin.
    """
    path = find_file(path)
    text = ModelText(path, {}, b"", 0)
    with open_file(path) as file:
        number = 0
        while True:
            line = file.readline(MAX_HEADER_LINE_BYTES)
            number += 1
            words = line.split()
            if words == [last.encode()]:
                return text._replace(body=file.read(), before=number)
            if not line:
                raise ValueError(f"{path} has no line {last!r}, so it was truncated or is not a model file.")
            if not words:
                continue
            key = words[0][:MAX_CHARACTERS_SHOWN].decode(errors="replace")
            if key not in known or not line.endswith(b"\n"):
                raise text.make_error(number, f"one of {', '.join(known)} or {last} was expected, got {key!r}")
            if key in text.entries:
                raise text.make_error(number, f"{key} is there twice")
            text.entries[key] = Entry(number, words[1:])


def write_labels(classes: np.ndarray, library: str) -> list[int]:
    """The classes as whole numbers, which is all that the formats know."""
    numbers = classes if classes.dtype.kind in "biuf" else np.array([np.nan])
    whole = numbers.astype(np.float64)
    if not (np.isfinite(whole).all() and (whole == np.rint(whole)).all() and np.abs(whole).max() <= INT32.max):
        shown = ", ".join(map(str, classes[:4].tolist()))
        raise ValueError(f"{library}'s model files have labels that are whole numbers of 32 bits, and not {shown}.")
    return [int(label) for label in whole]


def read_labels(text: ModelText, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes in ascending order, and the place in the file of each."""
    labels = np.array(text.wholes("label", k), np.int64)
    classes, order = np.unique(labels, return_index=True)
    if len(classes) != k:
        raise text.make_error(text.entry("label").line, f"label must be {k} different numbers, got one twice")
    return classes, order


def check_features(n_features: int | None, found: int) -> int:
    """The number of features: as many as a file shows, or more if the caller knows better."""
    if n_features is None:
        return max(found, 1)
    if not isinstance(n_features, int | np.integer) or n_features < max(found, 1):
        raise ValueError(f"n_features must be a whole number of at least {max(found, 1)}, got {n_features!r}.")
    return int(n_features)
