"""The loss of an estimator: its name is the parameter `loss`, and its own parameters are those of the same names."""

from __future__ import annotations

from typing import Any

from ..contracts.losses import Loss
from ..model.losses import LOSSES


def make_loss(name: str, estimator: Any) -> Loss:
    """The loss of a name; of its parameters, those that the estimator has, and for the others their defaults."""
    loss: Any = LOSSES[name]
    return loss(**{key: getattr(estimator, key) for key in loss.__dataclass_fields__ if hasattr(estimator, key)})
