"""A page for every public name, and the list of all of them."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from maxmargin import contracts
from maxmargin.contracts import Estimator

from .command_pages import escape
from .public_names import PublicName, list_groups, list_names

USED = {"fit", "predict", "score"}  # members of contracts that users call
OPENING = """# Reference

Every public name, with its formula, its parameters and an example. `from maxmargin import NAME` takes those of the
first part; the names of the other parts are imported from the module that stands above them.
"""


def make_reference_pages(*, gallery: bool) -> dict[PurePosixPath, str]:
    """reference/index.md, and reference/maxmargin.NAME.rst for each of them."""
    pages = {PurePosixPath(f"reference/{each.page}.rst"): make_page(each, gallery) for each in list_names()}
    return {**pages, PurePosixPath("reference/index.md"): make_index()}


def make_index() -> str:
    """A table for each group: the names, and the first line of their docstrings."""
    lines = [OPENING]
    for group, names in list_groups().items():
        module = names[0].module
        lines += [f"## {group}", ""]
        if module != "maxmargin":
            lines += [f"From `{module}`:", ""]
        lines += ["| | |", "|---|---|"]
        lines += [f"| [{each.name}]({each.page}.rst) | {escape(each.summary)} |" for each in names]
        lines += ["", "```{toctree}", ":hidden:", f":caption: {group}", "", *[each.page for each in names], "```", ""]
    return "\n".join(lines)


def make_page(each: PublicName, gallery: bool) -> str:
    """The class with its methods, or the function; and the examples of the gallery that use it."""
    title = each.name
    lines = [title, "=" * len(title), "", f"``from {each.module} import {each.name}``", ""]
    lines += [f".. currentmodule:: {each.module}", ""]
    if isinstance(each.thing, type):
        lines += [f".. autoclass:: {each.name}", ""]
        lines += [f"   .. {directive}:: {each.name}.{member}" for member, directive in list_members(each.thing)]
        if kept := [page for base in list_contracts(each.thing) if (page := find_page_of(base))]:
            lines += ["", f"   What it shares with all of its kind is described by :class:`{kept[0]}`."]
    else:
        lines += [f".. autofunction:: {each.name}"]
    if gallery:
        lines += ["", f".. minigallery:: {each.full}", f"   :add-heading: Examples with {each.name}"]
    return "\n".join([*lines, ""])


def list_members(kind: type) -> list[tuple[str, str]]:
    """Methods and properties that this package defines and documents, with the directive of each.

    What scikit-learn's bases bring (`get_params`, `set_params`, routing of metadata) is left to its own manual, members
    of a contract to the page of the contract, and a property that the docstring of the class lists is not told twice.
    """
    listed = inspect.getdoc(kind) or ""
    promised = {name for base in list_contracts(kind) for name in vars(base) if name not in USED}
    found: dict[str, str] = {}
    for base in kind.__mro__:
        if not base.__module__.startswith("maxmargin"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in found or name in promised:
                continue
            if isinstance(member, property | cached_property):
                read = member.fget if isinstance(member, property) else member.func
                fitted = name.endswith("_") or not issubclass(kind, Estimator)
                if fitted and inspect.getdoc(read) and not re.search(rf"^(\w+, )*{name}\b", listed, re.M):
                    found[name] = "autoproperty"
            elif (function := find_function(member)) and function.__module__.startswith("maxmargin"):
                found[name] = "automethod"
    return sorted(found.items(), key=lambda item: (item[1], item[0] != "fit", item[0]))


def find_page_of(kind: type) -> str | None:
    """The public name of a class, if it has one."""
    return next((each.full for each in list_names() if each.thing is kind), None)


def list_contracts(kind: type) -> list[type]:
    """The contracts that a class keeps; none for a contract itself."""
    own = kind.__module__.startswith(contracts.__name__)
    return [] if own else [base for base in kind.__mro__ if base.__module__.startswith(contracts.__name__)]


def find_function(member: Any) -> Any:
    """The documented function of a method, also of one that only some fits have; None for anything else."""
    inner = getattr(member, "__func__", None) or getattr(member, "fn", None) or member
    return inspect.unwrap(inner) if inspect.isfunction(inner) and inspect.getdoc(inner) else None
