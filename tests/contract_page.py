"""The members of every contract, as CONTRIBUTING.md quotes them: python tests/contract_page.py writes them there."""

from __future__ import annotations

import inspect
import re
import textwrap
from functools import cached_property
from pathlib import Path

from maxmargin import contracts

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
MISSING = object()
QUOTE = re.compile(r"(<!-- contract: (\w+) -->\n).*?(<!-- end -->)", re.S)


def list_members(base: type) -> list[tuple[str, str]]:
    """The public functions, properties and attributes that a base and its bases define, in the order of the source."""
    found: dict[str, str] = {}
    for each in reversed(base.__mro__):
        if each.__module__.startswith(contracts.__name__):
            names = [*inspect.get_annotations(each), *vars(each)]
            found |= {name: describe(each, name) or found.get(name, "") for name in names if not name.startswith("_")}
    return list(found.items())


def describe(owner: type, name: str) -> str:
    """The first line of the docstring of a member; what the docstring of its class says of an attribute."""
    member = inspect.getattr_static(owner, name, None)
    if isinstance(member, property | cached_property):
        member = member.fget if isinstance(member, property) else member.func
    if inspect.isroutine(member) or isinstance(member, classmethod | staticmethod):
        return (inspect.getdoc(member) or "").partition("\n")[0]
    pattern = rf"^(?:\w+, )*{name}(?:, \w+)* : ([^\n]*)((?:\n {{4}}[^\n]*)*)"
    listed = re.search(pattern, inspect.getdoc(owner) or "", re.M)
    return f"{listed[1]}. {' '.join(listed[2].split())}".strip() if listed else ""


def write_signature(base: type, name: str) -> str:
    """advance(max_steps, seconds) for a method, n_iter for everything else."""
    member = inspect.getattr_static(base, name, None)
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if not inspect.isroutine(member):
        return name
    parameters = [each for each in inspect.signature(member).parameters if each not in ("self", "cls")]
    return f"{name}({', '.join(parameters)})"


def is_abstract(base: type, name: str) -> bool:
    """Whether a subclass must write the member: a function without a body, or an attribute without a value."""
    member = inspect.getattr_static(base, name, MISSING)
    return member is MISSING or getattr(member, "__isabstractmethod__", False)


def quote(name: str) -> str:
    """The members of one contract: what is required, and what has a default."""
    base = getattr(contracts, name)
    members = list_members(base)
    required = [each for each in members if is_abstract(base, each[0])]
    optional = [each for each in members if not is_abstract(base, each[0])]
    summary = f"`maxmargin.contracts.{name}`: {inspect.getdoc(base).partition(chr(10))[0]}"
    lines = [*textwrap.wrap(summary, 120, break_on_hyphens=False), ""]
    for title, group in (("required", required), ("with a default", optional)):
        if group:
            lines += [f"| {title} | |", "|---|---|"]
            rows = [(write_signature(base, member), text.replace("|", r"\|")) for member, text in group]
            lines += [f"| `{signature}` | {text} |" for signature, text in rows]
            lines.append("")
    return "\n".join(lines)


def fill_in(page: str) -> str:
    """The page with every quotation as the code has it now."""
    return QUOTE.sub(lambda found: f"{found[1]}{quote(found[2])}{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(fill_in(PAGE.read_text()))
