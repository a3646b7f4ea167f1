"""Predictions and support vectors of any fitted SVM, with a proof that they are those of the exact optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..certificates.certificate import judge_with_refinement
from ..certificates.optimum.machines import MachineBounds, OptimumScores
from ..certificates.optimum.proof import bound_optimum, find_refusal
from ..certificates.optimum.support import CertifiedSupport, find_certain_duals
from ..contracts.estimators import Estimator
from ..estimators import NuSVC
from ..estimators.certified_predictions import CertifiedPredictions
from ..estimators.certified_scores import CertifiedLabels, CertifiedScores
from ..estimators.kernel_bounds import join_margin
from ..estimators.linear_machine import LinearMachine
from ..estimators.machine import KernelMachine
from ..model.kernels import Kernel, Linear
from ..model.problem import Problem
from ..runtime.blas import single_threaded_blas
from ..runtime.scikit_learn import count_samples
from .certification import compare_data, find_kind, pose_model
from .posed_machine import PosedMachine, check_features, name_type

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike, VectorLike


def certify_predictions(
    model: Any,
    X_train: MatrixLike,
    y: Any,
    X: MatrixLike,
    sample_weight: VectorLike | None = None,
    *,
    max_seconds: float = 30.0,
) -> CertifiedPredictions:
    """Which predictions of a fitted SVM of any library are those of the exact minimiser of its problem.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR, RiskClassifier or RiskRegressor
        Of this library, of scikit-learn, or of a library with the same attributes.
    X_train, y, sample_weight
        The data the model was fitted on; y is ignored for `OneClassSVM`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples to predict.
    max_seconds : float, default=30
        Linear machines of other libraries keep no duals; those found in this time are used.

    Returns
    -------
    CertifiedPredictions
        Its `lower` and `upper` enclose the decision function of the exact minimiser, or its values for a regression,
        where `certain` says whether the prediction itself lies between them, and both are finite.

    See Also
    --------
    certify_support : The same for support vectors.
    certify : How far the model is from its optimum.

    References
    ----------
    - A. Shibagaki, M. Karasuyama, K. Hatano and I. Takeuchi (2016), Simultaneous safe screening of features and
      samples in doubly sparse modeling, ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from maxmargin import certify_predictions
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = SVC(tol=1e-6).fit(X[:400], y[:400])
    >>> certify_predictions(model, X[:400], y[:400], X[400:])
    <CertifiedPredictions: 169 of 169 labels are certain (100.00%)>
    """
    kind = find_score_kind(model)
    compare_data(model, X_train, y, sample_weight)
    with single_threaded_blas():
        machines: list[MachineBounds] = []
        kernel: Kernel = Linear()
        for posed in pose_model(model, X_train, y, sample_weight, max_seconds):
            machines.append(bound_machine(posed, kind))
            kernel = find_kernel(model, posed.problem, X_train)
        optimum = OptimumScores(machines)
        samples = kernel.samples(check_features(model, X))
        predictions, reader = np.asarray(model.predict(X)), make_reader(model, kind)
        if isinstance(reader, CertifiedLabels):
            scores, certain = reader._certify(optimum, samples, predictions)
            return CertifiedPredictions(predictions, certain, *reader._arrange_bounds(scores))
        scores = optimum.refine(samples, np.ones((samples.n, len(machines)), bool))
        lower, upper = reader._arrange_bounds(scores)
        inside = np.isfinite(lower) & np.isfinite(upper) & (lower <= predictions) & (predictions <= upper)
        return CertifiedPredictions(predictions, inside, lower, upper)


def certify_support(
    model: Any, X: MatrixLike, y: Any = None, sample_weight: VectorLike | None = None, *, max_seconds: float = 30.0
) -> CertifiedSupport:
    """Which training samples certainly are support vectors of the exact optimum, and which certainly are not.

    A sample strictly beyond the margin at the optimum has the dual zero there, whichever optimal duals are taken; one
    strictly within it has a dual other than zero.

    Parameters
    ----------
    model, X, y, sample_weight, max_seconds
        As in `certify`.

    Returns
    -------
    CertifiedSupport

    See Also
    --------
    certify_predictions : The same for predictions of new samples.
    certify : How far the model is from its optimum.

    References
    ----------
    - A. Shibagaki, M. Karasuyama, K. Hatano and I. Takeuchi (2016), Simultaneous safe screening of features and
      samples in doubly sparse modeling, ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import SVC, certify_support
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> support = certify_support(SVC(kernel="linear", C=0.01).fit(X, y), X, y)
    >>> bool((support.certain & support.excluded).any())
    False
    """
    kind = find_score_kind(model)
    compare_data(model, X, y, sample_weight)
    with single_threaded_blas():
        certain = at_bound = np.zeros(0, bool)
        excluded = np.ones(0, bool)
        for posed in pose_model(model, X, y, sample_weight, max_seconds):
            if not len(certain):
                n = count_samples(X)
                certain, at_bound, excluded = np.zeros(n, bool), np.zeros(n, bool), np.ones(n, bool)
            found = find_certain_duals(posed.problem, bound_machine(posed, kind).scores)
            certain[posed.index] |= found.certain
            at_bound[posed.index] |= found.at_bound
            excluded[posed.index] &= found.excluded
        return CertifiedSupport(certain, excluded, at_bound)


def find_score_kind(model: Any) -> type[Estimator]:
    """Our class of a model that has scores."""
    kind = type(model) if isinstance(model, CertifiedScores) else find_kind(model)
    if not issubclass(kind, CertifiedScores):
        raise TypeError(f"certify_predictions takes a fitted machine with scores, got {name_type(model)}.")
    return kind


def bound_machine(posed: PosedMachine, kind: type[Estimator]) -> MachineBounds:
    """What is proven of one machine of a model."""
    certificate = judge_with_refinement(posed.problem, posed.point)
    if reason := find_refusal(posed.problem, certificate):
        raise ValueError(f"No bounds of {kind.__name__} can be proven: {reason}.")
    return join_margin(posed.problem, bound_optimum(posed.problem, posed.point, certificate), issubclass(kind, NuSVC))


def find_kernel(model: Any, problem: Problem, X_train: Any) -> Kernel:
    """How the problem sees samples: with gamma as a number, and moved as the training samples are."""
    if isinstance(model, LinearMachine):
        return model._make_kernel(check_features(model, X_train))
    return Linear() if problem.features.linear else problem.features.kernel


def make_reader(model: Any, kind: type[Any]) -> CertifiedScores:
    """The model itself if it is ours, else one of ours that reads scores as it does."""
    if isinstance(model, (KernelMachine, LinearMachine)):
        return model
    reader = kind()
    for name in ("decision_function_shape", "break_ties"):
        if hasattr(model, name):
            setattr(reader, name, getattr(model, name))
    if hasattr(model, "classes_"):
        reader.classes_, reader._preference = np.asarray(model.classes_), None
    reader._intercept_ = np.ravel(model.intercept_)
    return reader
