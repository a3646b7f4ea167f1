"""Every name that `from maxmargin import ...` offers."""

from .certificates.certificate import Certificate
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
from .estimators.path import Path
from .files import export_onnx, load, open_blocks, read_libsvm, save, write_libsvm
from .guarantees.certification import certify
from .guarantees.risk import LeaveOneOut, RiskBounds, risk_bounds
from .insight.diagnosis import Diagnosis, diagnose
from .solvers import (
    QP,
    SMO,
    AdaGrad,
    Bundle,
    Coordinate,
    FrankWolfe,
    GradientDescent,
    InteriorPoint,
    LagrangianDual,
    Multipliers,
    Newton,
    StructuredBundle,
)
from .solvers.choice import explain
from .solvers.loop import solve
from .solvers.minimisation import Minimum, minimize
from .solvers.result import Result, Status
from .structures import ChainModel, MulticlassModel, StructuredModel

__all__ = [
    "QP", "SMO", "SVC", "SVR", "AdaGrad", "BlockwiseTransformer", "Bundle", "Certificate", "ChainModel",
    "Coordinate", "Diagnosis", "FrankWolfe", "GradientDescent", "InteriorPoint", "LagrangianDual", "LeaveOneOut",
    "LinearSVC", "LinearSVR", "MetricSVC", "Minimum", "MulticlassModel", "Multipliers", "Newton", "NuSVC", "NuSVR",
    "OneClassSVM", "Path", "RankSVM", "Result", "RiskBounds", "RiskClassifier", "RiskRegressor", "Status",
    "StructuredBundle", "StructuredModel", "StructuredSVM", "certify", "diagnose", "explain", "export_onnx", "load",
    "minimize", "open_blocks", "path", "read_libsvm", "risk_bounds", "save", "solve", "write_libsvm",
]  # fmt: skip
