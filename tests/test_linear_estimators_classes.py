"""Linear estimators of many classes: shapes, one against the rest, probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from linear_machine_problems import MANY, every_way
from machine_data import make_classes
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from maxmargin import LinearSVC, RiskClassifier
from maxmargin.certificates.certificate import worst

# ---- many classes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@every_way
def test_shapes_of_many_classes(way, n_classes):
    """One row of coef_ a class, or one in all for two; decisions, predictions and labels of any kind."""
    X, y = make_classes(100, n_classes)
    labels = np.array(["e", "d", "c", "b", "a"])[y]
    model = clone(MANY[way]).fit(X, labels)
    rows = 1 if n_classes == 2 else n_classes
    assert model.coef_.shape == (rows, 2)
    assert model.intercept_.shape == (rows,)
    f = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), f[:, 0] if rows == 1 else f, atol=1e-12)
    chosen = (f[:, 0] > 0).astype(int) if rows == 1 else f.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[chosen])
    assert model.score(X, labels) > 0.6
    assert len(model.results_) == (rows if model.multi_class == "ovr" else 1)
    assert isinstance(model.n_iter_, int)
    assert model.certificate_ == worst(model.certificates_)
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("way", [way for way in MANY if "singer" not in way and "softmax" not in way])
def test_one_against_the_rest(way):
    """Column k is the machine of class k against all others."""
    X, y = make_classes(120, seed=3)
    model = clone(MANY[way]).set_params(tol=1e-9).fit(X, y)
    for k in range(3):
        alone = clone(MANY[way]).set_params(tol=1e-9).fit(X, y == k)
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-3)


@every_way
def test_n_jobs_gives_the_same_machine(way):
    """Problems solved side by side are the problems solved one after the other."""
    X, y = make_classes(200, 5, seed=4)
    alone, both = (clone(MANY[way]).set_params(n_jobs=n_jobs, tol=1e-7).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_allclose(alone.coef_, both.coef_, rtol=1e-8, atol=1e-10)


def test_weightless_classes_of_one_task():
    """A class weight of zero takes samples out of one problem and not out of the others."""
    X, y = make_classes(60)
    with pytest.raises(ValueError, match="class 1 has no sample of positive weight"):
        LinearSVC(class_weight={1: 0.0}).fit(X, y)


# ---- probabilities ------------------------------------------------------------------------------------------


LIKELY = {
    "logistic": RiskClassifier("logistic"),
    "exponential": RiskClassifier("exponential"),
    "softmax": RiskClassifier("logistic", multi_class="softmax"),
}


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", LIKELY)
def test_probabilities(name, n_classes):
    """They are probabilities, rank as the decisions do, and their logarithms are theirs."""
    X, y = make_classes(120, n_classes)
    model = clone(LIKELY[name]).fit(X, y)
    p, f = model.predict_proba(X), model.decision_function(X)
    assert p.shape == (120, n_classes)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), atol=1e-9)
    if n_classes == 2:
        steepness = 2.0 if name == "exponential" else 1.0
        np.testing.assert_allclose(p[:, 1], 1.0 / (1.0 + np.exp(-steepness * f)))
    far = 1e4 * X
    assert np.isfinite(model.predict_log_proba(far)).all()
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1.0)


def test_probabilities_only_where_the_loss_has_them():
    """The hinges have none, and a sentence says who has; nor has a fit of another loss than is set now."""
    X, y = make_classes(60, 2)
    for loss in ("hinge", "squared_hinge"):
        model = RiskClassifier(loss).fit(X, y)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match="predict_log_proba") as caught:
            _ = model.predict_log_proba
        assert "available with loss='logistic'" in str(caught.value.__cause__)
    with pytest.raises(NotFittedError, match="the fit was with loss='squared_hinge'"):
        model.set_params(loss="logistic").predict_proba(X)
    assert not hasattr(LinearSVC(), "predict_proba")
    with pytest.raises(NotFittedError):
        RiskClassifier("logistic").predict_proba(X)
