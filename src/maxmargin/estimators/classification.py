"""SVC and NuSVC."""

from __future__ import annotations

import warnings
from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..model.features import FLOAT32_MIN_TOL
from ..model.formulations import NuClassification, Risk, largest_nu
from ..model.losses import LOSSES
from ..model.tiles import evaluate_scores
from ..runtime.scikit_learn import (
    NO_PROBABILITY,
    PROBABILITY_CONSTRAINT,
    StrOptions,
    count_votes,
    deprecate_with_probability,
    fit_context,
    warn_of_probability,
)
from .machine import KernelMachine
from .multiclass import (
    order_support,
    pack_pairs,
    split_one_vs_one,
    split_one_vs_rest,
    spread_duals,
    unpack_pairs,
    vote,
    weigh_classes,
)
from .probability import FOLDS, calibrate_pairs, couple_pairs
from .tasks import Task
from .validation import (
    C_CONSTRAINT,
    CONSTRAINTS,
    INTERCEPT_CONSTRAINT,
    JOBS_CONSTRAINT,
    NU_CONSTRAINT,
    bound_cost,
    check_loss_weights,
)


def _wants_probability(estimator) -> bool:
    """predict_proba exists only where probability=True asked for it."""
    if estimator.probability == "deprecated" or not estimator.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class KernelClassifier(ClassifierMixin, KernelMachine):
    """Binary machines for every pair of classes (one-vs-one) or every class (one-vs-rest), and their vote."""

    task = "classification"
    is_drop_in = True
    _parameter_constraints: ClassVar[dict] = {
        **CONSTRAINTS,
        "intercept": INTERCEPT_CONSTRAINT,
        "probability": PROBABILITY_CONSTRAINT,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "n_jobs": JOBS_CONSTRAINT,
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """min 1/2 |w|^2 + sum_i c_i l(f_i; y_i) for each pair of classes, certified.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training vectors, or the Gram matrix if kernel="precomputed".
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C. Weight 2 equals the row twice; rows with weight zero or less are left out.

        Returns
        -------
        self
        """
        warn_of_probability(type(self).__name__, self.probability)
        return self._fit(X, y, sample_weight)

    # ---- from labels to tasks and back --------------------------------------------------------------------

    def _encode(self, y) -> np.ndarray:
        """Class indices 0..k-1; sets classes_."""
        labels = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, y = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        self.classes_ = classes
        return y

    def _sort_samples(self, features, y, weight):
        """Samples class by class where there are many classes, so that each pair is two runs of rows."""
        if len(self.classes_) == 2:
            return super()._sort_samples(features, y, weight)
        self._order = np.argsort(y, kind="stable")
        features, y = features.subset(self._order), y[self._order]
        if not self._one_vs_rest:
            exact = self.tol < FLOAT32_MIN_TOL or features.small
            features.pack(np.searchsorted(y, np.arange(len(self.classes_))), exact)
        return features, y, None if weight is None else weight[self._order]

    def _tasks(self, y: np.ndarray, weight: np.ndarray | None) -> list[Task]:
        """One task for each pair of classes, or for each class against the rest; sets class_weight_."""
        self.class_weight_ = weigh_classes(self.class_weight, self.classes_, y, weight)
        c = self._cost() * self.class_weight_[y] * (1.0 if weight is None else weight)
        check_loss_weights(c[c > 0])
        present = np.unique(y[c > 0])
        if len(present) < 2:
            self._refuse_one_class()
        split = split_one_vs_rest if self._one_vs_rest else split_one_vs_one
        tasks = split(y, c, len(self.classes_))
        for task in tasks:
            self._check_task(task)
        return tasks

    @property
    def _one_vs_rest(self) -> bool:
        """Whether each class is trained against all others; with two classes there is only one pair."""
        return self.multi_class == "ovr" and len(self.classes_) > 2

    def _refuse_one_class(self):
        raise ValueError("Invalid input - all samples with positive weights belong to the same class.")

    def _check_task(self, task: Task) -> None:
        if abs(task.y.sum()) == len(task.y):
            self._refuse_one_class()

    def _unpack(self, y, tasks, fits) -> None:
        """LIBSVM's arrays, with scikit-learn's shapes and signs."""
        n_classes = len(self.classes_)
        arrange, parts = spread_duals if self._one_vs_rest else pack_pairs, [fit.machine.coef for fit in fits]
        duals = arrange([task.index for task in tasks], parts, y, n_classes)
        support, self._n_support = order_support(duals, y, n_classes)
        duals = duals[:, support]
        self._store_support(support)
        self._dual_coef_, self._intercept_ = duals, np.array([fit.machine.b for fit in fits], float)
        if self._one_vs_rest:
            self.dual_coef_, self.intercept_ = self._dual_coef_, self._public_intercepts()
        else:
            flip = -1.0 if n_classes == 2 else 1.0
            self.dual_coef_, self.intercept_ = flip * self._dual_coef_ + 0.0, flip * self._public_intercepts() + 0.0
        self.n_iter_ = np.array([fit.result.n_iter for fit in fits], np.int32)
        self._probA = self._probB = np.empty(0)
        self._preference = None  # model files of LIBSVM have an order of their own in which ties are decided
        self._match_sparsity()

    def _count_solves(self, tasks) -> int:
        """Every task once, and five times more for the folds of its probabilities."""
        return len(tasks) * (1 + FOLDS if self.probability is True else 1)

    def _finish_fit(self, posed, budget, observation) -> None:
        """Probabilities, where they were asked for."""
        if self.probability is not True:
            return
        self._probA, self._probB = calibrate_pairs(self, posed, budget, observation)
        ended = budget.interrupt or observation.stopped or not all(result.converged for result in self.results_)
        if not (len(self._probA) or ended):  # else it is said elsewhere that the fit was ended
            warnings.warn(
                "The fit ended before the probabilities were there; raise max_seconds, or go on with warm_start=True.",
                ConvergenceWarning,
                stacklevel=5,
            )

    # ---- prediction ---------------------------------------------------------------------------------------

    def _expansion(self) -> np.ndarray:
        """One column of coefficients for each binary machine."""
        table = super()._expansion().T
        return table.T if self._one_vs_rest or len(self.classes_) == 2 else unpack_pairs(table, self._n_support)

    def _weigh_support(self, samples, support) -> np.ndarray:
        """sum_i coef_i k(x_i, x) of each machine; by classes where every pair has coefficients of two classes only."""
        if self._one_vs_rest or len(self.classes_) == 2:
            return super()._weigh_support(samples, support)
        table, ends = super()._expansion(), np.concatenate([[0], np.cumsum(self._n_support)])
        parts = [
            evaluate_scores(self._kernel, samples, support.take(slice(start, stop)), table[start:stop])
            for start, stop in pairwise(ends)
        ]
        pairs = combinations(range(len(self.classes_)), 2)
        return np.column_stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs])

    def _linear_coef(self):
        coef = super()._linear_coef()
        return -coef if len(self.classes_) == 2 else coef

    def decision_function(self, X) -> np.ndarray:
        """f(x) of each binary machine, or their one-vs-rest summary.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_classes (n_classes - 1) / 2)
            One column for two classes (positive means classes_[1]); with decision_function_shape="ovr" one column
            a class, else one column a pair.
        """
        decisions = self._decision_values(X)
        if len(self.classes_) == 2:
            return -decisions.ravel()
        if self._one_vs_rest or self.decision_function_shape == "ovo":
            return decisions
        return count_votes(decisions < 0, -decisions, len(self.classes_))

    def predict(self, X) -> np.ndarray:
        """The class with f(x) largest, or with most pairs won.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if len(self.classes_) == 2:
            choice = (self.decision_function(X) > 0).astype(int)
        elif self._one_vs_rest or self.break_ties:
            choice = np.argmax(self.decision_function(X), axis=1)
        else:
            choice = vote(self._decision_values(X), len(self.classes_), self._preference)
        return self.classes_.take(choice)

    @property
    def margin_width_(self) -> np.ndarray:
        """2 / |w| of each binary machine."""
        check_is_fitted(self)
        with np.errstate(divide="ignore"):
            return 2.0 / self._norms

    # ---- probabilities ------------------------------------------------------------------------------------

    @property
    def wants_probabilities(self) -> bool:
        """Whether probability=True asks for folds after the solves."""
        return self.probability is True

    @property
    def has_probabilities(self) -> bool:
        """Whether the folds were fitted."""
        return self.wants_probabilities and len(self._probA) > 0

    @available_if(_wants_probability)
    def predict_proba(self, X) -> np.ndarray:
        """P(y = k | x) by a sigmoid for each pair, fitted on held-out decisions, and pairwise coupling.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For two classes the larger probability is always that of the predicted class.
        """
        check_is_fitted(self)
        if self._probA.size == 0:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, nor where the fit ended before "
                "the probabilities were there: fit again, for instance with warm_start=True."
            )
        decisions = self._decision_values(X)
        return couple_pairs(decisions, self._probA, self._probB, len(self.classes_), rest=self._one_vs_rest)

    @available_if(_wants_probability)
    def predict_log_proba(self, X) -> np.ndarray:
        """log P(y = k | x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))

    @deprecate_with_probability
    @property
    def probA_(self) -> np.ndarray:
        """Slopes A of the sigmoids 1 / (1 + exp(A f + B))."""
        return self._probA

    @deprecate_with_probability
    @property
    def probB_(self) -> np.ndarray:
        """Shifts B of the sigmoids 1 / (1 + exp(A f + B))."""
        return self._probB


