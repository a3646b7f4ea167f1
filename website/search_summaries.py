"""The first words of every page, for the results of a search: pages from disk may not fetch each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LENGTH = 200  # letters of a summary


def summarise(doctree: nodes.document) -> str:
    """The first paragraph of prose, up to a whole word: neither a note nor a line of code such as an import."""
    prose = (each for each in doctree.findall(nodes.paragraph) if not is_aside(each))
    return shorten(next(prose, None))


def shorten(paragraph: nodes.Node | None) -> str:
    """Its first words."""
    text = " ".join(paragraph.astext().split()) if paragraph is not None else ""
    return text if len(text) <= LENGTH else text[:LENGTH].rpartition(" ")[0] + " ..."


def list_entries(page: str, doctree: nodes.document) -> dict[str, str]:
    """Of a glossary: the first words of each entry, by its place."""
    entries = {}
    for term in doctree.findall(nodes.term):
        words = next(term.parent.findall(nodes.paragraph), None)
        entries.update({f"{page}#{name}": shorten(words) for name in term["ids"] if name.startswith("term-")})
    return entries


def is_aside(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph is within a note, or is nothing but code."""
    return isinstance(paragraph.parent, nodes.Admonition) or all(isinstance(each, nodes.literal) for each in paragraph)


def add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """On the page of the search alone."""
    if page == "search":
        app.add_js_file("summaries.js")
        app.add_js_file("search.js")


def write_summaries(app: Sphinx, error: Exception | None) -> None:
    """_static/summaries.js."""
    if error is None:
        found = {}
        for page in sorted(app.env.found_docs):
            doctree = app.env.get_doctree(page)
            found |= {page: summarise(doctree), **list_entries(page, doctree)}
        text = f"const SUMMARIES = {json.dumps(found, indent=0)};\n"
        Path(app.outdir, "_static", "summaries.js").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """After all pages are written."""
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write_summaries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
