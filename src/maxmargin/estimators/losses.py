"""The loss of an estimator: a name, whose own parameters are those of the estimator, or an object of `Loss`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..contracts.losses import Loss
from ..model.losses import LOSSES, Hinge, Multivariate
from ..runtime.scikit_learn import StrOptions
from .loss_checks import read_attributes


def constrain_loss(names: Iterable[str]) -> list[Any]:
    """What the parameter `loss` may be: one of these names, or an object of `Loss`."""
    return [StrOptions(set(names)), Loss]


def make_loss(loss: str | Loss, estimator: Any) -> Loss:
    """An object as it is; of the loss of a name, the parameters that the estimator has, and for others their defaults.

    The parameters `epsilon`, `quantile` and `threshold` of an estimator are those of named losses; an object has its
    own.
    """
    if isinstance(loss, Loss):
        return loss
    kind: Any = LOSSES[loss]
    parameters = vars(estimator)
    return kind(**{key: parameters[key] for key in kind.__dataclass_fields__ if key in parameters})


def look_up_loss(loss: object) -> Loss | type[Loss] | None:
    """The object, or the class of a name, both of which have the attributes of `Loss`; None for an unknown name."""
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        return None
    return Multivariate if loss == Multivariate.name else LOSSES.get(loss)


def find_logit_scale(loss: object) -> float:
    """`Loss.logit_scale` of a loss, from which probabilities come; 0 for a loss that has none."""
    known = look_up_loss(loss)
    return 0.0 if known is None else known.logit_scale


def find_target(loss: object) -> str:
    """`Loss.target` of a loss; "" for an unknown name."""
    known = look_up_loss(loss)
    if isinstance(known, Loss):
        return read_attributes(known)
    return "" if known is None else known.target


def name_loss(loss: object) -> str | None:
    """The name that stands for the same formula; None for a loss of the user's, and for a hinge of another margin."""
    if isinstance(loss, str):
        return loss
    name = next((name for name, kind in LOSSES.items() if type(loss) is kind), None)
    return None if isinstance(loss, Hinge) and loss.margin != 1.0 else name
