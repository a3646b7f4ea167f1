"""SVC and NuSVC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ..model.formulations import NuClassification, Risk, largest_nu
from ..runtime.scikit_learn import NO_PROBABILITY
from ..runtime.user_warnings import warn_user
from .kernel_classifier import KernelClassifier
from .losses import constrain_loss, make_loss
from .parameters import takes_parameter
from .tasks import Task
from .validation import C_CONSTRAINT, NU_CONSTRAINT, bound_cost

if TYPE_CHECKING:
    from ..contracts.inputs import ClassWeight, KernelLike, LossLike, RandomState, SolverLike


class SVC(KernelClassifier):
    """min 1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i f(x_i)): support vector classification, certified.

    A drop-in for `sklearn.svm.SVC`: its parameters, attributes, shapes and signs.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against 1/2 |w|^2. Infinity is taken as 1e10, a hard margin, and more than 1e30 as 1e30.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"}, callable or Kernel, default="rbf"
        With "precomputed", `fit` takes the matrix of all kernel values, and `predict` those of new samples against all
        training samples, or against the support vectors only: K[:, model.support_] where not all are support vectors.
    degree : int, default=3
        The degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (n_features Var(X)), samples counted by their weights; "auto" is 1 / n_features.
    coef0 : float, default=0.0
        The constant in the polynomial and the sigmoid kernel.
    shrinking : bool, default=True
        Whether to set aside samples whose duals stay at a bound. This changes the time of a fit, not its result.
    probability : {False, True, "sigmoid", "isotonic", "temperature"}, default=False
        How `predict_proba` maps decision values to probabilities; the map is fitted to rows held out by five folds, see
        docs/probabilities.md. With a name, the predicted class always has the largest probability. True is "sigmoid" as
        in LIBSVM and scikit-learn, which deprecates the parameter from 1.9 on: there the default is "deprecated", and
        True and False warn. If Ctrl-C or `max_seconds` ends the fit before its folds are trained, the machine has no
        probabilities; a fit with `warm_start=True` adds them.
    tol : float, default=1e-5
        The certified relative duality gap to reach, (P - D) / max(|P|, |D|).
    cache_size : float, default=200
        Megabytes of memory for kernel rows.
    class_weight : dict or "balanced", default=None
        Factors of C for each class. "balanced" gives every class the same total weight.
    verbose : int, default=False
        1 shows a live line while it fits, in a terminal or a notebook, and at the end status and certificate; elsewhere
        only those are printed. More is the same as 1.
    max_iter : int, default=-1
        Limit of pair steps for each binary problem; -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` has a column for each class or for each pair of classes.
    break_ties : bool, default=False
        If several classes win the same number of pairs, whether `predict` chooses by `decision_function`, or takes the
        first of them.
    random_state : int, RandomState or None
        For the folds of `probability`.
    loss : {"hinge", "squared_hinge"} or Loss, default="hinge"
        "squared_hinge" is max(0, 1 - y f)^2, without 1/2, as in LIBLINEAR. An object is any convex loss for labels, see
        docs/linear.md.
    intercept : {"free", "regularised", "none"}, default="free"
        Whether b is outside the penalty (as in LIBSVM), inside it (as in LIBLINEAR), or zero.
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
    certify_labels : float in [0, 1], default=None
        A share of the training labels: the fit continues beyond `tol` until that share is certain to be the labels of
        the exact optimum; see docs/certified_predictions.md. `certified_share_` is the share that was reached.

    Attributes
    ----------
    certificate_ : Certificate
        Primal, dual, gap, relative gap and KKT violation; the worst of the binary problems.
    certificates_, results_ : list
        Those of all binary problems.
    result_ : Result
        Status, history, counters and message of the worst of them.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn.
    classes_, class_weight_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn.
    free_support_, bounded_support_ : ndarray
        Indices of the support vectors on the margin and beyond it.
    margin_width_ : ndarray
        2 / |w| of each binary machine.

    See Also
    --------
    NuSVC : The same with nu in place of C.
    LinearSVC : For many rows and a linear kernel.
    SVCCV : Finds C and gamma itself.
    certify : Judges machines of other libraries.

    References
    ----------
    - Boser, Guyon and Vapnik (1992). A training algorithm for optimal margin classifiers. COLT, 144-152.
    - Cortes and Vapnik (1995). Support-vector networks. Machine Learning 20, 273-297.
    - Chang and Lin (2011). LIBSVM: a library for support vector machines. ACM Transactions on Intelligent Systems
      and Technology 2, 27:1-27.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10).fit(X, y)
    >>> model.predict(X[:2]).tolist(), round(model.score(X, y), 2)
    ([0, 0], 0.99)
    >>> model.certificate_.relative_gap <= model.tol
    True
    """

    losses = ("hinge", "squared_hinge")
    loss_targets = ("label",)
    has_risk_bounds = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "C": C_CONSTRAINT,
        "loss": constrain_loss(losses),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelLike = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = NO_PROBABILITY,
        tol: float = 1e-5,
        cache_size: float = 200,
        class_weight: ClassWeight = None,
        verbose: int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: RandomState = None,
        loss: LossLike = "hinge",
        intercept: str = "free",
        multi_class: str = "ovo",
        solver: SolverLike = "auto",
        max_seconds: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        certify_labels: float | None = None,
    ) -> None:
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
        if n_jobs is not None or takes_parameter(type(self), "n_jobs"):
            self.n_jobs = n_jobs
        if certify_labels is not None or takes_parameter(type(self), "certify_labels"):
            self.certify_labels = certify_labels

    def _formulation(self) -> Risk:
        return Risk(self.intercept, loss=make_loss(self.loss, self))

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
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose, max_iter
        As in `SVC`.
    decision_function_shape, break_ties, random_state, intercept, multi_class, solver, max_seconds
        As in `SVC`.
    warm_start, n_jobs, certify_labels
        As in `SVC`.

    Attributes
    ----------
    certificate_, certificates_, result_, results_, free_support_, bounded_support_, margin_width_
        As in `SVC`.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn.
    classes_, class_weight_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn.

    See Also
    --------
    SVC : The same with C in place of nu.
    OneClassSVM : One class only.

    References
    ----------
    - Schölkopf, Smola, Williamson and Bartlett (2000). New support vector algorithms. Neural Computation 12,
      1207-1245.
    - Chang and Lin (2011). LIBSVM: a library for support vector machines. ACM Transactions on Intelligent Systems
      and Technology 2, 27:1-27.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NuSVC(nu=0.1).fit(X, y)
    >>> round(model.score(X, y), 2), model.certificate_.relative_gap <= model.tol
    (0.99, True)
    """

    formulation_type = NuClassification
    _parameter_constraints: ClassVar[dict[str, Any]] = {**KernelClassifier._parameter_constraints, "nu": NU_CONSTRAINT}

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: KernelLike = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = NO_PROBABILITY,
        tol: float = 1e-5,
        cache_size: float = 200,
        class_weight: ClassWeight = None,
        verbose: int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: RandomState = None,
        intercept: str = "free",
        multi_class: str = "ovo",
        solver: SolverLike = "auto",
        max_seconds: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        certify_labels: float | None = None,
    ) -> None:
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
        if n_jobs is not None or takes_parameter(type(self), "n_jobs"):
            self.n_jobs = n_jobs
        if certify_labels is not None or takes_parameter(type(self), "certify_labels"):
            self.certify_labels = certify_labels

    def _formulation(self) -> NuClassification:
        return NuClassification(self.intercept, nu=self.nu)

    def _cost(self) -> float:
        return 1.0

    def _refuse_one_class(self) -> NoReturn:
        raise ValueError(f"specified nu is infeasible: nu={self.nu}, but all samples belong to the same class.")

    def _check_tasks(self, tasks: Sequence[Task]) -> None:
        """nu (c_+ + c_-) / 2 <= min(c_+, c_-), or no duals can balance; the largest nu that can is taken instead."""
        if self.intercept != "free":
            return
        for task in tasks:
            largest = largest_nu(task.y, task.c)
            if largest == 0:
                self._refuse_one_class()
            if self.nu > largest:
                warn_user(
                    f"specified nu is infeasible: nu={self.nu}, but these classes allow at most {largest:.4g}, "
                    "which is used instead."
                )
