"""RiskClassifier: regularised risk minimisation with any convex loss for labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..contracts.losses import Loss
from ..model.losses import MulticlassHinge, Softmax
from ..runtime.scikit_learn import NotFittedError, StrOptions, available_if
from ..runtime.scipy_functions import log_expit, log_softmax, logsumexp
from .block_data import apply_blockwise
from .linear_probabilities import LinearProbabilities
from .linear_problems import LinearFit
from .losses import constrain_loss, find_logit_scale, make_loss, name_loss
from .validation import (
    CERTIFY_CONSTRAINT,
    CHECKPOINT_CONSTRAINT,
    JOBS_CONSTRAINT,
    LINEAR_CONSTRAINTS,
    METHOD_CONSTRAINT,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..contracts.inputs import ClassWeight, FilePath, LossLike, MatrixLike, SolverLike

CLASSIFICATION_LOSSES = ("hinge", "squared_hinge", "exponential", "logistic")
JOINT_LOSSES = {"crammer_singer": "hinge", "softmax": "logistic"}


def _has_probabilities(estimator: Any) -> bool:
    """predict_proba exists where the minimiser of the loss is a function of P(y = 1), or `probability` asks for it."""
    if not estimator.probability and not find_logit_scale(estimator.loss):
        raise AttributeError(
            f"Probabilities are available with loss='logistic' or loss='exponential', not with {estimator.loss!r}; "
            "or with probability='sigmoid', 'isotonic' or 'temperature'."
        )
    return True


class RiskClassifier(LinearProbabilities):
    """min 1/2 |w|^2 + C sum_i s_i l(y_i (<w, x_i> + b)): any convex loss for labels, certified.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "exponential", "logistic"} or Loss, default="hinge"
        max(0, 1 - y f), max(0, 1 - y f)^2, exp(-y f) or log(1 + exp(-y f)); an object is any convex loss for labels,
        see docs/linear.md.
    penalty : {"l2", "l1"}, default="l2"
        "l1" is |w|_1 in place of 1/2 |w|^2, for smooth losses and multi_class="ovr": most coefficients become zero.
    C : float, default=1.0
        Weight of the sum of losses against the penalty.
    tol : float, default=1e-4
        The certified relative duality gap to reach, (P - D) / max(|P|, |D|).
    intercept : {"free", "regularised", "none"}, default="free"
        Whether b is outside the penalty, inside it, or zero.
    intercept_scaling : float, default=1.0
        The constant column of a regularised intercept.
    class_weight : dict or "balanced", default=None
        Multiplies C for the samples of each class.
    multi_class : {"ovr", "crammer_singer", "softmax"}, default="ovr"
        Each class against the rest; or all at once with max(0, 1 + max_{m != y} f_m - f_y), for the hinge, or
        log sum_m exp(f_m) - f_y, for the logistic loss.
    label_costs, label_scales : array-like of shape (n_classes, n_classes), default=None
        For multi_class="crammer_singer": Delta and Gamma of max_m Gamma(y, m) (f_m - f_y + Delta(y, m)), a row for each
        true class in the order of classes_. A larger Delta asks for a larger margin over that class, and a larger Gamma
        gives the error more weight.
    probability : {False, True, "sigmoid", "isotonic", "temperature"}, default=False
        How `predict_proba` maps decision values to probabilities; the map is fitted to rows held out by five folds, see
        docs/probabilities.md. True is "sigmoid". With False the probabilities are those of the loss itself, if it is
        logistic or exponential.
    solver : "auto", a name or a solver object, default="auto"
    max_iter : int, default=-1
        Limit of iterations of the solver for each problem; -1 for none.
    max_seconds : float, default=None
        Time for the whole fit; the best point so far is kept.
    warm_start : bool, default=False
        Start from the last fit, if it was on the same samples.
    n_jobs : int, default=None
        Binary problems solved side by side; None is all cores.
    verbose : int, default=0
        1 shows a live line while it fits, in a terminal or a notebook, and at the end status and certificate; elsewhere
        only those are printed. More is the same as 1.
    checkpoint : path, default=None
        As in `LinearSVC`.
    certify_labels : float in [0, 1], default=None
        As in `SVC`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,), or 0.0 where there is none
    certificate_, certificates_, result_, results_
        As in `SVC`; ``result_.point.a`` are the duals.
    classes_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    LinearSVC : The drop-in for scikit-learn's.
    RiskRegressor : Targets that are numbers.
    path : All values of C at once.
    RiskClassifierCV : Finds C itself.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. Journal of Machine
      Learning Research 11, 311-365.
    - Crammer and Singer (2001). On the algorithmic implementation of multiclass kernel-based vector machines.
      Journal of Machine Learning Research 2, 265-292.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import RiskClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RiskClassifier("logistic").fit(scale(X), y)
    >>> model.predict_proba(scale(X)[:2]).shape, model.certificate_.relative_gap <= model.tol
    ((2, 2), True)
    """

    losses = CLASSIFICATION_LOSSES
    loss_targets = ("label",)
    has_risk_bounds = True
    local_parameters = ("checkpoint",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LINEAR_CONSTRAINTS,
        "loss": constrain_loss(losses),
        "penalty": [StrOptions({"l1", "l2"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multi_class": [StrOptions({"ovr", *JOINT_LOSSES})],
        "label_costs": ["array-like", None],
        "label_scales": ["array-like", None],
        "probability": METHOD_CONSTRAINT,
        "n_jobs": JOBS_CONSTRAINT,
        "certify_labels": CERTIFY_CONSTRAINT,
        "checkpoint": CHECKPOINT_CONSTRAINT,
    }

    def __init__(
        self,
        loss: LossLike = "hinge",
        *,
        penalty: str = "l2",
        C: float = 1.0,
        tol: float = 1e-4,
        intercept: str = "free",
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        multi_class: str = "ovr",
        label_costs: ArrayLike | None = None,
        label_scales: ArrayLike | None = None,
        probability: bool | str = False,
        solver: SolverLike = "auto",
        max_iter: int = -1,
        max_seconds: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: FilePath | None = None,
        certify_labels: float | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.C = C
        self.tol = tol
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.label_costs = label_costs
        self.label_scales = label_scales
        self.probability = probability
        self.solver = solver
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.certify_labels = certify_labels

    def _check_arguments(self, shape: tuple[int, int]) -> None:
        needed = JOINT_LOSSES.get(self.multi_class)
        if needed is not None and name_loss(self.loss) != needed:
            raise ValueError(f"multi_class={self.multi_class!r} needs loss={needed!r}, got loss={self.loss!r}.")
        if self.penalty == "l1" and (self._is_joint or self._loss().kinked):
            raise ValueError(
                "penalty='l1' needs a smooth loss and multi_class='ovr', "
                f"got loss={self.loss!r} and multi_class={self.multi_class!r}."
            )
        for name, value in (("label_costs", self.label_costs), ("label_scales", self.label_scales)):
            if value is not None and self.multi_class != "crammer_singer":
                raise ValueError(f"{name} needs multi_class='crammer_singer', got {self.multi_class!r}.")

    def _loss(self) -> Loss:
        return make_loss(self.loss, self)

    def _joint_loss(self) -> Loss:
        if self.multi_class == "softmax":
            return Softmax()
        k = len(self.classes_)
        return MulticlassHinge(
            check_label_matrix(self.label_costs, k, "label_costs", 0.0),
            check_label_matrix(self.label_scales, k, "label_scales", 1.0),
        )

    def _warm_start_key(self) -> tuple[Any, ...]:
        return *super()._warm_start_key(), str(self.label_costs), str(self.label_scales)

    def _unpack(self, fits: list[LinearFit]) -> None:
        super()._unpack(fits)
        self._fitted_loss, self._fitted_softmax = self.loss, self.multi_class == "softmax"

    @property
    def has_probabilities(self) -> bool:
        """Whether folds were fitted, or the minimiser of the loss is a function of P(y = 1)."""
        if self.wants_probabilities:
            return super().has_probabilities
        return find_logit_scale(self.loss) > 0.0

    @available_if(_has_probabilities)
    @apply_blockwise
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """P(y = k | x): 1 / (1 + exp(-f)) for the logistic loss, 1 / (1 + exp(-2 f)) for the exponential one.

        With a loss of one's own, 1 / (1 + exp(-s f)) with its `logit_scale` s, if it has one. With `probability`, by
        maps that were fitted to the decisions of rows that were held out.
        Of classes against the rest they are divided by their sum; of softmax they are exp(f_k) / sum_m exp(f_m).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return super().predict_proba(X) if self.wants_probabilities else np.exp(self.predict_log_proba(X))

    @available_if(_has_probabilities)
    @apply_blockwise
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """log P(y = k | x), without a detour by numbers that vanish.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        if self.wants_probabilities:
            return np.log(super().predict_proba(X))
        f = self.decision_function(X)
        scale = find_logit_scale(self._fitted_loss)
        if not scale:
            raise NotFittedError(f"Probabilities are not available: the fit was with loss={self._fitted_loss!r}.")
        f = scale * f
        if f.ndim == 1:
            return log_expit(np.column_stack([-f, f]))
        if self._fitted_softmax:
            return log_softmax(f, axis=1)
        logs = log_expit(f)
        return logs - logsumexp(logs, axis=1, keepdims=True)


def check_label_matrix(matrix: Any, k: int, name: str, own: float) -> np.ndarray | None:
    """A number from zero on for each pair of classes, above zero for scales; the diagonal does not count."""
    if matrix is None:
        return None
    try:
        matrix = np.array(matrix, float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a matrix of numbers, got {matrix!r}.") from None
    if matrix.shape != (k, k):
        raise ValueError(f"{name} must have a row and a column for each of {k} classes, got shape {matrix.shape}.")
    np.fill_diagonal(matrix, own)
    bad = ~np.isfinite(matrix) | (matrix < 0) | ((matrix == 0) & ~np.eye(k, dtype=bool) & (own > 0))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        least = "above 0" if own > 0 else "not negative"
        raise ValueError(f"{name} must be finite and {least}, but {name}[{row}, {column}] is {matrix[row, column]:g}.")
    return matrix
