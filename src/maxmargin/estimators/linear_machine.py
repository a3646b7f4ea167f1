"""What the linear machines share: from data to problems, from points to w and b, and prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..blocks import Blocks
from ..blocks.problem import BlockProblem, Targets
from ..blocks.survey import Survey
from ..model.features import Design
from ..model.formulations import Risk
from ..model.kernels import Linear
from ..model.problem import Point, Problem
from ..model.samples import Dense, Sparse, tile_rows
from ..runtime.blas import single_threaded_blas
from ..runtime.interrupt import watch_interrupt
from ..runtime.scikit_learn import LinearClassifierMixin, SparseCoefMixin, fit_context
from ..runtime.threads import STRIPS, run_strips
from ..solvers.loop import make_unstarted_result
from ..solvers.result import Result
from .block_machine import apply_blockwise, comes_in_blocks, fit_blocks, open_store, pose_blocks
from .certified import CertifiedMachine
from .multiclass import split_one_vs_rest, weigh_classes
from .observers import Observation
from .tasks import Budget, Task, run_side_by_side
from .validation import (
    bound_cost,
    check_design,
    check_length,
    check_loss_weights,
    check_new_design,
    check_size,
    check_weight,
)

TURN_TAKING_BYTES = 1 << 20  # bytes of X from which a product is longer than a change of turns


class LinearFit(NamedTuple):
    """A solved task: the result, and w and b of its machine, one row a class where all were solved as one."""

    result: Result
    w: np.ndarray
    b: np.ndarray


class LinearMachine(CertifiedMachine):
    """f(x) = <w, x> + b, trained by one certified solve for each task; a subclass has coef_ and intercept_."""

    family = "linear"
    takes_blocks = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- fitting ------------------------------------------------------------------------------------------

    def _fit(self, X, y, sample_weight):
        """Validate, pose, solve, unpack."""
        if comes_in_blocks(X):
            return fit_blocks(self, X, y, sample_weight)
        budget, labels = Budget(self.max_seconds), y
        X, y, weight = self._validate(X, y, sample_weight)
        with single_threaded_blas():
            self._kernel, tasks = self._make_kernel(X), self._tasks(y, weight)
            features = self._features(X, self._kernel)
            check_loss_weights(np.concatenate([task.c for task in tasks]))
            with self._observe(X, labels, sample_weight, len(tasks)) as observation:
                with watch_interrupt() as interrupt:
                    fits = self._solve(features, tasks, budget.plan(len(tasks), interrupt), observation)
                    self._set_fitted_attributes(features, tasks, fits)
                self._report(X, observation, interrupted=bool(interrupt))
        return self

    def _validate(self, X, y, sample_weight) -> tuple:
        """Data that are sound: X, encoded targets, and weights that are not all one."""
        X, y = check_design(self, X, y)
        y = self._encode(y)
        weight = check_weight(sample_weight, check_length(X, y))
        self._check_arguments(X)
        return X, y, weight

    def pose_first_problem(self, X, y) -> Problem:
        """The first of the problems of a fit."""
        X, y, weight = self._validate(X, y, None)
        task = self._tasks(y, weight)[0]
        return self._pose(task.cut(self._features(X, self._make_kernel(X))), task)

    def _set_fitted_attributes(self, features: Design, tasks: list[Task], fits: list[LinearFit]) -> None:
        """The fitted attributes."""
        self._keep_results(tasks, [fit.result for fit in fits])
        self._unpack(fits)
        self.n_iter_ = max(result.n_iter for result in self.results_)

    def _check_arguments(self, X) -> None:
        """Refuse parameters that contradict each other."""

    def _cost(self, weight: np.ndarray | None, n: int) -> np.ndarray:
        """c = C times sample weight."""
        cost = bound_cost(self.C)
        return np.full(n, cost) if weight is None else cost * np.maximum(weight, 0.0)

    @property
    def _intercept_kind(self) -> str:
        """free, regularised or none."""
        return self.intercept if getattr(self, "fit_intercept", True) else "none"

    @property
    def _scaling(self) -> float:
        """The constant column of a regularised intercept, or 0."""
        return float(self.intercept_scaling) if self._intercept_kind == "regularised" else 0.0

    @property
    def _translates(self) -> bool:
        """Whether x - m in place of x changes b alone, whatever m."""
        return self._intercept_kind == "free"

    def _make_kernel(self, X) -> Linear:
        """The kernel <x - m, z - m> with the mean m, where X lie far from the origin and may be moved; else <x, z>."""
        return Linear().centre(X) if self._translates else Linear()

    def _features(self, X, kernel: Linear) -> Design:
        """X as the kernel sees it, and the constant column."""
        return Design(kernel.samples(X), self._scaling)

    def _pose(self, features: Design, task: Task) -> Problem:
        """1/2 |w|^2 + sum_i c_i l(f_i; y_i)."""
        return Risk(self._intercept_kind, self._scaling, self._loss()).pose(features, task.y, task.c)

    def _solve(self, features: Design, tasks: list[Task], budget: Budget, observation: Observation) -> list[LinearFit]:
        """One fit for each task, side by side on n_jobs threads; Ctrl-C stops all of them."""
        budget.workers = self._count_workers(tasks)
        shared = all(np.array_equal(task.index, tasks[0].index) for task in tasks[1:])
        whole = tasks[0].cut(features) if shared else None  # rows without weight are taken out once for all tasks
        stores = [open_store(self, k, len(tasks)) for k in range(len(tasks))]
        starts = self._warm_points(tasks)

        def snapshot(problem: Problem, result: Result) -> dict:
            fit = LinearFit(result, *self._read(problem, result.point))
            return self._snapshot_attributes(
                lambda fitted_copy: fitted_copy._set_fitted_attributes(features, tasks, [fit])
            )

        def run(k: int) -> LinearFit:
            problem = self._pose(tasks[k].cut(features) if whole is None else whole, tasks[k])
            result = observation.solve(
                k, problem, self.solver, snapshot, tol=self.tol,
                max_iter=None if self.max_iter == -1 else self.max_iter,
                max_seconds=budget.share(), warm=starts[k], interrupt=budget.interrupt, checkpoint=stores[k],
            )  # fmt: skip
            return LinearFit(result, *self._read(problem, result.point))

        def make_unstarted_fit(
            k: int, like: LinearFit
        ) -> LinearFit:  # where it was to start: there was no time to begin
            result = make_unstarted_result(like.result, len(tasks[k].index), starts[k], bool(budget.interrupt))
            if starts[k] is None:
                return LinearFit(result, np.zeros_like(like.w), np.zeros_like(like.b))
            return LinearFit(result, *self._read(self._pose(tasks[k].cut(features), tasks[k]), starts[k]))

        fits = run_side_by_side(run, tasks, budget, turns=features.samples.nbytes < TURN_TAKING_BYTES)
        like = next(fit for fit in fits if fit is not None)
        return [make_unstarted_fit(k, like) if fit is None else fit for k, fit in enumerate(fits)]

    def _read(self, problem: Problem, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """w and b of a point, of shapes (d,) and (), or (k, d) and (k,) for k classes solved as one."""
        coef = problem.features.combine(point.a) if point.coef is None else point.coef
        w, constant = coef[..., :-1], coef[..., -1]
        if self._intercept_kind == "free":
            return w, np.asarray(point.b, float)
        return w, self._scaling * np.asarray(constant, float)

    def _unpack_blocks(self, results: list[Result], machines: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """As for data in memory, from w and b of each problem."""
        self._unpack([LinearFit(result, w, b) for result, (w, b) in zip(results, machines, strict=True)])

    def _warm_start_key(self) -> tuple:
        """What a point must agree with to be started from."""
        return self.loss, self._intercept_kind, self.n_features_in_

    def _store(self, w: np.ndarray, b: np.ndarray) -> None:
        """coef_ and intercept_; an intercept that is not there is the number 0.0, as in scikit-learn."""
        self.coef_ = np.array(w, dtype=np.float64, order="C")
        b = self._kernel.move_to_origin(w, b)
        self.intercept_ = 0.0 if self._intercept_kind == "none" else np.array(b, dtype=np.float64)

    def _check_finite(self) -> None:
        """Refuse a machine of numbers that are none."""
        if not (np.isfinite(self.coef_).all() and np.isfinite(self.intercept_).all()):
            raise ValueError(
                "The coefficients or intercepts are not finite. "
                "The input data may contain large values and need to be preprocessed."
            )

    # ---- prediction ---------------------------------------------------------------------------------------

    def _scores(self, X) -> np.ndarray:
        """f(x) = <w, x> + b, strip by strip on all cores; one column for each row of coef_."""
        check_is_fitted(self)
        X = check_new_design(self, X)
        coef = self.coef_.T
        if sp.issparse(coef):
            f = X @ coef
            return (f.toarray() if sp.issparse(f) else f) + self.intercept_
        samples = Sparse(X) if sp.issparse(X) else Dense(X)
        f = np.empty((samples.n, *coef.shape[1:]))

        def work(start: int, stop: int) -> None:
            f[start:stop] = samples.take(slice(start, stop)).project(coef)

        with single_threaded_blas():
            run_strips(work, samples.n, -(-samples.n // STRIPS) if sp.issparse(X) else tile_rows(samples))
        return f + self.intercept_


class LinearClassifier(LinearClassifierMixin, SparseCoefMixin, LinearMachine):
    """Binary machines for every class against the rest, or one machine of all classes; the largest score wins."""

    task = "classification"

    @property
    def _joint(self) -> bool:
        """Whether all classes are solved as one problem."""
        return self.multi_class != "ovr"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """min 1/2 |w|^2 + sum_i c_i l(<w, x_i> + b; y_i) for each class against the rest, certified.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection, Blocks} of shape (n_samples, n_features)
            Training vectors; float64 or float32 and C-ordered or CSR data are not copied. Dask arrays and data frames,
            `Blocks` and large memory-mapped arrays are read block by block, see docs/scaling.md.
        y : array-like of shape (n_samples,)
            Class labels; None only where X is an object of `Blocks`, which holds them.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C. Weight 2 equals the row twice; rows with weight zero or less are left out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _encode(self, y) -> np.ndarray:
        """Class indices 0..k-1; sets classes_."""
        check_classification_targets(y)
        self.classes_, y = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        self._check_count()
        return y

    def _check_count(self) -> None:
        """One class is none to tell from another."""
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[0]}"
            )

    def _tasks(self, y: np.ndarray, weight: np.ndarray | None) -> list[Task]:
        """One task in all for two classes, the second being +1, or for classes solved as one; else one a class."""
        c, class_weight = self._cost(weight, len(y)), weigh_classes(self.class_weight, self.classes_, y, weight)
        weighed = c if (class_weight == 1).all() else c * class_weight[y]
        if self._joint:
            index = np.flatnonzero(weighed > 0)
            tasks = [Task(index, y[index].astype(float), weighed[index])]
        elif len(self.classes_) == 2:
            tasks = split_one_vs_rest(y, weighed, 2)[1:]
        else:
            tasks = self._split(y, c, class_weight)
        self._check_classes(y, weighed)
        return tasks

    def _target_of_blocks(self) -> str:
        return "label"

    def _pose_blocks(self, blocks: Blocks, survey: Survey) -> list[BlockProblem]:
        """The same problems over blocks: one in all, or one for each class."""
        self.classes_ = survey.labels
        self._check_count()
        class_weight = weigh_classes(self.class_weight, self.classes_, np.arange(len(self.classes_)), survey.totals)
        self._check_totals(survey.totals * class_weight)
        k = len(self.classes_)
        if self._joint:
            targets = [Targets(bound_cost(self.C), self.classes_, None, class_weight)]
            return [pose_blocks(self, blocks, survey, each, self._joint_loss(), k) for each in targets]
        weights = [class_weight if k == 2 else self._weigh_one(class_weight, each) for each in range(k)]
        targets = [Targets(bound_cost(self.C), self.classes_, each, weights[each]) for each in range(k)]
        return [pose_blocks(self, blocks, survey, each, self._loss(), None) for each in targets[1 if k == 2 else 0 :]]

    def _weigh_one(self, class_weight: np.ndarray, positive: int) -> np.ndarray:
        """The weights of all classes where one stands against the rest."""
        return class_weight

    def _split(self, y: np.ndarray, c: np.ndarray, class_weight: np.ndarray) -> list[Task]:
        """One task for each class against the rest, every sample weighed by its own class."""
        return split_one_vs_rest(y, c * class_weight[y], len(class_weight))

    def _check_classes(self, y: np.ndarray, c: np.ndarray) -> None:
        """Every class has a sample that counts."""
        self._check_totals(np.bincount(y, weights=c, minlength=len(self.classes_)))

    def _check_totals(self, totals: np.ndarray) -> None:
        if not totals.all():
            label = self.classes_[totals == 0][0]
            raise ValueError(f"Invalid input - class {label} has no sample of positive weight.")

    def _pose(self, features: Design, task: Task) -> Problem:
        """As for two classes, or one problem of all classes with an intercept for each."""
        if not self._joint:
            return super()._pose(features, task)
        from ..model.features import ClassDesign

        k = len(self.classes_)
        balance = np.zeros(k) if self._intercept_kind == "free" else None
        return Problem(ClassDesign(features, k), task.y, task.c, self._joint_loss(), balance)

    def _features(self, X, kernel: Linear) -> Design:
        """X as the kernel sees it, with the norm of the penalty."""
        if self._joint or getattr(self, "penalty", "l2") == "l2":
            return super()._features(X, kernel)
        from ..model.features import AbsoluteDesign

        return AbsoluteDesign(kernel.samples(X), self._scaling)

    def _joint_loss(self):
        """The loss of all classes at once."""
        from ..model.losses import MulticlassHinge

        return MulticlassHinge()

    def _warm_start_key(self) -> tuple:
        joint = (self.multi_class, len(self.classes_)) if self._joint else "ovr"
        return *super()._warm_start_key(), joint, getattr(self, "penalty", "l2")

    def _unpack(self, fits: list[LinearFit]) -> None:
        """coef_ of shape (1, d) for two classes, else (k, d)."""
        if not self._joint:
            self._store(np.stack([fit.w for fit in fits]), np.stack([fit.b for fit in fits]))
            return
        w, b = fits[0].w, fits[0].b
        if len(self.classes_) == 2:
            self._store(w[1:] - w[:1], b[1:] - b[:1])
        else:  # the loss sees differences only, so that free intercepts are known up to a constant
            self._store(w, b - b.mean() if self._intercept_kind == "free" else b)

    @apply_blockwise
    def decision_function(self, X) -> np.ndarray:
        """f(x) = <w, x> + b of each machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for two classes: positive means classes_[1].
        """
        f = self._scores(X)
        return f.ravel() if f.shape[1] == 1 else f

    @apply_blockwise
    def predict(self, X) -> np.ndarray:
        """The class with f(x) largest; for two classes the second where f(x) > 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        f = self.decision_function(X)
        return self.classes_.take((f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1))


class LinearRegressor(RegressorMixin, LinearMachine):
    """Real targets: one problem over all samples of positive weight."""

    task = "regression"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """min 1/2 |w|^2 + sum_i c_i l(<w, x_i> + b; y_i), certified.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection, Blocks} of shape (n_samples, n_features)
            Training vectors; float64 or float32 and C-ordered or CSR data are not copied. Dask arrays and data frames,
            `Blocks` and large memory-mapped arrays are read block by block, see docs/scaling.md.
        y : array-like of shape (n_samples,)
            Targets; counts, or other numbers not below zero, for loss="poisson". None only where X is an object of
            `Blocks`, which holds them.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C. Weight 2 equals the row twice; rows with weight zero or less are left out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _encode(self, y) -> np.ndarray:
        y = column_or_1d(y, warn=True).astype(np.float64, copy=False)
        check_size(y, "y")
        return y

    def _tasks(self, y: np.ndarray, weight: np.ndarray | None) -> list[Task]:
        c = self._cost(weight, len(y))
        index = np.flatnonzero(c > 0)
        return [Task(index, y[index], c[index])]

    def _target_of_blocks(self) -> str:
        return self._loss().target

    def _pose_blocks(self, blocks: Blocks, survey: Survey) -> list[BlockProblem]:
        """The same problem over blocks."""
        return [pose_blocks(self, blocks, survey, Targets(bound_cost(self.C)), self._loss(), None)]

    def _unpack(self, fits: list[LinearFit]) -> None:
        """coef_ of shape (d,), intercept_ of shape (1,)."""
        self._store(fits[0].w, np.atleast_1d(fits[0].b))

    @apply_blockwise
    def predict(self, X) -> np.ndarray:
        """f(x) = <w, x> + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(X)
