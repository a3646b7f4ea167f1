"""Support vector machines with a certificate: a drop-in for scikit-learn's svm classes, and any convex loss."""

from .audit import certify
from .blocks import open_blocks
from .certificate import Certificate
from .choice import explain
from .estimators import (
    SVC,
    SVR,
    BlockwiseTransformer,
    LinearSVC,
    LinearSVR,
    MetricSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RankSVM,
    RiskClassifier,
    RiskRegressor,
    StructuredSVM,
    path,
)  # fmt: skip
from .minimisation import Minimum, minimize
from .paths import Path
from .result import Result, Status
from .solve import solve
from .solvers import SMO, Bundle, Coordinate, FrankWolfe, InteriorPoint, Multipliers, Newton, StructuredBundle
from .structures import ChainModel, MulticlassModel, StructuredModel

__version__ = "0.1.0"
__all__ = [
    "SMO", "SVC", "SVR", "BlockwiseTransformer", "Bundle", "Certificate", "ChainModel", "Coordinate", "FrankWolfe",
    "InteriorPoint", "LinearSVC", "LinearSVR", "MetricSVC", "Minimum", "MulticlassModel", "Multipliers", "Newton",
    "NuSVC", "NuSVR", "OneClassSVM", "Path", "RankSVM", "Result", "RiskClassifier", "RiskRegressor", "Status",
    "StructuredBundle", "StructuredModel", "StructuredSVM", "certify", "explain", "minimize", "open_blocks", "path",
    "solve",
]  # fmt: skip
