"""docs/sources.toml and docs/sources.md: complete, up to date, and every place and test that they name is there."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module

import pytest
from sources_page import KINDS, PAGE, ROOT, Item, read_sources, write_page

from maxmargin import SVC

SOURCES = read_sources()
ITEMS = [item for source in SOURCES.values() for item in source.items]
FITTED = {"margin_width_", "free_support_", "bounded_support_"}  # attributes that only a fitted machine has


@cache
def list_tests(file: str) -> set[str]:
    """The functions that a test file defines."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def find(place: str) -> object:
    """What a dotted name means: a module, or an attribute of the longest module there is."""
    parts = place.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = getattr(fit_machine() if found is SVC and name in FITTED else found, name)
        return found
    raise ModuleNotFoundError(place)


@cache
def fit_machine() -> SVC:
    """A machine on two samples."""
    return SVC().fit([[0.0], [1.0]], [0, 1])


def test_every_place_is_there():
    """Names can be imported, files exist."""
    for place in {place for item in ITEMS for place in item.where}:
        if "/" in place:
            assert (ROOT / place).is_file(), place
        else:
            assert find(place) is not None, place


def test_every_test_is_there():
    """file::function, below tests/."""
    for test in {test for item in ITEMS for test in item.tests}:
        file, name = test.split("::")
        assert name in list_tests(file), test


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: f"{item.at}: {item.what}"[:60])
def test_every_item_is_somewhere_and_checked(item: Item):
    """Or a reason says why not; a title is short."""
    assert item.kind in KINDS
    assert (item.where and item.tests) or item.reason
    assert len(item.what) < 110
    assert not item.what.endswith(".")


@pytest.mark.parametrize("name", SOURCES)
def test_the_numbering_is_complete(name):
    """All that a source numbers, sections and slides included, and nothing that it does not."""
    source = SOURCES[name]
    expected = {(kind, n) for kind, (first, last) in source.numbered.items() for n in range(first, last + 1)}
    found = set().union(*(item.numbers() for item in source.items))
    assert found == expected
    sections = {item.at.split(",")[0].removeprefix("section ") for item in source.items}
    assert sections <= set(source.sections)
    missing = [each for each in source.sections if not any(s == each or s.startswith(f"{each}.") for s in sections)]
    assert missing == []
    at = {item.at.partition(", ")[2].removesuffix(", table 5").removesuffix(", table 6") for item in source.items}
    assert not source.slides or at == set(source.slides)


def test_homework_and_kinds():
    """Three homeworks in Wu (2014), and every kind of item occurs."""
    assert sum(item.kind == "homework" for item in SOURCES["wu"].items) == 3
    assert {item.kind for item in ITEMS} == set(KINDS)


def test_the_page_is_up_to_date():
    """`python tests/sources_page.py` would change nothing."""
    assert PAGE.read_text(encoding="utf-8") == write_page()
