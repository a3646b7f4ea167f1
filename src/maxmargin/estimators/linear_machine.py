"""What the linear machines share: from data to problems, from points to w and b, and scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..blocks.problem import BlockFormulation, BlockProblem, Targets
from ..certificates.certificate import Certificate
from ..certificates.optimum.intercepts import OwnScores, bound_scores_of_weights
from ..certificates.optimum.machines import MachineBounds, OptimumScores
from ..certificates.optimum.proof import bound_optimum, find_refusal
from ..contracts.losses import Loss
from ..model.features import Design
from ..model.formulations import Risk
from ..model.kernels import Linear
from ..model.problem import Point, Problem
from ..model.samples import Dense, Sparse, choose_product_format, tile_rows
from ..runtime.blas import single_threaded_blas
from ..runtime.scikit_learn import check_is_fitted
from ..runtime.threads import STRIPS, run_strips
from ..solvers.result import Result
from .block_data import comes_in_blocks, open_blocks_of, take_survey
from .certified import ABSENT_PARAMETERS
from .certified_scores import CertifiedScores
from .linear_bounds import bound_by_weights, bound_linear_machines, is_kept
from .linear_problems import BlockProblems, LinearFit, LinearProblems
from .small_designs import is_small_design, solve_small_designs
from .tasks import Budget, Task
from .training_set import BlockRows, Rows
from .validation import (
    LINEAR_CONSTRAINTS,
    bound_cost,
    check_design,
    check_length,
    check_loss_weights,
    check_new_design,
    check_weight,
    refuse_types,
)

CLOSE_GAP = 1e-8  # relative, to which small problems are solved at once where labels are to be certain
NO_ROWS = (
    "a free intercept needs rows of the training data, which are missing after a pickle or a fit on blocks; "
    "maxmargin.certify_predictions takes the training data"
)
# Entries of X, and products with all rows of coef_, up to which BLAS starts no threads, and no strip is worth one.
FEW_ENTRIES, FEW_PRODUCTS = 8192, 1 << 17


class LinearMachine(CertifiedScores):
    """f(x) = <w, x> + b, trained by one certified solve for each task; a subclass has coef_ and intercept_."""

    family = "linear"
    takes_blocks = True
    _parameter_constraints: ClassVar[dict[str, Any]] = LINEAR_CONSTRAINTS
    _kernel: Linear
    _posed_tasks: LinearProblems | None = None  # of the last fit, if they are small
    _is_joint = False  # whether the machines of all classes or targets are one problem

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- from data to problems ----------------------------------------------------------------------------

    def _validate(self, X: Any, y: Any, sample_weight: Any, group: Any = None) -> Rows | BlockRows:
        """Data that are sound, in memory or in blocks."""
        return self._survey(X, y, sample_weight) if comes_in_blocks(X) else self._check_rows(X, y, sample_weight, group)

    def _check_rows(self, X, y, sample_weight, group=None) -> Rows:
        """Sound data in memory: X, encoded targets, and weights that are not all one."""
        X, sound_y = check_design(self, X, y)
        sound_y = self._encode(sound_y)
        weight = check_weight(sample_weight, check_length(X, sound_y))
        self._check_arguments(X.shape)
        return Rows(X, sound_y, weight, observed=(X, y, sample_weight))

    def _survey(self, X, y, sample_weight) -> BlockRows:
        """Sound data in blocks: one pass over them. Ctrl-C ends it at once, since there is nothing to keep yet."""
        refuse_types(self, "solver")
        self._refuse_blocks()
        blocks = open_blocks_of(X, y, sample_weight)
        survey = take_survey(blocks, self._target_of_blocks())
        self.n_features_in_ = survey.d
        self.__dict__.pop("feature_names_in_", None)
        if blocks.feature_names is not None:
            self.feature_names_in_ = np.asarray(blocks.feature_names, dtype=object)
        self._check_arguments((survey.n, survey.d))
        return BlockRows(blocks, survey)

    def _refuse_blocks(self) -> None:
        """Losses of whole lists, |w|_1 and targets of several numbers are for data in memory."""
        if not self.takes_blocks:
            raise ValueError(
                f"{type(self).__name__} needs data in memory, since its loss does not split over rows; give an array."
            )
        if (penalty := self._parameter("penalty")) != "l2":
            raise ValueError(f"penalty={penalty!r} needs data in memory; data in blocks take penalty='l2'.")
        if self.is_vector_valued:
            raise ValueError(f"loss={self.loss!r} needs data in memory; choose another loss for data in blocks.")

    def _pose_problems(self, data: Rows | BlockRows) -> LinearProblems | BlockProblems:
        """The problems of a fit, on data that are sound."""
        if data.form == "blocks":
            return BlockProblems(self._pose_blocks(data), self._read, Linear())
        small = self._solves_small_data_together and is_small_design(data.X)
        X = data.X.toarray() if small and sp.issparse(data.X) else data.X
        kernel, tasks = self._make_kernel(data.X), self._tasks(data)
        for c in {id(task.c): task.c for task in tasks}.values():  # most classes share theirs
            check_loss_weights(c)
        features = Design(kernel.samples(X), self._constant_column) if small else self._features(X, kernel)
        together = small or (sp.issparse(data.X) and self._solves_small_data_together)
        return LinearProblems(data.X, kernel, features, tasks, self._pose_task, self._read, together)

    @abstractmethod
    def _encode(self, y) -> np.ndarray:
        """The targets as numbers."""

    @abstractmethod
    def _tasks(self, data: Rows) -> list[Task]:
        """The rows, targets and weights of each problem."""

    @abstractmethod
    def _pose_blocks(self, data: BlockRows) -> list[BlockProblem]:
        """The same problems over blocks."""

    @abstractmethod
    def _target_of_blocks(self) -> str:
        """What the targets must be: "label", "real" or "count"."""

    @abstractmethod
    def _unpack(self, fits: list[LinearFit]) -> None:
        """coef_ and intercept_ of w and b of each problem."""

    def _loss(self) -> Loss:
        """The loss of one score per sample."""
        raise NotImplementedError(f"{type(self).__name__} has no loss of one score per sample.")

    def _check_arguments(self, shape: tuple[int, int]) -> None:
        """Refuse parameters that contradict each other, or the shape of X."""

    def _cost(self, weight: np.ndarray | None, n: int) -> np.ndarray:
        """c = C times sample weight."""
        cost = bound_cost(self.C)
        return np.full(n, cost) if weight is None else cost * np.maximum(weight, 0.0)

    @property
    def _intercept_kind(self) -> str:
        """free, regularised or none."""
        given = vars(self)
        if not given.get("fit_intercept", ABSENT_PARAMETERS["fit_intercept"]):
            return "none"
        kind: str = given.get("intercept", ABSENT_PARAMETERS["intercept"])
        return kind

    @property
    def _constant_column(self) -> float:
        """The constant column of a regularised intercept, or 0."""
        return float(self._parameter("intercept_scaling")) if self._intercept_kind == "regularised" else 0.0

    @property
    def _translates(self) -> bool:
        """Whether x - m in place of x changes b alone, whatever m."""
        return self._intercept_kind == "free"

    def _make_kernel(self, X) -> Linear:
        """The kernel <x - m, z - m> with the mean m, where X lie far from the origin and may be moved; else <x, z>."""
        return Linear().centre(X) if self._translates else Linear()

    def _features(self, X, kernel: Linear) -> Design:
        """X as the kernel sees it, and the constant column."""
        return Design(choose_product_format(kernel.samples(X)), self._constant_column)

    def _pose_task(self, features: Design, task: Task) -> Problem:
        """1/2 |w|^2 + sum_i c_i l(f_i; y_i)."""
        return Risk(self._intercept_kind, self._constant_column, self._loss()).pose(features, task.y, task.c)

    def _pose_block_problem(
        self, data: BlockRows, targets: Targets, loss: Loss, n_classes: int | None = None
    ) -> BlockProblem:
        """P = 1/2 |w|^2 + sum_i c_i l(f_i; y_i) over all blocks."""
        survey, weight = data.survey, targets.C * data.survey.weight
        if targets.class_weight is not None:
            weight = targets.C * float(survey.totals @ targets.class_weight)
        check_loss_weights(np.array([weight / survey.n, weight]))  # the mean and the sum of c
        pose = BlockFormulation(targets, loss, self._intercept_kind == "free", self._constant_column, n_classes)
        return BlockProblem(data.blocks, pose, survey, weight)

    def _solve_ahead(
        self, problems: LinearProblems | BlockProblems, solver: Any, budget: Budget
    ) -> dict[int, LinearFit]:
        """Problems of few rows and features, all classes in one compiled call."""
        if self._parameter("certify_labels") is not None and self.tol > CLOSE_GAP:
            found = self._solve_anew(problems, CLOSE_GAP, budget)
            if found:
                return found
        return self._solve_anew(problems, self.tol, budget)

    def _solve_anew(self, problems: LinearProblems | BlockProblems, tol: float, budget: Budget) -> dict[int, LinearFit]:
        """The same: Newton's method takes few steps more to a smaller gap."""
        if not (isinstance(problems, LinearProblems) and problems.small):
            return {}
        return solve_small_designs(problems, self._loss(), self._intercept_kind == "free", tol, budget)

    @property
    def _solves_small_data_together(self) -> bool:
        """Whether nothing but the gap ends a fit, and its loss and penalty are of one score and of |w|^2."""
        plain = isinstance(self.solver, str) and self.solver == "auto" and self.max_seconds is None
        separable = self.takes_blocks and not self._is_joint and self._parameter("penalty") == "l2"
        return plain and separable and self._parameter("checkpoint") is None

    # ---- from points to fitted attributes -----------------------------------------------------------------

    def _read(self, problem: Problem, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """w and b of a point, of shapes (d,) and (), or (k, d) and (k,) for k classes solved as one."""
        coef = problem.features.combine(point.a) if point.coef is None else point.coef
        w, constant = coef[..., :-1], coef[..., -1]
        if self._intercept_kind == "free":
            return w, np.asarray(point.b, float)
        return w, self._constant_column * np.asarray(constant, float)

    def _set_fitted_attributes(self, problems: LinearProblems | BlockProblems, fits: list[LinearFit]) -> None:
        """The fitted attributes."""
        self._kernel = problems.kernel
        self._keep_results(problems.indices, [fit.result for fit in fits])
        self._unpack(fits)
        self._keep_rows(problems)
        self.n_iter_ = max(int(self._count_iterations(result.n_iter, result.converged)) for result in self.results_)

    # ---- what is proven of the optimum --------------------------------------------------------------------

    def _keep_rows(self, problems: LinearProblems | BlockProblems) -> None:
        """What bounds need of the training data: the data if they are few, or some rows for a free intercept."""
        self._posed_tasks = problems if is_kept(problems) else None
        if (
            self._posed_tasks is None
            and self._intercept_kind == "free"
            and self._bounds_by_rows
            and isinstance(problems, LinearProblems)
        ):
            self._optimum = OptimumScores(bound_linear_machines(problems, self.results_, quick=True))

    @property
    def _bounds_by_rows(self) -> bool:
        """Whether rows of the training data make for bounds on a free intercept, and for sharper ones in any case."""
        return not self._is_joint and self.takes_blocks and self._parameter("penalty") == "l2"

    def _bound_machines(self) -> list[MachineBounds]:
        """From the rows that were kept where the intercept is free, else from w and the gaps."""
        if self._bounds_by_rows and self._posed_tasks is not None:
            return bound_linear_machines(self._posed_tasks, self.results_)
        if self._bounds_by_rows and self._intercept_kind == "free":
            raise self._refuse_bounds(NO_ROWS)
        w = np.atleast_2d(self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_)
        return self._bound_weights(w, np.broadcast_to(np.ravel(self.intercept_), len(w)), self.certificates_)

    def _bound_weights(self, w: np.ndarray, b: np.ndarray, certificates: Sequence[Certificate]) -> list[MachineBounds]:
        """From w and the gaps alone, where no intercept is free."""
        if self._parameter("penalty") != "l2":
            raise self._refuse_bounds("the penalty |w|_1 is not strongly convex, so a gap does not bound distances")
        if self._intercept_kind == "free":
            raise self._refuse_bounds(
                "the loss is one of several scores at once, and no bound on a free intercept is known"
            )
        is_difference = self._is_joint and self.task == "classification" and len(w) == 1
        stretch = np.sqrt(2.0) if is_difference else 1.0  # |(w_1 - w_0) - (w*_1 - w*_0)| in place of |W - W*|
        return bound_by_weights(w, b, self._constant_column, certificates, stretch)

    def _bound_problem(self, problem: Problem, result: Result) -> list[MachineBounds]:
        """From all rows of the problem; of several scores at once, from w and the gap."""
        if not self._bounds_by_rows:
            return self._bound_weights(*self._unpack_joint(problem, result), [result.certificate])
        if reason := find_refusal(problem, result.certificate):
            raise self._refuse_bounds(reason)
        return [MachineBounds(bound_optimum(problem, result.point, result.certificate))]

    def _bound_own_scores(self, problem: Problem, result: Result) -> OwnScores | None:
        """Where no intercept is free, and the judge has evaluated the scores of w itself."""
        if not self._bounds_by_rows or problem.balance is not None or problem.y.ndim > 1:
            return None
        if reason := find_refusal(problem, result.certificate):
            raise self._refuse_bounds(reason)
        scores, w = result.certificate.scores, result.point.coef
        if scores is None or w is None:
            return None
        return bound_scores_of_weights(problem, scores, w, result.certificate.gap)

    def _unpack_joint(self, problem: Problem, result: Result) -> tuple[np.ndarray, np.ndarray]:
        """w and b of all scores; their difference where two classes are solved as one."""
        w, b = (np.atleast_1d(each) for each in self._read(problem, result.point))
        if self.task == "classification" and len(w) == 2:
            return w[1:] - w[:1], b[1:] - b[:1]
        return np.atleast_2d(w), b

    def _view_samples(self, X: Any) -> Any:
        """X as the kernel sees it; from the origin where the intercept is not free."""
        check_is_fitted(self)
        X = check_new_design(self, X)
        return (self._kernel if self._intercept_kind == "free" else Linear()).samples(X)

    def _warm_start_key(self) -> tuple[Any, ...]:
        """What a point must agree with to be started from."""
        loss = self._parameter("loss")  # objects with arrays in them cannot be compared, and files hold texts
        return repr(loss) if isinstance(loss, Loss) else loss, self._intercept_kind, self.n_features_in_

    def _store(self, w: np.ndarray, b: np.ndarray) -> None:
        """coef_ and intercept_; an intercept that is not there is the number 0.0, as in scikit-learn."""
        self.coef_ = np.array(w, dtype=np.float64, order="C")
        b = self._kernel.move_to_origin(w, b)
        self.intercept_ = 0.0 if self._intercept_kind == "none" else np.array(b, dtype=np.float64)

    def _check_finite(self) -> None:
        """Refuse a machine of numbers that are not finite."""
        if not (np.isfinite(self.coef_).all() and np.isfinite(self.intercept_).all()):
            raise ValueError(
                "The coefficients or intercepts are not finite. "
                "The input data may contain large values and need to be preprocessed."
            )

    # ---- prediction ---------------------------------------------------------------------------------------

    def _scores(self, X) -> np.ndarray:
        """f(x) = <w, x> + b, strip by strip on all cores; one column for each row of coef_."""
        if "coef_" not in vars(self):
            check_is_fitted(self)
        X = check_new_design(self, X)
        coef = self.coef_.T
        if sp.issparse(coef):
            f = X @ coef
            return (f.toarray() if sp.issparse(f) else f) + self.intercept_
        if isinstance(X, np.ndarray) and X.size <= FEW_ENTRIES and X.size * coef.size <= FEW_PRODUCTS * len(coef):
            return np.dot(X, coef) + self.intercept_
        samples = Sparse(X) if sp.issparse(X) else Dense(X)
        f = np.empty((samples.n, *coef.shape[1:]))

        def work(start: int, stop: int) -> None:
            f[start:stop] = samples.take(slice(start, stop)).project(coef)

        with single_threaded_blas():
            run_strips(work, samples.n, -(-samples.n // STRIPS) if sp.issparse(X) else tile_rows(samples))
        return f + self.intercept_
