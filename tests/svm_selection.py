"""A pytest plugin for the tests of other projects: those that use support vector machines, with seeds that are fixed.

pytest -p svm_selection --swap --pyargs imblearn

A test is chosen if its source, that of a function of its module that it calls, or what it is parametrised with names a
class of `sklearn.svm`. `--swap` puts our classes in place of scikit-learn's before any of them is imported.
"""

from __future__ import annotations

import inspect
import random
import re
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
import pytest

NAMES_OF_MACHINES = re.compile(r"\b(Linear|Nu)?SV[CR]\b|\b(OneClass|OC)?SVM\b", re.IGNORECASE)
SEED = 42


def pytest_addoption(parser):
    """--swap."""
    parser.addoption("--swap", action="store_true", help="maxmargin.patch_sklearn() before anything is imported")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Swap the classes before the first conftest.py is read."""
    if early_config.known_args_namespace.swap:
        import maxmargin

        maxmargin.patch_sklearn(verbose=False)


def pytest_collection_modifyitems(config, items):
    """Leave out the tests without support vector machines."""
    chosen, left = [], []
    for item in items:
        (chosen if uses_machines(item) else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = chosen


def pytest_runtest_setup(item):
    """The same random numbers for every test, whatever ran before it."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 (it is the tests of others that use it)


def uses_machines(item: Any) -> bool:
    """Whether a test names a machine: where it is written, in what it calls, or in its parameters."""
    if NAMES_OF_MACHINES.search(item.nodeid):
        return True
    if isinstance(item, pytest.DoctestItem):
        return any(NAMES_OF_MACHINES.search(example.source) for example in item.dtest.examples)
    parameters = getattr(item, "callspec", None)
    if parameters is not None and NAMES_OF_MACHINES.search(repr(list(parameters.params.values()))):
        return True
    test = inspect.unwrap(item.obj)
    called = [vars(item.module).get(name) for name in list_names(test.__code__)]
    return any(names_machines(each) for each in (test, *called) if is_written_in(each, item.module))


def list_names(code: CodeType) -> set[str]:
    """The global names that a function reads, also within functions that it makes."""
    inner = (list_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inner)


def is_written_in(thing: Any, module: Any) -> bool:
    """Whether it is a function or a class of a module, or a method of one."""
    return getattr(thing, "__module__", None) == module.__name__ and (callable(thing) or inspect.isclass(thing))


@cache
def names_machines(thing: Any) -> bool:
    """Whether its source does; False where there is none."""
    try:
        return NAMES_OF_MACHINES.search(inspect.getsource(thing)) is not None
    except (OSError, TypeError):
        return False
