"""One of every estimator for rows of features, for tests that go through all of them."""

from __future__ import annotations

import pytest

from maxmargin import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    MetricSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RankSVM,
    RiskClassifier,
    RiskRegressor,
)  # fmt: skip

ESTIMATORS = (
    SVC(), NuSVC(), SVR(), NuSVR(), OneClassSVM(), LinearSVC(), LinearSVR(), RiskClassifier(), RiskRegressor(),
    MetricSVC(), RankSVM(),
)  # fmt: skip
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
