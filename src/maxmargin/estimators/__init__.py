"""The estimators: fit = validate, pose the problem, solve, unpack."""

from .classification import SVC, NuSVC
from .linear import LinearSVC, LinearSVR
from .novelty import OneClassSVM
from .path import path
from .regression import SVR, NuSVR
from .risk import RiskClassifier, RiskRegressor

__all__ = [
    "SVC",
    "SVR",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "RiskClassifier",
    "RiskRegressor",
    "path",
]
