"""What the linear regressors share: real targets to one problem, its w and b, and predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..blocks.problem import BlockProblem, Targets
from ..runtime.scikit_learn import RegressorMixin, fit_context
from .block_data import apply_blockwise
from .linear_machine import LinearMachine
from .linear_problems import LinearFit
from .plain_arrays import take_targets
from .tasks import Task
from .training_set import BlockRows, Rows
from .validation import bound_cost, check_size

if TYPE_CHECKING:
    from ..contracts.estimators import EstimatorTask
    from ..contracts.inputs import MatrixLike, VectorLike


class LinearRegressor(RegressorMixin, LinearMachine):
    """Real targets: one problem over all samples of positive weight."""

    task: ClassVar[EstimatorTask] = "regression"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: Any = None, sample_weight: VectorLike | None = None) -> Self:
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

    def _encode(self, y: Any) -> np.ndarray:
        y = take_targets(y)
        check_size(y, "y")
        return y

    def _tasks(self, data: Rows) -> list[Task]:
        """All rows of positive weight."""
        y, c = data.y, self._cost(data.weight, len(data.y))
        if data.weight is None:
            return [Task(np.arange(len(y)), y.copy(), c)]  # compiled loops want plain arrays
        index = np.flatnonzero(c > 0)
        return [Task(index, y[index], c[index])]

    def _target_of_blocks(self) -> str:
        return self._loss().target

    def _pose_blocks(self, data: BlockRows) -> list[BlockProblem]:
        """The same problem over blocks."""
        return [self._pose_block_problem(data, Targets(bound_cost(self.C)), self._loss())]

    def _unpack(self, fits: list[LinearFit]) -> None:
        """coef_ of shape (d,), intercept_ of shape (1,)."""
        self._store(fits[0].w, np.atleast_1d(fits[0].b))

    @apply_blockwise
    def predict(self, X: MatrixLike) -> np.ndarray:
        """f(x) = <w, x> + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(X)
