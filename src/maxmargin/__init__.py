"""Support vector machines with a certificate: a drop-in for scikit-learn's svm classes."""

from .audit import certify
from .certificate import Certificate
from .estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from .result import Result, Status
from .solve import solve
from .solvers import SMO

__version__ = "0.1.0"
__all__ = ["SMO", "SVC", "SVR", "Certificate", "NuSVC", "NuSVR", "OneClassSVM", "Result", "Status", "certify", "solve"]
