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
    DocumentedEstimator,
    HasMethods,
    Interval,
    TransformerMixin,
    available_if,
    check_is_fitted,
    clone,
    fit_context,
    fit_within,
    read_feature_names,
    select_rows,
    set_output_of,
)

if TYPE_CHECKING:
    from ..contracts.inputs import MatrixLike


class BlockwiseTransformer(  # type: ignore[call-arg]
    CallbackSupportMixin, TransformerMixin, DocumentedEstimator, BaseEstimator, auto_wrap_output_keys=None
):
    """phi(x) by a transformer that is fitted on a sample of rows, and maps all of them block by block, lazily.

    In front of a linear machine, `Nystroem` or `RBFSampler` make a kernel machine for data of any size:
    `make_pipeline(BlockwiseTransformer(Nystroem(n_components=300)), LinearSVC())`. The certificate of the machine is
    for the mapped problem; it says nothing about how well phi approximates the kernel.

    A transformer that learns from all rows, such as `StandardScaler`, learns from the sample only, so its means and
    scales are approximations. On data in memory of no more than `n_rows` rows it is fitted on all of them.

    Parameters
    ----------
    transformer : transformer of scikit-learn
        Cloned and fitted on the sample. Its output is dense or CSR.
    n_rows : int, default=10_000
        Rows of the sample, taken from all blocks in proportion to their rows and sent to this process.
    random_state : int, default=0
        Which rows are drawn depends on it and on the blocks, not on the number of workers.

    Attributes
    ----------
    transformer_ : the fitted transformer
    n_rows_ : int
        Rows it was fitted on.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        The names of the columns, where X was a data frame in memory.

    See Also
    --------
    LinearSVC : A machine to put behind it.
    open_blocks : Data larger than memory.

    References
    ----------
    - Williams and Seeger (2001). Using the Nyström method to speed up kernel machines. NIPS, 682-688.
    - Rahimi and Recht (2007). Random features for large-scale kernel machines. NIPS, 1177-1184.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.kernel_approximation import Nystroem
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import BlockwiseTransformer, LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> mapped = BlockwiseTransformer(Nystroem(gamma=0.01, n_components=50, random_state=0))
    >>> model = make_pipeline(mapped, LinearSVC()).fit(scale(X), y)
    >>> model[-1].coef_.shape
    (1, 50)
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

    def __sklearn_tags__(self) -> Any:
        """What the transformer takes: sparse rows, and numbers that are missing."""
        from sklearn.utils import get_tags

        tags, own = super().__sklearn_tags__(), get_tags(self.transformer)
        tags.input_tags.sparse, tags.input_tags.allow_nan = own.input_tags.sparse, own.input_tags.allow_nan
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: Any = None) -> Self:
        """Fit the transformer on a sample of rows.

        Parameters
        ----------
        X : dask array or DataFrame, Blocks, ndarray or CSR matrix of shape (n, d)
        y : of the same kind, optional
            Handed to the transformer with the sampled rows.
        """
        self.__dict__.pop("feature_names_in_", None)
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
        if (names := read_feature_names(X)) is not None:
            self.feature_names_in_ = names
        else:
            X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        y = None if y is None else np.asarray(y)
        if len(X.shape) != 2:
            raise ValueError(f"X must have two dimensions, got an array of shape {X.shape}.")
        if X.shape[0] <= self.n_rows:
            return X, y
        rng = np.random.default_rng([self.random_state, 0])
        index = np.sort(rng.choice(X.shape[0], self.n_rows, replace=False))
        return select_rows(X, index), None if y is None else y[index]

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

    def set_output(self, *, transform: str | None = None) -> Self:
        """What the transformer returns for rows in memory: "default", "pandas" or "polars"."""
        for each in (self.transformer, vars(self).get("transformer_")):
            if each is not None:
                set_output_of(each, transform=transform)
        return self

    @available_if(lambda self: hasattr(self.transformer, "get_feature_names_out"))
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the mapped features, by the transformer.

        Parameters
        ----------
        input_features : array-like of str, optional

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return self.transformer_.get_feature_names_out(input_features)


class RowTransform:
    """transform as a function of rows, fit to travel."""

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def __call__(self, X: Any) -> Any:
        """The mapped rows."""
        return map_rows(X, self.transformer)
