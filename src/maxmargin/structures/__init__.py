"""Structured outputs: models of them, the problem they make, and its judge."""

from .chain import ChainModel
from .examples import Sheet
from .model import StructuredModel
from .multiclass import MulticlassModel
from .problem import StructuredPoint, StructuredProblem

__all__ = [
    "ChainModel",
    "MulticlassModel",
    "Sheet",
    "StructuredModel",
    "StructuredPoint",
    "StructuredProblem",
]
