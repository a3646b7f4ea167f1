"""The public estimators by name, in the order in which they are listed; what each is, its class says."""

from __future__ import annotations

from collections.abc import Callable

from ..contracts.estimators import Estimator
from .certified import CertifiedMachine
from .classification import SVC, NuSVC
from .linear import LinearSVC, LinearSVR
from .metric import MetricSVC
from .novelty import OneClassSVM
from .ranking import RankSVM
from .regression import SVR, NuSVR
from .risk_classifier import RiskClassifier
from .risk_regressor import RiskRegressor
from .structured import StructuredSVM

ESTIMATORS: dict[str, type[CertifiedMachine]] = {
    kind.__name__: kind
    for kind in (
        SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR, RiskClassifier, RiskRegressor, MetricSVC, RankSVM,
        StructuredSVM,
    )
}  # fmt: skip


def find_estimator(model: object, accept: Callable[[type[Estimator]], bool]) -> type[Estimator] | None:
    """The public estimator that a model of any library stands for, of those that are accepted; None if there is none.

    By the name of its class, or of a class it derives from: a model of scikit-learn is told by what it is called.
    """
    known = (ESTIMATORS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in ESTIMATORS)
    return next((kind for kind in known if accept(kind)), None)


def list_names(accept: Callable[[type[Estimator]], bool]) -> list[str]:
    """The names of the public estimators that are accepted."""
    return [name for name, kind in ESTIMATORS.items() if accept(kind)]
