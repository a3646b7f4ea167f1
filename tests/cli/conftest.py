"""Data files in an empty folder, for the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maxmargin.files import write_libsvm


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def blobs() -> str:
    """Two classes that overlap, 120 rows of 4 features."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(120) % 3 == 0, 1.0, -1.0)
    write_libsvm("blobs", rng.normal(size=(120, 4)) + 0.8 * y[:, None], y)
    return "blobs"


@pytest.fixture
def line() -> str:
    """A line with noise, 80 rows of 3 features."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    write_libsvm("line", X, X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=80))
    return "line"


@pytest.fixture
def flowers() -> str:
    """A table with a header and three classes by name."""
    rng = np.random.default_rng(2)
    names = np.array(["aster", "bell flower", "clover"])[np.arange(90) % 3]
    X = rng.normal(size=(90, 2)) + 3.0 * (np.arange(90) % 3)[:, None]
    rows = [f"{a:.6f},{b:.6f},{name}" for (a, b), name in zip(X, names, strict=True)]
    Path("flowers.csv").write_text("\n".join(["height,width,name", *rows]) + "\n")
    return "flowers.csv"
