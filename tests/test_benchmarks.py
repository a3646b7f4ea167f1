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


@pytest.mark.parametrize("limit", ["1", "600"])
def test_a_peer_that_is_stopped_was_slower(program, monkeypatch, limit):
    """Whatever LIMIT is, the last run of a peer that was given up, STEP short of the limit, took longer than ours."""
    race, routes = import_module("benchmarks.linear.linear_race"), import_module("benchmarks.peers.linear_routes")
    monkeypatch.setenv("LIMIT", limit)
    for seconds in (1e-3, 0.5, 30.0):
        assert race.choose_limit(seconds, race.LEAST_CAP) / routes.STEP > 1.5 * seconds
    assert race.choose_limit(1e-3, race.LEAST_CAP) == min(race.LEAST_CAP, float(limit))
