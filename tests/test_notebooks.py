"""The notebooks of docs/notebooks run from their first cell to their last, and their pages show their sources."""

from __future__ import annotations

import re

import pytest
from notebook_pages import FOLDER, NOTEBOOKS, read_notebook, run_notebook

PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
N_PICTURES = {"bundle_methods": 5, "three_formulations": 10, "sparse_kernel_machines": 9}  # at least


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs(name):
    """No cell fails, none warns, and the pictures are drawn."""
    notebook = run_notebook(name)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) >= N_PICTURES[name]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_pages_are_those_of_their_sources(name):
    """Every cell of the source is on the page, in order: `make notebooks` was run after the last change."""
    page, at = (FOLDER / f"{name}.md").read_text(encoding="utf-8"), 0
    for cell in read_notebook(name).cells:
        found = page.find(cell.source.strip(), at)
        assert found >= 0, cell.source
        at = found + len(cell.source.strip())


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_pictures_of_the_pages_are_there(name):
    """Every picture that a page shows is a file, and no other file is left over."""
    shown = set(PICTURE.findall((FOLDER / f"{name}.md").read_text(encoding="utf-8")))
    kept = {f"{name}_pictures/{path.name}" for path in (FOLDER / f"{name}_pictures").iterdir()}
    assert shown == kept
    assert len(shown) >= N_PICTURES[name]


def test_every_notebook_is_listed():
    """In NOTEBOOKS and in the README of the folder."""
    assert {path.stem for path in FOLDER.glob("*.py")} == set(NOTEBOOKS)
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"({name}.md)" in readme for name in NOTEBOOKS)
