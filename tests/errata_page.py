"""docs/errata.md, written from docs/errata.toml: python tests/errata_page.py writes it anew."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from sources_page import ROOT, read_sources, show_test

DATA = ROOT / "docs" / "errata.toml"
PAGE = ROOT / "docs" / "errata.md"
INTRODUCTION = """# Errata of the sources

The three documents that maxmargin grew from contain mistakes. This page lists them: as printed, as it should be, why,
and the test that decides. Such a test passes the corrected version and fails the printed one, in exact fractions or by
trying all cases wherever that is possible; where the mistake is about a table, it reads the table. The letters are
those of the sources. [sources.md](sources.md) lists everything else that they say.

The page is written from [errata.toml](errata.toml) by `python tests/errata_page.py`. A test looks for every test that
it names.
"""
SLIPS = """
## Slips of the pen

Wrong letters, numbers of equations and words. No test can decide them, and no code depends on them.

| source | at | printed | should be |
|---|---|---|---|"""


@dataclass(frozen=True)
class Mistake:
    """What a source says, what it should say, why, and the tests that decide."""

    source: str
    at: str
    printed: str
    correct: str
    why: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Slip:
    """A wrong letter, number or word."""

    source: str
    at: str
    printed: str
    correct: str


def read_errata() -> tuple[list[Mistake], list[Slip]]:
    """Everything in docs/errata.toml."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    mistakes = [Mistake(**{**each, "tests": tuple(each["tests"])}) for each in data["mistakes"]]
    return mistakes, [Slip(**each) for each in data["slips"]]


def show_row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def write_page() -> str:
    """The whole page."""
    mistakes, slips = read_errata()
    lines = [INTRODUCTION.rstrip()]
    for name, source in read_sources().items():
        lines += [
            "",
            f"## {source.cite}",
            "",
            "| at | printed | should be | why | decided by |",
            "|---|---|---|---|---|",
        ]
        for each in mistakes:
            if each.source == name:
                checks = "<br>".join(map(show_test, each.tests))
                lines.append(show_row(each.at, each.printed, each.correct, each.why, checks))
    lines.append(SLIPS)
    cites = {name: source.cite for name, source in read_sources().items()}
    lines += [show_row(cites[each.source], each.at, each.printed, each.correct) for each in slips]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
