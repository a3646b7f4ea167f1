"""A pytest plugin that puts maxmargin's classes in place of scikit-learn's before its own tests are collected.

pytest -p sklearn_swap --pyargs sklearn.svm.tests.test_svm
"""

from fnmatch import fnmatchcase

import pytest

import maxmargin
from maxmargin.runtime.scikit_learn import VERSION

# test name with wildcards -> why a user would not mind that it fails
EXPECTED = {
    "test_svr_errors": (
        "A callable kernel that returns a matrix of the wrong shape raises an error in fit that names both shapes; "
        "scikit-learn fits it and complains about its own internals when it predicts."
    ),
    "test_linear_svm_convergence_warnings*": (
        "Newton's method reaches the certified gap within the two iterations that the test allows, so that there is "
        "nothing to warn about."
    ),
}

if VERSION < (1, 9):
    EXPECTED |= dict.fromkeys(
        (
            "test_negative_sample_weights_mask_all_samples-weights-are-zero-NuSVC",
            "test_negative_sample_weights_mask_all_samples-weights-are-negative-NuSVC",
        ),
        "NuSVC says that all samples have zero or negative weights, as scikit-learn's does from 1.9 on; before, it "
        "complains of negative dimensions or of nu.",
    )

# test name with wildcards -> why it may pass or fail: the problem has many optimal duals, and rounding chooses
UNDETERMINED = {
    "test_sparse_oneclasssvm*-linear-X_train2-*": (
        "The samples surround the origin, so w = 0 and any duals that cancel out are optimal; f agrees to 1e-12."
    ),
    "test_sparse_oneclasssvm*-rbf-X_train3-*": (
        "Iris has one row twice, and only the sum of their two duals is determined; f agrees to 1e-12."
    ),
}


def pytest_configure(config):
    """Swap the classes while nothing of scikit-learn's tests has been imported."""
    maxmargin.patch_sklearn(verbose=False)


def pytest_collection_modifyitems(items):
    """Expect the listed tests to fail; strictly where that is determined: one that passes must leave the list."""
    for item in items:
        for table, strict in ((EXPECTED, True), (UNDETERMINED, False)):
            for pattern, reason in table.items():
                # brackets are wildcards too: match the name with them taken away
                if fnmatchcase(item.name.replace("[", "-").replace("]", ""), pattern):
                    item.add_marker(pytest.mark.xfail(reason=reason, strict=strict))
