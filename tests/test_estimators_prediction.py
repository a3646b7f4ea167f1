"""Predictions of kernel machines use the kernel and the parameters of the fit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_machine_problems import every_estimator, make_targets
from machine_data import decide, make_classes
from sklearn.base import clone

from maxmargin import SVC
from maxmargin.model.kernels import RBF


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "laplacian"])
def test_kernel_parameters_are_those_of_training(kernel, form, gamma):
    """gamma="scale" is fixed by the training data: new data of another variance do not change it."""
    X, y = make_classes(80, 2)
    value = 1.0 / (2.0 * X.var()) if gamma == "scale" else 0.5
    relative, absolute = (SVC(kernel=kernel, gamma=choice, tol=1e-6).fit(form(X), y) for choice in (gamma, value))
    new = form(100.0 * X + 3.0) if kernel != "poly" else form(3.0 * X + 1.0)
    np.testing.assert_allclose(relative.decision_function(new), absolute.decision_function(new), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(relative.decision_function(new[:1]), relative.decision_function(new)[:1], rtol=1e-9)


def test_parameters_changed_after_the_fit_do_not_matter():
    """set_params prepares the next fit; the present machine stays what it is."""
    X, y = make_classes(80, 2)
    model = SVC(gamma=0.5).fit(X, y)
    before = model.decision_function(X)
    model.set_params(gamma=7.0, C=100.0, degree=5, coef0=3.0, intercept="none")
    np.testing.assert_array_equal(model.decision_function(X), before)


@every_estimator
def test_training_data_may_change_after_the_fit(estimator):
    """The machine keeps its own support vectors."""
    X, y = make_targets(estimator)
    new = X[:10].copy()
    model = estimator().fit(X, y)
    before = decide(model, new)
    X[:] = 99.0
    np.testing.assert_array_equal(decide(model, new), before)


def test_data_far_from_the_origin():
    """A translation changes nothing for kernels that do not see it, down to seven digits lost."""
    X, y = make_classes(80, 2)
    for kernel in ("rbf", "laplacian"):
        near = SVC(kernel=kernel, gamma=0.5, tol=1e-8).fit(X, y)
        far = SVC(kernel=kernel, gamma=0.5, tol=1e-8).fit(X + 1e6, y)
        np.testing.assert_allclose(far.decision_function(X + 1e6), near.decision_function(X), atol=1e-5)


def test_a_kernel_object():
    """kernel=RBF(gamma=...) is kernel="rbf"."""
    X, y = make_classes(60, 2)
    by_object = SVC(kernel=RBF(gamma=0.5), tol=1e-8).fit(X, y)
    by_name = SVC(kernel="rbf", gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(by_object.decision_function(X), by_name.decision_function(X))
    assert clone(by_object).fit(X.tolist(), y).support_vectors_.shape == by_name.support_vectors_.shape


def test_callable_kernels_see_what_was_given():
    """Any objects may be samples, as long as the kernel knows them."""
    words = ["ant", "antler", "bee", "beetle", "cat", "catfish", "dog", "dogfish"]
    y = [0, 1, 0, 1, 0, 1, 0, 1]

    def compare(A, B):
        return np.array([[len(set(a) & set(b)) + (len(a) * len(b)) / 10.0 for b in B] for a in A])

    model = SVC(kernel=compare, C=10.0).fit(words, y)
    np.testing.assert_array_equal(model.predict(words), y)
    np.testing.assert_array_equal(model.predict(["owl", "salmonfish"]), [0, 1])
