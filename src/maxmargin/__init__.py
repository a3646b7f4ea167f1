"""Support vector machines with a certificate: a drop-in for scikit-learn's svm classes."""

from .audit import certify
from .certificate import Certificate
from .estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, RiskClassifier, RiskRegressor
from .result import Result, Status
from .solve import solve
from .solvers import SMO

__version__ = "0.1.0"
__all__ = [
    "SMO", "SVC", "SVR", "Certificate", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "Result",
    "RiskClassifier", "RiskRegressor", "Status", "certify", "solve",
]  # fmt: skip
