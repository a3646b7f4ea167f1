"""Classes as the smallest structure: one label, and features that are those of its class."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..model.sparse_format import check_sparse
from .chain import ChainModel, check_labels
from .chain_examples import ChainExamples


class MulticlassModel(ChainModel):
    """<w, psi(x, z)> = <u[z], x>; Delta is 0/1, or a table of costs: the machine of Crammer and Singer.

    X is a matrix, dense or sparse, and y holds one label for each of its rows.

    Parameters
    ----------
    label_costs : array-like of shape (k, k), default=None
        label_costs[r, s] is what class s costs where class r is right, in the order of the sorted classes. None: every
        wrong class costs 1.

    Attributes
    ----------
    labels_ : ndarray of shape (k,)
        The classes, sorted; known after `prepare`.

    See Also
    --------
    StructuredSVM : The machine that takes it.
    LinearSVC : The same problem as ``multi_class="crammer_singer"``, without costs.
    ChainModel : A sequence instead of one label.

    References
    ----------
    - Crammer and Singer (2001). On the algorithmic implementation of multiclass kernel-based vector machines.
      Journal of Machine Learning Research 2, 265-292.
    - Tsochantaridis, Joachims, Hofmann and Altun (2005). Large margin methods for structured and interdependent
      output variables. Journal of Machine Learning Research 6, 1453-1484.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassModel, StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StructuredSVM(MulticlassModel(), C=0.1).fit(X, y)
    >>> len(model.predict(X)), bool(model.certificate_.relative_gap <= model.tol)
    (150, True)
    """

    edges = False

    def prepare(self, X: Any, y: Any) -> int:
        """d k weights: the classes are those of y."""
        rows, _ = self.stack(X)
        self.n_features_ = rows.shape[1]
        return self.set_labels(check_labels(y, 0))

    def gather(self, X: Any, y: Any = None, n_jobs: int | None = None) -> ChainExamples:
        """Every row is a sequence of one label."""
        rows, starts = self.stack(X, self.n_features_)
        return ChainExamples(rows, starts, None if y is None else self.encode(y, 0), self.costs_, self.edges)

    def stack(self, X: Any, n_features: int | None = None) -> tuple[sp.csr_array, np.ndarray]:
        """The matrix itself."""
        from sklearn.utils import check_array

        check_sparse(X)
        rows = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
        if n_features is not None and rows.shape[1] != n_features:
            name = type(self).__name__
            raise ValueError(f"X has {rows.shape[1]} features, but {name} is expecting {n_features} features as input.")
        return sp.csr_array(rows), np.arange(rows.shape[0] + 1)

    def joint_feature(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """psi(x, y): the features of x in the place of class y."""
        return super().joint_feature(as_row(x), [y])

    def loss(self, y: Any, z: Any) -> float:
        """The cost of class z where y is right."""
        return super().loss([y], [z])

    def argmax(self, x: Any, w: np.ndarray, y: Any = None) -> Any:
        """argmax_z <u[z], x> (+ Delta(y, z))."""
        examples = self.gather(as_row(x), None if y is None else [y])
        joint_labelling = examples.blank()
        examples.decode(np.ascontiguousarray(w, float), 0, 1, y is not None, joint_labelling, np.empty(1))
        return self.labels_[joint_labelling][0]

    def parts(self, y: Any) -> float:
        """One."""
        return 1.0

    def split(self, w: np.ndarray) -> np.ndarray:  # type: ignore[override]
        """The weights of classes and features (k, d)."""
        return np.asarray(w).reshape(self.n_features_, len(self.labels_)).T

    def read(self, joint_labelling: np.ndarray, X: Any) -> np.ndarray:  # type: ignore[override]
        """A joint labelling as classes."""
        return self.labels_[joint_labelling]


def as_row(x: Any) -> Any:
    """One sample as a matrix of one row."""
    return x if sp.issparse(x) else np.reshape(x, (1, -1))
