"""The linear estimators with their cases, for the tests of estimators."""

from __future__ import annotations

import numpy as np
import pytest
from linear_reference import (
    CASES,
    INTERCEPTS,
)
from sklearn.base import clone

from maxmargin import LinearSVC, LinearSVR, RiskClassifier, RiskRegressor

every_case = pytest.mark.parametrize("name", CASES)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
ESTIMATORS = (LinearSVC, LinearSVR, RiskClassifier, RiskRegressor)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)


# every way with many classes
MANY = {
    "LinearSVC": LinearSVC(),
    "LinearSVC hinge": LinearSVC(loss="hinge"),
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


def make_classes(n: int = 90, n_classes: int = 3, seed: int = 0, width: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clouds on a circle, one a class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    angles = 2.0 * np.pi * y / n_classes
    return np.column_stack([np.cos(angles), np.sin(angles)]) + width * rng.normal(size=(n, 2)), y


def decide(model, X) -> np.ndarray:
    """What a model says of X: decision values, or predictions where it has none."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
