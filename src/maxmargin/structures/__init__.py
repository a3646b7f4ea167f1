"""Structured outputs: models of them, the problem they make, and its judge."""

from ..contracts.structures import StructuredModel
from .chain import ChainModel
from .labellings import WeightedLabelling
from .multiclass import MulticlassModel
from .problem import StructuredPoint, StructuredProblem

__all__ = [
    "ChainModel",
    "MulticlassModel",
    "StructuredModel",
    "StructuredPoint",
    "StructuredProblem",
    "WeightedLabelling",
]
