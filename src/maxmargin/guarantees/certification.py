"""The judge called on models: ours, scikit-learn's, and those of any library with the same attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from ..certificates.certificate import Certificate, judge, judge_with_refinement, worst
from ..certificates.data_hash import hash_data
from ..contracts.estimators import Estimator
from ..estimators.linear_machine import LinearMachine
from ..estimators.registry import find_estimator, list_names
from ..model.problem import Problem
from ..runtime.blas import single_threaded_blas
from ..runtime.interrupt import Interrupt
from ..runtime.user_warnings import warn_user
from .kernel_models import pose_kernel_machine
from .linear_models import pose_foreign_linear_machine, pose_linear_machine
from .posed_machine import PosedMachine, name_type, refuse_unknown

if TYPE_CHECKING:
    from ..contracts.inputs import VectorLike


def certify(
    model: Any, X: Any, y: Any = None, sample_weight: VectorLike | None = None, *, max_seconds: float = 30.0
) -> Certificate:
    """P, D, their gap and the KKT violation of any fitted SVM, in float64, from its coefficients alone.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR, RiskClassifier or RiskRegressor; a Problem
        Of this library, of scikit-learn, or of a library with the same attributes. With a `Problem`, X is a `Point`.
    X, y, sample_weight
        The data the model was fitted on.
    max_seconds : float, default=30
        Linear machines are judged by w alone; the best lower bound found in this time is used.

    Returns
    -------
    Certificate
        The worst of the binary problems; all of them in its `parts`.

    See Also
    --------
    Certificate : What it returns.
    risk_bounds : What the training data say about new samples.

    References
    ----------
    - Rockafellar (1970). Convex Analysis. Princeton University Press.
    - Higham (2002). Accuracy and Stability of Numerical Algorithms. SIAM, second edition.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC as TheirSVC
    >>> from maxmargin import certify
    >>> X, y = load_iris(return_X_y=True)
    >>> found = certify(TheirSVC().fit(X, y), X, y)
    >>> 0 <= found.relative_gap <= 0.01, found.convex
    (True, True)
    """
    if isinstance(model, Problem):
        return judge(model, X)
    compare_data(model, X, y, sample_weight)
    with single_threaded_blas():
        posed = pose_model(model, X, y, sample_weight, max_seconds)
        return worst([judge_with_refinement(problem, point) for problem, point, _ in posed])


def compare_data(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Warn if a model file says that the model was fitted on other data."""
    # Of our own models, loaded from a file that was given the data.
    kept = vars(model).get("data_hash_") if isinstance(model, Estimator) else None
    if kept is not None and hash_data(X, y if model.takes_targets else None, sample_weight) != kept:
        warn_user("X, y and sample_weight are not the data that the model was fitted on: the hash in its file differs.")


def pose_model(
    model: Any, X: Any, y: Any, sample_weight: Any, max_seconds: float, interrupt: Interrupt | None = None
) -> Iterator[PosedMachine]:
    """The binary machines of a fitted model, one after the other; duals that it does not keep are looked for."""
    own_linear = isinstance(model, LinearMachine)
    kind = type(model) if own_linear else find_kind(model)
    check_is_fitted(model)
    refuse_unknown(model)
    if own_linear:
        return pose_linear_machine(model, X, y, sample_weight, max_seconds, interrupt)
    if kind.family == "linear":
        return pose_foreign_linear_machine(model, kind, X, y, sample_weight, max_seconds, interrupt)
    return pose_kernel_machine(model, kind, X, y, sample_weight)


def find_kind(model: Any) -> type[Estimator]:
    """Our class of a model that is one, or that has the name of one which stands for those of scikit-learn."""
    kind = find_estimator(model, is_drop_in)
    if kind is None:
        names = ", ".join(list_names(is_drop_in))
        raise TypeError(f"certify takes a fitted {names} or a Problem, got {name_type(model)}.")
    return kind


def is_drop_in(kind: type[Estimator]) -> bool:
    """Whether models of scikit-learn and of others like it have the name of this class."""
    return kind.is_drop_in
