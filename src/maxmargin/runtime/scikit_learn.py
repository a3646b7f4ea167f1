"""What this library takes of scikit-learn: its private names, and what differs between its versions 1.6 to 1.9.

No other file knows of either, but for `scikit_learn_search.py`, which is for searches; `tests/test_layers.py` holds
that. Estimators take the classes that they derive from, and what they call, from here as well: in a process that does
without scikit-learn (`light_start.py`) these are the stand-ins of `stand_ins.py`. Functions that are seldom called are
imported when they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp

from .deferred import defer
from .documentation import find_reference_page
from .light_start import is_light
from .stand_ins import Constraint

__all__ = [
    "NO_PROBABILITY", "PROBABILITY_CONSTRAINT", "BaseEstimator", "CallbackSupportMixin", "ClassifierMixin",
    "ConvergenceWarning", "DocumentedEstimator", "HasMethods", "Hidden", "Interval", "KFold",
    "LinearClassifierMixin", "NotFittedError", "OutlierMixin", "RealNotInt", "RegressorMixin", "SparseCoefMixin",
    "StrOptions", "StratifiedKFold", "TransformerMixin", "available_if", "check_array", "check_by_scikit_learn",
    "check_classification_targets", "check_consistent_length", "check_is_fitted", "check_liblinear_arguments",
    "check_random_state", "clone", "column_or_1d", "compute_class_weight", "count_samples", "count_votes",
    "deprecate_with_probability", "drop_callbacks", "effective_n_jobs", "find_svm_class", "fit_context",
    "fit_within", "is_classifier", "open_callbacks", "read_feature_names", "select_rows", "set_output_of",
    "take_fitted", "validate_data", "warn_of_probability", "weigh_liblinear_classes",
]  # fmt: skip

CALLBACK_ATTRIBUTES = {"_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx", "_parent_callback_ctx"}

if TYPE_CHECKING:  # scikit-learn has no types, without which what these decorate would have none either
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning, NotFittedError
    from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
    from sklearn.utils import deprecated
    from sklearn.utils._param_validation import HasMethods, Hidden, Interval, RealNotInt, StrOptions
    from sklearn.utils.validation import check_is_fitted

    Method = TypeVar("Method", bound=Callable[..., Any])

    def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]: ...
    def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]: ...
elif is_light():
    from .installed_version import read_version
    from .stand_ins import (
        BaseEstimator,
        ClassifierMixin,
        ConvergenceWarning,
        HasMethods,
        Hidden,
        Interval,
        LinearClassifierMixin,
        NotFittedError,
        OutlierMixin,
        RealNotInt,
        RegressorMixin,
        SparseCoefMixin,
        StrOptions,
        TransformerMixin,
        available_if,
        check_is_fitted,
        deprecated,
        fit_context,
    )

    INSTALLED_VERSION = read_version("sklearn", "scikit-learn")
else:
    from sklearn import __version__ as INSTALLED_VERSION
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        OutlierMixin,
        RegressorMixin,
        TransformerMixin,
        _fit_context,
        get_config,
    )
    from sklearn.exceptions import ConvergenceWarning, NotFittedError
    from sklearn.utils import deprecated
    from sklearn.utils._param_validation import HasMethods, Hidden, Interval, RealNotInt, StrOptions
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted

    def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Callable], Callable]:
        """scikit-learn's frame of a fit; without callbacks, its check of the parameters is all that is left of it.

        The rest tears callbacks down, and spares nested estimators a check, of which there are none here. It takes as
        long as a tenth of a small fit.
        """

        def decorate(method: Callable) -> Callable:
            framed = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)(method)

            @wraps(method)
            def fit(estimator: Any, *arguments: Any, **options: Any) -> Any:
                if vars(estimator).keys() & CALLBACK_ATTRIBUTES:
                    return framed(estimator, *arguments, **options)
                if not get_config()["skip_parameter_validation"]:
                    estimator._validate_params()
                try:
                    return method(estimator, *arguments, **options)
                finally:
                    vars(estimator).pop("_callback_fit_ctx", None)  # of a fit within, or it would be saved with it

            return fit

        return decorate

    def __getattr__(name: str) -> Any:
        """What linear classifiers derive from; kernel machines need not wait for all linear models."""
        if name not in ("LinearClassifierMixin", "SparseCoefMixin"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from sklearn.linear_model import _base

        return getattr(_base, name)


check_array, column_or_1d = defer("sklearn.utils", "check_array"), defer("sklearn.utils", "column_or_1d")
check_classification_targets = defer("sklearn.utils.multiclass", "check_classification_targets")
check_consistent_length = defer("sklearn.utils", "check_consistent_length")
check_random_state = defer("sklearn.utils", "check_random_state")
clone, is_classifier = defer("sklearn.base", "clone"), defer("sklearn.base", "is_classifier")
compute_class_weight = defer("sklearn.utils", "compute_class_weight")
count_samples_of_any = defer("sklearn.utils.validation", "_num_samples")
count_votes = defer("sklearn.utils.multiclass", "_ovr_decision_function")
effective_n_jobs = defer("joblib", "effective_n_jobs")
select_rows = defer("sklearn.utils", "_safe_indexing")
set_output_of = defer("sklearn.utils._set_output", "_safe_set_output")
read_feature_names = defer("sklearn.utils.validation", "_get_feature_names")
KFold = defer("sklearn.model_selection", "KFold")
StratifiedKFold = defer("sklearn.model_selection", "StratifiedKFold")
validate_data = defer("sklearn.utils.validation", "validate_data")

VERSION = tuple(int(part) for part in INSTALLED_VERSION.split(".")[:2])


def count_samples(X: Any) -> int:
    """The number of samples of an array, or of whatever scikit-learn takes for one."""
    plain = (type(X) is np.ndarray and X.ndim > 0) or sp.issparse(X)
    return X.shape[0] if plain else count_samples_of_any(X)


def check_by_scikit_learn(estimator: Any, constraints: dict[str, list[Any]]) -> None:
    """The check of scikit-learn of the parameters of an estimator that stands on stand-ins."""
    from sklearn.utils import _param_validation as theirs

    def translate(each: Any) -> Any:
        if isinstance(each, Constraint):
            return getattr(theirs, type(each).__name__)(*map(translate, each.arguments), **each.options)
        return theirs.RealNotInt if each is RealNotInt else each

    translated = {name: [translate(each) for each in some] for name, some in constraints.items()}
    theirs.validate_parameter_constraints(
        translated, estimator.get_params(deep=False), caller_name=type(estimator).__name__
    )


# ---- callbacks, from 1.9 on -----------------------------------------------------------------------------------------

if VERSION >= (1, 9) and not is_light():
    from sklearn.callback import CallbackSupportMixin
else:

    class CallbackSupportMixin:
        """Stands where there are no callbacks: `hasattr(estimator, "set_callbacks")` is False."""

        @property
        def set_callbacks(self) -> Callable:
            """Not there."""
            raise AttributeError(f"set_callbacks needs scikit-learn 1.9 or newer, and this is {INSTALLED_VERSION}.")


def open_callbacks(estimator, **subtasks):
    """The context of a fit, its callbacks set up; None where the estimator has no callbacks."""
    if not vars(estimator).get("_skl_callbacks"):
        return None
    return estimator._init_callback_context(**subtasks)


def fit_within(estimator, transformer, X, y):
    """transformer.fit(X, y), which callbacks see as the one task of a fit of the estimator that it is within."""
    if VERSION < (1, 9):
        return transformer.fit(X, y)
    given = {"estimator": estimator, "X": X, "y": y}
    context = estimator._init_callback_context(max_subtasks=1).call_on_fit_task_begin(**given)
    task = context.subcontext("fit-transformer")
    with task.propagate_callback_context(transformer):
        task.call_on_fit_task_begin(**given)
        transformer.fit(X, y)
        task.call_on_fit_task_end(**given)
    context.call_on_fit_task_end(**given)
    return transformer


def drop_callbacks(estimator) -> None:
    """An estimator that no callback looks at."""
    vars(estimator).pop("_skl_callbacks", None)


def take_fitted(estimator) -> dict:
    """The attributes of an estimator without those of its callbacks."""
    return {name: value for name, value in vars(estimator).items() if name not in CALLBACK_ATTRIBUTES}


# ---- diagrams of estimators in notebooks ----------------------------------------------------------------------------


class DocumentedEstimator:
    """An estimator whose diagram links to our page about its class, and nowhere if it is not known where that is."""

    @property
    def _doc_link_module(self) -> str:
        """The package of which classes have pages."""
        return "maxmargin" if find_reference_page(type(self)) else ""

    @property
    def _doc_link_template(self) -> str:
        """The address, in which scikit-learn has nothing to fill in."""
        return find_reference_page(type(self)).replace("{", "{{").replace("}", "}}")


# ---- probability=, deprecated in 1.9 --------------------------------------------------------------------------------

PROBABILITY_IS_DEPRECATED = VERSION >= (1, 9)
NO_PROBABILITY = "deprecated" if PROBABILITY_IS_DEPRECATED else False
# A model that was saved under another version can be fitted again under this one.
PROBABILITY_CONSTRAINT = [
    "boolean", StrOptions({"sigmoid", "isotonic", "temperature"}), Hidden(StrOptions({"deprecated"})),
]  # fmt: skip


def warn_of_probability(name: str, probability: bool | str) -> None:
    """Warn of SVC(probability=True) or False, or NuSVC, where scikit-learn does; methods by name are ours, and stay."""
    if PROBABILITY_IS_DEPRECATED and not isinstance(probability, str):
        warnings.warn(
            "The `probability` parameter was deprecated in scikit-learn 1.9 and will be removed. Use "
            f"`CalibratedClassifierCV({name}(), ensemble=False)` instead of `{name}(probability=True)`.",
            FutureWarning,
            stacklevel=4,
        )


def deprecate_with_probability(attribute: property) -> property:
    """The attribute, whose use warns where `probability` is deprecated."""
    if not PROBABILITY_IS_DEPRECATED:
        return attribute
    name = attribute.fget.__name__
    warn = deprecated(f"Attribute `{name}` was deprecated in version 1.9 of scikit-learn, with `probability`.")
    return warn(attribute)


# ---- LIBLINEAR ------------------------------------------------------------------------------------------------------


# Loss and penalty to the values of `dual` that LIBLINEAR has a solver for.
LIBLINEAR_SOLVERS = {
    ("hinge", "l2"): (True,), ("squared_hinge", "l1"): (False,), ("squared_hinge", "l2"): (False, True),
    ("epsilon_insensitive", "l2"): (True,), ("squared_epsilon_insensitive", "l2"): (False, True),
}  # fmt: skip


def check_liblinear_arguments(
    multi_class: str, penalty: str, loss: str, dual: bool | str, shape: tuple[int, int]
) -> None:
    """Refuse what LIBLINEAR refuses, as scikit-learn does; "auto" is dual where samples are fewer than features.

    Where only the other one is there, "auto" is that, as in `sklearn.svm._classes._validate_dual_parameter`.
    """
    known = LIBLINEAR_SOLVERS.get((loss, penalty), ())
    if multi_class == "crammer_singer" or (known and dual == "auto") or dual in known:
        return
    from sklearn.svm._base import _get_liblinear_solver_type

    preferred = shape[0] < shape[1] if dual == "auto" else dual
    try:
        _get_liblinear_solver_type(multi_class, penalty, loss, preferred)
    except ValueError:
        if dual != "auto":
            raise
        _get_liblinear_solver_type(multi_class, penalty, loss, not preferred)


def weigh_liblinear_classes(class_weight, classes: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """One weight per class as scikit-learn's LinearSVC has it: "balanced" counts sample weights from 1.7 on."""
    counted = {"sample_weight": weight} if VERSION >= (1, 7) else {}
    return compute_class_weight(class_weight, classes=classes, y=y, **counted)


def find_svm_class(name: str) -> type:
    """A class of scikit-learn's own, from where it is defined: `sklearn.svm` may have another one of that name."""
    from sklearn.svm import _classes

    found: type = getattr(_classes, name)
    return found
