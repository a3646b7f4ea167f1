"""Parameters of estimators, checked once: a grid search fits the same values again for every fold."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from inspect import Parameter, signature
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from ..contracts.losses import Loss
from .loss_checks import check_loss

MAX_REMEMBERED_SETS = 4096  # sets of parameters known to be sound; a grid has hundreds
PLAIN_TYPES = frozenset({str, int, float, bool, type(None), np.float64, np.int64, np.bool_, np.str_})


class CheckedParameters:
    """An estimator whose parameters are checked by their constraints when they are first seen.

    What is said of a wrong one is scikit-learn's. Its check takes a quarter of a millisecond, as long as a fit of a
    hundred samples, so values that passed it are remembered, by class.
    """

    loss_targets: ClassVar[tuple[str, ...]]
    _sound: set[tuple[Any, ...]] = set()  # noqa: RUF012 (shared by all estimators of this process)
    _sound_lock = threading.Lock()

    def _validate_params(self) -> None:
        """Refuse parameters outside their constraints, and a loss of the user's that is not one for this estimator."""
        key = self._describe_parameters()
        if key is not None and key in CheckedParameters._sound:
            return
        super()._validate_params()  # type: ignore[misc]
        if self.loss_targets and isinstance(loss := vars(self).get("loss"), Loss):
            check_loss(loss, type(self).__name__, self.loss_targets)
        if key is not None:
            with self._sound_lock:
                if len(self._sound) >= MAX_REMEMBERED_SETS:
                    self._sound.clear()
                self._sound.add(key)

    def _describe_parameters(self) -> tuple[Any, ...] | None:
        """The class and the parameters, 1 and 1.0 and True told apart; None where one is an object that may change."""
        try:
            values = find_reader(type(self))(vars(self))
        except KeyError:  # an estimator without the attribute is refused by the check
            return None
        kinds = tuple(map(type, values))
        return (type(self), kinds, values) if PLAIN_TYPES.issuperset(kinds) else None


@cache
def find_reader(kind: type) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """What takes the parameters of an estimator from its attributes; a subclass of the user's may have one, or none."""
    names = kind._get_param_names()  # type: ignore[attr-defined]
    return itemgetter(*names) if len(names) > 1 else lambda attributes: tuple(attributes[name] for name in names)


@cache
def read_defaults(kind: type) -> dict[str, Any]:
    """The parameters of a class that have a default, and what it is."""
    parameters = signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return {each.name: each.default for each in parameters if each.default is not Parameter.empty}


@cache
def takes_parameter(kind: type, name: str) -> bool:
    """Whether a class has a parameter. A subclass of scikit-learn's class may lack one that is ours.

    Other libraries ask `hasattr(model, "n_jobs")` before they make another one with n_jobs: their subclass must not
    have the attribute where its `__init__` does not take it.
    """
    return name in kind._get_param_names()  # type: ignore[attr-defined]
