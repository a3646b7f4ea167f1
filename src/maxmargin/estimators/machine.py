"""What the five kernel machines share: from data to problems, from results to fitted attributes, and prediction."""

from __future__ import annotations

from dataclasses import replace
from math import fsum

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..model.features import Gram
from ..model.formulations import Formulation
from ..model.kernels import Linear, make_kernel
from ..model.problem import Problem
from ..model.samples import choose_storage_format
from ..model.tiles import evaluate_scores
from ..runtime.blas import single_threaded_blas
from ..runtime.interrupt import watch_interrupt
from ..runtime.threads import STRIPS
from ..solvers.choice import Automatic
from ..solvers.result import Result, Status
from ..solvers.smo import SMO
from .certified import CertifiedMachine
from .fit_problems import FitProblems, KernelFit
from .observers import Observation
from .small_pairs import solve_small_pairs
from .tasks import Budget, Task, run_side_by_side
from .validation import (
    check_kernel_values,
    check_length,
    check_new_samples,
    check_samples,
    check_weight,
    is_function,
    is_precomputed,
)  # fmt: skip


def stack_weights(weights: list[np.ndarray | None]) -> np.ndarray | None:
    """One row for each machine, NaN where w was not solved for; None where none was."""
    width = max((len(w) for w in weights if w is not None), default=None)
    return None if width is None else np.stack([np.full(width, np.nan) if w is None else w for w in weights])


