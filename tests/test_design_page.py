"""docs/design.md names files, functions and rooms that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from test_layers import RANK

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "design.md").read_text()
STATIONS = sorted(set(re.findall(r"`([\w/]+\.py)`\s`(\w+)`", PAGE)))


def list_definitions(path: Path) -> set[str]:
    """The classes and functions of a file, methods included."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)}


def test_there_are_walks():
    """The pattern finds the stations of all of them."""
    assert len(STATIONS) > 40
    assert PAGE.count("`estimators/certified.py` `_fit`") == 4


@pytest.mark.parametrize(("file", "name"), STATIONS, ids=[":".join(each) for each in STATIONS])
def test_every_station_of_a_walk_is_there(file, name):
    """A class or function of that name is defined in that file."""
    assert name in list_definitions(PACKAGE / file)


def test_files_are_there():
    """Every path on the page that names a folder of the package leads to a file."""
    found = {path for path in re.findall(r"`(\w+/[\w/]+\.py)`", PAGE) if (PACKAGE / path.split("/")[0]).is_dir()}
    assert [path for path in sorted(found) if not (PACKAGE / path).is_file()] == []


def test_the_table_has_every_room_in_its_order():
    """The rooms of the layer test, from the lowest to the highest."""
    table = PAGE[PAGE.index("| room | what it holds |") :]
    first = [re.findall(r"`(\w+)(?:/|\.py)`", row.split("|")[1]) for row in table.splitlines() if row.startswith("| `")]
    assert [room for rooms in first for room in rooms] == list(RANK)
