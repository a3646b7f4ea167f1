"""docs/running.md: the page of long fits runs as it stands, Ctrl-C included."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _default_handler():
    """Python's own handler for Ctrl-C, whatever runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_the_page_runs(capsys):
    """Every block of code of docs/running.md, one after the other; Ctrl-C is pressed in one of them."""
    pytest.importorskip("sklearn.callback", reason="the page shows callbacks, which came with scikit-learn 1.9")
    page = Path(__file__).parents[1] / "docs" / "running.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    assert len(blocks) >= 10
    namespace: dict = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)
    out = capsys.readouterr().out
    assert "Feature 0 spans" in out
    assert "scores on the way" in out
    assert "Status.STOPPED" in out
    assert "Status.INTERRUPTED True" in out
    assert out.rstrip().endswith("True")
