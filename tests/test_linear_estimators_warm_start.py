"""Warm starts of linear estimators."""

from __future__ import annotations

import numpy as np
import pytest
from linear_machine_problems import MANY, every_case, every_intercept, every_way, make_model
from linear_reference import make_data
from machine_data import decide, make_classes
from sklearn.base import clone

from maxmargin import RiskClassifier, Status


@every_intercept
@every_case
def test_warm_start_saves_iterations(name, intercept):
    """A second fit of the same data starts where the first one ended, and ends at the same machine."""
    model = make_model(name, intercept=intercept, warm_start=True, tol=1e-6)
    X, y, weight = make_data(model, n=80, weighted=True)
    first = model.fit(X, y, sample_weight=weight).n_iter_
    before = decide(model, X)
    assert model.fit(X, y, sample_weight=weight).n_iter_ < first
    np.testing.assert_allclose(decide(model, X), before, rtol=1e-2, atol=1e-2)
    assert model.set_params(warm_start=False).fit(X, y, sample_weight=weight).n_iter_ == first


NEXT = [
    {"C": 0.05}, {"C": 40.0}, {"intercept": "none"}, {"intercept": "regularised"}, {"intercept_scaling": 3.0},
]  # fmt: skip


@pytest.mark.parametrize("change", NEXT, ids=str)
@every_case
def test_warm_start_survives_a_change(name, change):
    """From the point of another problem the same optimum is reached as from zero."""
    model = make_model(name, warm_start=True, tol=1e-7, intercept="free" if "intercept" in change else "regularised")
    X, y, _ = make_data(model)
    model.fit(X, y).set_params(**change).fit(X, y)
    assert model.result_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(clone(model).fit(X, y).certificate_.primal, rel=1e-6)


def test_warm_start_forgets_other_problems():
    """Other losses, other ways with many classes, other data, another number of features: as good as cold."""
    model = RiskClassifier(warm_start=True, tol=1e-7)
    changes = ({}, {"loss": "squared_hinge"}, {"loss": "hinge"}, {"loss": "squared_hinge", "intercept": "none"})
    for n, n_classes, change in zip((90, 60, 60, 60), (3, 3, 4, 2), changes, strict=True):
        X, y = make_classes(n, n_classes, seed=n)
        for data in (X, X[:, :1]):
            model.set_params(**change).fit(data, y)
            cold = clone(model).fit(data, y)
            assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-6)


@every_way
def test_warm_start_of_many_classes(way):
    """Every binary problem starts from its own point, all classes at once from theirs."""
    X, y = make_classes(150)
    model = clone(MANY[way]).set_params(warm_start=True, tol=1e-6)
    first = sum(result.n_iter for result in model.fit(X, y).results_)
    assert sum(result.n_iter for result in model.fit(X, y).results_) < first
