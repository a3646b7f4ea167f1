"""Sequences of the structured benchmarks: how files are read, which features tokens get, and how chunks are counted."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1]))
from benchmarks.structured.sequences import (
    Sentence,
    Template,
    describe_shape,
    describe_token,
    list_chunks,
    make_words,
    read_letters,
    read_sentences,
    score_chunks,
)  # fmt: skip

TEXT = """He PRP B-NP
reckons VBZ B-VP
the DT B-NP
deficit NN I-NP

. . O


It PRP B-NP
narrows VBZ B-VP
"""
TAGS = ("O", "B-NP", "I-NP", "B-VP", "I-VP")


def write_letter(number: int, letter: str, word: int, fold: int, pixels: list[int]) -> str:
    """A line of letter.data, tabs between its columns and one at its end."""
    return "\t".join(map(str, [number, letter, number + 1, word, 1, fold, *pixels])) + "\t\n"


def count_by_walking(true: list[str], said: list[str]) -> tuple[int, int, int]:
    """Chunks there are, found and right, by the rules of conlleval's endOfChunk and startOfChunk, token by token."""

    def ends(mark: str, kind: str, old_mark: str, old_kind: str) -> bool:
        return (old_mark in "BI" and mark in "BO") or (old_mark != "O" and old_kind != kind)

    def starts(mark: str, kind: str, old_mark: str, old_kind: str) -> bool:
        return mark == "B" or (old_mark == "O" and mark == "I") or (mark != "O" and old_kind != kind)

    there = found = right = 0
    inside, old = False, (("O", ""), ("O", ""))
    for pair in zip([*true, "O"], [*said, "O"], strict=True):
        new = tuple((tag.partition("-")[0], tag.partition("-")[2]) for tag in pair)
        closed = [ends(*now, *before) for now, before in zip(new, old, strict=True)]
        opened = [starts(*now, *before) for now, before in zip(new, old, strict=True)]
        same = new[0][1] == new[1][1]
        if inside and all(closed) and old[0][1] == old[1][1]:
            inside, right = False, right + 1
        elif inside and (closed[0] != closed[1] or not same):
            inside = False
        inside = inside or (all(opened) and same)
        there, found, old = there + opened[0], found + opened[1], new
    return there, found, right


def test_letters_are_gathered_into_words():
    lines = [
        write_letter(1, "a", 1, 0, [0, 1]), write_letter(2, "c", 1, 0, [1, 1]), write_letter(3, "z", 7, 9, [0, 0]),
    ]  # fmt: skip
    words = read_letters(lines)
    assert words.spelling == ["ac", "z"]
    assert [labels.tolist() for labels in words.y] == [[0, 2], [25]]
    assert words.fold.tolist() == [0, 9]
    assert words.X[0].tolist() == [[0, 1, 1], [1, 1, 1]]  # the last column is the constant
    assert words.letters == 3


def test_some_words_can_be_taken():
    words = make_words(5)
    some = words.take(np.flatnonzero(words.fold >= 3))
    assert some.spelling == words.spelling[3:]
    assert some.fold.tolist() == [3, 4]


def test_made_words_are_the_same_each_time_and_follow_their_chain():
    one, other = make_words(20, seed=3), make_words(20, seed=3)
    assert one.spelling == other.spelling
    assert all(np.array_equal(a, b) for a, b in zip(one.X, other.X, strict=True))
    steps = np.concatenate([np.diff(word) % 6 for word in one.y])
    assert set(steps.tolist()) == {1, 2}


def test_sentences_end_at_blank_lines_and_at_the_end_of_the_file():
    sentences = read_sentences(TEXT.splitlines())
    assert [len(sentence.words) for sentence in sentences] == [4, 1, 2]
    assert sentences[0] == Sentence(
        ("He", "reckons", "the", "deficit"), ("PRP", "VBZ", "DT", "NN"), ("B-NP", "B-VP", "B-NP", "I-NP")
    )
    assert read_sentences([]) == []


@pytest.mark.parametrize(
    ("word", "shape"), [("Mr.-1990s", "Xx.-0x"), ("the", "x"), ("USA", "X"), ("1,000", "0,0"), ("", "")]
)
def test_shapes(word, shape):
    assert describe_shape(word) == shape


