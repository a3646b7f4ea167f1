"""The linear estimators agree with scikit-learn's and with LIBLINEAR."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from machine_data import decide, every_weighting, make_classes
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import RFECV
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.svm import l1_min_c

from maxmargin import SVC, LinearSVC, LinearSVR, RiskClassifier
from maxmargin.estimators.validation import UNLIMITED_ITERATIONS
from maxmargin.runtime.scikit_learn import VERSION

TWINS = {
    "LinearSVC hinge": (LinearSVC, {"loss": "hinge", "C": 0.5}),
    "LinearSVC squared_hinge": (LinearSVC, {"C": 0.5}),
    "LinearSVR": (LinearSVR, {"C": 2.0, "epsilon": 0.15}),
    "LinearSVR squared": (LinearSVR, {"C": 2.0, "epsilon": 0.15, "loss": "squared_epsilon_insensitive"}),
}
every_twin = pytest.mark.parametrize("name", TWINS)


def fit_twins(name: str, X, y, weight=None, **settings):
    """Our model and scikit-learn's, both far beyond their default tolerance."""
    estimator, own = TWINS[name]
    theirs = getattr(sklearn.svm, estimator.__name__)(**own, **settings, tol=1e-9, max_iter=200000, random_state=0)
    ours = estimator(**own, **settings, tol=1e-10)
    return ours.fit(X, y, sample_weight=weight), theirs.fit(X, y, sample_weight=weight)


