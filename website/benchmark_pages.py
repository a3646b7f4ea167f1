"""A page for each benchmark that has results, and the list of them."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from benchmarks.__main__ import FOLDERS, NAMES

from .places import ROOT

RESULTS = ROOT / "benchmarks" / "results"
TITLES = {
    "kernel": "Kernel machines",
    "linear": "Linear machines",
    "bundle": "Cutting planes and bundles",
    "structured": "Structured outputs and metrics",
    "scaling": "Large data",
    "files": "Files",
    "waiting": "Waiting",
}
OPENING = """# Benchmarks

How fast maxmargin is next to other libraries, and where it loses. Every page below was written by the program that
measured it: command, machine and versions stand below each part, and the numbers are also there as JSON, in
`benchmarks/results`. `make bench` measures all of them again (about two hours); `python -m benchmarks NAME` measures
one. [How fast it is](../speed.md) explains what the numbers mean.
"""


def make_benchmark_pages() -> dict[PurePosixPath, str]:
    """benchmarks/index.md and benchmarks/NAME.md."""
    names = {path.stem for path in RESULTS.glob("*.md")}
    pages = {PurePosixPath(f"benchmarks/{name}.md"): make_page(name) for name in names}
    index = [OPENING]
    for folder, measured in FOLDERS.items():
        rows = [f"| [{name}]({name}.md) | {NAMES[name]} |" for name in measured if name in names]
        if rows:
            index += [f"## {TITLES[folder]}\n", "| measurement | what it answers |\n|---|---|", *rows, ""]
    listed = [name for measured in FOLDERS.values() for name in measured if name in names]
    index += ["```{toctree}\n:hidden:\n", *listed, *sorted(names - set(listed)), "```\n"]
    return {**pages, PurePosixPath("benchmarks/index.md"): "\n".join(index)}


def make_page(name: str) -> str:
    """What the benchmark wrote, its headings a level higher."""
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"^#(#+ )", r"\1", text, flags=re.M)