class SVC(KernelClassifier):
    """min 1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i f(x_i)): support vector classification, certified.

    A drop-in for `sklearn.svm.SVC`: its parameters, attributes, shapes and signs.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against 1/2 |w|^2. Infinity is taken as 1e10, a hard margin, and more than 1e30 as 1e30.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"}, callable or Kernel, default="rbf"
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (n_features Var(X)), samples counted by their weights; "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Of the polynomial and the sigmoid kernel.
    shrinking : bool, default=True
    probability : bool, default=False
        As in scikit-learn, where it is deprecated from 1.9 on: the default is "deprecated" there, and another value
        warns. Where Ctrl-C or `max_seconds` end the fit before its folds are trained, the machine has no probabilities;
        a fit with `warm_start=True` makes them.
    tol : float, default=1e-5
        The certified relative duality gap to reach, (P - D) / max(|P|, |D|).
    cache_size : float, default=200
        Megabytes for kernel rows.
    class_weight : dict or "balanced", default=None
        Multiplies C class by class.
    verbose : int, default=False
        1 shows a live line while it fits, in a terminal or a notebook, and at the end status and certificate; elsewhere
        only those are printed. More is the same as 1.
    max_iter : int, default=-1
        Limit of pair steps for each binary problem; -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
    random_state : int, RandomState or None
        For the folds of `probability=True`.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        "squared_hinge" is max(0, 1 - y f)^2, without 1/2, as in LIBLINEAR.
    intercept : {"free", "regularised", "none"}, default="free"
        Whether b is outside the regulariser (as LIBSVM), inside it (as LIBLINEAR), or zero.
    multi_class : {"ovo", "ovr"}, default="ovo"
        Train a machine for each pair of classes, or for each class against the rest.
    solver : "auto", "smo" or a solver object, default="auto"
        For instance ``SMO(selection="mvp", stop="kkt")``.
    max_seconds : float, default=None
        Time budget of the whole fit; the best point so far is kept, with its certificate.
    warm_start : bool, default=False
        Start from the duals of the last fit, if it had the same samples.
    n_jobs : int, default=None
        Binary problems solved side by side; None is all cores.

    Attributes
    ----------
    certificate_ : Certificate
        Primal, dual, gap, relative gap and KKT violation; the worst of the binary problems.
    certificates_, results_ : list
        Those of all binary problems.
    result_ : Result
        Status, history, counters and message of the worst of them.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_, n_iter_, \
    fit_status_, shape_fit_
        As in scikit-learn.
    free_support_, bounded_support_ : ndarray
        Indices of the support vectors on the margin and beyond it.
    margin_width_ : ndarray
        2 / |w| of each binary machine.
    """

    losses = ("hinge", "squared_hinge")
    has_risk_bounds = True
    _parameter_constraints: ClassVar[dict] = {
        **KernelClassifier._parameter_constraints,
        "C": C_CONSTRAINT,
        "loss": [StrOptions(set(losses))],
    }

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability=NO_PROBABILITY,
        tol=1e-5,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        loss="hinge",
        intercept="free",
        multi_class="ovo",
        solver="auto",
        max_seconds=None,
        warm_start=False,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.loss = loss
        self.intercept = intercept
        self.multi_class = multi_class
        self.solver = solver
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def _formulation(self) -> Risk:
        return Risk(self.intercept, loss=LOSSES[self.loss]())

    def _cost(self) -> float:
        return bound_cost(self.C)


