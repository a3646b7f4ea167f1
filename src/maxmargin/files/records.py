"""The classes of which objects may lie in a model file: kernels, losses, solvers, points, certificates, models."""

from __future__ import annotations

from dataclasses import fields

from ..blocks.problem import BlockPoint, ZeroDuals
from ..certificates.certificate import Certificate
from ..model.formulations import NuClassification, NuRegression, OneClass, Risk
from ..model.kernels import KERNELS
from ..model.losses import LOSSES, METRICS, Multivariate
from ..model.problem import Mixture, Point
from ..solvers import SOLVERS
from ..solvers.bundle.blocks import Places
from ..solvers.newton.blocks import Steps
from ..solvers.newton.feature_space import FeatureSpace
from ..solvers.newton.kernel_interior_point import KernelInteriorPoint
from ..structures import ChainModel, MulticlassModel, StructuredPoint, WeightedLabelling

# The names in files of classes that were called otherwise when the format was made.
SAVED_NAMES: dict[type, str] = {WeightedLabelling: "Sheet", ZeroDuals: "Rest"}


def name_record(kind: type) -> str:
    """How a class is called in model files."""
    return SAVED_NAMES.get(kind, kind.__name__)


RECORDS: dict[str, type] = {
    name_record(kind): kind
    for kind in (
        *KERNELS.values(), *LOSSES.values(), Multivariate, *METRICS.values(), *SOLVERS.values(), Certificate, Point,
        Mixture, BlockPoint, ZeroDuals, Steps, Places, StructuredPoint, WeightedLabelling, ChainModel, MulticlassModel,
        FeatureSpace, KernelInteriorPoint,
    )
}  # fmt: skip
TYPES: dict[str, type] = {kind.__name__: kind for kind in (Risk, OneClass, NuClassification, NuRegression)}
CONSTRUCTOR_FIELDS = {"ChainModel": ("label_costs",), "MulticlassModel": ("label_costs",)}
TRANSIENT_FIELDS = {"Bundle": ("memory",)}  # cuts that a path shares: they belong to a run
OBSOLETE_FIELDS = {"Certificate": ("resolution",)}  # fields of files of earlier versions, which are not read any more


def list_record_fields(kind: str) -> tuple[str, ...]:
    """What an object of a class is made of."""
    record = RECORDS[kind]
    if kind in CONSTRUCTOR_FIELDS:
        return CONSTRUCTOR_FIELDS[kind]
    if issubclass(record, tuple):
        return record._fields
    return tuple(
        field.name for field in fields(record) if field.init and field.name not in TRANSIENT_FIELDS.get(kind, ())
    )
