"""The notebooks of docs/notebooks: run, and written as Markdown with pictures and as pages for a browser.

python tests/notebook_pages.py runs all of them; python tests/notebook_pages.py bundle_methods runs one.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import jupytext
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "notebooks"
PAGES = ROOT / "build" / "notebooks"  # HTML, which is not kept
NOTEBOOKS = ("bundle_methods", "three_formulations", "sparse_kernel_machines")
CELL_SECONDS = 300  # that a cell may take before it counts as hung
INLINE = "module://matplotlib_inline.backend_inline"  # pictures are shown below their cells
STYLE = re.compile(r"<style scoped>.*?</style>\n*", re.S)


def read_notebook(name: str) -> NotebookNode:
    """A notebook from its source, docs/notebooks/NAME.py, without outputs."""
    notebook = jupytext.read(FOLDER / f"{name}.py", fmt="py:percent")
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place}"  # the same in every run
    return notebook


def run_notebook(name: str) -> NotebookNode:
    """A notebook with the outputs of its cells, run at the root of the project."""
    notebook = read_notebook(name)
    ipc = Config({"KernelManager": {"transport": "ipc"}})  # no port that others on the machine could reach
    place = {"metadata": {"path": str(ROOT)}}
    client = NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3", resources=place, config=ipc)
    client.execute(env={**os.environ, "MPLBACKEND": INLINE})  # also where pictures are written to files alone
    return notebook


def write_pages(name: str) -> None:
    """docs/notebooks/NAME.md with its pictures, and build/notebooks/NAME.html."""
    from nbconvert import HTMLExporter, MarkdownExporter

    notebook = run_notebook(name)
    folder = FOLDER / f"{name}_pictures"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    text, resources = MarkdownExporter().from_notebook_node(
        notebook, {"unique_key": "picture", "output_files_dir": folder.name}
    )
    for path, content in resources["outputs"].items():
        (FOLDER / path).write_bytes(content)
    (FOLDER / f"{name}.md").write_text(STYLE.sub("", text).rstrip() + "\n", encoding="utf-8")
    PAGES.mkdir(parents=True, exist_ok=True)
    page, _ = HTMLExporter(embed_images=True).from_notebook_node(notebook)
    (PAGES / f"{name}.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    for each in sys.argv[1:] or NOTEBOOKS:
        print(f"{each}: running", flush=True)
        write_pages(each)
