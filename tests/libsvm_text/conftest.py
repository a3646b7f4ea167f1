"""Chunks so small that each text takes many, for the tests of the parser."""

from __future__ import annotations

import pytest

from maxmargin.blocks import libsvm_text


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks and strips of a few bytes, so that every text has many."""
    monkeypatch.setattr(libsvm_text, "CHUNK_BYTES", 40)
    monkeypatch.setattr(libsvm_text, "STRIP_BYTES", 11)
