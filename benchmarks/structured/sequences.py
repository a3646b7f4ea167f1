"""Sequences for the structured benchmarks: handwritten words, sentences to be cut into chunks, and how both are scored.

The folder of data holds `ocr_letters/letter.data.bz2` and `conll2000/train.txt.bz2`, `conll2000/test.txt.bz2`.
"""

from __future__ import annotations

import bz2
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..measuring.data import find_folder

FOLD, WORD, LETTER, PIXELS = 5, 3, 1, 6  # columns of letter.data; the pixels are the last ones
MIN_FEATURE_COUNT = 3  # a feature seen fewer times in the training sentences is dropped
WINDOW = (-2, -1, 0, 1, 2)
PAIRS = {"words": ((-1, 0), (0, 1)), "tags": ((-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))}
AFFIXES = (1, 2, 3, 4)  # letters of a prefix or suffix
EDGE = "<edge>"  # what stands before and after a sentence


class Words(NamedTuple):
    """Handwritten words: pixels and a 1 for each letter, the letters as 0 to 25, the spelling, and the fold."""

    X: list[np.ndarray]
    y: list[np.ndarray]
    spelling: list[str]
    fold: np.ndarray

    def take(self, places: Iterable[int]) -> Words:
        """Some of the words."""
        places = [int(place) for place in places]
        picked = ([column[place] for place in places] for column in (self.X, self.y, self.spelling))
        return Words(*picked, self.fold[places])

    @property
    def letters(self) -> int:
        """How many letters there are in all."""
        return sum(map(len, self.y))


