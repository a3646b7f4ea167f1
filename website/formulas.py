"""Formulas in TeX as MathML, which browsers draw themselves: no script, no fonts to load, on paper and off line."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def write(node: nodes.Element, *, block: bool) -> str:
    """The MathML of a formula; what cannot be read is a warning, and stays TeX."""
    try:
        return convert(node.astext(), display="block" if block else "inline")
    except Exception as error:  # as the parser raises what it likes
        logger.warning("cannot read the formula %r: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


def visit_inline(translator: Any, node: nodes.Element) -> None:
    """A formula within a line."""
    translator.body.append(write(node, block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.Element) -> None:
    """A formula of its own; a number at its right if it has one."""
    translator.body.append(f'<div class="formula">{write(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """The renderer `mathml`, to be named in `html_math_renderer`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
