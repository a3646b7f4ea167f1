"""Every name that `from maxmargin import ...` offers, each loaded from its module when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    )  # fmt: skip
    from .estimators.path import Path, path
    from .files import export_onnx, load, open_blocks, read_libsvm, register_onnx_converters, save, write_libsvm
    from .guarantees.certification import certify
    from .guarantees.coverage import (
        ConformalClassifier,
        ConformalQuantileRegressor,
        ConformalRegressor,
        VennAbersClassifier,
    )
    from .guarantees.predictions import certify_predictions, certify_support
    from .guarantees.risk import LeaveOneOut, RiskBounds, risk_bounds
    from .guarantees.tuning import CertifiedTuning, certify_tuning
    from .insight.diagnosis import Diagnosis, diagnose
    from .insight.step_trace import Trace
    from .insight.tracing import trace
    from .patching import patch_sklearn, unpatch_sklearn
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
        OneSlack,
        StructuredBundle,
    )
    from .solvers.choice import explain
    from .solvers.loop import solve
    from .solvers.minimisation import Minimum, minimize
    from .solvers.result import Result, Status
    from .structures import ChainModel, MulticlassModel, StructuredModel
    from .tuning.tuned_estimators import SVCCV, SVRCV, LinearSVCCV, LinearSVRCV, RiskClassifierCV, RiskRegressorCV

MODULES = {
    "certificates.certificate": ("Certificate",),
    "estimators.blockwise": ("BlockwiseTransformer",),
    "estimators.classification": ("NuSVC", "SVC"),
    "estimators.linear": ("LinearSVC", "LinearSVR"),
    "estimators.metric": ("MetricSVC",),
    "estimators.novelty": ("OneClassSVM",),
    "estimators.path": ("Path", "path"),
    "estimators.ranking": ("RankSVM",),
    "estimators.regression": ("NuSVR", "SVR"),
    "estimators.risk_classifier": ("RiskClassifier",),
    "estimators.risk_regressor": ("RiskRegressor",),
    "estimators.structured": ("StructuredSVM",),
    "files": (
        "export_onnx",
        "load",
        "open_blocks",
        "read_libsvm",
        "register_onnx_converters",
        "save",
        "write_libsvm",
    ),
    "guarantees.certification": ("certify",),
    "guarantees.coverage": (
        "ConformalClassifier",
        "ConformalQuantileRegressor",
        "ConformalRegressor",
        "VennAbersClassifier",
    ),
    "guarantees.predictions": ("certify_predictions", "certify_support"),
    "guarantees.risk": ("LeaveOneOut", "RiskBounds", "risk_bounds"),
    "guarantees.tuning": ("CertifiedTuning", "certify_tuning"),
    "insight.diagnosis": ("Diagnosis", "diagnose"),
    "insight.step_trace": ("Trace",),
    "insight.tracing": ("trace",),
    "patching": ("patch_sklearn", "unpatch_sklearn"),
    "solvers": (
        "AdaGrad",
        "Bundle",
        "Coordinate",
        "FrankWolfe",
        "GradientDescent",
        "InteriorPoint",
        "LagrangianDual",
        "Multipliers",
        "Newton",
        "OneSlack",
        "QP",
        "SMO",
        "StructuredBundle",
    ),
    "solvers.choice": ("explain",),
    "solvers.loop": ("solve",),
    "solvers.minimisation": ("Minimum", "minimize"),
    "solvers.result": ("Result", "Status"),
    "structures": ("ChainModel", "MulticlassModel", "StructuredModel"),
    "tuning.tuned_estimators": (
        "LinearSVCCV",
        "LinearSVRCV",
        "RiskClassifierCV",
        "RiskRegressorCV",
        "SVCCV",
        "SVRCV",
    ),
}
# Modules that users import from by name, beside the names of the package itself.
PUBLIC_MODULES = (
    "contracts", "estimators", "files", "insight", "model", "model_selection", "play", "plots", "solvers", "structures",
)  # fmt: skip
PLACES = {name: module for module, names in MODULES.items() for name in names}
__all__ = [
    "QP", "SMO", "SVC", "SVCCV", "SVR", "SVRCV", "AdaGrad", "BlockwiseTransformer", "Bundle", "Certificate",
    "CertifiedTuning", "ChainModel", "ConformalClassifier", "ConformalQuantileRegressor", "ConformalRegressor",
    "Coordinate", "Diagnosis", "FrankWolfe", "GradientDescent", "InteriorPoint", "LagrangianDual", "LeaveOneOut",
    "LinearSVC", "LinearSVCCV", "LinearSVR", "LinearSVRCV", "MetricSVC", "Minimum", "MulticlassModel",
    "Multipliers", "Newton", "NuSVC", "NuSVR", "OneClassSVM", "OneSlack", "Path", "RankSVM", "Result", "RiskBounds",
    "RiskClassifier", "RiskClassifierCV", "RiskRegressor", "RiskRegressorCV", "Status", "StructuredBundle",
    "StructuredModel", "StructuredSVM", "Trace", "VennAbersClassifier", "certify", "certify_predictions",
    "certify_support", "certify_tuning", "diagnose", "explain", "export_onnx", "load", "minimize", "open_blocks",
    "patch_sklearn", "path", "read_libsvm", "register_onnx_converters", "risk_bounds", "save", "solve", "trace",
    "unpatch_sklearn", "write_libsvm",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A public name, from its module."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f".{PLACES[name]}", __package__), name)
    return globals()[name]


def load_all() -> None:
    """All of them, and with them the modules that `maxmargin.estimators` and the like name."""
    for name in __all__:
        __getattr__(name)
