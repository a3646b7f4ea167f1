"""docs/plots.md has every plot and every picture of the examples, and its pictures are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from maxmargin import plots

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
TABLE = re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE)
SHOWN = re.findall(r"!\[[^\]]+\]\(images/([\w.]+)\)", PAGE)


def test_the_table_has_every_function():
    """And nothing that is not there; each once."""
    assert sorted(TABLE) == sorted(plots.__all__)


def test_every_picture_is_there():
    """Each file is shown once, and none lies about unseen."""
    assert sorted(SHOWN) == sorted(path.name for path in (ROOT / "docs" / "images").iterdir())


@pytest.mark.parametrize("example", ["gallery", "lectures"])
def test_every_drawing_is_shown(example):
    """The names in DRAWINGS, and the files that animations write."""
    text = (ROOT / "examples" / f"{example}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    drawings = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DRAWINGS"
    )
    names = {f"{key.value}.png" for key in drawings.keys} | set(re.findall(r"\w+\.gif", text))
    assert names <= set(SHOWN)