class NuSVC(KernelClassifier):
    """min 1/2 |w|^2 - nu (sum s) rho + sum_i s_i max(0, rho - y_i f(x_i)): nu bounds the share of margin errors.

    A drop-in for `sklearn.svm.NuSVC`; the machine is divided by rho, so that margins are 1. Class weights multiply
    the sample weights.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the share of margin errors and a lower bound on the share of support vectors.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose, max_iter, \
    decision_function_shape, break_ties, random_state, intercept, multi_class, solver, max_seconds, warm_start, n_jobs
        As in `SVC`.
    """

    _parameter_constraints: ClassVar[dict] = {**KernelClassifier._parameter_constraints, "nu": NU_CONSTRAINT}

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability=NO_PROBABILITY,
        tol=1e-5,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        intercept="free",
        multi_class="ovo",
        solver="auto",
        max_seconds=None,
        warm_start=False,
        n_jobs=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.intercept = intercept
        self.multi_class = multi_class
        self.solver = solver
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def _formulation(self) -> NuClassification:
        return NuClassification(self.intercept, nu=self.nu)

    def _cost(self) -> float:
        return 1.0

    def _refuse_one_class(self):
        raise ValueError(f"specified nu is infeasible: nu={self.nu}, but all samples belong to the same class.")

    def _check_task(self, task: Task) -> None:
        """nu (c_+ + c_-) / 2 <= min(c_+, c_-), or no duals can balance; the largest nu that can is taken instead."""
        if self.intercept != "free":
            return
        largest = largest_nu(task.y, task.c)
        if largest == 0:
            self._refuse_one_class()
        if self.nu > largest:
            warnings.warn(
                f"specified nu is infeasible: nu={self.nu}, but these classes allow at most {largest:.4g}, "
                "which is taken instead.",
                UserWarning,
                stacklevel=7,
            )
