"""One of every estimator for rows of features, for tests that go through all of them."""

from __future__ import annotations

import pytest

from maxmargin.estimators import registry

ESTIMATORS = tuple(kind() for kind in registry.ESTIMATORS.values() if kind.family != "structured")
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
