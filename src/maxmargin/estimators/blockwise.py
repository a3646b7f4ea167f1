"""BlockwiseTransformer: any transformer of scikit-learn on data that come in blocks."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from ..blocks import Blocks
from ..blocks.dask import DaskBlocks, is_collection, predict_blocks
from ..blocks.mapped_blocks import MappedBlocks, map_rows, sample_rows
from ..model.sparse_format import check_sparse
from ..runtime.scikit_learn import (
    BaseEstimator,
    CallbackSupportMixin,
    HasMethods,
    Interval,
    TransformerMixin,
    check_is_fitted,
    clone,
    fit_context,
    fit_within,
)

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike


class BlockwiseTransformer(CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """phi(x) by a transformer that is fitted on a sample of rows, and maps all of them block by block, lazily.

    In front of a linear machine, `Nystroem` or `RBFSampler` make a kernel machine for data of any size:
    `make_pipeline(BlockwiseTransformer(Nystroem(n_components=300)), LinearSVC())`. The certificate of the machine is
    for the mapped problem; how well phi stands for the kernel is not part of it.

    A transformer that learns from all rows, such as `StandardScaler`, learns from the sample only, so its means and
    scales are approximations. On data in memory of no more than `n_rows` rows it is fitted on all of them.

    Parameters
    ----------
    transformer : transformer of scikit-learn
        Cloned and fitted on the sample. Its output is dense or CSR.
    n_rows : int, default=10_000
        Rows of the sample, drawn from all blocks in proportion to their rows; they travel to this process.
    random_state : int, default=0
        Which rows are drawn depends on it and on the blocks, not on the number of workers.

    Attributes
    ----------
    transformer_ : the fitted transformer
    n_rows_ : int
        Rows it was fitted on.
    n_features_in_ : int
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "transformer": [HasMethods(["fit", "transform"])],
        "n_rows": [Interval(Integral, 1, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, transformer: Any, n_rows: int = 10_000, random_state: int = 0) -> None:
        self.transformer = transformer
        self.n_rows = n_rows
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: Any = None) -> Self:
        """Fit the transformer on a sample of rows.

        Parameters
        ----------
        X : dask array or DataFrame, Blocks, ndarray or CSR matrix of shape (n, d)
        y : of the same kind, optional
            Handed to the transformer with the sampled rows.
        """
        X, y = self._draw(X, y)
        self.n_rows_, self.n_features_in_ = X.shape
        self.transformer_ = fit_within(self, clone(self.transformer), X, y)
        probe = map_rows(X[:1], self.transformer_)
        self._dtype, self._n_features_out = probe.dtype, probe.shape[1]
        return self

    def _draw(self, X: Any, y: Any) -> tuple[Any, ...]:
        """Sampled rows and their targets."""
        if is_collection(X):
            X, y = DaskBlocks(X, y), None
        if isinstance(X, Blocks):
            rows = sample_rows(X, self.n_rows, self.random_state)
            return rows.X, rows.y
        check_sparse(X)
        X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        y = None if y is None else np.asarray(y)
        if X.ndim != 2 or len(X.shape) != 2:
            raise ValueError(f"X must have two dimensions, got an array of shape {X.shape}.")
        if X.shape[0] <= self.n_rows:
            return X, y
        rng = np.random.default_rng([self.random_state, 0])
        index = np.sort(rng.choice(X.shape[0], self.n_rows, replace=False))
        return X[index], None if y is None else y[index]

    def transform(self, X: MatrixLike) -> Any:
        """phi(x) of each row: at once for arrays, lazily for dask collections and `Blocks`.

        Parameters
        ----------
        X : dask array or DataFrame, Blocks, ndarray or CSR matrix of shape (n, d)

        Returns
        -------
        dask array, MappedBlocks, ndarray or CSR matrix of shape (n, n_features_out)
        """
        check_is_fitted(self)
        if isinstance(X, Blocks):
            return MappedBlocks(X, self.transformer_)
        if is_collection(X):
            return predict_blocks(X, RowTransform(self.transformer_), self._dtype, self._n_features_out)
        check_sparse(X)
        return self.transformer_.transform(X)


class RowTransform:
    """transform as a function of rows, fit to travel."""

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def __call__(self, X: Any) -> Any:
        """The mapped rows."""
        return map_rows(X, self.transformer)
