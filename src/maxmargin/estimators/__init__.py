"""The estimators: fit = validate, pose the problem, solve, unpack."""

from .blockwise import BlockwiseTransformer
from .classification import SVC, NuSVC
from .linear import LinearSVC, LinearSVR
from .metric import MetricSVC
from .novelty import OneClassSVM
from .path import path
from .ranking import RankSVM
from .registry import ESTIMATORS
from .regression import SVR, NuSVR
from .risk_classifier import RiskClassifier
from .risk_regressor import RiskRegressor
from .structured import StructuredSVM

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
    "path",
]
