"""docs/errata.toml and docs/errata.md: up to date, every source and place named, and every test there."""

from __future__ import annotations

import ast
from functools import cache
from itertools import chain

import pytest
from errata_page import PAGE, Mistake, read_errata, write_page
from sources_page import RANGE, ROOT, Item, read_sources

SOURCES = read_sources()
MISTAKES, SLIPS = read_errata()
NOTES_OF_ANOTHER_KIND = {
    "f2 is the ridge; another f2 would need another master program",
    "the second-order choice (Fan, Chen and Lin 2005) needs one row only",
    "the slide is empty; the library has bounds on the risk of a fitted machine",
}
ERRATA_FILES = ("test_errata.py", "test_errata_report.py")


@cache
def parse_tests(file: str) -> dict[str, ast.FunctionDef]:
    """The tests that a file defines."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: node for node in functions if node.name.startswith("test_")}


def asserts(test: ast.FunctionDef) -> bool:
    """Whether a test has an assert, or calls one of NumPy's."""
    calls = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    return any(isinstance(node, ast.Assert) for node in ast.walk(test)) or any("assert_" in name for name in calls)


def list_places(at: str) -> list[str]:
    """The parts of "section 3, eq. 4; section 4, eq. 5", without their source."""
    return [part.strip() for part in at.split(";")]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: f"{each.source}: {each.at}"[:60])
def test_every_mistake_is_told_in_full(mistake: Mistake):
    """Source, place, both versions, which differ, a reason, and a test that asserts something."""
    assert mistake.source in SOURCES
    assert mistake.at.startswith("section ")
    assert mistake.printed != mistake.correct
    assert mistake.why.endswith(".")
    assert mistake.tests
    for test in mistake.tests:
        file, name = test.split("::")
        found = parse_tests(file)[name]
        assert asserts(found), test
        assert ast.get_docstring(found), test


@pytest.mark.parametrize("slip", SLIPS, ids=lambda each: f"{each.source}: {each.at}"[:60])
def test_every_slip_has_a_source_and_a_place(slip):
    """And both versions."""
    assert slip.source in SOURCES
    assert slip.at.startswith(("section", "References"))
    assert slip.printed != slip.correct


def test_places_are_those_of_the_sources():
    """Slides by their titles, equations by numbers that there are."""
    for each in chain(MISTAKES, SLIPS):
        source = SOURCES[each.source]
        if source.slides and each.at != "References":
            section, _, slide = list_places(each.at)[0].partition(", ")
            assert section.removeprefix("section ") in source.sections, each.at
            assert any(slide.startswith(title) for title in source.slides), each.at
        for kind, first, last in RANGE.findall(each.at) if each.source == "meoli" else ():
            low, high = source.numbered[kind]
            assert low <= int(first) <= int(last or first) <= high, each.at


def test_every_test_of_an_erratum_is_on_the_page():
    """What tests/test_errata*.py decide is an entry, and no entry lacks a test."""
    named = {test for mistake in MISTAKES for test in mistake.tests}
    written = {f"{file}::{name}" for file in ERRATA_FILES for name in parse_tests(file)}
    assert written <= named


def share_place(item: Item, at: str) -> bool:
    """Whether an entry stands where an item of the page of sources stands: the same slide, or a common number."""
    numbers = [Item(part, "", "").numbers() for part in list_places(at)]
    if item.numbers() and any(numbers):
        return any(item.numbers() & each for each in numbers)
    return any(part.startswith((item.at, item.at.rpartition(", table")[0] or item.at)) for part in list_places(at))


@pytest.mark.parametrize("name", SOURCES)
def test_every_note_of_the_page_of_sources_has_an_entry(name):
    """A note there says in a line what is wrong; these few are about what the library does instead."""
    notes = [item for item in SOURCES[name].items if item.note and item.note not in NOTES_OF_ANOTHER_KIND]
    places = [each.at for each in chain(MISTAKES, SLIPS) if each.source == name]
    for item in notes:
        assert any(share_place(item, at) for at in places), (item.at, item.note)


def test_the_page_is_up_to_date():
    """`python tests/errata_page.py` would change nothing."""
    assert PAGE.read_text(encoding="utf-8") == write_page()
