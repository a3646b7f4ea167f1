"""Models of structured outputs as they are given: any object with the three methods becomes a `StructuredModel`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts.structures import Examples, StructuredModel
from .examples import ListedExamples

REQUIRED_METHODS = ("joint_feature", "loss", "argmax")
OPTIONAL_METHODS = ("prepare", "upper_bound", "parts", "gather", "read")


class AdoptedModel(StructuredModel):
    """An object with the three methods that does not derive from `StructuredModel`; what else it has is used too."""

    def __init__(self, model: Any):
        self.exact = bool(getattr(model, "exact", True))
        self.model = model
        for name in (*REQUIRED_METHODS, *OPTIONAL_METHODS):
            method = getattr(model, name, None)
            if callable(method):
                setattr(self, name, method)

    def prepare(self, X, y) -> int:
        """The length of psi(x_0, y_0), in the name of the object."""
        return StructuredModel.prepare(self.model, X, y)


def adopt_model(model: Any) -> StructuredModel:
    """The model itself, or one that passes every question on to the object."""
    return model if isinstance(model, StructuredModel) else AdoptedModel(model)


def check_model(model: Any) -> None:
    """Refuse what is not an object with the three methods."""
    if isinstance(model, type):
        raise ValueError(f"model must be an object, got the class {model.__name__}; add parentheses.")
    for name in REQUIRED_METHODS:
        method = getattr(model, name, None)
        if not callable(method) or getattr(method, "__isabstractmethod__", False):
            raise ValueError(
                f"model must have the methods {', '.join(REQUIRED_METHODS[:-1])} and {REQUIRED_METHODS[-1]}, "
                f"but {type(model).__name__} has no {name}."
            )


def gather(model: Any, X, y=None, n_jobs: int | None = None) -> Examples:
    """The examples of any model."""
    adopted = adopt_model(model)
    examples = adopted.gather(X, y, n_jobs)
    return ListedExamples(adopted, X, y, n_jobs, type(model).__name__) if examples is None else examples


def prepare(model: Any, X, y) -> int:
    """The number of weights of any model, checked."""
    size = adopt_model(model).prepare(X, y)
    if not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(f"{type(model).__name__}.prepare must return the number of weights, 1 or more, got {size!r}.")
    return int(size)
