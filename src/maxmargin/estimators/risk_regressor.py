"""RiskRegressor: regularised risk minimisation with any convex loss for real targets, counts or vectors."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..blocks.problem import BlockProblem
from ..certificates.optimum.bounds import Interval as ScoreInterval
from ..contracts.losses import Loss
from ..model.features import ClassDesign, Design
from ..model.losses import Multivariate, Poisson
from ..model.problem import Problem
from ..runtime.scikit_learn import Interval
from .block_data import apply_blockwise
from .linear_problems import LinearFit
from .linear_regressor import LinearRegressor
from .losses import constrain_loss, find_target, look_up_loss, make_loss
from .regression import TUBE_LOSSES
from .tasks import Task
from .training_set import BlockRows, Rows
from .validation import CHECKPOINT_CONSTRAINT, LINEAR_CONSTRAINTS, check_size

EXP_SLACK = 1e-14  # relative error of exp, and more

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..contracts.inputs import FilePath, LossLike, MatrixLike, SolverLike

REGRESSION_LOSSES = ("least_squares", "absolute", "quantile", *TUBE_LOSSES, "huber", "poisson")


class RiskRegressor(LinearRegressor):
    """min 1/2 |w|^2 + C sum_i s_i l(<w, x_i> + b; y_i): any convex loss for real targets, certified.

    With loss="multivariate" the targets have several numbers, and there is a w and a b for each of them.

    Parameters
    ----------
    loss : {"least_squares", "absolute", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", \
            "poisson", "multivariate"} or Loss, default="least_squares"
        With r = f - y: r^2 / 2, |r|, max(-q r, (1 - q) r), max(0, |r| - epsilon), its square, Huber's loss
        (r^2 / (2 h) up to the threshold h, |r| - h / 2 beyond), exp(f) - y f for counts, or r' M r / 2 for vectors. An
        object is any convex loss, see docs/linear.md; it has its own parameters, and quantile, epsilon, threshold and
        M are ignored.
    C : float, default=1.0
        Weight of the sum of losses against 1/2 |w|^2.
    quantile : float in (0, 1), default=0.5
        For loss="quantile": the quantile of y that f(x) estimates.
    epsilon : float, default=0.1
        Half the width of the tube, for the epsilon-insensitive losses.
    threshold : float, default=1.0
        For loss="huber": where the quadratic turns linear.
    M : array-like of shape (n_targets, n_targets), default=None
        For loss="multivariate": symmetric and positive semidefinite; the identity by default.
    tol, intercept, intercept_scaling, solver, max_iter, max_seconds, warm_start, verbose, checkpoint
        As in `RiskClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), or (n_targets, n_features) for loss="multivariate"
    intercept_ : ndarray of shape (1,) or (n_targets,), or 0.0 where there is none
    certificate_, certificates_, result_, results_, n_iter_, n_features_in_, feature_names_in_
        As in `RiskClassifier`.

    See Also
    --------
    LinearSVR : The drop-in for scikit-learn's.
    RiskClassifier : Targets that are labels.
    path : All values of C at once.
    RiskRegressorCV : Finds C itself.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. Journal of Machine
      Learning Research 11, 311-365.
    - Koenker (2005). Quantile Regression. Cambridge University Press.
    - Huber (1964). Robust estimation of a location parameter. Annals of Mathematical Statistics 35, 73-101.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import RiskRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> upper = RiskRegressor("quantile", quantile=0.9, C=1000).fit(X, y)
    >>> round(float((y <= upper.predict(X)).mean()), 1), upper.certificate_.relative_gap <= upper.tol
    (0.9, True)
    """

    losses = (*REGRESSION_LOSSES, "multivariate")
    tube_losses = TUBE_LOSSES
    loss_targets = ("real", "count", "vector")
    has_risk_bounds = True
    local_parameters = ("checkpoint",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LINEAR_CONSTRAINTS,
        "loss": constrain_loss(losses),
        "M": ["array-like", None],
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "threshold": [Interval(Real, 0.0, None, closed="neither")],
        "checkpoint": CHECKPOINT_CONSTRAINT,
    }

    def __init__(
        self,
        loss: LossLike = "least_squares",
        *,
        C: float = 1.0,
        quantile: float = 0.5,
        epsilon: float = 0.1,
        threshold: float = 1.0,
        M: ArrayLike | None = None,
        tol: float = 1e-4,
        intercept: str = "free",
        intercept_scaling: float = 1.0,
        solver: SolverLike = "auto",
        max_iter: int = -1,
        max_seconds: float | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        checkpoint: FilePath | None = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.quantile = quantile
        self.epsilon = epsilon
        self.threshold = threshold
        self.M = M
        self.tol = tol
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.verbose = verbose
        self.checkpoint = checkpoint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = find_target(self.loss) == "count"
        tags.target_tags.multi_output = self.is_vector_valued
        tags.target_tags.single_output = not self.is_vector_valued
        return tags

    @property
    def is_vector_valued(self) -> bool:
        """Whether a target has several numbers."""
        return find_target(self.loss) == "vector"

    @property
    def _is_joint(self) -> bool:  # type: ignore[override]
        """The machines of all targets are one problem."""
        return self.is_vector_valued

    @property
    def inverse_link(self) -> Literal["identity", "exp"]:
        """exp for counts: the Poisson loss is about the logarithm of their mean."""
        loss = look_up_loss(self._fitted_loss)
        return "identity" if loss is None else loss.inverse_link

    def _encode(self, y: Any) -> np.ndarray:
        if self.is_vector_valued:
            return check_vectors(y)
        y = super()._encode(y)
        if find_target(self.loss) == "count" and (y < 0).any():
            bad = int(np.flatnonzero(y < 0)[0])
            raise ValueError(f"loss={self.loss!r} needs targets that are not negative, but y[{bad}] is {y[bad]:g}.")
        return y

    def _tasks(self, data: Rows) -> list[Task]:
        (task,) = super()._tasks(data)
        if self.is_vector_valued:
            return [task._replace(y=np.ascontiguousarray(task.y.T))]
        if not task.y.any():
            self._check_zero_targets()
        return [task]

    def _check_zero_targets(self) -> None:
        """Of counts that are all 0 the Poisson loss has no optimum: a free intercept would fall for ever."""
        if isinstance(self._loss(), Poisson) and self._intercept_kind == "free":
            raise ValueError(f"loss={self.loss!r} with a free intercept needs a target above zero, but all of y are 0.")

    def _loss(self) -> Loss:
        return make_loss(self.loss, self)

    def _pose_blocks(self, data: BlockRows) -> list[BlockProblem]:
        if data.survey.mean <= 0:
            self._check_zero_targets()
        return super()._pose_blocks(data)

    def _pose_task(self, features: Design, task: Task) -> Problem:
        """As for one target, or a problem of all of them with an intercept for each."""
        if not self.is_vector_valued:
            return super()._pose_task(features, task)
        k = len(task.y)
        balance = np.zeros(k) if self._intercept_kind == "free" else None
        return Problem(ClassDesign(features, k), task.y, task.c, self._vector_loss(k), balance)

    def _vector_loss(self, k: int) -> Loss:
        """The loss of k numbers: r' M r / 2 with M of the estimator, or of the object that was given."""
        if not isinstance(self.loss, Loss):
            return Multivariate(check_metric(self.M, k))
        if isinstance(self.loss, Multivariate):
            check_metric(self.loss.M, k)
        return self.loss

    def _warm_start_key(self) -> tuple[Any, ...]:
        return *super()._warm_start_key(), str(self.M)

    def _unpack(self, fits: list[LinearFit]) -> None:
        super()._unpack(fits)
        self._fitted_loss = self.loss

    @apply_blockwise
    def predict(self, X: MatrixLike) -> np.ndarray:
        """f(x) = <w, x> + b, and exp(f(x)) for loss="poisson", or another whose `inverse_link` is "exp".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        f = super().predict(X)
        return np.exp(f) if self.inverse_link == "exp" else f

    def _arrange_bounds(self, scores: ScoreInterval) -> ScoreInterval:
        """Of what `predict` gives: of exp(f*(x)) where that is predicted."""
        found = scores if self.is_vector_valued else super()._arrange_bounds(scores)
        if self.inverse_link == "identity":
            return found
        with np.errstate(over="ignore"):
            return ScoreInterval(np.exp(found.lower) * (1.0 - EXP_SLACK), np.exp(found.upper) * (1.0 + EXP_SLACK))


def check_vectors(y: Any) -> np.ndarray:
    """Targets of shape (n, n_targets)."""
    y = np.asarray(y, dtype=np.float64)
    y = y[:, None] if y.ndim == 1 else y
    if y.ndim != 2 or y.shape[1] == 0:
        raise ValueError(f"loss='multivariate' needs y of shape (n_samples, n_targets), got shape {y.shape}.")
    check_size(y, "y")
    return y


def check_metric(M: ArrayLike | None, k: int) -> np.ndarray:
    """M as a symmetric, positive semidefinite matrix; the identity if there is none."""
    if M is None:
        return np.eye(k)
    try:
        M = np.array(M, float)
    except (TypeError, ValueError):
        raise ValueError(f"M must be a matrix of numbers, got {M!r}.") from None
    if M.shape != (k, k):
        raise ValueError(f"M must have a row and a column for each of {k} targets, got shape {M.shape}.")
    if not np.isfinite(M).all() or np.abs(M - M.T).max() > 1e-12 * np.abs(M).max():
        raise ValueError("M must be finite and symmetric.")
    least, *_, largest = np.linalg.eigvalsh(M) if k > 1 else (M[0, 0], M[0, 0])
    if least < -1e-12 * abs(largest):
        raise ValueError(f"M must be positive semidefinite, but has the eigenvalue {least:g}.")
    return 0.5 * (M + M.T)
