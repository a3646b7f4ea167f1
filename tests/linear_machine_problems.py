"""The linear estimators with their cases, for the tests of estimators."""

from __future__ import annotations

import pytest
from linear_reference import CASES, INTERCEPTS
from sklearn.base import clone

from maxmargin import LinearSVC, LinearSVR, RiskClassifier, RiskRegressor

every_case = pytest.mark.parametrize("name", CASES)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
ESTIMATORS = (LinearSVC, LinearSVR, RiskClassifier, RiskRegressor)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)


# every way with many classes
MANY = {
    "LinearSVC": LinearSVC(intercept="free"),
    "LinearSVC hinge": LinearSVC(loss="hinge", intercept="free"),
    "LinearSVC crammer_singer": LinearSVC(multi_class="crammer_singer"),
    "RiskClassifier": RiskClassifier(),
    "RiskClassifier logistic": RiskClassifier("logistic"),
    "RiskClassifier exponential": RiskClassifier("exponential", C=0.3),
    "RiskClassifier crammer_singer": RiskClassifier(multi_class="crammer_singer"),
    "RiskClassifier softmax": RiskClassifier("logistic", multi_class="softmax"),
}
every_way = pytest.mark.parametrize("way", MANY)


def make_model(name: str, **settings):
    """A model of the table with other settings."""
    return clone(CASES[name]).set_params(**settings)
