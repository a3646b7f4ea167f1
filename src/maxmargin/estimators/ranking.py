"""RankSVM: scores that put the samples of each query into the order of their relevance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..model.features import Design
from ..model.losses import PairwiseLoss, measure_concordance
from ..model.problem import Problem
from ..runtime.scikit_learn import check_consistent_length, column_or_1d, fit_context
from .linear_regressor import LinearRegressor
from .tasks import Task
from .training_set import Rows
from .validation import C_CONSTRAINT, SOLVE_CONSTRAINTS

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike, SolverLike, VectorLike


class RankSVM(LinearRegressor):
    """min 1/2 |w|^2 + C sum_g n_g / |pairs_g| sum over pairs with y_p > y_q of max(0, 1 - <w, x_p - x_q>), certified.

    The pairs are those of each query g of n_g samples (Joachims 2002, Optimizing search engines using clickthrough
    data). They are counted, not listed: a step takes O(n log n), whatever the number of pairs and of levels of y.
    There is no intercept, since it cancels in differences.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against 1/2 |w|^2. With one query of two levels it is that of
        `MetricSVC(metric="roc_auc")`.
    tol : float, default=1e-3
        The certified relative duality gap to reach, (P - D) / max(|P|, |D|).
    solver : "auto", a name or a solver object, default="auto"
    max_iter : int, default=-1
        Limit of iterations of the solver; -1 for none.
    max_seconds : float, default=None
        Time for the whole fit; the best point so far is kept.
    warm_start : bool, default=False
        Start from the last fit, if it was on the same samples.
    verbose : int, default=0
        1 shows a live line while it fits, in a terminal or a notebook, and at the end status and certificate; elsewhere
        only those are printed. More is the same as 1.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : 0.0
    certificate_, certificates_, result_, results_
        As in `SVR`; ``result_.point.a`` are the duals.
    n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    MetricSVC : One query, with ``metric="roc_auc"``.

    References
    ----------
    - Joachims (2002). Optimizing search engines using clickthrough data. KDD, 133-142.
    - Joachims (2006). Training linear SVMs in linear time. KDD, 217-226.

    Examples
    --------
    >>> from maxmargin import RankSVM
    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 1, 2, 3]
    >>> model = RankSVM(C=10).fit(X, y)
    >>> model.predict(X).argsort().tolist(), model.certificate_.relative_gap <= model.tol
    ([0, 1, 2, 3], True)
    """

    task = "ranking"
    takes_queries = True
    takes_blocks = False  # a loss is of a pair of samples
    _parameter_constraints: ClassVar[dict[str, Any]] = {**SOLVE_CONSTRAINTS, "C": C_CONSTRAINT}
    _intercept_kind, _constant_column = "none", 0.0
    _translates = True  # differences of scores do not see it

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        solver: SolverLike = "auto",
        max_iter: int = -1,
        max_seconds: float | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(  # type: ignore[override]
        self, X: MatrixLike, y: VectorLike, group: VectorLike | None = None, sample_weight: VectorLike | None = None
    ) -> Self:
        """min 1/2 |w|^2 + C R(X w) over the pairs of every query, certified.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training vectors; float64 or float32 and C-ordered or CSR data are not copied.
        y : array-like of shape (n_samples,)
            Relevance: any numbers, of which only the order within a query counts.
        group : array-like of shape (n_samples,), default=None
            The query of each sample, a number or a name; samples of one query need not be neighbours. None is one
            query for all.
        sample_weight : array-like of shape (n_samples,), default=None
            A pair counts s_p s_q, and a query the sum of its weights in place of n_g. So weight 2 equals the row
            twice, and a weight that is the same for a whole query multiplies its C.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, group)

    def _check_rows(self, X: Any, y: Any, sample_weight: Any, group: Any = None) -> Rows:
        """Sound data in memory, and the query of each row."""
        rows = super()._check_rows(X, y, sample_weight)
        return replace(rows, group=check_group(group, len(rows.y)))

    def _tasks(self, data: Rows) -> list[Task]:
        (task,) = super()._tasks(data)
        return [task._replace(group=None if data.group is None else data.group[task.index])]

    def _pose_task(self, features: Design, task: Task) -> Problem:
        """The pairs of the samples that count."""
        return Problem(features, task.y, task.c, PairwiseLoss(task.group), None)

    def _warm_start_key(self) -> tuple[Any, ...]:
        return "pairwise", self.n_features_in_

    def predict(self, X: MatrixLike) -> np.ndarray:
        """f(x) = <w, x>: the higher, the more relevant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(X)

    def score(self, X: MatrixLike, y: VectorLike, group: VectorLike | None = None) -> float:
        """The share of pairs that are in their order, ties counting half: the mean over queries that have pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Relevance.
        group : array-like of shape (n_samples,), default=None
            The query of each sample; None is one query for all.

        Returns
        -------
        float
            1 if every query is in order, about 1/2 for scores that know nothing.
        """
        f, targets = self.predict(X), column_or_1d(y, warn=True)
        check_consistent_length(f, targets)
        n = len(targets)
        concordance = measure_concordance(f, targets, check_group(group, n))
        if np.isnan(concordance):
            raise ValueError(f"y has no two different values in one query, so no order to score in {n} samples.")
        return concordance


def check_group(group: Any, n: int) -> np.ndarray | None:
    """Queries numbered from 0, one for each sample; None for one query."""
    if group is None:
        return None
    try:
        names = np.asarray(group)
    except ValueError as error:
        raise ValueError(f"group must be an array of numbers or names: {error}.") from error
    if names.ndim != 1 or len(names) != n:
        raise ValueError(f"group must name the query of each of {n} samples, got an array of shape {names.shape}.")
    if names.dtype.kind == "f" and not np.isfinite(names).all():
        bad = int(np.flatnonzero(~np.isfinite(names))[0])
        raise ValueError(f"group must be finite, but group[{bad}] is {names[bad]}.")
    try:
        return np.unique(names, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(f"group must hold numbers only or names only: {error}.") from error
