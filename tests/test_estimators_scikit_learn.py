"""The five kernel machines agree with scikit-learn's: decisions, fitted attributes, parameters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from kernel_machine_problems import TWINS, make_targets, multiply
from machine_data import decide, every_weighting, make_classes
from sklearn.metrics.pairwise import rbf_kernel
from textbook import CLASSIFIERS

from maxmargin import SVC, NuSVC

every_twin = pytest.mark.parametrize("name", TWINS)


def fit_twins(name: str, X, y, weight=None, **settings):
    """Our model and scikit-learn's, both at tol=1e-10."""
    estimator, own = TWINS[name]
    ours = estimator(**own, **settings, tol=1e-10).fit(X, y, sample_weight=weight)
    theirs = getattr(sklearn.svm, name)(**own, **settings, tol=1e-10).fit(X, y, sample_weight=weight)
    return ours, theirs


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed", "callable"])
@every_weighting
@every_twin
def test_decisions_are_scikit_learn_s(name, kernel, weighted):
    """Decision values agree to 1e-5 where the models coincide; predictions agree."""
    X, y = make_targets(TWINS[name][0])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    settings = {"kernel": multiply if kernel == "callable" else kernel, "gamma": 0.5, "degree": 2, "coef0": 1.0}
    train, new = X, np.random.default_rng(2).normal(size=(50, 2))
    if kernel == "precomputed":
        train, new = rbf_kernel(X, X, 0.5), rbf_kernel(new, X, 0.5)
    ours, theirs = fit_twins(name, train, y, weight, **settings)
    size = np.abs(decide(theirs, new)).max()
    np.testing.assert_allclose(decide(ours, new), decide(theirs, new), rtol=1e-5, atol=1e-5 * max(1.0, size))
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-5, atol=1e-5 * max(1.0, size))


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_many_classes_are_scikit_learn_s(name, shape):
    """Pairs of four classes, one-vs-rest summary and votes."""
    X, y = make_classes(160, 4)
    labels = np.array(["d", "b", "a", "c"])[y]
    ours, theirs = fit_twins(name, X, labels, decision_function_shape=shape)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.decision_function(X).shape == (160, 6 if shape == "ovo" else 4)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@every_twin
def test_attributes_are_scikit_learn_s(name, kernel, n_classes):
    """Every public fitted attribute of scikit-learn's class: same type, shape and dtype, and the same values."""
    X, y = make_targets(TWINS[name][0], 80, seed=5, n_classes=n_classes)
    ours, theirs = fit_twins(name, X, y, kernel=kernel, gamma=0.7)
    ends = [key for key in dir(theirs) if key.endswith("_") and not key.startswith("_")]
    attributes = set(ends) - {"probA_", "probB_"} | ({"coef_"} if kernel == "linear" else set())
    assert {"support_", "dual_coef_", "intercept_", "n_support_", "fit_status_", "shape_fit_", "n_iter_"} <= attributes
    for attribute in sorted(attributes):
        if attribute == "coef_" and kernel != "linear":
            continue
        own, other = getattr(ours, attribute), getattr(theirs, attribute)
        assert np.shape(own) == np.shape(other), attribute
        assert np.asarray(own).dtype.kind == np.asarray(other).dtype.kind, attribute
        if attribute != "n_iter_":
            np.testing.assert_allclose(own, other, rtol=1e-4, atol=5e-4, err_msg=attribute)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@every_twin
def test_sparse_attributes_are_scikit_learn_s(name, n_classes, container):
    """Sparse data have sparse support vectors, dual coefficients and coef_, as scikit-learn's."""
    X, y = make_targets(TWINS[name][0], 60, seed=6, n_classes=n_classes)
    X[np.arange(60), np.arange(60) % 2] *= np.arange(60) % 3 > 0
    ours, theirs = fit_twins(name, container(X), y, kernel="linear")
    for attribute in ("support_vectors_", "dual_coef_", "coef_"):
        own, other = getattr(ours, attribute), getattr(theirs, attribute)
        assert sp.issparse(own), attribute
        assert own.format == other.format == "csr", attribute
        assert own.shape == other.shape, attribute
    np.testing.assert_allclose(ours.coef_.toarray(), theirs.coef_.toarray(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(decide(ours, container(X)), decide(theirs, container(X)), rtol=1e-5, atol=1e-5)


@every_twin
def test_parameters_are_scikit_learn_s(name):
    """All of scikit-learn's parameters with its defaults, but for tol, which means another thing here."""
    ours, theirs = TWINS[name][0]().get_params(), getattr(sklearn.svm, name)().get_params()
    assert {key: ours[key] for key in theirs if key != "tol"} == {k: v for k, v in theirs.items() if k != "tol"}


@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.2}, "balanced"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_class_weight_multiplies(class_weight, multi_class):
    """A class weight is the same weight on all samples of the class; class_weight_ is in the order of classes_."""
    X, y = make_classes(120, 3)
    y = np.where(y == 1, np.arange(len(y)) % 2, y)
    model = SVC(class_weight=class_weight, multi_class=multi_class, tol=1e-9, gamma=0.5).fit(X, y)
    counts = np.bincount(y)
    expected = len(y) / (3 * counts) if class_weight == "balanced" else np.array([3.0, 1.0, 0.2])
    np.testing.assert_allclose(model.class_weight_, expected)
    by_hand = SVC(multi_class=multi_class, tol=1e-9, gamma=0.5).fit(X, y, sample_weight=expected[y])
    np.testing.assert_allclose(model.decision_function(X), by_hand.decision_function(X), atol=1e-6)
    if multi_class == "ovo":
        theirs = sklearn.svm.SVC(class_weight=class_weight, tol=1e-10, gamma=0.5).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_nu_classes_listen_to_class_weights():
    """NuSVC's class weights multiply sample weights; LIBSVM takes no notice of them."""
    X, y = make_classes(120, 2)
    weighted = NuSVC(nu=0.3, class_weight={0: 2.0, 1: 1.0}, tol=1e-9, gamma=0.5).fit(X, y)
    by_hand = NuSVC(nu=0.3, tol=1e-9, gamma=0.5).fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    np.testing.assert_allclose(weighted.decision_function(X), by_hand.decision_function(X), atol=1e-6)
