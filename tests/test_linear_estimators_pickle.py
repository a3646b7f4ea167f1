"""Linear estimators pickled, cloned, and inside scikit-learn's searches."""

from __future__ import annotations

import pickle

import numpy as np
import sklearn.svm
from linear_machine_problems import every_case, make_model
from linear_reference import make_data
from machine_data import decide, make_classes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from maxmargin import LinearSVC, RiskRegressor


@every_case
def test_pickle_clone_and_parameters(name):
    """A machine read back decides as before; a clone has the parameters and nothing of the fit."""
    model = make_model(name, max_seconds=5.0)
    X, y, _ = make_data(model)
    model.fit(X, y)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(decide(restored, X), decide(model, X))
    assert restored.certificate_ == model.certificate_
    restored.fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "certificate_")
    assert type(model)(**model.get_params()).get_params() == model.get_params()


def test_the_machine_stays_what_it_is():
    """set_params prepares the next fit; training data may change; fits repeat to the last bit."""
    X, y = make_classes(80, 2)
    model, again = LinearSVC().fit(X, y), LinearSVC().fit(X, y)
    before, new = model.decision_function(X), X.copy()
    np.testing.assert_array_equal(before, again.decision_function(X))
    model.set_params(C=100.0, intercept="none", fit_intercept=False)
    X[:] = 99.0
    np.testing.assert_array_equal(model.decision_function(new), before)
    counts = RiskRegressor("absolute").fit(new, y)
    f = counts.predict(new)
    np.testing.assert_array_equal(counts.set_params(loss="poisson").predict(new), f)


def test_inside_scikit_learn():
    """A grid search finds what scikit-learn's class finds."""
    X, y = load_iris(return_X_y=True)
    grid = {"C": [0.01, 1.0]}
    ours = GridSearchCV(LinearSVC(intercept="regularised"), grid, cv=3).fit(X, y)
    theirs = GridSearchCV(sklearn.svm.LinearSVC(), grid, cv=3).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.007)
