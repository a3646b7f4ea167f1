"""SVR and NuSVR."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..model.formulations import NuRegression, Risk
from ..runtime.scikit_learn import Interval, RegressorMixin, fit_context
from .kernel_problems import KernelFits, KernelProblems
from .losses import constrain_loss, make_loss
from .machine import KernelMachine
from .plain_arrays import take_targets
from .tasks import Task
from .training_set import Rows
from .validation import (
    C_CONSTRAINT,
    CONSTRAINTS,
    INTERCEPT_CONSTRAINT,
    NU_CONSTRAINT,
    bound_cost,
    check_loss_weights,
    check_size,
)

if TYPE_CHECKING:
    from ..contracts.inputs import KernelLike, LossLike, MatrixLike, SolverLike, VectorLike

TUBE_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


class SingleMachine(KernelMachine):
    """A fit of one problem over all samples: one row of dual coefficients, one intercept."""

    def _tasks(self, data: Rows) -> list[Task]:
        """All samples of positive weight."""
        y, weight = data.y, data.weight
        index = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0)
        c = np.full(len(y), float(self._cost())) if weight is None else self._cost() * weight[index]
        check_loss_weights(c)
        return [Task(index, y[index], c)]

    def _unpack(self, problems: KernelProblems, fits: KernelFits) -> None:
        """LIBSVM's arrays: support, dual coefficients of shape (1, n_SV), intercept of shape (1,)."""
        used = fits.coef.nonzero()[0]
        self._store_support(problems.places[used], problems.X)
        self._n_support = np.array([len(used)], np.int32)
        self.dual_coef_ = self._dual_coef_ = fits.coef[used][None, :]
        self._intercept_ = fits.b
        self.intercept_ = self._public_intercepts().copy()
        self.n_iter_ = int(self._count_iterations(fits.n_iter, fits.converged)[0])
        self._match_sparsity()


class KernelRegressor(RegressorMixin, SingleMachine):
    """Real targets."""

    task = "regression"
    is_drop_in = True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike | None = None) -> Self:
        """min 1/2 |w|^2 + sum_i c_i l(f_i; y_i), certified.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training vectors, or the Gram matrix if kernel="precomputed".
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C. Weight 2 equals the row twice; rows with weight zero or less are left out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _encode(self, y: Any) -> np.ndarray:
        y = take_targets(y)
        check_size(y, "y")
        return y

    def predict(self, X: MatrixLike) -> np.ndarray:
        """f(x) = sum_i coef_i k(x_i, x) + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decision_values(X).ravel()


class SVR(KernelRegressor):
    """min 1/2 |w|^2 + C sum_i s_i max(0, |f(x_i) - y_i| - epsilon): support vector regression, certified.

    A drop-in for `sklearn.svm.SVR`, with four more losses and those of your own.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, C, shrinking, cache_size, verbose, max_iter
        As in `SVC`.
    epsilon : float, default=0.1
        Half the width of the tube, for the epsilon-insensitive losses.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "absolute", "huber", "quantile"} or Loss
        Default "epsilon_insensitive". An object is any convex loss for real targets, see docs/linear.md; it has its own
        parameters, and epsilon, quantile and threshold are ignored.
    quantile : float in (0, 1), default=0.5
        For loss="quantile": the quantile of y that f(x) estimates.
    threshold : float, default=1.0
        For loss="huber": where the quadratic turns linear.
    intercept, solver, max_seconds, warm_start
        As in `SVC`.

    Attributes
    ----------
    certificate_, certificates_, result_, results_
        As in `SVC`.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn.

    See Also
    --------
    NuSVR : Chooses epsilon by the share of samples outside the tube.
    LinearSVR : For many rows and a linear kernel.
    RiskRegressor : Linear, with more losses.
    SVRCV : Finds C and gamma itself.

    References
    ----------
    - Vapnik (1998). Statistical Learning Theory. Wiley.
    - Smola and Schölkopf (2004). A tutorial on support vector regression. Statistics and Computing 14, 199-222.
    - Koenker (2005). Quantile Regression. Cambridge University Press.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import SVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SVR(C=100).fit(X, y)
    >>> model.predict(X[:2]).shape, model.certificate_.relative_gap <= model.tol
    ((2,), True)
    """

    losses = (*TUBE_LOSSES, "absolute", "huber", "quantile")
    tube_losses = TUBE_LOSSES
    loss_targets = ("real",)
    has_risk_bounds = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "C": C_CONSTRAINT,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "loss": constrain_loss(losses),
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither")],
        "threshold": [Interval(Real, 0.0, None, closed="neither")],
        "intercept": INTERCEPT_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-5,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: int = False,
        max_iter: int = -1,
        loss: LossLike = "epsilon_insensitive",
        quantile: float = 0.5,
        threshold: float = 1.0,
        intercept: str = "free",
        solver: SolverLike = "auto",
        max_seconds: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.loss = loss
        self.quantile = quantile
        self.threshold = threshold
        self.intercept = intercept
        self.solver = solver
        self.max_seconds = max_seconds
        self.warm_start = warm_start

    def _formulation(self) -> Risk:
        return Risk(self.intercept, loss=make_loss(self.loss, self))

    def _cost(self) -> float:
        return bound_cost(self.C)


class NuSVR(KernelRegressor):
    """min 1/2 |w|^2 + C (nu (sum s) epsilon + sum_i s_i max(0, |f(x_i) - y_i| - epsilon)), over epsilon too.

    A drop-in for `sklearn.svm.NuSVR`.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the share of samples outside the tube and a lower bound on that of support vectors.
    C, kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As in `SVC`.
    intercept, solver, max_seconds, warm_start
        As in `SVC`.

    Attributes
    ----------
    certificate_, certificates_, result_, results_
        As in `SVC`.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn.

    See Also
    --------
    SVR : The same with a tube of given width.

    References
    ----------
    - Schölkopf, Smola, Williamson and Bartlett (2000). New support vector algorithms. Neural Computation 12,
      1207-1245.
    - Chang and Lin (2011). LIBSVM: a library for support vector machines. ACM Transactions on Intelligent Systems
      and Technology 2, 27:1-27.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import NuSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NuSVR(nu=0.3, C=100).fit(X, y)
    >>> model.predict(X[:2]).shape, model.certificate_.relative_gap <= model.tol
    ((2,), True)
    """

    formulation_type = NuRegression
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "C": C_CONSTRAINT,
        "nu": NU_CONSTRAINT,
        "intercept": INTERCEPT_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: KernelLike = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-5,
        cache_size: float = 200,
        verbose: int = False,
        max_iter: int = -1,
        intercept: str = "free",
        solver: SolverLike = "auto",
        max_seconds: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.intercept = intercept
        self.solver = solver
        self.max_seconds = max_seconds
        self.warm_start = warm_start

    def _formulation(self) -> NuRegression:
        return NuRegression(self.intercept, nu=self.nu)

    def _cost(self) -> float:
        return bound_cost(self.C)
