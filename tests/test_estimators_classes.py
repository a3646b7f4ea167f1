"""Kernel machines of many classes: pairs, one against the rest, labels of any kind."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_machine_problems import TWINS
from machine_data import make_classes
from textbook import CLASSIFIERS

from maxmargin import SVC


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_pairs_are_binary_machines(name):
    """Each column of the one-vs-one decisions is the machine of its two classes alone, in LIBSVM's sign."""
    X, y = make_classes(120, 4, seed=2)
    settings = {"tol": 1e-9, "gamma": 0.5, "decision_function_shape": "ovo"}
    model = TWINS[name][0](**TWINS[name][1], **settings).fit(X, y)
    decisions = model.decision_function(X)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    assert len(model.certificates_) == len(model.results_) == len(pairs) == decisions.shape[1]
    for column, (i, j) in enumerate(pairs):
        both = (y == i) | (y == j)
        binary = TWINS[name][0](**TWINS[name][1], **settings).fit(X[both], y[both])
        np.testing.assert_allclose(decisions[:, column], -binary.decision_function(X), atol=1e-5)
        assert model.certificates_[column].primal == pytest.approx(binary.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_one_against_the_rest(name, form):
    """multi_class="ovr": column k is the machine of class k against all others, and the largest column wins."""
    X, y = make_classes(120, 3, seed=3)
    data = form(X)
    settings = {"tol": 1e-9, "gamma": 0.5}
    model = TWINS[name][0](**TWINS[name][1], **settings, multi_class="ovr").fit(data, y)
    decisions = model.decision_function(data)
    assert decisions.shape == (120, 3)
    for k in range(3):
        alone = TWINS[name][0](**TWINS[name][1], **settings).fit(data, (y == k).astype(int))
        np.testing.assert_allclose(decisions[:, k], alone.decision_function(data), atol=1e-5)
    np.testing.assert_array_equal(model.predict(data), decisions.argmax(axis=1))
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert model.n_support_.sum() == len(model.support_)
    linear = TWINS[name][0](**TWINS[name][1], tol=1e-9, multi_class="ovr", kernel="linear").fit(X, y)
    np.testing.assert_allclose(linear.decision_function(X), X @ linear.coef_.T + linear.intercept_, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_coef(n_classes):
    """coef_ x + intercept_ is the decision of each pair, and coef_ is read-only."""
    X, y = make_classes(60, n_classes)
    model = SVC(kernel="linear", decision_function_shape="ovo", tol=1e-8).fit(X, y)
    f = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(f[:, 0] if n_classes == 2 else f, model.decision_function(X), atol=1e-9)
    with pytest.raises(AttributeError):
        model.coef_ = np.zeros(2)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SVC().fit(X, y).coef_


@pytest.mark.parametrize("kind", [str, bool, float, np.int8, object])
def test_labels_of_any_kind(kind):
    """Labels come back as they came in."""
    X, y = make_classes(60, 2)
    labels = y.astype(kind) if kind is not object else np.array(["cat", "dog"], dtype=object)[y]
    model = SVC(tol=1e-8).fit(X, labels)
    assert model.predict(X).dtype == labels.dtype
    assert set(model.predict(X)) <= set(labels)
    np.testing.assert_array_equal(model.predict(X) == model.classes_[1], model.decision_function(X) > 0)
