"""Docstrings as they are written, in plain text with single backticks, made into what Sphinx reads.

They use | and _ and * as mathematics does, where reStructuredText has markup; indented formulas keep their lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

CODE = re.compile(r"(``.+?``|`[^`]+`)")
UNDERLINE = re.compile(r"-{3,}$")
PROPERTY = re.compile(r":obj:`([^<`]+?)(?: <[^>]+>)?`")
PAGE = re.compile(r"(?<![`/\w])docs/(\w+)\.md(?:#[\w-]+)?")
PROMPT = re.compile(r"\s*(>>>|\.\.\. |\.\.\.$)")
# Constants of signatures that mean nothing to a reader, as the docstrings write them.
DEFAULTS = {"NO_PROBABILITY": "False", "UNLIMITED_ITERATIONS": "1_000_000_000"}
LISTED = {"Parameters", "Attributes", "Returns", "Yields", "Raises", "Other Parameters", "See Also", "Methods"}


def escape(line: str) -> str:
    """|w|, s_i* and coef_ as they stand, outside of backticks; pages of docs/ as links."""
    parts = CODE.split(PAGE.sub(r":doc:`/\1`", line))
    parts[::2] = [re.sub(r"(?<!\\)([|*])|(?<=\w)_(?!\w)", lambda found: "\\" + found[0], part) for part in parts[::2]]
    return "".join(parts)


def prepare_docstring(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """The lines of a docstring in place, before numpydoc reads its sections."""
    section, prepared, block = "", [], -1  # block: the indentation above which lines are a literal block
    for at, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if line and UNDERLINE.match(below.strip()) and indent == 0:
            section = line.strip()
        if line.strip() and indent <= block:
            block = -1
        in_examples = section == "Examples" or PROMPT.match(line)
        if block >= 0 or in_examples or not line.strip() or UNDERLINE.match(line.strip()):
            prepared.append(line)
            continue
        if starts_formula(lines, at, section):
            prepared += ["::", "", line]
            block = indent - 1
            continue
        if line.rstrip().endswith("::"):
            block = indent
        is_entry = section in LISTED and indent == 0
        prepared.append(escape_entry(line) if is_entry else escape(line))
    lines[:] = prepared


def mend_attributes(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """What numpydoc takes from properties for the list of attributes: their text as it stands, their names bold."""
    inside = False
    for at, line in enumerate(lines):
        if line.startswith((":", ".. ")):
            inside = line.startswith(":Attributes:")
        if inside:
            line = PROPERTY.sub(r"**\1**", line)
            lines[at] = re.sub(r"(?<!\\)\|", r"\|", line)


def write_defaults(
    app: Sphinx, kind: str, name: str, thing: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """A signature with the values of the constants."""
    for constant, value in DEFAULTS.items():
        signature = signature and signature.replace(f"={constant}", f"={value}")
    return signature, returns


def starts_formula(lines: list[str], at: int, section: str) -> bool:
    """Whether an indented block opens here that is neither the text of an entry nor a list."""
    if section in LISTED or at < 2 or lines[at - 1].strip() or not lines[at].startswith("    "):
        return False
    above = next((line for line in reversed(lines[: at - 1]) if line.strip()), "")
    return bool(above) and not above.startswith((" ", "- ", "..")) and not above.rstrip().endswith("::")


def escape_entry(line: str) -> str:
    """The names of parameters are numpydoc's to escape; what follows the colon is text."""
    name, colon, rest = line.partition(" : ")
    return f"{name}{colon}{escape(rest)}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Before and after numpydoc, whose priority is the default of 500."""
    app.connect("autodoc-process-docstring", prepare_docstring, priority=400)
    app.connect("autodoc-process-docstring", mend_attributes, priority=600)
    app.connect("autodoc-process-signature", write_defaults)
    return {"parallel_read_safe": True}
