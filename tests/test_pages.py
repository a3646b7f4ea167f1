"""Every page in Markdown is a program that runs: its blocks in order, in an empty folder, without warnings."""

from __future__ import annotations

import signal
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from pages import ELSEWHERE, ROOT, Page, list_pages

from maxmargin import cli, unpatch_sklearn

PAGES = [page for page in list_pages() if page.name not in ELSEWHERE]
PRINTED = {  # on pages whose words say what is printed
    "docs/files.md": ["relative gap"] * 3,
    "docs/formulations.md": ["relative gap"],
    "docs/running.md": ["Feature 0 spans", "scores on the way", "Status.STOPPED", "Status.INTERRUPTED True"],
    "docs/saving.md": ["relative gap"],
}


@pytest.fixture(autouse=True)
def _as_a_program_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In an empty folder, with Python's own handler for Ctrl-C; what a page changes is brought back."""
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    unpatch_sklearn(verbose=False)
    plt.close("all")


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.name, marks=[pytest.mark.slow] * page.is_slow) for page in PAGES]
)
def test_a_page_runs(page: Page, capsys):
    """And prints what its words say."""
    for module in page.modules:
        pytest.importorskip(module)
    if page.has_demo_files:
        cli.run(["demo", "--write"], "maxmargin")
    page.run()
    printed = capsys.readouterr().out
    for words in PRINTED.get(page.name, []):
        found, words_there, printed = printed.partition(words)
        assert words_there, (words, found)


def test_no_page_is_forgotten():
    """Those that are run elsewhere are named there, and all others have a block that runs."""
    for name, file in ELSEWHERE.items():
        told = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert Path(name).name in told or "contract_page" in told
    assert set(PRINTED) <= {page.name for page in PAGES}
    assert len(PAGES) >= 15
