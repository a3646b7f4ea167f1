"""The guide to tone in CONTRIBUTING.md has its pairs, and words that it rules out are on no page and in no source."""

from __future__ import annotations

import re

from pages import ROOT

RULED_OUT = re.compile(r"\b(?:nobody|somebody|whoever|foretell\w*|foretold|by lot)\b", re.I)
PAIR = re.compile(r"^\| (?P<before>[^|]+) \| (?P<after>[^|]+) \| (?P<reason>[^|]+) \|$", re.M)
GUIDE = "CONTRIBUTING.md"
FOLDERS = {"docs": (".md", ".rst", ".toml", ".py"), "src": (".py",), "benchmarks": (".py", ".md"), "examples": (".py",)}
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *(each for folder in FOLDERS for each in (ROOT / folder).rglob("*"))]
    if path.suffix in FOLDERS.get(path.relative_to(ROOT).parts[0], (".md",))
)


def split_guide() -> tuple[str, str]:
    """CONTRIBUTING.md: its section on words, and the rest."""
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    before, _, rest = text.partition("\n## Words\n")
    words, heading, after = rest.partition("\n## ")
    return words, before + heading + after


def test_the_guide_has_ten_pairs():
    """What is written, what is written in its place, and why; no pair is the same twice."""
    words, _ = split_guide()
    _, *pairs = PAIR.findall(words)  # after the heading of the table
    assert len(pairs) >= 10
    assert all(before != after for before, after, _ in pairs)
    assert len({before for before, *_ in pairs}) == len(pairs)


def test_words_that_are_ruled_out_do_not_occur():
    """With the file and the line, so that it can be written again."""
    found = [
        f"{name}: {line.strip()}"
        for name in FILES
        if name != GUIDE
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
        if RULED_OUT.search(line)
    ]
    assert len(FILES) > 100
    assert found == []


def test_the_guide_itself_uses_them_only_as_examples():
    """In its table."""
    words, rest = split_guide()
    assert RULED_OUT.search(words)
    assert not RULED_OUT.search(rest)
