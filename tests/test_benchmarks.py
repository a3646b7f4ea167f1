"""The names of `python -m benchmarks` are scripts."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def program(monkeypatch):
    """The module behind `python -m benchmarks`; what it sets in the environment is forgotten."""
    monkeypatch.setenv("GOMP_SPINCOUNT", "1000")
    return import_module("benchmarks.__main__")


def test_every_name_is_a_script_in_one_folder(program):
    """Each has a purpose, a folder, and a function `run`."""
    placed = [(folder, name) for folder, names in program.FOLDERS.items() for name in names]
    assert sorted(name for _, name in placed) == sorted(program.NAMES)
    for folder, name in placed:
        assert "\ndef run(" in (ROOT / folder / f"{name}.py").read_text(), name
    assert set(program.ON_REQUEST) <= set(program.NAMES)


def test_results_are_those_of_scripts(program):
    """No table is left of a script that is gone."""
    assert {path.stem for path in (ROOT / "results").glob("*.json")} <= set(program.NAMES)
