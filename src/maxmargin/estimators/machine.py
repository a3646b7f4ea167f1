"""What the five kernel machines share: from data to problems, and from results to fitted attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..certificates.optimum.intercepts import OwnScores, bound_own_scores, has_one_kink
from ..certificates.optimum.machines import MachineBounds
from ..certificates.optimum.proof import bound_optimum, enclose_judged_scores, find_refusal, measure_imbalance
from ..model.features import Gram
from ..model.formulations import Formulation, NuClassification, Risk
from ..model.kernels import make_kernel
from ..model.problem import Problem
from ..model.row_cache import MAX_SINGLE_ROWS
from ..runtime.scikit_learn import count_samples
from ..runtime.threads import STRIPS
from ..solvers.automatic import apply_smo_settings
from ..solvers.result import Result, Status
from .kernel_bounds import NO_DUALS, PosedTasks, SupportRows, bound_kernel_machines, join_margin
from .kernel_prediction import KernelPrediction
from .kernel_problems import KernelFit, KernelFits, KernelProblems
from .plain_arrays import is_finite
from .small_problems import solve_small_problems
from .tasks import Budget
from .training_set import Rows
from .validation import check_kernel_values, check_length, check_samples, check_weight, get_shape, is_precomputed


class KernelMachine(KernelPrediction):
    """f(x) = sum_i coef_i k(x_i, x) + b, trained by one certified solve for each task."""

    family = "kernel"
    takes_kernel_matrix = True
    _posed_tasks: PosedTasks | None = None  # of the last fit; not there after a pickle
    formulation_type: ClassVar[type[Formulation]] = Risk

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        return tags

    @property
    def is_kernel_matrix(self) -> bool:
        """Whether X is to hold kernel values, with kernel="precomputed"."""
        return is_precomputed(self.kernel)

    @property
    def needs_dense(self) -> bool:
        """Whether the fit was on dense rows: others are refused then."""
        return not self._sparse

    # ---- from data to problems ----------------------------------------------------------------------------

    def _validate(self, X: Any, y: Any, sample_weight: Any, group: Any = None) -> Rows:
        """Data that are sound: X, encoded targets, and weights that are not all one."""
        X, sound_y = check_samples(self, X, y)
        sound_y = self._encode(sound_y) if self.takes_targets else np.ones(count_samples(X))
        weight = check_weight(sample_weight, check_length(X, sound_y))
        return Rows(X, sound_y, weight, observed=(X, y if self.takes_targets else sound_y, sample_weight))

    def _pose_problems(self, data: Rows) -> KernelProblems:
        """The problems of a fit, on data that are sound."""
        formulation = self._formulation()
        features, data, order = self._sort_samples(self._features(data.X, data.weight, formulation), data)
        return KernelProblems(data.X, features, formulation, self._tasks(data), data.y, order)

    def _pose_unsorted(self, data: Rows, weight: np.ndarray | None, translation_invariant: bool) -> KernelProblems:
        """The problems over samples in the order in which they are given, for the judge of fitted models.

        `weight` is what gamma="scale" counts samples by.
        """
        formulation = self._formulation()
        features = self._features(data.X, weight, formulation, translation_invariant)
        return KernelProblems(data.X, features, formulation, self._tasks(data), data.y)

    def _sort_samples(self, features: Gram, data: Rows) -> tuple[Gram, Rows, np.ndarray | None]:
        """The samples in the order in which the tasks want them, and that order; None if it is the order of X."""
        return features, data, None

    def _features(self, X, weight, formulation: Formulation, translation_invariant: bool = True) -> Gram:
        """The Gram matrix over X, its parameters bound to the training data, which are moved where that is allowed."""
        kernel = make_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        positive = None if weight is None else np.maximum(weight, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            features = Gram.from_data(
                kernel, X, formulation.offset, positive, translation_invariant and formulation.translation_invariant
            )
            return check_kernel_values(features, X)

    # ---- solving ------------------------------------------------------------------------------------------

    def _solver(self, problems: KernelProblems | None = None):
        """The solver object: SMO with the parameters that scikit-learn's users know, unless one was given.

        Solves that may run side by side share the cache_size, whether they do or not: what is held in a cache changes
        the order of additions, and results must not depend on the number of cores. Of few samples nothing needs to be
        shared: all that side by side they can hold fits.
        """
        shares = 1 if problems is None or self._fits_side_by_side(problems.features) else min(len(problems), STRIPS)
        return apply_smo_settings(self.solver, shrinking=bool(self.shrinking), cache_size=self.cache_size / shares)

    def _fits_side_by_side(self, features: Gram) -> bool:
        """Whether a small matrix, and STRIPS times the rows that a run may hold before it is formed, fit.

        Runs over all samples share one matrix; those of all pairs of classes are less than twice as large together.
        """
        n = features.n
        return features.small and 8 * n * (n + STRIPS * min(n, MAX_SINGLE_ROWS)) <= self.cache_size * 2**20

    def _solve_ahead(self, problems: KernelProblems, solver, budget: Budget) -> Mapping[int, KernelFit]:
        """Small problems, all in one compiled call."""
        return solve_small_problems(problems, solver, self.tol, budget)

    def _warm_start_key(self) -> tuple[Any, ...]:
        """What decides the shape of the duals: points of another formulation or intercept cannot be started from."""
        return self.formulation_type, self._parameter("intercept") == "free"

    def _bound_own_scores(self, problem: Problem, result: Result) -> OwnScores | None:
        """Where the loss has one kink, and the judge has evaluated the scores of the duals as they are."""
        self._check_provable(problem, result)
        if not has_one_kink(problem):
            return None
        a = problem.feasible(result.point.a)
        judged = enclose_judged_scores(problem, result.point, result.certificate, a)
        if judged is None:
            return None
        return bound_own_scores(problem, judged, result.certificate.gap, measure_imbalance(problem, a))

    def _check_provable(self, problem: Problem, result: Result) -> None:
        """Refuse what nothing can be proven of."""
        if reason := find_refusal(problem, result.certificate):
            raise self._refuse_bounds(reason)

    def _bound_problem(self, problem: Problem, result: Result) -> list[MachineBounds]:
        """From all samples of the problem."""
        self._check_provable(problem, result)
        scores = bound_optimum(problem, result.point, result.certificate)
        machine = join_margin(problem, scores, self.formulation_type is NuClassification)
        judged = enclose_judged_scores(problem, result.point, result.certificate, problem.feasible(result.point.a))
        return [machine._replace(judged=judged)]

    # ---- from results to fitted attributes ----------------------------------------------------------------

    def _set_fitted_attributes(self, problems: KernelProblems, fits: KernelFits | list[KernelFit]) -> None:
        """The fitted attributes."""
        fits = fits if isinstance(fits, KernelFits) else KernelFits.listed(fits)
        X, kernel, converged = problems.X, problems.features.kernel, fits.all_converged
        self._keep_results(problems.indices, fits.results, converged or None)
        self._sparse = type(X) is not np.ndarray and sp.issparse(X) and self.kernel_is_formula
        self._kernel, self._gamma = kernel, kernel.gamma
        self.shape_fit_ = get_shape(X)
        free = np.zeros(len(problems.y), bool)
        free[problems.places[fits.free]] = True
        self._free = problems.find_rows(free.nonzero()[0]).astype(np.int32)
        self._norms, self._weights, self._weights_of = fits.norms, fits.weights, None
        self.fit_status_ = int(not converged)
        self._unpack(problems, fits)
        self._weights_of = self._dual_coef_
        self._posed_tasks = PosedTasks(problems.tasks, problems.formulation, problems.order)

    # ---- what is proven of the optimum --------------------------------------------------------------------

    def _bound_machines(self) -> list[MachineBounds]:
        """From the support vectors and their duals alone."""
        if self._kernel.psd is not True:
            raise self._refuse_bounds("the kernel is not known to be positive semidefinite")
        if self._posed_tasks is None or not self._list_results():
            raise self._refuse_bounds(NO_DUALS)
        support = SupportRows(self._kernel, self._support, self.support_, self.shape_fit_[0])
        return bound_kernel_machines(self._posed_tasks, self.results_, support)

    def _store_support(self, rows: np.ndarray, X) -> None:
        """support_ and support_vectors_, from the rows of the training data."""
        self.support_ = rows.astype(np.int32)
        self.support_vectors_ = X[rows] if self.kernel_is_formula else np.empty((0, 0))
        self._bind_support()

    def _match_sparsity(self) -> None:
        """Sparse data have sparse dual coefficients, of the same kind."""
        if self._sparse:
            kind = type(self.support_vectors_)
            self.dual_coef_, self._dual_coef_ = kind(self.dual_coef_), kind(self._dual_coef_)

    def _check_finite(self) -> None:
        """Refuse a machine of numbers that are not finite."""
        dual_coef = self._dual_coef_.data if self._sparse else self._dual_coef_
        if not (is_finite(self._intercept_) and is_finite(dual_coef)):
            raise ValueError(
                "The dual coefficients or intercepts are not finite. "
                "The input data may contain large values and need to be preprocessed."
            )

    def _warning_prefix(self, result: Result) -> str:
        """LIBSVM's warning."""
        if result.status is not Status.MAX_ITER:
            return ""
        return (
            f"Solver terminated early (max_iter={self.max_iter}).  "
            "Consider pre-processing your data with StandardScaler or MinMaxScaler. "
        )
