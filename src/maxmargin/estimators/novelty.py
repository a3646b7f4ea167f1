"""OneClassSVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..certificates.optimum.bounds import Interval
from ..certificates.optimum.labels import find_certain_inliers
from ..model.formulations import OneClass
from ..runtime.scikit_learn import ConvergenceWarning, NotFittedError, OutlierMixin, available_if, fit_context
from ..runtime.user_warnings import warn_user
from .calibration import fit_ranks, read_maps
from .certified_scores import CertifiedLabels
from .kernel_problems import KernelFits, KernelProblems
from .observers import Observation
from .probability import FOLDS, FoldSolves, decide_without_rows
from .regression import SingleMachine
from .tasks import Budget
from .validation import CERTIFY_CONSTRAINT, CONSTRAINTS, NU_CONSTRAINT

if TYPE_CHECKING:
    from ..contracts.inputs import KernelLike, MatrixLike, RandomState, SolverLike, VectorLike


def _wants_outlier_probability(estimator: Any) -> bool:
    """predict_outlier_probability exists only where probability=True asked for it."""
    if not estimator.probability:
        raise AttributeError("predict_outlier_probability is not available when probability=False")
    return True


class OneClassSVM(OutlierMixin, CertifiedLabels, SingleMachine):
    """min 1/2 |w|^2 - nu (sum s) rho + sum_i s_i max(0, rho - <w, phi(x_i)>): the support of a distribution.

    A drop-in for `sklearn.svm.OneClassSVM`. rho is the intercept, so there is no parameter `intercept`.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver, max_seconds, warm_start
        As in `SVC`.
    certify_labels : float in [0, 1], default=None
        As in `SVC`; the labels are +1 and -1 of the training samples.
    nu : float in (0, 1], default=0.5
        An upper bound on the share of outliers and a lower bound on that of support vectors.
    probability : bool, default=False
        Whether to fit `predict_outlier_probability`, by five folds, see docs/probabilities.md.
    random_state : int, RandomState or None
        For these folds.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        decision_function = score_samples - offset_.
    certificate_, certificates_, result_, results_
        As in `SVC`.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn.

    See Also
    --------
    SVC : Two classes and more.
    NuSVC : nu with labels.

    References
    ----------
    - Schölkopf, Platt, Shawe-Taylor, Smola and Williamson (2001). Estimating the support of a high-dimensional
      distribution. Neural Computation 13, 1443-1471.
    - Chang and Lin (2011). LIBSVM: a library for support vector machines. ACM Transactions on Intelligent Systems
      and Technology 2, 27:1-27.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import OneClassSVM
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.predict([X[0], [50.0, 50.0, 50.0, 50.0]]).tolist(), model.certificate_.relative_gap <= model.tol
    ([1, -1], True)
    """

    task = "novelty"
    takes_targets = False
    is_drop_in = True
    formulation_type = OneClass
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "nu": NU_CONSTRAINT,
        "probability": ["boolean"],
        "random_state": ["random_state"],
        "certify_labels": CERTIFY_CONSTRAINT,
    }

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
        probability: bool = False,
        random_state: RandomState = None,
        certify_labels: float | None = None,
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
        self.probability = probability
        self.random_state = random_state
        self.certify_labels = certify_labels

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
        self._calibration: dict[str, Any] | None = None

    def _count_solves(self, problems: KernelProblems) -> int:
        return len(problems) * (1 + FOLDS if self.probability else 1)

    def _finish_fit(self, problems: KernelProblems, budget: Budget, observation: Observation) -> None:
        """The decisions of held-out rows, where probabilities were asked for."""
        super()._finish_fit(problems, budget, observation)
        if not self.probability:
            return
        folds = FoldSolves(
            problems, self._solver(), self.tol, self.max_iter, budget, observation, self.cache_size
        )  # fmt: skip
        decisions = decide_without_rows(folds, self.random_state)
        self._calibration = None if decisions is None else fit_ranks(decisions, problems.tasks[0].c)
        ended = budget.interrupt or observation.stopped or not all(result.converged for result in self.results_)
        if decisions is None and not ended:
            warn_user("The fit ended before the probabilities were fitted; raise max_seconds.", ConvergenceWarning)

    @property
    def wants_probabilities(self) -> bool:
        """Whether folds are to be fitted after the solve."""
        return bool(self.probability)

    @property
    def has_probabilities(self) -> bool:
        """False: an outlier probability is not `predict_proba`."""
        return False

    @available_if(_wants_outlier_probability)
    def predict_outlier_probability(self, X: MatrixLike) -> np.ndarray:
        """P(outlier | f(x)), by the rank of f(x) among held-out decisions of its sign: above 1/2 where f(x) < 0.

        1/2 at the boundary, near 1 where no training row lies as far outside, near 0 where none lies as far inside
        (Que and Lin 2024, without their bins).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        f = self.decision_function(X)
        calibration = vars(self).get("_calibration")
        if calibration is None:
            raise NotFittedError(
                "predict_outlier_probability is not available: the fit was with probability=False, or ended early."
            )
        found = read_maps(calibration, f[:, None])[:, 0]
        return np.where(f < 0.0, np.maximum(found, np.nextafter(0.5, 1.0)), np.minimum(found, 0.5))

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

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """+1 where f(x) >= 0."""
        return np.where(scores[:, 0] >= 0, 1, -1)

    def _find_certain(self, scores: Interval, labels: np.ndarray) -> np.ndarray:
        """f* >= 0 for inliers, f* < 0 for outliers."""
        return find_certain_inliers(scores, labels, float(self._intercept_[0]))
