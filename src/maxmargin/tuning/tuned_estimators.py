"""SVCCV, SVRCV, LinearSVCCV, LinearSVRCV, RiskClassifierCV and RiskRegressorCV: machines that tune themselves."""

from __future__ import annotations

from typing import Any

from ..estimators import SVC, SVR, LinearSVC, LinearSVR, RiskClassifier, RiskRegressor
from ..runtime.scikit_learn import ClassifierMixin, RegressorMixin
from .tuned_machine import TunedMachine


class TunedClassifier(ClassifierMixin, TunedMachine):
    """Labels."""

    score = TunedMachine.score  # of the scorer that was asked for, where that of the mixin is accuracy


class TunedRegressor(RegressorMixin, TunedMachine):
    """Numbers."""

    score = TunedMachine.score


class SVCCV(TunedClassifier):
    """argmax over C and gamma of the mean held-out score of `SVC`, each cell certified; then `SVC` on all rows.

    In the manner of `sklearn.linear_model.LogisticRegressionCV`.

    Parameters
    ----------
    Cs, gammas : list of numbers, int or None, default=None
        Values to try; a number is that many, spaced evenly in the logarithm. None is a range from the data, searched
        from coarse to fine: docs/tuning.md says which. `gammas` may hold "scale" and "auto".
    cv : int, splitter or list of splits, default=None
        Folds; None is five, or as many as the smallest class has members.
    scoring : str or callable, default=None
        A scorer of scikit-learn; None is accuracy, or R^2.
    refit : bool, default=True
        Whether the best machine is fitted to all rows.
    n_jobs, verbose, max_seconds, checkpoint
        As in `maxmargin.model_selection.GridSearchCV`.
    kernel, degree, coef0, shrinking, tol, cache_size, class_weight, max_iter, decision_function_shape, break_ties
        As in `SVC`.
    random_state, loss, intercept, multi_class, solver, certify_labels
        As in `SVC`.

    Attributes
    ----------
    C_, gamma_ : float
        The best values.
    best_score_ : float
        Their mean score over the folds.
    best_estimator_ : SVC
        Fitted to all rows; its fitted attributes are those of this estimator, too.
    cv_results_ : dict
        As that of `GridSearchCV`, one row for each candidate.
    scores_ : ndarray of shape (n_candidates, n_folds)
        The score of each candidate on each fold.
    cell_certificates_ : dict of (candidate, fold) to Certificate
        How far from optimal each fit of the search is.
    search_message_ : str
        Why the search stopped.

    See Also
    --------
    SVC : The machine of one C and gamma.
    LinearSVCCV : Without a kernel.
    certify_tuning : Proves that no C in a range is much better.

    References
    ----------
    - Chu, Ho, Tsai, Lin and Lin (2015). Warm start for parameter selection of linear classifiers. KDD, 149-158.
    - DeCoste and Wagstaff (2000). Alpha seeding for support vector machines. KDD, 345-349.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> tuned = SVCCV(Cs=[0.1, 1, 10], gammas=[0.01, 0.1, 1]).fit(X, y)
    >>> tuned.C_, tuned.gamma_, round(float(tuned.best_score_), 3)
    (1.0, 0.1, 0.98)
    """

    machine_class, axis_names = SVC, ("C", "gamma")

    def __init__(self, **parameters: Any) -> None:
        self._set_parameters(parameters)


class SVRCV(TunedRegressor):
    """argmax over C and gamma of the mean held-out score of `SVR`, each cell certified; then `SVR` on all rows.

    Parameters
    ----------
    Cs, gammas, cv, scoring, refit, n_jobs, verbose, max_seconds, checkpoint
        As in `SVCCV`.
    kernel, degree, coef0, tol, epsilon, shrinking, cache_size, max_iter, loss, quantile, threshold, intercept, solver
        As in `SVR`.

    Attributes
    ----------
    C_, gamma_, best_score_, best_estimator_, cv_results_, scores_, cell_certificates_, search_message_
        As in `SVCCV`.

    See Also
    --------
    SVR : The machine of one C and gamma.
    LinearSVRCV : Without a kernel.

    References
    ----------
    - Cherkassky and Ma (2004). Practical selection of SVM parameters and noise estimation for SVM regression.
      Neural Networks 17, 113-126.
    - DeCoste and Wagstaff (2000). Alpha seeding for support vector machines. KDD, 345-349.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import SVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tuned = SVRCV(Cs=[100, 1000, 10000], gammas=[0.1, 1, 10], cv=3).fit(X, y)
    >>> tuned.C_ in (100, 1000, 10000), tuned.gamma_ in (0.1, 1, 10)
    (True, True)
    """

    machine_class, axis_names = SVR, ("C", "gamma")

    def __init__(self, **parameters: Any) -> None:
        self._set_parameters(parameters)


