"""What an estimator needs of scikit-learn, for a process that does without it (`light_start.py`).

Parameters, the check of their values, and whether something is fitted are here. All else, and every message about
what is wrong, is scikit-learn's own, imported when it is called for.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from .deferred import defer


class ConvergenceWarning(UserWarning):
    """A fit stopped before it was done."""


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before it is fitted."""


def check_is_fitted(estimator: Any, attributes: Any = None, *, msg: str | None = None) -> None:
    """Refuse an estimator without fitted attributes, whose names end in an underscore."""
    if attributes is not None or not any(name[-1] == "_" != name[:1] for name in vars(estimator)):
        defer("sklearn.utils.validation", "check_is_fitted")(estimator, attributes, msg=msg)


# ---- estimators -----------------------------------------------------------------------------------------------------


class BaseEstimator:
    """Parameters are the arguments of the constructor, kept as attributes."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters, sorted."""
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; no estimator of this library has parameters that are estimators."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; what is not one is refused by scikit-learn."""
        if not set(parameters) <= set(self._get_param_names()):
            return import_module("sklearn.base").BaseEstimator.set_params(self, **parameters)
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def _validate_params(self) -> None:
        """Refuse parameters outside their constraints; scikit-learn says how, and decides where it is not plain."""
        constraints = self._parameter_constraints  # type: ignore[attr-defined]
        for name, value in self.get_params(deep=False).items():
            if not any(is_surely_met(each, value) for each in constraints.get(name, ())):
                from .scikit_learn import check_by_scikit_learn

                check_by_scikit_learn(self, constraints)
                return

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default)
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self):
        return import_module("sklearn.base").BaseEstimator.__sklearn_tags__(self)


class ClassifierMixin:
    """Predicts classes."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type, tags.target_tags.required = "classifier", True
        tags.classifier_tags = import_module("sklearn.utils").ClassifierTags()
        return tags


class LinearClassifierMixin(ClassifierMixin):
    """Predicts classes by <w, x> + b."""


class SparseCoefMixin:
    """Has a `coef_` that could be sparse."""


class RegressorMixin:
    """Predicts numbers."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type, tags.target_tags.required = "regressor", True
        tags.regressor_tags = import_module("sklearn.utils").RegressorTags()
        return tags


class OutlierMixin:
    """Tells what is unlike the samples of its fit."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type = "outlier_detector"
        return tags


class TransformerMixin:
    """Makes features of features."""

    def __init_subclass__(cls, auto_wrap_output_keys: Any = (), **options: Any):
        super().__init_subclass__(**options)


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable:
    """A fit that begins with a check of the parameters."""

    def decorate(fit: Callable) -> Callable:
        @wraps(fit)
        def check_and_fit(estimator, *arguments, **options):
            estimator._validate_params()
            return fit(estimator, *arguments, **options)

        return check_and_fit

    return decorate


class available_if:
    """A method that is there where check(estimator) is true."""

    def __init__(self, check: Callable[[Any], bool]):
        self.check = check

    def __call__(self, method: Callable) -> available_if:
        self.method = method
        return self

    def __get__(self, estimator: Any, owner: type) -> Callable:
        if estimator is None:
            return self.method
        if not self.check(estimator):
            raise AttributeError(f"This {owner.__name__!r} has no attribute {self.method.__name__!r}")
        return self.method.__get__(estimator, owner)


def deprecated(message: str) -> Callable[[property], property]:
    """A property whose use warns."""

    def decorate(attribute: property) -> property:
        def get(estimator):
            warnings.warn(message, FutureWarning, stacklevel=2)
            return attribute.fget(estimator)

        return property(get, doc=attribute.__doc__)

    return decorate


# ---- constraints of parameters --------------------------------------------------------------------------------------


class Constraint:
    """A constraint of scikit-learn by what it is made of."""

    def __init__(self, *arguments, **options):
        self.arguments, self.options = arguments, options

    def is_surely_met(self, value: Any) -> bool:
        """Whether a value meets it without a doubt."""
        return False


class RealNotInt(Real):
    """Numbers that are not whole by their type."""


RealNotInt.register(float)


class StrOptions(Constraint):
    """One of some words."""

    def is_surely_met(self, value: Any) -> bool:
        """Whether it is such a word."""
        return isinstance(value, str) and value in self.arguments[0]


class Interval(Constraint):
    """A number between two ends."""

    def is_surely_met(self, value: Any) -> bool:
        """Whether it lies between them, not on one of them, or on one that belongs to the interval."""
        kind, low, high = self.arguments
        closed = self.options["closed"]
        if isinstance(value, bool) or not isinstance(value, kind):
            return False
        above = low is None or low < value or (low == value and closed in ("left", "both"))
        below = high is None or value < high or (high == value and closed in ("right", "both"))
        return above and below and bool(np.isfinite(value))


class HasMethods(Constraint):
    """An object that has some methods."""

    def is_surely_met(self, value: Any) -> bool:
        """Whether it has all of them."""
        return all(callable(getattr(value, name, None)) for name in self.arguments[0])


class Hidden(Constraint):
    """A constraint that messages leave out."""

    def is_surely_met(self, value: Any) -> bool:
        """Whether that constraint is met."""
        return is_surely_met(self.arguments[0], value)


def is_surely_met(constraint: Any, value: Any) -> bool:
    """Whether a value meets a constraint without a doubt."""
    if isinstance(constraint, Constraint):
        return constraint.is_surely_met(value)
    if constraint is None or isinstance(constraint, type):
        return value is None if constraint is None else isinstance(value, constraint)
    if constraint is callable:
        return callable(value)
    if constraint == "random_state":
        return value is None or (isinstance(value, Integral) and value >= 0)
    if constraint == "verbose":
        return isinstance(value, bool | Integral) and value >= 0
    return constraint == "boolean" and isinstance(value, bool | np.bool_)
