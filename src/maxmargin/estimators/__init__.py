"""The estimators: fit = validate, pose the problem, solve, unpack."""

from typing import TYPE_CHECKING

from ..runtime.lazy_names import load_when_asked

if TYPE_CHECKING:
    from .blockwise import BlockwiseTransformer
    from .classification import SVC, NuSVC
    from .linear import LinearSVC, LinearSVR
    from .metric import MetricSVC
    from .novelty import OneClassSVM
    from .ranking import RankSVM
    from .registry import ESTIMATORS
    from .regression import SVR, NuSVR
    from .risk_classifier import RiskClassifier
    from .risk_regressor import RiskRegressor
    from .structured import StructuredSVM

# Names are loaded when they are asked for: a process that fits SVC need not wait for the others.
LAZY_MODULES = {
    "BlockwiseTransformer": "blockwise", "ESTIMATORS": "registry", "LinearSVC": "linear", "LinearSVR": "linear",
    "MetricSVC": "metric", "NuSVC": "classification", "NuSVR": "regression", "OneClassSVM": "novelty",
    "RankSVM": "ranking", "RiskClassifier": "risk_classifier", "RiskRegressor": "risk_regressor",
    "SVC": "classification", "SVR": "regression", "StructuredSVM": "structured",
}  # fmt: skip
__all__ = [
    "ESTIMATORS",
    "SVC",
    "SVR",
    "BlockwiseTransformer",
    "LinearSVC",
    "LinearSVR",
    "MetricSVC",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "RankSVM",
    "RiskClassifier",
    "RiskRegressor",
    "StructuredSVM",
]
__getattr__, __dir__ = load_when_asked(globals(), LAZY_MODULES)
