"""Files that pages refer to and that are no pages themselves, shown with their syntax in colour."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.application import Sphinx

from .places import ROOT, SOURCE_SCHEME

FOLDER = "source_files"


def find_source(domain: str, info: dict[str, str]) -> str | None:
    """source:src/maxmargin/FILE.py#L-12, for `sphinx.ext.linkcode`."""
    thing: Any = import_module(info["module"])
    for part in info["fullname"].split("."):
        thing = inspect.getattr_static(thing, part, None) if isinstance(thing, type) else getattr(thing, part, None)
    thing = getattr(thing, "fget", None) or getattr(thing, "__func__", None) or getattr(thing, "func", None) or thing
    try:
        thing = inspect.unwrap(thing)
        file, (_, line) = inspect.getsourcefile(thing), inspect.getsourcelines(thing)
    except (TypeError, OSError):
        return None
    path = Path(file or "/")  # a member inherited from scikit-learn may lie in an environment within the repository
    within = path.is_relative_to(ROOT / "src")
    return f"{SOURCE_SCHEME}{path.relative_to(ROOT).as_posix()}#L-{line}" if within else None


def resolve_links(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Links of our own scheme become those of the pages that `collect_pages` writes."""
    for node in doctree.findall(nodes.reference):
        if node.get("refuri", "").startswith(SOURCE_SCHEME):
            path, hash_sign, anchor = node["refuri"].removeprefix(SOURCE_SCHEME).partition("#")
            node["refuri"] = app.builder.get_relative_uri(page, f"{FOLDER}/{path}") + hash_sign + anchor
            node["internal"] = True


def list_shown(app: Sphinx) -> list[str]:
    """Every file that a page refers to."""
    found = set()
    for page in app.env.found_docs:
        for node in app.env.get_doctree(page).findall(nodes.reference):
            if node.get("refuri", "").startswith(SOURCE_SCHEME):
                found.add(node["refuri"].removeprefix(SOURCE_SCHEME).partition("#")[0])
    return sorted(found)


def collect_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each of them; a folder is the list of its files."""
    formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, wrapcode=True)
    for path in list_shown(app):
        yield f"{FOLDER}/{path}", {"title": path, "body": show(ROOT / path, formatter)}, "source.html"


def show(file: Path, formatter: HtmlFormatter) -> str:
    """The text of a file, or the names in a folder, in colour."""
    if file.is_dir():
        text, lexer = "\n".join(sorted(each.name for each in file.iterdir() if each.name != "__pycache__")), TextLexer()
    else:
        text = file.read_text(encoding="utf-8")
        try:
            lexer = get_lexer_for_filename(file.name)
        except ClassNotFound:
            lexer = TextLexer()
    return highlight(text, lexer, formatter)


def setup(app: Sphinx) -> dict[str, bool]:
    """After all references are known, and beside the other pages."""
    app.connect("doctree-resolved", resolve_links)
    app.connect("html-collect-pages", collect_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
