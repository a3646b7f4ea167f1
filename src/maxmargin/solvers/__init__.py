"""The solvers: one folder or file per family, their registry, the choice among them, and the loop that runs them."""

from .registry import (
    QP,
    SMO,
    SOLVERS,
    AdaGrad,
    Bundle,
    ClassCoordinate,
    ClassNewton,
    Coordinate,
    FrankWolfe,
    GradientDescent,
    InteriorPoint,
    LagrangianDual,
    Multipliers,
    Newton,
    OneSlack,
    ProximalNewton,
    StructuredBundle,
    VectorRidge,
)  # fmt: skip

__all__ = [
    "QP", "SMO", "SOLVERS", "AdaGrad", "Bundle", "ClassCoordinate", "ClassNewton", "Coordinate", "FrankWolfe",
    "GradientDescent", "InteriorPoint", "LagrangianDual", "Multipliers", "Newton", "OneSlack", "ProximalNewton",
    "StructuredBundle", "VectorRidge",
]  # fmt: skip