def test_a_token_is_described_by_its_neighbours():
    sentence = read_sentences(TEXT.splitlines())[0]
    names = list(describe_token(sentence, 0))
    assert len(names) == len(set(names))
    assert {"constant", "words0:1:He", "words1:1:reckons", "words-1:1:<edge>", "tags0:2:PRP|VBZ"} <= set(names)
    assert {"prefix:h", "suffix:e", "shape:Xx", "words-1:2:<edge>|He", "tags0:3:PRP|VBZ|DT"} <= set(names)
    assert not any(name.startswith("prefix:he") for name in names)  # an affix is shorter than the word


def test_templates_do_not_depend_on_the_order_of_sentences():
    sentences = read_sentences(TEXT.splitlines())
    one, other = Template(sentences, rare=2), Template(sentences[::-1], rare=2)
    assert one.columns == other.columns
    assert one.encode(sentences[0]).indices.tolist() == other.encode(sentences[0]).indices.tolist()


def test_rare_features_are_dropped_and_unknown_ones_are_passed_over():
    sentences = read_sentences(TEXT.splitlines())
    template = Template(sentences, rare=2)
    assert {"constant", "tags0:1:PRP", "tags0:2:PRP|VBZ"} <= set(template.columns)
    assert "words0:1:He" not in template.columns
    X = template.encode(Sentence(("Unheard",), ("XX",), ("O",)))
    assert X.shape == (1, len(template.columns))
    assert set(X.data.tolist()) == {1.0}
    assert X.has_canonical_format
    names = {name for name, column in template.columns.items() if column in X.indices}
    assert "constant" in names
    assert not any("Unheard" in name for name in names)


@pytest.mark.parametrize(
    ("tags", "chunks"),
    [
        ("", set()),
        ("O O", set()),
        ("B-NP I-NP O", {(0, 1, "NP")}),
        ("B-NP B-NP", {(0, 0, "NP"), (1, 1, "NP")}),
        ("O I-NP I-NP", {(1, 2, "NP")}),  # an I after an O begins a chunk
        ("I-NP", {(0, 0, "NP")}),
        ("B-NP I-VP I-VP", {(0, 0, "NP"), (1, 2, "VP")}),  # and so does an I of another type
        ("I-NP I-VP I-NP", {(0, 0, "NP"), (1, 1, "VP"), (2, 2, "NP")}),
        ("B-NP O I-NP", {(0, 0, "NP"), (2, 2, "NP")}),
        ("B-NP I-NP B-VP", {(0, 1, "NP"), (2, 2, "VP")}),
    ],
)
def test_chunks_of_tags(tags, chunks):
    assert list_chunks(tags.split()) == chunks


def test_a_chunk_is_right_only_as_a_whole():
    true = ["B-NP", "I-NP", "O", "B-VP", "B-PP"]
    said = ["B-NP", "B-NP", "O", "B-NP", "B-PP"]
    score = score_chunks([true], [said])
    assert (score.there, score.found, score.right) == (3, 4, 1)
    assert score.precision == pytest.approx(1 / 4)
    assert score.recall == pytest.approx(1 / 3)
    assert score.f1 == pytest.approx(2 / 7)
    assert score.accuracy == pytest.approx(3 / 5)


def test_tags_that_differ_may_mean_the_same_chunks():
    score = score_chunks([["B-NP", "I-NP"]], [["I-NP", "I-NP"]])
    assert (score.f1, score.accuracy) == (1.0, 0.5)


def test_chunks_end_with_their_sentence():
    score = score_chunks([["B-NP"], ["I-NP"]], [["B-NP"], ["B-NP"]])
    assert (score.there, score.right) == (2, 2)


def test_nothing_there_and_nothing_found_is_no_error():
    score = score_chunks([["O"]], [["O"]])
    assert (score.precision, score.recall, score.f1, score.accuracy) == (0.0, 0.0, 0.0, 1.0)


def test_chunks_are_counted_as_conlleval_counts_them():
    random = np.random.default_rng(0)
    for _ in range(2000):
        length = random.integers(1, 9)
        true = [TAGS[k] for k in random.integers(len(TAGS), size=length)]
        said = [tag if random.random() < 0.6 else TAGS[random.integers(len(TAGS))] for tag in true]
        score = score_chunks([true], [said])
        assert (score.there, score.found, score.right) == count_by_walking(true, said)
