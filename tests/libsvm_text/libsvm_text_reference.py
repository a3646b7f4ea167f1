"""LIBSVM text read word by word: the slow reference for the compiled parser, with the numbers of Python itself."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

NUMBER = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
PAIR = re.compile(rb"([0-9]+):(" + NUMBER + rb")")
QUERY = re.compile(rb"qid:([0-9]+)")
MAX_INDEX = (1 << 62) - 1
MAX_QUERY = 9 * 10**17


class Row(NamedTuple):
    """A line: its label, its query or None, its pairs as they are written."""

    label: float
    query: int | None
    pairs: list[tuple[int, float]]


def parse(text: bytes) -> list[Row]:
    """The rows of a text, or a ValueError."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    return [row for line in text.split(b"\n") if (row := parse_line(line)) is not None]


def parse_line(line: bytes) -> Row | None:
    """The row of a line, None if there is nothing but a comment."""
    words = [word for word in re.split(rb"[ \t\r]+", line.split(b"#")[0]) if word]
    if not words:
        return None
    label, query = read_number(words[0]), None
    if len(words) > 1 and words[1].startswith(b"qid:"):
        found = QUERY.fullmatch(words.pop(1))
        if not found or int(found[1]) > MAX_QUERY:
            raise ValueError("query")
        query = int(found[1])
    pairs: list[tuple[int, float]] = []
    for word in words[1:]:
        found = PAIR.fullmatch(word)
        if not found or int(found[1]) > MAX_INDEX or (pairs and int(found[1]) <= pairs[-1][0]):
            raise ValueError("pair")
        pairs.append((int(found[1]), read_number(found[2])))
    return Row(label, query, pairs)


def read_number(word: bytes) -> float:
    """A finite decimal number."""
    if not re.fullmatch(NUMBER, word) or not math.isfinite(float(word)):
        raise ValueError("number")
    return float(word)
