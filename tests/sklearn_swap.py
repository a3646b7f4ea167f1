"""A pytest plugin that puts maxmargin's classes in place of scikit-learn's before its own tests are collected.

pytest -p sklearn_swap --pyargs sklearn.svm.tests.test_svm

With SKLEARN_SWAP_TOL in the environment the classes have that default `tol`: for tests that compare two fits of one
problem to seven digits, which a fit that stops at a certified relative gap of 1e-4 does not owe anyone.
"""

import os

import pytest
import sklearn.svm

import maxmargin

SWAPPED = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")

# test name -> why a user would not mind
EXPECTED = {
    "test_svr_errors": (
        "A callable kernel that returns a matrix of the wrong shape is refused by fit, with both shapes in the "
        "sentence; scikit-learn fits nonsense and complains about its own internals when it predicts."
    ),
}


def pytest_configure(config):
    """Swap the classes while nothing of scikit-learn's tests has been imported."""
    tol = os.environ.get("SKLEARN_SWAP_TOL")
    for name in SWAPPED:
        estimator = getattr(maxmargin, name)
        if tol is not None:
            estimator.__init__.__kwdefaults__["tol"] = float(tol)
        setattr(sklearn.svm, name, estimator)


def pytest_collection_modifyitems(items):
    """Expect the listed tests to fail, strictly: one that passes must leave the list."""
    for item in items:
        name = item.name if item.name in EXPECTED else getattr(item, "originalname", item.name)
        if name in EXPECTED:
            item.add_marker(pytest.mark.xfail(reason=EXPECTED[name], strict=True))
