"""Structured outputs: models of them, the problem they make, and its judge."""

from typing import TYPE_CHECKING

from ..contracts.structures import StructuredModel
from ..runtime.lazy_names import load_when_asked

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
__getattr__, __dir__ = load_when_asked(globals(), LAZY_MODULES)