class Sentence(NamedTuple):
    """Words, tags of parts of speech, and chunk tags in the IOB notation."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    chunks: tuple[str, ...]


def read_letters(lines: Iterable[str]) -> Words:
    """Lines of letter.data, one letter each, as words in the order of the file."""
    rows: dict[str, list[list[str]]] = {}
    for line in lines:
        fields = line.split()
        rows.setdefault(fields[WORD], []).append(fields)
    spelling = ["".join(fields[LETTER] for fields in word) for word in rows.values()]
    X = [add_constant(np.array([fields[PIXELS:] for fields in word], float)) for word in rows.values()]
    y = [np.array([ord(letter) - ord("a") for letter in word]) for word in spelling]
    return Words(X, y, spelling, np.array([int(word[0][FOLD]) for word in rows.values()]))


def add_constant(pixels: np.ndarray) -> np.ndarray:
    """A column of ones at the end, for a bias."""
    return np.column_stack([pixels, np.ones(len(pixels))])


def read_sentences(lines: Iterable[str]) -> list[Sentence]:
    """Lines of three columns (word, part of speech, chunk tag), a blank one after each sentence."""
    sentences, tokens = [], []
    for line in [*lines, ""]:
        if fields := line.split():
            tokens.append(fields)
        elif tokens:
            sentences.append(Sentence(*zip(*tokens, strict=True)))
            tokens = []
    return sentences


def open_file(name: str) -> list[str] | None:
    """The lines of a compressed text of the folder; None where it is not there."""
    folder = find_folder()
    path = None if folder is None else folder / name
    if path is None or not path.is_file():
        return None
    with bz2.open(path, "rt") as file:
        return file.read().splitlines()


def load_letters() -> Words | None:
    """The handwritten words of Taskar, Guestrin and Koller (2003), ten folds; None where they are not there."""
    lines = open_file("ocr_letters/letter.data.bz2")
    return None if lines is None else read_letters(lines)


def load_sentences(part: str) -> list[Sentence] | None:
    """The part "train" or "test" of CoNLL-2000; None where it is not there."""
    lines = open_file(f"conll2000/{part}.txt.bz2")
    return None if lines is None else read_sentences(lines)


def make_words(n: int, *, noise: float = 0.3, seed: int = 0) -> Words:
    """Words that stand in for handwritten ones: six letters, each with two likely followers, and noisy 4 x 4 pixels."""
    random = np.random.default_rng(seed)
    shapes = random.integers(0, 2, size=(6, 16))
    X, y = [], []
    for _ in range(n):
        letters = [random.integers(6)]
        while len(letters) < random.integers(3, 9):
            letters.append((letters[-1] + random.choice([1, 2])) % 6)
        y.append(np.array(letters))
        X.append(add_constant((shapes[y[-1]] ^ (random.random((len(letters), 16)) < noise)).astype(float)))
    return Words(X, y, ["".join(chr(ord("a") + letter) for letter in word) for word in y], np.arange(n) % 10)


def describe_shape(word: str) -> str:
    """Capitals as X, small letters as x, digits as 0, the rest as it is, repetitions once: "Mr.-1990s" is Xx.-0x."""
    kinds = ["X" if sign.isupper() else "x" if sign.islower() else "0" if sign.isdigit() else sign for sign in word]
    return "".join(kind for kind, before in zip(kinds, ["", *kinds], strict=False) if kind != before)


def describe_word(word: str) -> Iterator[str]:
    """Prefixes, suffixes and shape."""
    small = word.lower()
    for length in AFFIXES:
        if length < len(small):
            yield f"prefix:{small[:length]}"
            yield f"suffix:{small[-length:]}"
    yield f"shape:{describe_shape(word)}"


def describe_token(sentence: Sentence, place: int) -> Iterator[str]:
    """The names of the features of one token: a constant, itself, its neighbours, and groups of neighbours."""
    yield "constant"
    yield from describe_word(sentence.words[place])
    for kind, row in (("words", sentence.words), ("tags", sentence.tags)):
        for group in (*((step,) for step in WINDOW), *PAIRS[kind]):
            near = [row[place + step] if 0 <= place + step < len(row) else EDGE for step in group]
            yield f"{kind}{group[0]}:{len(group)}:{'|'.join(near)}"


class Template:
    """Binary features of tokens: those that occur at least RARE times in the sentences it was made from."""

    def __init__(self, sentences: list[Sentence], *, rare: int = MIN_FEATURE_COUNT):
        names = (name for sentence in sentences for token in range(len(sentence.words))
                 for name in describe_token(sentence, token))  # fmt: skip
        counts = Counter(names)
        self.columns = {name: column for column, name in enumerate(sorted(n for n, k in counts.items() if k >= rare))}

    def encode(self, sentence: Sentence) -> sp.csr_array:
        """A row for each token."""
        rows = [
            sorted({self.columns[name] for name in describe_token(sentence, place) if name in self.columns})
            for place in range(len(sentence.words))
        ]
        ends = np.cumsum([0, *map(len, rows)]).astype(np.int32)
        indices = np.fromiter((column for row in rows for column in row), np.int32, ends[-1])
        return sp.csr_array((np.ones(ends[-1]), indices, ends), shape=(len(rows), len(self.columns)))


def list_chunks(tags: Iterable[str]) -> set[tuple[int, int, str]]:
    """First token, last token and type of every chunk, as conlleval reads IOB tags.

    A chunk begins at a B, at an I after an O, and at an I of another type than the token before; it ends before the
    next B or O, before another type, and at the end of the sentence.
    """
    chunks, first, before = set(), None, ""
    tags = [*tags, "O"]
    for place, tag in enumerate(tags):
        mark, _, kind = tag.partition("-")
        goes_on = first is not None and mark == "I" and kind == before
        if first is not None and not goes_on:
            chunks.add((first, place - 1, before))
            first = None
        if mark != "O" and not goes_on:
            first = place
        before = kind
    return chunks


class ChunkScore(NamedTuple):
    """What conlleval prints: chunks there are, found and right, and the share of tags that are right."""

    there: int
    found: int
    right: int
    accuracy: float

    @property
    def precision(self) -> float:
        """Right of those found."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Right of those there are."""
        return self.right / self.there if self.there else 0.0

    @property
    def f1(self) -> float:
        """2 p r / (p + r); 0 if nothing is right."""
        return 2.0 * self.right / (self.found + self.there) if self.right else 0.0


def score_chunks(true: Iterable[Iterable[str]], said: Iterable[Iterable[str]]) -> ChunkScore:
    """Chunks with the same ends and the same type, over all sentences."""
    there = found = right = tokens = same = 0
    for ours, theirs in zip(true, said, strict=True):
        ours, theirs = [*ours], [*theirs]
        one, other = list_chunks(ours), list_chunks(theirs)
        there, found, right = there + len(one), found + len(other), right + len(one & other)
        tokens += len(ours)
        same += sum(a == b for a, b in zip(ours, theirs, strict=True))
    return ChunkScore(there, found, right, same / tokens if tokens else 0.0)
