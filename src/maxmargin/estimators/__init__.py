"""The estimators: fit = validate, pose the problem, solve, unpack."""

from .classification import SVC, NuSVC
from .novelty import OneClassSVM
from .regression import SVR, NuSVR

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]
