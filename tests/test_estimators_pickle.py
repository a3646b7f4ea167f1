"""Kernel machines pickled, cloned, and inside scikit-learn's searches and pipelines."""

from __future__ import annotations

import io
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from kernel_machine_problems import every_estimator, make_targets, multiply
from machine_data import decide
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", multiply], ids=["rbf", "precomputed", "callable"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@every_estimator
def test_pickle_and_joblib(estimator, form, kernel):
    """A machine read back decides as before, keeps its certificate, and can be fitted again."""
    X, y = make_targets(estimator)
    data = rbf_kernel(X, X, 0.5) if kernel == "precomputed" else form(X)
    model = estimator(kernel=kernel).fit(data, y)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(file)):
        np.testing.assert_allclose(decide(copy, data), decide(model, data), rtol=1e-12, atol=1e-12)
        assert copy.certificate_ == model.certificate_
        assert copy.result_.status is model.result_.status
        assert copy.get_params().keys() == model.get_params().keys()
        copy.fit(data, y)


@every_estimator
def test_unfitted_machines_are_pickled_and_cloned(estimator):
    """A clone has the parameters and nothing of the fit."""
    X, y = make_targets(estimator)
    model = estimator(tol=0.01, max_seconds=5.0).fit(X, y)
    copy = pickle.loads(pickle.dumps(clone(model)))
    assert not hasattr(copy, "certificate_")
    assert not hasattr(copy, "_points")
    assert copy.get_params() == model.get_params()
    assert repr(copy) == f"{estimator.__name__}(max_seconds=5.0, tol=0.01)"


def test_inside_scikit_learn():
    """Pipelines and grid searches, on two processes and with a precomputed kernel."""
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipeline, {"svc__C": [0.1, 1.0, 10.0], "svc__kernel": ["linear", "rbf"]}, cv=3, n_jobs=2)
    theirs = GridSearchCV(make_pipeline(StandardScaler(), sklearn.svm.SVC()), search.param_grid, cv=3)
    np.testing.assert_allclose(
        search.fit(X, y).cv_results_["mean_test_score"], theirs.fit(X, y).cv_results_["mean_test_score"], atol=0.007
    )
    K = rbf_kernel(X, X, 0.5)
    by_matrix = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(K, y)
    by_formula = GridSearchCV(SVC(gamma=0.5), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    np.testing.assert_allclose(by_matrix.cv_results_["mean_test_score"], by_formula.cv_results_["mean_test_score"])
