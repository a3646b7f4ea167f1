"""The public estimators by name, in the order in which they are listed; what each is, its class says."""

from __future__ import annotations

from ..contracts.estimators import Estimator
from .classification import SVC, NuSVC
from .linear import LinearSVC, LinearSVR
from .metric import MetricSVC
from .novelty import OneClassSVM
from .ranking import RankSVM
from .regression import SVR, NuSVR
from .risk import RiskClassifier, RiskRegressor
from .structured import StructuredSVM

ESTIMATORS: dict[str, type[Estimator]] = {
    kind.__name__: kind
    for kind in (
        SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR, RiskClassifier, RiskRegressor, MetricSVC, RankSVM,
        StructuredSVM,
    )
}  # fmt: skip


def find_estimator(model: object) -> type[Estimator] | None:
    """The public estimator that a model of any library is by the name of its class, or of a class it derives from."""
    return next((ESTIMATORS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in ESTIMATORS), None)
