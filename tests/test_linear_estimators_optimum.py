"""The four linear estimators reach the optimum that a general solver finds."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from linear_machine_problems import MANY, every_case, every_intercept, make_model
from linear_reference import (
    make_data,
    measure_joint,
    measure_primal,
    solve_crammer_singer,
    solve_reference,
    solve_softmax,
)
from machine_data import every_weighting, make_classes
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from maxmargin import LinearSVC, RiskClassifier, RiskRegressor, Status


@every_weighting
@every_intercept
@every_case
def test_optimum_is_the_textbook_s(name, intercept, weighted):
    """P and D of the fit equal min P by scipy or cvxopt to 1e-6, and so does P recomputed from coef_ and intercept_."""
    model = make_model(name, intercept=intercept, intercept_scaling=1.7, tol=1e-8)
    X, y, weight = make_data(model, weighted=weighted)
    model.fit(X, y, sample_weight=weight)
    best = solve_reference(model, X, y, weight)
    assert model.result_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(best, rel=1e-6)
    assert measure_primal(model, X, y, weight) == pytest.approx(best, rel=1e-6)


@every_intercept
@every_weighting
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "exponential"])
def test_absolute_penalty(loss, intercept, weighted):
    """penalty="l1": min |w|_1 + C sum l, sparse, and scikit-learn's machine where the intercept is LIBLINEAR's."""
    Model, C = (LinearSVC, 0.1) if loss == "squared_hinge" else (RiskClassifier, 0.2)
    model = Model(penalty="l1", loss=loss, C=C, intercept=intercept, intercept_scaling=1.7, tol=1e-7)
    X, y, weight = make_data(model, n=60, weighted=weighted)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(60, 5))])
    model.fit(X, y, sample_weight=weight)
    assert measure_primal(model, X, y, weight) == pytest.approx(solve_reference(model, X, y, weight), rel=1e-6)
    assert model.certificate_.primal == pytest.approx(measure_primal(model, X, y, weight), rel=1e-9)
    assert 0 < np.count_nonzero(model.coef_) < 8
    if intercept == "regularised" and Model is LinearSVC:
        theirs = sklearn.svm.LinearSVC("l1", C=0.1, intercept_scaling=1.7, tol=1e-9, max_iter=100000, random_state=0)
        np.testing.assert_allclose(model.coef_, theirs.fit(X, y, sample_weight=weight).coef_, atol=1e-3)


@every_intercept
@pytest.mark.parametrize("way", [way for way in MANY if "singer" in way or "softmax" in way])
def test_optimum_of_all_classes_at_once(way, intercept):
    """Crammer and Singer's loss and softmax: min P by cvxopt or scipy, samples and classes weighed."""
    X, y = make_classes(36)
    weight = np.random.default_rng(1).uniform(0.3, 2.0, len(y))
    model = clone(MANY[way]).set_params(intercept=intercept, class_weight={1: 2.0}, tol=1e-8)
    model.fit(X, y, sample_weight=weight)
    s = weight * np.where(y == 1, 2.0, 1.0)
    solve = solve_softmax if model.multi_class == "softmax" else solve_crammer_singer
    best = solve(model, X, y, s)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
    assert measure_joint(model, X, y, s) == pytest.approx(best, rel=1e-6)
    assert len(model.results_) == 1


def test_neighbours_in_scikit_learn():
    """Losses that scikit-learn knows under other names, scaled as it scales them."""
    X, y = make_classes(90, 2)
    ours = RiskClassifier("logistic", C=3.0, tol=1e-10).fit(X, y)
    theirs = LogisticRegression(C=3.0, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    X, y = make_classes(90, 4)
    ours = RiskClassifier("logistic", C=3.0, multi_class="softmax", tol=1e-10).fit(X, y)
    theirs = LogisticRegression(C=3.0, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    counts = np.random.default_rng(0).poisson(np.exp(X[:, 0]))
    ours = RiskRegressor("poisson", C=1.0 / 90, tol=1e-10).fit(X, counts)
    theirs = PoissonRegressor(alpha=1.0, tol=1e-10, max_iter=10000).fit(X, counts)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-4)
    ours, theirs = RiskRegressor(C=0.5, tol=1e-12).fit(X, counts), Ridge(alpha=2.0).fit(X, counts)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantile_regression_finds_quantiles(q):
    """quantile is scikit-learn's: that share of the targets lies below f."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = X[:, 0] + rng.normal(size=400)
    model = RiskRegressor("quantile", quantile=q, tol=1e-6).fit(X, y)
    assert (y < model.predict(X)).mean() == pytest.approx(q, abs=0.02)


def test_counts_are_predicted_as_counts():
    """loss="poisson" predicts exp(f) > 0, and with a free intercept the mean of the predictions is that of y."""
    model = make_model("poisson", C=10.0, tol=1e-9)
    X, y, _ = make_data(model, n=60)
    predicted = model.fit(X, y).predict(X)
    np.testing.assert_allclose(predicted, np.exp(X @ model.coef_ + model.intercept_))
    assert (predicted > 0).all()
    assert predicted.mean() == pytest.approx(y.mean(), rel=1e-3)
