"""docs/sources.md, written from docs/sources.toml: python tests/sources_page.py writes it anew."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "sources.toml"
PAGE = ROOT / "docs" / "sources.md"
KINDS = (
    "definition", "formula", "lemma", "theorem", "algorithm", "example", "table", "figure", "homework", "claim",
)  # fmt: skip
RANGE = re.compile(r"\b(eq|table|figure|definition|theorem|algorithm)s?\.? (\d+)(?:-(\d+))?")
INTRODUCTION = """# The sources, item by item

This page lists every definition, algorithm, lemma, theorem, table, figure, homework and claim of the three documents
that maxmargin grew from: where it lives, and the test that checks it. Names that begin with `maxmargin` can be
imported; those with `experiments` make the report (`make report`). What the sources got wrong is on the page of
[errata](errata.md); a note here says it in a line. Three [notebooks](notebooks/README.md) go through the documents in
their own order.

The page is written from [sources.toml](sources.toml) by `python tests/sources_page.py`. A test imports every place,
looks for every test, and counts the numbers of each document.
"""


@dataclass(frozen=True)
class Item:
    """A thing that a source says, where it lives, and the tests that check it."""

    at: str
    kind: str
    what: str
    where: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    reason: str = ""
    note: str = ""

    def numbers(self) -> set[tuple[str, int]]:
        """("eq", 14), ("eq", 15), ... of "eqs. 14-16"."""
        found = RANGE.findall(self.at)
        return {(kind, n) for kind, first, last in found for n in range(int(first), int(last or first) + 1)}


@dataclass(frozen=True)
class Source:
    """A document: how it is cited, what it numbers, and its items."""

    cite: str
    title: str
    sections: tuple[str, ...]
    slides: tuple[str, ...]
    numbered: dict[str, list[int]]
    items: tuple[Item, ...]


def read_sources() -> dict[str, Source]:
    """The three documents of docs/sources.toml."""
    sources = {}
    for name, entry in tomllib.loads(DATA.read_text(encoding="utf-8")).items():
        items = tuple(
            Item(**{key: tuple(value) if isinstance(value, list) else value for key, value in item.items()})
            for item in entry["items"]
        )
        heads = {key: tuple(entry[key]) for key in ("sections", "slides")}
        sources[name] = Source(entry["cite"], entry["title"], **heads, numbered=entry["numbered"], items=items)
    return sources


def show_place(place: str) -> str:
    """A link for a file, the name otherwise."""
    if "/" not in place:
        return f"`{place}`"
    return f"[{Path(place).name}]({place.removeprefix('docs/')})"


def show_test(test: str) -> str:
    """A link to the file of a test, with the name of the test."""
    file, name = test.split("::")
    return f"[{Path(file).stem}](../tests/{file})::`{name}`"


def show_item(item: Item) -> str:
    """A row of the table of a source."""
    what = item.what if not item.note else f"{item.what}. *{item.note[0].upper()}{item.note[1:]}.*"
    checks = "<br>".join(map(show_test, item.tests)) or item.reason
    cells = (item.at, item.kind, what, "<br>".join(map(show_place, item.where)), checks)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def count_kinds(sources: dict[str, Source]) -> list[str]:
    """How many items of each kind there are."""
    counts = {name: Counter(item.kind for item in source.items) for name, source in sources.items()}
    rows = [f"| source | {' | '.join(KINDS)} | all |", f"|---{'|---:' * (len(KINDS) + 1)}|"]
    for name, source in sources.items():
        numbers = [counts[name][kind] for kind in KINDS]
        rows.append(f"| {source.cite} | {' | '.join(map(str, [*numbers, sum(numbers)]))} |")
    return rows


def write_page() -> str:
    """The whole page."""
    sources = read_sources()
    lines = [INTRODUCTION, *count_kinds(sources)]
    for source in sources.values():
        lines += ["", f"## {source.cite}", "", f"{source.title}.", "", "| at | kind | what | where | checked by |"]
        lines += ["|---|---|---|---|---|", *map(show_item, source.items)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
