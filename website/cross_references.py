"""Public names in backticks lead to their pages; other text in backticks is code, and no warning."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from .public_names import list_names

PAGES = {key: each for each in reversed(list_names()) for key in (each.full, each.name)}
UNSAID = {"load", "save", "path", "trace", "solve", "explain", "certify", "diagnose"}  # also words of other libraries


class PlainRole(XRefRole):
    """Backticks in docstrings: a link if the text is a name of the reference, code if not."""

    def process_link(self, env: BuildEnvironment, node: Any, has_title: bool, title: str, target: str) -> Any:
        """As `py:obj`, with the module and class around it."""
        node["plain"] = True
        node["py:module"] = env.ref_context.get("py:module")
        node["py:class"] = env.ref_context.get("py:class")
        return title, target


def find_name(app: Sphinx, env: BuildEnvironment, node: Any, content: nodes.Element) -> nodes.Element | None:
    """The page of a public name that a docstring of another module names; what no page explains stays as it is."""
    found = PAGES.get(node.get("reftarget")) if node.get("refdomain") == "py" else None
    if found is not None:
        return make_refnode(app.builder, node["refdoc"], f"reference/{found.page}", found.full, content, found.full)
    return content if node.get("plain") else None


class LinkNames(SphinxPostTransform):
    """`SVC` and `maxmargin.SVC` in Markdown become links to the reference, outside of headings and links."""

    default_priority = 20

    def run(self, **options: Any) -> None:
        """Each piece of inline code that is a public name and nothing else, but for brackets after it."""
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext().removesuffix("()")
            found = PAGES.get(text)
            if found is None or (text in UNSAID and not literal.astext().endswith("()")):
                continue
            if any(
                isinstance(each, nodes.title | nodes.reference | addnodes.pending_xref) for each in parents(literal)
            ):
                continue
            page = f"reference/{found.page}"
            if page == self.env.docname:
                continue
            builder = self.app.builder
            link = make_refnode(builder, self.env.docname, page, found.full, literal.deepcopy(), found.full)
            literal.replace_self(link)


def parents(node: nodes.Node) -> list[nodes.Node]:
    """All elements around one."""
    return [*([node.parent, *parents(node.parent)] if node.parent is not None else [])]


def setup(app: Sphinx) -> dict[str, bool]:
    """The role `plain`, for `default_role`, and the links of Markdown."""
    app.add_role_to_domain("py", "plain", PlainRole())
    app.connect("missing-reference", find_name)
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
