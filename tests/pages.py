"""The programs of the pages: which blocks of code a page has, what it needs, and how to run them.

A comment says what is unlike other pages. Above the title, `<!-- page: slow, demo files, needs skops, onnxruntime -->`:
run with the slow tests; in a folder with the files of `maxmargin demo --write`; where these modules can be imported.
Above a block, `<!-- not run: why -->`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^(?P<unrun><!-- not run: .+ -->\n)?```python\n(?P<code>.*?)^```", re.S | re.M)
PAGE = re.compile(r"\A(?:---\n.*?^---\n\s*)?<!-- page: (.+) -->\n", re.S | re.M)
# Run otherwise: by section, with comparisons of what is printed, or as notebooks.
ELSEWHERE = {
    "CONTRIBUTING.md": "test_contributing.py",
    "docs/certified_tuning.md": "test_certified_tuning.py",
    "docs/frames.md": "test_frames.py",
    "docs/risk.md": "test_risk_plots.py",
}


@dataclass(frozen=True)
class Page:
    """A page in Markdown, as a program."""

    name: str

    @cached_property
    def text(self) -> str:
        """All of it."""
        return (ROOT / self.name).read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> list[str]:
        """The blocks that are run, one after the other."""
        return [found["code"] for found in BLOCK.finditer(self.text) if not found["unrun"]]

    @cached_property
    def marks(self) -> list[str]:
        """What its first comment says, comma by comma."""
        found = PAGE.match(self.text)
        return [each.strip() for each in found[1].split(",")] if found else []

    @property
    def is_slow(self) -> bool:
        """Whether it runs with the slow tests."""
        return "slow" in self.marks

    @property
    def has_demo_files(self) -> bool:
        """Whether it starts with the files of `maxmargin demo --write`."""
        return "demo files" in self.marks

    @property
    def modules(self) -> list[str]:
        """What must be there to run it."""
        after = [at for at, each in enumerate(self.marks) if each.startswith("needs ")]
        return [each.removeprefix("needs ") for each in self.marks[after[0] :]] if after else []

    def run(self) -> dict[str, object]:
        """The namespace in which all blocks have run; like the cells of a notebook, each draws pictures of its own."""
        namespace: dict[str, object] = {"__name__": "page"}
        for block in self.blocks:
            exec(compile(block, self.name, "exec", dont_inherit=True), namespace)
            plt.close("all")
        return namespace


def list_pages() -> list[Page]:
    """All pages with programs, the notebooks aside."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    names = [path.relative_to(ROOT).as_posix() for path in files]
    pages = [Page(name) for name in sorted(names) if not name.startswith("docs/notebooks/")]
    return [page for page in pages if page.blocks]
