"""Examples in docstrings print what they say, in every module of the package."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import maxmargin

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin.")
    if not module.name.endswith("__main__")
)


@pytest.mark.filterwarnings("ignore:The best candidate has")
def test_examples_print_what_they_say():
    """Those of all modules, in one go: most have none."""
    failed, attempted = [], 0
    for name in MODULES:
        result = doctest.testmod(importlib.import_module(name))
        attempted += result.attempted
        failed += [name] if result.failed else []
    assert failed == []
    assert attempted >= 40
