"""LinearSVC and LinearSVR."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..contracts.losses import Loss
from ..runtime.scikit_learn import Interval, StrOptions, check_liblinear_arguments
from ..solvers.result import Result, Status
from .linear_machine import LinearMachine
from .linear_probabilities import LinearProbabilities
from .linear_regressor import LinearRegressor
from .losses import constrain_loss, make_loss
from .multiclass import split_weighing_one
from .parameters import takes_parameter
from .regression import TUBE_LOSSES
from .tasks import Task
from .validation import (
    CERTIFY_CONSTRAINT,
    CHECKPOINT_CONSTRAINT,
    JOBS_CONSTRAINT,
    LINEAR_CONSTRAINTS,
    METHOD_CONSTRAINT,
    UNLIMITED_ITERATIONS,
)

if TYPE_CHECKING:
    from ..contracts.inputs import ClassWeight, FilePath, LossLike, RandomState, SolverLike

LIBLINEAR_CONSTRAINTS: dict[str, Any] = {
    **LINEAR_CONSTRAINTS,
    "dual": ["boolean", StrOptions({"auto"})],
    "fit_intercept": ["boolean"],
    "random_state": ["random_state"],
    "checkpoint": CHECKPOINT_CONSTRAINT,
}


class LiblinearMachine(LinearMachine):
    """What users of LIBLINEAR know: which arguments go together, and what it says where it stops early."""

    is_drop_in = True
    has_risk_bounds = True
    local_parameters = ("checkpoint",)

    def _check_arguments(self, shape: tuple[int, int]) -> None:
        """Refuse what LIBLINEAR refuses, in its words; it has no word for losses that are objects."""
        multi_class, penalty = self._parameter("multi_class"), self._parameter("penalty")
        if not isinstance(self.loss, Loss):
            check_liblinear_arguments(multi_class, penalty, self.loss, self.dual, shape)
        elif penalty == "l1" and multi_class == "ovr" and self.loss.kinked:
            raise ValueError(f"penalty='l1' needs a smooth loss, got loss={self.loss!r}.")

    def _warning_prefix(self, result: Result) -> str:
        """LIBLINEAR's warning."""
        if result.status is not Status.MAX_ITER:
            return ""
        return "Liblinear failed to converge, increase the number of iterations. "


