"""A pytest plugin that puts maxmargin's searches in place of scikit-learn's before its own tests are collected.

pytest -p search_swap --pyargs sklearn.model_selection.tests.test_search

Most of those tests search over scikit-learn's estimators, which our searches leave to its own. With SEARCH_SWAP_ALL in
the environment the plain engine takes them all, whatever the estimator.
"""

import os
from fnmatch import fnmatchcase

import pytest
import sklearn.model_selection
from sklearn.experimental import enable_halving_search_cv  # noqa: F401

import maxmargin.model_selection
from maxmargin.tuning import search

# test name with wildcards -> why a user would not mind that it fails; only where the engine takes all estimators
EXPECTED = {
    "test_custom_run_search": (
        "The test compares all attributes with those of a search of its own making, which has no search_outcome_."
    ),
}


def pytest_configure(config):
    """Swap the classes while nothing of scikit-learn's tests has been imported."""
    for name in maxmargin.model_selection.__all__:
        ours = getattr(maxmargin.model_selection, name)
        setattr(sklearn.model_selection, name, ours)
        setattr(sklearn.model_selection._search, name, ours)
    if os.environ.get("SEARCH_SWAP_ALL"):
        search.can_tune = lambda estimator: True


def pytest_collection_modifyitems(items):
    """Expect the listed tests to fail; one that passes must leave the list."""
    if not os.environ.get("SEARCH_SWAP_ALL"):
        return
    for item in items:
        for pattern, reason in EXPECTED.items():
            if fnmatchcase(item.name.replace("[", "-").replace("]", ""), pattern):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
