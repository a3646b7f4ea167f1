"""OneClassSVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..model.formulations import OneClass
from ..runtime.scikit_learn import OutlierMixin, fit_context
from .kernel_problems import KernelFits, KernelProblems
from .regression import SingleMachine
from .validation import CONSTRAINTS, NU_CONSTRAINT

if TYPE_CHECKING:
    from ..contracts.inputs import KernelLike, MatrixLike, SolverLike, VectorLike


class OneClassSVM(OutlierMixin, SingleMachine):
    """min 1/2 |w|^2 - nu (sum s) rho + sum_i s_i max(0, rho - <w, phi(x_i)>): the support of a distribution.

    A drop-in for `sklearn.svm.OneClassSVM`. rho is the intercept, so there is no choice of one.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver, max_seconds, warm_start
        As in `SVC`.
    nu : float in (0, 1], default=0.5
        An upper bound on the share of outliers and a lower bound on that of support vectors.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        decision_function = score_samples - offset_.
    """

    task = "novelty"
    takes_targets = False
    is_drop_in = True
    formulation_type = OneClass
    _parameter_constraints: ClassVar[dict[str, Any]] = {**CONSTRAINTS, "nu": NU_CONSTRAINT}

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-5,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: int = False,
        max_iter: int = -1,
        solver: SolverLike = "auto",
        max_seconds: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.solver = solver
        self.max_seconds = max_seconds
        self.warm_start = warm_start

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: Any = None, sample_weight: VectorLike | None = None) -> Self:
        """min 1/2 |w|^2 - nu (sum s) rho + sum_i s_i max(0, rho - <w, phi(x_i)>), certified.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 equals the row twice; rows with weight zero or less are left out.

        Returns
        -------
        self
        """
        return self._fit(X, None, sample_weight)

    def _unpack(self, problems: KernelProblems, fits: KernelFits) -> None:
        super()._unpack(problems, fits)
        self.offset_ = -self._intercept_

    def _formulation(self) -> OneClass:
        return OneClass(nu=self.nu)

    def _cost(self) -> float:
        return 1.0

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """f(x) = sum_i coef_i k(x_i, x) - rho: negative for outliers, exactly 0 where it is zero to rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        f = self._decision_values(X).ravel()
        # The support vectors on the boundary have f = 0; without this their label would be the sign of a rounding.
        f[np.abs(f) <= 1e-10 * np.abs(self._intercept_)] = 0.0
        return f

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """sum_i coef_i k(x_i, x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: MatrixLike) -> np.ndarray:
        """+1 where f(x) >= 0, an inlier, else -1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
