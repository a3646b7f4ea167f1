"""The solvers: one folder or file per family, their registry, the choice among them, and the loop that runs them."""

from typing import TYPE_CHECKING

from ..runtime.lazy_names import load_when_asked

if TYPE_CHECKING:
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
    )

__all__ = [
    "QP", "SMO", "SOLVERS", "AdaGrad", "Bundle", "ClassCoordinate", "ClassNewton", "Coordinate", "FrankWolfe",
    "GradientDescent", "InteriorPoint", "LagrangianDual", "Multipliers", "Newton", "OneSlack", "ProximalNewton",
    "StructuredBundle", "VectorRidge",
]  # fmt: skip
# A small fit needs one solver, and need not wait for the others.
__getattr__, __dir__ = load_when_asked(globals(), dict.fromkeys(__all__, "registry"))
