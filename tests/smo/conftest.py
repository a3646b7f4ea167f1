"""Shrinking that begins early, for the tests of SMO."""

from __future__ import annotations

from importlib import import_module

import pytest

import maxmargin.model.features.gram


@pytest.fixture(autouse=True)
def _shrink_early(monkeypatch):
    """Samples are set aside however few there are, so that small problems show what large ones do."""
    monkeypatch.setattr(import_module("maxmargin.solvers.smo.pairs"), "SHRINKING_MIN_SAMPLES", 0)
    monkeypatch.setattr(import_module("maxmargin.solvers.smo.blocks"), "SHRINK_INTERVAL_ROUNDS", 2)


@pytest.fixture
def row_by_row(monkeypatch):
    """No Gram matrix is formed whole, as if n were large."""
    monkeypatch.setattr(maxmargin.model.features.gram, "MAX_FULL_GRAM_SAMPLES", 0)
