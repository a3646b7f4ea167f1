"""The solvers: one folder or file per family, their registry, the choice among them, and the loop that runs them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """A solver, or the table of them: a small fit needs one of them, and need not wait for the others."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(".registry", __name__), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
