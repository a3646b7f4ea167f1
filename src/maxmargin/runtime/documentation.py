"""Where the documentation is: what MAXMARGIN_DOCS names, or what the package says of itself; nowhere without either."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

ADDRESS_VARIABLE = "MAXMARGIN_DOCS"  # an address, or the folder of pages that were built here
ADDRESS_LABEL = "documentation"  # of the address in the metadata of the package


def find_documentation() -> str:
    """The address that pages are named relative to, with a slash at its end; empty where there is none."""
    address = os.environ.get(ADDRESS_VARIABLE, "").strip() or read_own_address()
    if address and "://" not in address:
        address = Path(address).expanduser().resolve().as_uri()
    return address and address.rstrip("/") + "/"


@cache
def read_own_address() -> str:
    """The address of the documentation in the metadata of the package, if it is installed and has one."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        addresses = metadata("maxmargin").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    labelled = [entry.partition(",") for entry in addresses]
    return next((address.strip() for label, _, address in labelled if label.lower() == ADDRESS_LABEL), "")


def find_reference_page(kind: type) -> str:
    """The address of the page about a public class: reference/maxmargin.SVC.html, below the documentation.

    A class is public by its name in the package, or in a module right below the package.
    """
    address = find_documentation()
    package, _, module = kind.__module__.partition(".")
    place = kind.__module__ if module and "." not in module else package
    return f"{address}reference/{place}.{kind.__name__}.html" if address else ""
