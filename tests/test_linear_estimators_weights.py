"""Sample weights and class weights of linear estimators count as repetitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from linear_machine_problems import MANY, every_case, every_intercept, every_way, make_model
from linear_reference import make_data
from machine_data import decide, make_classes
from sklearn.base import clone


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@every_intercept
@every_case
def test_weights_are_repetitions(name, intercept, form):
    """Weight 2 equals the row twice, weight 0 the row left out."""
    model = make_model(name, intercept=intercept, tol=1e-10)
    X, y, _ = make_data(model, n=40, seed=7)
    times = np.random.default_rng(8).integers(0, 4, len(y))
    weighted = clone(model).fit(form(X), y, sample_weight=times)
    repeated = clone(model).fit(form(np.repeat(X, times, axis=0)), np.repeat(y, times))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(decide(weighted, form(X)), decide(repeated, form(X)), rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("class_weight", [None, {0: 2.0, 1: 0.5}, "balanced"])
@every_way
def test_weights_are_repetitions_for_many_classes(way, class_weight):
    """Also for every way with many classes, and with class weights on top."""
    X, y = make_classes(60)
    times = np.random.default_rng(9).integers(0, 4, len(y))
    model = clone(MANY[way]).set_params(class_weight=class_weight, tol=1e-9)
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.2}, "balanced"])
@pytest.mark.parametrize("way", [way for way in MANY if "Risk" in way])
def test_class_weights_are_sample_weights(way, class_weight):
    """RiskClassifier: a class weight is the same weight on all samples of the class."""
    X, y = make_classes(90)
    y = np.where(y == 1, np.arange(len(y)) % 2, y)
    expected = len(y) / (3 * np.bincount(y)) if class_weight == "balanced" else np.array([3.0, 1.0, 0.2])
    model = clone(MANY[way]).set_params(class_weight=class_weight, tol=1e-9).fit(X, y)
    by_hand = clone(MANY[way]).set_params(tol=1e-9).fit(X, y, sample_weight=expected[y])
    np.testing.assert_allclose(model.decision_function(X), by_hand.decision_function(X), atol=1e-3)
