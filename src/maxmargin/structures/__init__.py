"""Structured outputs: models of them, the problem they make, and its judge."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..contracts.structures import StructuredModel

if TYPE_CHECKING:
    from .chain import ChainModel
    from .labellings import WeightedLabelling
    from .multiclass import MulticlassModel
    from .problem import StructuredPoint, StructuredProblem

# Models are loaded when they are asked for: other machines have no need of them.
LAZY_MODULES = {
    "ChainModel": "chain", "MulticlassModel": "multiclass", "StructuredPoint": "problem",
    "StructuredProblem": "problem", "WeightedLabelling": "labellings",
}  # fmt: skip
__all__ = [
    "ChainModel",
    "MulticlassModel",
    "StructuredModel",
    "StructuredPoint",
    "StructuredProblem",
    "WeightedLabelling",
]


def __getattr__(name: str) -> Any:
    """A name of this package, from its module."""
    if name not in LAZY_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f".{LAZY_MODULES[name]}", __name__), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