@every_weighting
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@every_twin
def test_attributes_are_scikit_learn_s(name, n_classes, fit_intercept, weighted):
    """Every public fitted attribute of scikit-learn's class: same type, shape and dtype, and the same values."""
    X, y = make_classes(80, n_classes, seed=5)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    y = y if "SVC" in name else X[:, 0] - 0.4 * y
    ours, theirs = fit_twins(name, X, y, weight, fit_intercept=fit_intercept, intercept_scaling=1.5)
    attributes = [key for key in vars(theirs) if key.endswith("_") and not key.startswith("_")]
    assert {"coef_", "intercept_", "n_iter_", "n_features_in_"} <= set(attributes)
    for attribute in attributes:
        own, other = getattr(ours, attribute), getattr(theirs, attribute)
        assert type(own) is type(other), attribute
        assert np.shape(own) == np.shape(other), attribute
        assert np.asarray(own).dtype.kind == np.asarray(other).dtype.kind, attribute
        if attribute != "n_iter_":
            np.testing.assert_allclose(own, other, rtol=1e-3, atol=1e-4, err_msg=attribute)
    np.testing.assert_allclose(decide(ours, X), decide(theirs, X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", [{0: 3.0, 1: 0.2}, "balanced"])
@pytest.mark.parametrize("name", ["LinearSVC hinge", "LinearSVC squared_hinge"])
def test_class_weights_are_liblinear_s(name, class_weight, n_classes):
    """Of many classes the one that stands against the rest is weighed, and not the rest."""
    X, y = make_classes(120, n_classes)
    y = np.where(y == 1, np.arange(len(y)) % 2, y)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    if class_weight == "balanced" and VERSION < (1, 7):
        pytest.skip("LinearSVC of scikit-learn counts samples by their weights, to balance classes, from 1.7 on")
    ours, theirs = fit_twins(name, X, y, weight, class_weight=class_weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_crammer_singer_is_scikit_learn_s(n_classes, fit_intercept):
    """All classes at once: the same machine, two classes as a difference."""
    X, y = make_classes(90, n_classes)
    settings = {"multi_class": "crammer_singer", "fit_intercept": fit_intercept, "C": 0.5}
    ours = LinearSVC(**settings, tol=1e-10).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at 1e-10 LIBLINEAR may not
        theirs = sklearn.svm.LinearSVC(**settings, tol=1e-10, max_iter=100000, random_state=0).fit(X, y)
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    assert ours.coef_.shape == theirs.coef_.shape
    f, g = ours.decision_function(X), theirs.decision_function(X)
    if n_classes > 2:  # an intercept for all classes alike changes nothing
        f, g = f - f.mean(axis=1, keepdims=True), g - g.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(f, g, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("estimator", [LinearSVC, LinearSVR])
def test_parameters_are_scikit_learn_s(estimator):
    """All of scikit-learn's parameters, in its order and with its defaults, but for the limit of iterations."""
    ours, theirs = estimator().get_params(), getattr(sklearn.svm, estimator.__name__)().get_params()
    assert {key: ours[key] for key in theirs if key != "max_iter"} == {
        key: value for key, value in theirs.items() if key != "max_iter"
    }
    assert ours["max_iter"] == UNLIMITED_ITERATIONS


@pytest.mark.parametrize("name", ["squared_hinge", "log"])
def test_smallest_cost_of_l1(name):
    """l1_min_c is where the first coefficient leaves zero: none below it, some above it."""
    X, y = make_classes(80, 3, seed=3)
    least = l1_min_c(X, y, loss=name)
    for C, empty in ((0.99 * least, True), (1.01 * least, False)):
        if name == "log":
            model = RiskClassifier("logistic", penalty="l1", intercept="regularised", C=C, tol=1e-10)
        else:
            model = LinearSVC("l1", C=C, tol=1e-10)
        model.fit(X, y)
        assert (np.any(model.coef_) or np.any(model.intercept_)) != empty, C


@pytest.mark.parametrize("seed", range(3))
def test_features_eliminated_are_scikit_learn_s(seed):
    """RFECV removes the same features in the same order, where classes lie far from the origin too."""
    X, y = make_classification(120, 12, n_informative=4, random_state=seed)
    X += 2.0
    theirs = RFECV(sklearn.svm.LinearSVC(random_state=0, tol=1e-8, max_iter=100000), min_features_to_select=2, cv=3)
    ours = RFECV(LinearSVC(tol=1e-8), min_features_to_select=2, cv=3)
    np.testing.assert_array_equal(ours.fit(X, y).ranking_, theirs.fit(X, y).ranking_)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12)


@pytest.mark.parametrize("make", [LinearSVC, LinearSVR, SVC], ids=lambda each: each.__name__)
def test_converged_fits_stay_below_the_limit(make):
    """n_iter_ >= max_iter, by which programs look for fits that failed, is true of those only."""
    X, y = make_classes(90, 2)
    whole = make().fit(X, y)
    assert make is SVC or np.max(whole.n_iter_) < whole.max_iter
    steps = make(max_iter=100_000).fit(X, y).result_.n_iter
    assert steps >= 2
    enough = make(max_iter=steps).fit(X, y)
    assert enough.result_.converged
    assert enough.result_.n_iter == steps
    assert np.max(enough.n_iter_) < enough.max_iter
    with pytest.warns(ConvergenceWarning):
        few = make(max_iter=1, tol=1e-9).fit(X, y)
    assert np.max(few.n_iter_) == few.max_iter


def test_liblinear_combinations():
    """Combinations that LIBLINEAR has no solver for are refused in its words; dual changes nothing else."""
    X, y = make_classes(60, 2)
    refused = ({"penalty": "l1", "loss": "hinge"}, {"loss": "hinge", "dual": False}, {"penalty": "l1", "dual": True})
    for settings in refused:
        with pytest.raises(ValueError, match="Unsupported set of arguments"):
            LinearSVC(**settings).fit(X, y)
    with pytest.raises(ValueError, match="Unsupported set of arguments"):
        LinearSVR(dual=False).fit(X, y)
    first, second = (LinearSVC(dual=dual).fit(X, y) for dual in (True, False))
    np.testing.assert_array_equal(first.coef_, second.coef_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scikit_learn_s_mixins(n_classes):
    """sparsify and densify, before and after which the decisions are the same, on dense and on sparse data."""
    X, y = make_classes(60, n_classes)
    model = LinearSVC().fit(X, y)
    assert isinstance(model, LinearClassifierMixin)
    assert isinstance(model, SparseCoefMixin)
    before = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    for data in (X, sp.csr_array(X), sp.csr_matrix(X)):
        f = model.decision_function(data)
        assert type(f) is np.ndarray
        np.testing.assert_allclose(f, before, atol=1e-12)
    np.testing.assert_allclose(model.densify().decision_function(X), before, atol=1e-12)
    with pytest.raises(NotFittedError, match="sparsifying"):
        LinearSVC().sparsify()