class KernelMachine(CertifiedMachine):
    """f(x) = sum_i coef_i k(x_i, x) + b, trained by one certified solve for each task."""

    family = "kernel"
    takes_kernel_matrix = True
    _weights = _weights_of = None  # w of a linear kernel that was solved for w, and the dual coefficients it belongs to

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

    # ---- fitting ------------------------------------------------------------------------------------------

    def _fit(self, X, y, sample_weight):
        """Validate, pose, solve, unpack; the same for every machine."""
        budget, labels = Budget(self.max_seconds), y
        X, y, weight = self._validate(X, y, sample_weight)
        with single_threaded_blas():
            posed = self._pose(X, y, weight)
            solves = self._count_solves(posed.tasks)
            with self._observe(X, labels, sample_weight, solves) as observation:
                with watch_interrupt() as interrupt:
                    fits = self._solve(X, posed, budget.plan(solves, interrupt), observation)
                    self._set_fitted_attributes(X, posed, fits)
                    self._finish_fit(posed, budget, observation)
                self._report(X, observation, interrupted=bool(interrupt))
        return self

    def _validate(self, X, y, sample_weight) -> tuple:
        """Data that are sound: X, encoded targets, and weights that are not all one."""
        X, y = check_samples(self, X, y)
        y = self._encode(y)
        return X, y, check_weight(sample_weight, check_length(X, y))

    def pose_first_problem(self, X, y) -> Problem:
        """The first of the problems of a fit."""
        return self._pose(*self._validate(X, y, None)).problem(0)

    def _pose(self, X, y: np.ndarray, weight: np.ndarray | None) -> FitProblems:
        """The problems of a fit, on data that are sound."""
        formulation = self._formulation()
        features, y, weight = self._sort_samples(self._features(X, weight, formulation), y, weight)
        tasks = self._tasks(y, weight)
        return FitProblems(features, formulation, tasks, y)

    def _set_fitted_attributes(self, X, posed: FitProblems, fits: list[KernelFit]) -> None:
        """The fitted attributes."""
        self._store_fit(X, posed.features, posed.tasks, fits)
        self._unpack(posed.y, posed.tasks, fits)
        self._weights_of = self._dual_coef_

    def _count_solves(self, tasks: list[Task]) -> int:
        """How many solves share the time budget."""
        return len(tasks)

    def _sort_samples(self, features: Gram, y: np.ndarray, weight: np.ndarray | None):
        """The samples in the order in which the tasks want them; `_order` leads back."""
        self._order = None
        return features, y, weight

    def _finish_fit(self, posed: FitProblems, budget: Budget, observation: Observation) -> None:
        """What a machine adds once it is fitted."""

    def _features(self, X, weight, formulation: Formulation, translation_invariant: bool = True) -> Gram:
        """The Gram matrix over X, its parameters bound to the training data, which are moved where that is allowed."""
        kernel = make_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        positive = None if weight is None else np.maximum(weight, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            features = Gram.from_data(
                kernel, X, formulation.offset, positive, translation_invariant and formulation.translation_invariant
            )
            check_kernel_values(features, X)
        return features

    def _solver(self, shares: int = 1):
        """The solver object: SMO with the knobs that scikit-learn's users know, unless one was given.

        Solves that may run side by side share the cache_size, whether they do or not: what is held in a cache changes
        the order of additions, and results must not depend on the number of cores.
        """
        if isinstance(self.solver, str) and self.solver in ("auto", "smo"):
            smo = SMO(shrinking=bool(self.shrinking), cache_size=self.cache_size / shares)
            return Automatic(smo) if self.solver == "auto" else smo
        return self.solver

    def _solve(self, X, posed: FitProblems, budget: Budget, observation: Observation) -> list[KernelFit]:
        """One fit for each task, side by side on n_jobs threads; Ctrl-C stops all of them."""
        budget.workers = self._count_workers(posed.tasks)
        solver, starts = self._solver(min(len(posed.tasks), STRIPS)), self._warm_points(posed.tasks)

        def snapshot(problem: Problem, result: Result) -> dict:
            return self._snapshot_attributes(
                lambda fitted_copy: fitted_copy._set_fitted_attributes(X, posed, [posed.read(problem, result)])
            )

        plain = self.max_iter == -1 and not observation.is_watched and not any(starts)
        small = solve_small_pairs(posed, solver, self.tol, budget) if plain else {}
        budget.skip(sum(fit.result.converged for fit in small.values()))

        def run(k: int) -> KernelFit:
            if (fit := small.get(k)) is not None and fit.result.converged:
                return fit
            problem, before = posed.problem(k), 0 if fit is None else fit.result.n_iter
            result = observation.solve(
                k, problem, solver, snapshot, tol=self.tol, max_iter=None if self.max_iter == -1 else self.max_iter,
                max_seconds=budget.share(), warm=starts[k] if fit is None else fit.result.point,
                interrupt=budget.interrupt,
            )  # fmt: skip
            return posed.read(problem, replace(result, n_iter=before + result.n_iter))

        fits = run_side_by_side(run, posed.tasks, budget)
        return posed.fill_in(fits, starts, bool(budget.interrupt))

    def _warm_start_key(self) -> tuple:
        """What decides the shape of the duals: points of another formulation or intercept cannot be started from."""
        return type(self._formulation()), getattr(self, "intercept", "free") == "free"

    def _store_fit(self, X, features: Gram, tasks: list[Task], fits: list[KernelFit]) -> None:
        """Everything about the fit that does not depend on the kind of machine."""
        self._keep_results(tasks, [fit.result for fit in fits])
        self._sparse = sp.issparse(X) and self.kernel_is_formula
        self._kernel = features.kernel
        self._gamma = getattr(features.kernel, "gamma", 0.0)
        self._support_source = X if self.kernel_is_formula else None
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (len(X),)
        free = np.unique(np.concatenate([task.index[fit.free] for task, fit in zip(tasks, fits, strict=True)]))
        self._free = free if self._order is None else self._order[free]
        self._norms = np.array([fit.norm for fit in fits])
        self._weights, self._weights_of = stack_weights([fit.machine.w for fit in fits]), None
        self.fit_status_ = int(any(not result.converged for result in self.results_))

    @property
    def kernel_is_formula(self) -> bool:
        """Whether the kernel can be evaluated from samples; not so for a matrix or a callable."""
        return not is_precomputed(self.kernel) and not is_function(self.kernel)

    def _store_support(self, support: np.ndarray) -> None:
        """support_ and support_vectors_, from the training data."""
        X, self._support_source = self._support_source, None
        support = support if self._order is None else self._order[support]
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if X is None else X[support]
        self._support = None if X is None else choose_storage_format(self._kernel.samples(self.support_vectors_))

    def _match_sparsity(self) -> None:
        """Sparse data have sparse dual coefficients, of the same kind."""
        if self._sparse:
            kind = type(self.support_vectors_)
            self.dual_coef_, self._dual_coef_ = kind(self.dual_coef_), kind(self._dual_coef_)

    def _check_finite(self) -> None:
        """Refuse a machine of numbers that are none."""
        dual_coef = self._dual_coef_.data if sp.issparse(self._dual_coef_) else self._dual_coef_
        if not (np.isfinite(self._intercept_).all() and np.isfinite(dual_coef).all()):
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

    # ---- prediction ---------------------------------------------------------------------------------------

    def _validate_for_predict(self, X):
        """X checked against the training data, and the machine against tampering."""
        check_is_fitted(self)
        vectors = self.support_vectors_
        altered = self.kernel_is_formula and vectors.shape[0] and self.n_support_.sum() != vectors.shape[0]
        support = getattr(self, "support_", ())  # a model file of LIBSVM does not name them
        if altered or (len(support) and self._dual_coef_.shape[1] != len(support)):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        return check_new_samples(self, X)

    def _decision_values(self, X) -> np.ndarray:
        """f(x) for each machine, one column each, in LIBSVM's sign."""
        X = self._validate_for_predict(X)
        samples, intercepts = self._kernel.samples(X), np.asarray(self._intercept_)
        if not self._dual_coef_.shape[1]:
            return np.tile(intercepts, (samples.n, 1))
        with single_threaded_blas():
            return self._score(samples) + intercepts

    def _score(self, samples) -> np.ndarray:
        """<w, phi(x)> of each machine, one column each: through w where that was solved for, else through its sum."""
        held = self._held_weights()
        if all(w is not None for w in held):
            return samples.project(np.stack(held).T)
        scores = self._weigh_support(samples, self._support_samples(samples))
        for k, w in enumerate(held):
            if w is not None:
                scores[:, k] = samples.project(w)
        return scores

    def _held_weights(self) -> list[np.ndarray | None]:
        """w of each machine that was solved for w itself; None for others, and for all with other coefficients."""
        owner = self._weights_of
        same = owner is None or owner is self._dual_coef_ or np.array_equal(owner, self._dual_coef_)
        if self._weights is None or not same:
            return [None] * len(self._intercept_)
        return [None if np.isnan(w).any() else w for w in self._weights]

    def _weigh_support(self, samples, support) -> np.ndarray:
        """sum_i coef_i k(x_i, x) of each machine, one column each."""
        return evaluate_scores(self._kernel, samples, support, self._expansion())

    def _support_samples(self, samples):
        """The support vectors as the kernel wants to see them."""
        return self._support if self.kernel_is_formula else type(samples)(samples.matrix, self.support_)

    def _expansion(self) -> np.ndarray:
        """The coefficients of each machine over the support vectors, one column each."""
        coef = self._dual_coef_
        return (coef.toarray() if sp.issparse(coef) else coef).T

    @property
    def coef_(self):
        """w = sum_i coef_i x_i, where the kernel is linear; read-only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        coef = self._linear_coef()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _linear_coef(self):
        """dual_coef_ times the support vectors."""
        return self._weigh_vectors()

    def _weigh_vectors(self, held: bool = True):
        """w of each machine, one row each: w itself where it was solved for and `held`, else sum_i coef_i x_i.

        Added up as if in twice the precision, and rounded once. Samples far from the origin are added up from their
        shift m: with d the sum of the coef_i, which is zero but for rounding, w = sum_i coef_i (x_i - m) + d m.
        """
        samples = self._kernel.samples(self.support_vectors_)
        rows = (self._weigh(samples, weights) for weights in self._expansion().T)  # one at a time: they may be wide
        if held:
            rows = (row if w is None else w.copy() for row, w in zip(rows, self._held_weights(), strict=True))
        if sp.issparse(self.support_vectors_):
            return type(self.support_vectors_)(sp.vstack([sp.csr_array(row[None]) for row in rows]))
        return np.stack(list(rows))

    def _weigh(self, samples, weights: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_i of one machine, in the frame of the user."""
        high, low, _ = samples.combine_closely(weights)
        shift = self._kernel.shift
        return high + low if shift is None else high + (low + fsum(weights) * shift)

    def _public_intercepts(self, held: bool = True) -> np.ndarray:
        """b - <w, shift> of each machine, in LIBSVM's sign: that of f(x) = <w, x> + b, w as of `_weigh_vectors`."""
        b = self._intercept_
        if not isinstance(self._kernel, Linear) or self._kernel.shift is None:
            return b
        return self._kernel.move_to_origin(self._weigh_vectors(held), b)

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors (of each class)."""
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise AttributeError(str(error)) from error
        return self._n_support

    def _split_support(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the support vectors that are free somewhere, and of those at a bound everywhere."""
        check_is_fitted(self)
        free = np.zeros(self.shape_fit_[0], bool)
        free[self._free] = True
        return self.support_[free[self.support_]], self.support_[~free[self.support_]]

    @property
    def free_support_(self) -> np.ndarray:
        """Indices of the support vectors with a dual strictly between its bounds: those on the margin."""
        return self._split_support()[0]

    @property
    def bounded_support_(self) -> np.ndarray:
        """Indices of the support vectors with a dual at its bound: those beyond the margin."""
        return self._split_support()[1]
