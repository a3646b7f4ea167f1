"""Support vector machines with a certificate: a drop-in for scikit-learn's svm classes, and any convex loss."""

from .audit import certify
from .certificate import Certificate
from .choice import explain
from .estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, RiskClassifier, RiskRegressor, path
from .minimisation import Minimum, minimize
from .paths import Path
from .result import Result, Status
from .solve import solve
from .solvers import SMO, Bundle, Coordinate, InteriorPoint, Multipliers, Newton

__version__ = "0.1.0"
__all__ = [
    "SMO", "SVC", "SVR", "Bundle", "Certificate", "Coordinate", "InteriorPoint", "LinearSVC", "LinearSVR", "Minimum",
    "Multipliers", "Newton", "NuSVC", "NuSVR", "OneClassSVM", "Path", "Result", "RiskClassifier", "RiskRegressor",
    "Status", "certify", "explain", "minimize", "path", "solve",
]  # fmt: skip