class LinearSVCCV(TunedClassifier):
    """argmax over C of the mean held-out score of `LinearSVC`, each cell certified; then `LinearSVC` on all rows.

    Parameters
    ----------
    Cs, cv, scoring, refit, n_jobs, verbose, max_seconds, checkpoint
        As in `SVCCV`.
    penalty, loss, dual, tol, multi_class, fit_intercept, intercept_scaling, class_weight, random_state, max_iter
        As in `LinearSVC`.
    intercept, solver, certify_labels
        As in `LinearSVC`.

    Attributes
    ----------
    C_, best_score_, best_estimator_, cv_results_, scores_, cell_certificates_, search_message_
        As in `SVCCV`.

    See Also
    --------
    LinearSVC : The machine of one C.
    SVCCV : With a kernel.

    References
    ----------
    - Chu, Ho, Tsai, Lin and Lin (2015). Warm start for parameter selection of linear classifiers. KDD, 149-158.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> tuned = LinearSVCCV(Cs=[0.1, 1, 10], cv=3).fit(X, y)
    >>> worst = max(cell.relative_gap for cell in tuned.cell_certificates_.values())
    >>> tuned.C_ in (0.1, 1, 10), worst <= tuned.tol
    (True, True)
    """

    machine_class = LinearSVC

    def __init__(self, **parameters: Any) -> None:
        self._set_parameters(parameters)


class LinearSVRCV(TunedRegressor):
    """argmax over C of the mean held-out score of `LinearSVR`, each cell certified; then `LinearSVR` on all rows.

    Parameters
    ----------
    Cs, cv, scoring, refit, n_jobs, verbose, max_seconds, checkpoint
        As in `SVCCV`.
    epsilon, tol, loss, fit_intercept, intercept_scaling, dual, random_state, max_iter, intercept, solver
        As in `LinearSVR`.

    Attributes
    ----------
    C_, best_score_, best_estimator_, cv_results_, scores_, cell_certificates_, search_message_
        As in `SVCCV`.

    See Also
    --------
    LinearSVR : The machine of one C.
    SVRCV : With a kernel.

    References
    ----------
    - Chu, Ho, Tsai, Lin and Lin (2015). Warm start for parameter selection of linear classifiers. KDD, 149-158.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tuned = LinearSVRCV(Cs=[100, 1000, 10000], cv=3).fit(X, y)
    >>> worst = max(cell.relative_gap for cell in tuned.cell_certificates_.values())
    >>> tuned.C_ in (100, 1000, 10000), worst <= tuned.tol
    (True, True)
    """

    machine_class = LinearSVR

    def __init__(self, **parameters: Any) -> None:
        self._set_parameters(parameters)


class RiskClassifierCV(TunedClassifier):
    """argmax over C of the mean held-out score of `RiskClassifier`, each cell certified; refitted to all rows.

    Parameters
    ----------
    Cs, cv, scoring, refit, n_jobs, verbose, max_seconds, checkpoint
        As in `SVCCV`.
    loss, penalty, tol, intercept, intercept_scaling, class_weight, multi_class, label_costs, label_scales
        As in `RiskClassifier`.
    solver, max_iter, certify_labels
        As in `RiskClassifier`.

    Attributes
    ----------
    C_, best_score_, best_estimator_, cv_results_, scores_, cell_certificates_, search_message_
        As in `SVCCV`.

    See Also
    --------
    RiskClassifier : The machine of one C.
    SVCCV : With a kernel.

    References
    ----------
    - Chu, Ho, Tsai, Lin and Lin (2015). Warm start for parameter selection of linear classifiers. KDD, 149-158.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import RiskClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> tuned = RiskClassifierCV(Cs=[0.1, 1, 10], cv=3).fit(X, y)
    >>> worst = max(cell.relative_gap for cell in tuned.cell_certificates_.values())
    >>> tuned.C_ in (0.1, 1, 10), worst <= tuned.tol
    (True, True)
    """

    machine_class = RiskClassifier

    def __init__(self, **parameters: Any) -> None:
        self._set_parameters(parameters)


class RiskRegressorCV(TunedRegressor):
    """argmax over C of the mean held-out score of `RiskRegressor`, each cell certified; refitted to all rows.

    Parameters
    ----------
    Cs, cv, scoring, refit, n_jobs, verbose, max_seconds, checkpoint
        As in `SVCCV`.
    loss, tol, quantile, epsilon, threshold, M, intercept, intercept_scaling, solver, max_iter
        As in `RiskRegressor`.

    Attributes
    ----------
    C_, best_score_, best_estimator_, cv_results_, scores_, cell_certificates_, search_message_
        As in `SVCCV`.

    See Also
    --------
    RiskRegressor : The machine of one C.
    SVRCV : With a kernel.

    References
    ----------
    - Chu, Ho, Tsai, Lin and Lin (2015). Warm start for parameter selection of linear classifiers. KDD, 149-158.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import RiskRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tuned = RiskRegressorCV(Cs=[100, 1000, 10000], cv=3).fit(X, y)
    >>> worst = max(cell.relative_gap for cell in tuned.cell_certificates_.values())
    >>> tuned.C_ in (100, 1000, 10000), worst <= tuned.tol
    (True, True)
    """

    machine_class = RiskRegressor

    def __init__(self, **parameters: Any) -> None:
        self._set_parameters(parameters)