class LinearSVC(LiblinearMachine, LinearProbabilities):
    """min 1/2 |w|^2 + 1/2 (b/t)^2 + C sum_i s_i max(0, 1 - y_i (<w, x_i> + b))^2: linear classification, certified.

    A drop-in for `sklearn.svm.LinearSVC`: its problem, parameters, attributes, shapes and signs. The term (b/t)^2, with
    t the `intercept_scaling`, is that of a regularised intercept; ``intercept="free"`` leaves it out.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l1" is |w|_1 in place of 1/2 |w|^2: most coefficients become zero.
    loss : {"squared_hinge", "hinge"} or Loss, default="squared_hinge"
        max(0, 1 - y f)^2, without 1/2, or max(0, 1 - y f); an object is any convex loss for labels, see docs/linear.md.
    dual : bool or "auto", default="auto"
        Checked as in scikit-learn; the choice of the solver does not depend on it.
    tol : float, default=1e-4
        The certified relative duality gap to reach, (P - D) / max(|P|, |D|).
    C : float, default=1.0
        Weight of the losses against the penalty. Infinity is taken as 1e10, a hard margin, and more than 1e30 as 1e30.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        Each class against the rest, or sum_i c_i max(0, 1 + max_{m != y_i} f_m - f_{y_i}) over all classes at once;
        then penalty, loss and dual are ignored.
    fit_intercept : bool, default=True
        False is intercept="none".
    intercept_scaling : float, default=1
        The constant column of a regularised intercept.
    class_weight : dict or "balanced", default=None
        Factors of C for each class; with many classes, of the class that is fitted against the rest, as in LIBLINEAR.
    verbose : int, default=0
        1 shows a live line while it fits, in a terminal or a notebook, and at the end status and certificate; elsewhere
        only those are printed. More is the same as 1.
    random_state : int, RandomState or None
        For the folds of `probability`; nothing else here is random.
    max_iter : int, default=1_000_000_000
        Limit of iterations of the solver for each binary problem; the default and -1 are none.
    intercept : {"regularised", "free", "none"}, default="regularised"
        Whether b is inside the penalty (as in LIBLINEAR and scikit-learn), outside it (as in `SVC`), or zero. We
        recommend "free" unless results must agree with scikit-learn's: it does not depend on the origin of the data.
    solver : "auto", a name or a solver object, default="auto"
    max_seconds : float, default=None
        Time for the whole fit; the best point so far is kept.
    warm_start : bool, default=False
        Start from the last fit, if it was on the same samples.
    n_jobs : int, default=None
        Binary problems solved side by side; None is all cores.
    probability : {False, True, "sigmoid", "isotonic", "temperature"}, default=False
        How `predict_proba` maps decision values to probabilities; the map is fitted to rows held out by five folds, see
        docs/probabilities.md. True is "sigmoid".
    checkpoint : path, default=None
        A file to which the fit writes its state: at its end, and every few seconds if the data come in blocks. If it
        holds the state of the same problem, the fit continues from there. Each of several problems has a file of its
        own, with its number added to the name.
    certify_labels : float in [0, 1], default=None
        As in `SVC`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,), or 0.0 where there is none
    certificate_, certificates_, result_, results_
        As in `SVC`; ``result_.point.a`` are the duals.
    n_iter_ : int
        The most iterations of a binary problem. ``n_iter_ >= max_iter`` means that the fit has not converged.
        ``result_.n_iter`` is the count of one problem.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RiskClassifier : More losses, and a free intercept by default.
    SVC : With a kernel.
    LinearSVCCV : Finds C itself.

    References
    ----------
    - Fan, Chang, Hsieh, Wang and Lin (2008). LIBLINEAR: a library for large linear classification. Journal of
      Machine Learning Research 9, 1871-1874.
    - Hsieh, Chang, Lin, Keerthi and Sundararajan (2008). A dual coordinate descent method for large-scale linear
      SVM. ICML, 408-415.
    - Crammer and Singer (2001). On the algorithmic implementation of multiclass kernel-based vector machines.
      Journal of Machine Learning Research 2, 265-292.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC().fit(scale(X), y)
    >>> model.coef_.shape, model.certificate_.relative_gap <= model.tol
    ((1, 30), True)
    """

    losses = ("hinge", "squared_hinge")
    loss_targets = ("label",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LIBLINEAR_CONSTRAINTS,
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": constrain_loss(losses),
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": JOBS_CONSTRAINT,
        "probability": METHOD_CONSTRAINT,
        "certify_labels": CERTIFY_CONSTRAINT,
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: LossLike = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: ClassWeight = None,
        verbose: int = 0,
        random_state: RandomState = None,
        max_iter: int = UNLIMITED_ITERATIONS,
        intercept: str = "regularised",
        solver: SolverLike = "auto",
        max_seconds: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        probability: bool | str = False,
        checkpoint: FilePath | None = None,
        certify_labels: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.intercept = intercept
        self.solver = solver
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        if n_jobs is not None or takes_parameter(type(self), "n_jobs"):
            self.n_jobs = n_jobs
        self.probability = probability
        self.checkpoint = checkpoint
        if certify_labels is not None or takes_parameter(type(self), "certify_labels"):
            self.certify_labels = certify_labels

    def _loss(self) -> Loss:
        return make_loss(self.loss, self)

    def _split(self, y: np.ndarray, c: np.ndarray, class_weight: np.ndarray) -> list[Task]:
        """LIBLINEAR's one-vs-rest: the rest is not weighed."""
        return split_weighing_one(y, c, class_weight)

    def _weigh_one(self, class_weight: np.ndarray, positive: int) -> np.ndarray:
        return np.where(np.arange(len(class_weight)) == positive, class_weight, 1.0)


class LinearSVR(LiblinearMachine, LinearRegressor):
    """min 1/2 |w|^2 + 1/2 (b/t)^2 + C sum_i s_i max(0, |<w, x_i> + b - y_i| - epsilon): linear regression, certified.

    A drop-in for `sklearn.svm.LinearSVR`: its problem, parameters, attributes, shapes and signs. The term (b/t)^2, with
    t the `intercept_scaling`, is that of a regularised intercept; ``intercept="free"`` leaves it out.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"} or Loss, default="epsilon_insensitive"
        An object is any convex loss for real targets, see docs/linear.md; epsilon is then ignored.
    tol, C, fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter, intercept, solver
        As in `LinearSVC`.
    max_seconds, warm_start, checkpoint
        As in `LinearSVC`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,), or 0.0 where there is none
    certificate_, certificates_, result_, results_, n_iter_, n_features_in_, feature_names_in_
        As in `LinearSVC`.

    See Also
    --------
    RiskRegressor : More losses, and a free intercept by default.
    SVR : With a kernel.
    LinearSVRCV : Finds C itself.

    References
    ----------
    - Ho and Lin (2012). Large-scale linear support vector regression. Journal of Machine Learning Research 13,
      3323-3348.
    - Fan, Chang, Hsieh, Wang and Lin (2008). LIBLINEAR: a library for large linear classification. Journal of
      Machine Learning Research 9, 1871-1874.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=10).fit(X, y)
    >>> model.coef_.shape, model.certificate_.relative_gap <= model.tol
    ((10,), True)
    """

    losses = tube_losses = TUBE_LOSSES
    loss_targets = ("real",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LIBLINEAR_CONSTRAINTS,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "loss": constrain_loss(losses),
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: LossLike = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: int = 0,
        random_state: RandomState = None,
        max_iter: int = UNLIMITED_ITERATIONS,
        intercept: str = "regularised",
        solver: SolverLike = "auto",
        max_seconds: float | None = None,
        warm_start: bool = False,
        checkpoint: FilePath | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.intercept = intercept
        self.solver = solver
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.checkpoint = checkpoint

    def _loss(self) -> Loss:
        return make_loss(self.loss, self)
