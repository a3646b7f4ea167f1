"""Sequences of labels: unary, transition, start and end weights, and a loss that counts wrong labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..contracts.structures import StructuredModel
from ..model.sparse_format import check_sparse
from .chain_examples import ChainExamples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MAX_CHAIN_LABELS = 32767  # a labelling is kept in two bytes per label


class ChainModel(StructuredModel):
    """<w, psi(x, z)> = sum_t <u[z_t], x_t> + sum_t v[z_t-1, z_t] + start[z_0] + end[z_last]; Delta counts wrong labels.

    X is a list of arrays or sparse matrices of shape (length_i, n_features), y a list of as many labels each. Labels
    may be any values that can be sorted.

    Parameters
    ----------
    label_costs : array-like of shape (k, k), default=None
        label_costs[r, s] is what label s costs where label r is right, in the order of the sorted labels. None: every
        wrong label costs 1 (Hamming loss).

    Attributes
    ----------
    labels_ : ndarray of shape (k,)
        The labels, sorted; known after `prepare`.

    See Also
    --------
    StructuredSVM : The machine that takes it.
    MulticlassModel : One label instead of a sequence.
    StructuredModel : A model of your own.

    References
    ----------
    - Taskar, Guestrin and Koller (2003). Max-margin Markov networks. NIPS.
    - Tsochantaridis, Joachims, Hofmann and Altun (2005). Large margin methods for structured and interdependent
      output variables. Journal of Machine Learning Research 6, 1453-1484.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ChainModel, StructuredSVM
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])]
    >>> y = [["noun", "verb", "verb"], ["verb", "noun"]]
    >>> model = StructuredSVM(ChainModel(), C=10).fit(X, y)
    >>> [labels.tolist() for labels in model.predict(X)]
    [['noun', 'verb', 'verb'], ['verb', 'noun']]
    """

    edges = True
    n_features_: int
    labels_: np.ndarray
    costs_: np.ndarray

    def __init__(self, label_costs: ArrayLike | None = None) -> None:
        self.label_costs = label_costs

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.label_costs is None else 'label_costs=...'})"

    # ---- the training data ----------------------------------------------------------------------------------

    def prepare(self, X: Any, y: Any) -> int:
        """d k + k^2 + 2 k weights: the labels are those of y."""
        sequences = [check_labels(labels, i) for i, labels in enumerate(y)]
        rows, starts = self.stack(X)
        self.n_features_ = rows.shape[1]
        for i, labels in enumerate(sequences):
            if len(labels) != starts[i + 1] - starts[i]:
                raise ValueError(
                    f"X[{i}] has {starts[i + 1] - starts[i]} rows and y[{i}] has {len(labels)} labels; there must be "
                    "one label for each row."
                )
        return self.set_labels(np.concatenate(sequences))

    def set_labels(self, labels: np.ndarray) -> int:
        """Sort the labels, check their costs, count the weights."""
        self.labels_ = np.unique(labels)
        k, d = len(self.labels_), self.n_features_
        if not 1 < k <= MAX_CHAIN_LABELS:
            count = "labels of one class only" if k == 1 else f"{k} different labels"
            raise ValueError(f"y has {count}; there must be 2 to {MAX_CHAIN_LABELS}.")
        self.costs_ = check_costs(self.label_costs, k)
        return d * k + (k * k + 2 * k if self.edges else 0)

    def gather(self, X: Any, y: Any = None, n_jobs: int | None = None) -> ChainExamples:
        """All sequences in one matrix."""
        rows, starts = self.stack(X, self.n_features_)
        encoded = None if y is None else np.concatenate([self.encode(labels, i) for i, labels in enumerate(y)])
        return ChainExamples(rows, starts, encoded, self.costs_, self.edges)

    def stack(self, X: Any, n_features: int | None = None) -> tuple[sp.csr_array, np.ndarray]:
        """The rows of all sequences, and where each of them starts."""
        if sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype != object and X.ndim != 3):
            raise ValueError(
                f"X must be a list of sequences, each an array of shape (length, n_features), got one array of shape "
                f"{X.shape}."
            )
        sequences = [check_sequence(x, i) for i, x in enumerate(X)]
        d = sequences[0].shape[1] if n_features is None else n_features
        for i, x in enumerate(sequences):
            if x.shape[1] != d:
                other = "the model was fitted on" if n_features is not None else "X[0] has"
                raise ValueError(f"X[{i}] has {x.shape[1]} features, and {other} {d}.")
        starts = np.append(0, np.cumsum([x.shape[0] for x in sequences]))
        if any(sp.issparse(x) for x in sequences):
            return sp.csr_array(sp.vstack([sp.csr_array(x) for x in sequences], format="csr")), starts
        return sp.csr_array(np.concatenate(sequences)), starts

    def encode(self, labels: Any, i: int) -> np.ndarray:
        """Labels as numbers."""
        labels = check_labels(labels, i)
        found = np.minimum(np.searchsorted(self.labels_, labels), len(self.labels_) - 1)
        unknown = self.labels_[found] != labels
        if unknown.any():
            raise ValueError(f"y[{i}] holds {labels[unknown][0]!r}, which is not among the labels of the fit.")
        return found

    # ---- one sequence ---------------------------------------------------------------------------------------

    def joint_feature(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """psi(x, y) as indices and values."""
        rows, z, k = sp.csr_array(check_sequence(x, 0)), self.encode(y, 0), len(self.labels_)
        base = self.n_features_ * k
        tokens = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        indices = [rows.indices.astype(np.int64) * k + z[tokens]]
        if self.edges:
            indices += [base + z[:-1] * k + z[1:], [base + k * k + z[0]], [base + k * k + k + z[-1]]]
        return np.concatenate(indices), np.append(rows.data, np.ones(sum(map(len, indices)) - rows.nnz))

    def loss(self, y: Any, z: Any) -> float:
        """The costs of the wrong labels."""
        right, answer = self.encode(y, 0), self.encode(z, 0)
        if len(right) != len(answer):
            raise ValueError(f"y has {len(right)} labels and z has {len(answer)}.")
        return float(self.costs_[right, answer].sum())

    def argmax(self, x: Any, w: np.ndarray, y: Any = None) -> np.ndarray:
        """argmax_z <w, psi(x, z)> (+ Delta(y, z)), by Viterbi's algorithm."""
        examples = self.gather([x], None if y is None else [y])
        joint_labelling = examples.blank()
        examples.decode(np.ascontiguousarray(w, float), 0, 1, y is not None, joint_labelling, np.empty(1))
        return self.labels_[joint_labelling]

    def parts(self, y: Any) -> float:
        """Labels."""
        return float(len(y))

    def split(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The weights of labels and features (k, d), of transitions (k, k), of the start (k,) and of the end (k,)."""
        k, base = len(self.labels_), self.n_features_ * len(self.labels_)
        tail = base + k * k
        unary = np.asarray(w[:base]).reshape(self.n_features_, k).T
        return unary, w[base:tail].reshape(k, k), w[tail : tail + k], w[tail + k :]

    def read(self, joint_labelling: np.ndarray, X: Any) -> list[np.ndarray]:
        """A joint labelling as labels, one array for each sequence."""
        lengths = [np.shape(x)[0] for x in X]
        return np.split(self.labels_[joint_labelling], np.cumsum(lengths)[:-1])


def check_sequence(x: Any, i: int) -> Any:
    """A finite matrix of at least one row."""
    check_sparse(x, f"X[{i}]")
    if not sp.issparse(x):
        try:
            x = np.asarray(x, float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X[{i}] must be an array of numbers: {error}.") from None
    elif x.dtype.kind not in "fiub":
        raise ValueError(f"X[{i}] must hold numbers, got {x.dtype}.")
    if x.ndim != 2 or x.shape[0] == 0 or x.shape[1] == 0:
        raise ValueError(f"X[{i}] must have the shape (length, n_features), both at least 1, got {x.shape}.")
    values = x.data if sp.issparse(x) else x
    if not np.isfinite(values).all():
        raise ValueError(f"X[{i}] must be finite, and holds NaN or infinity.")
    return x


def check_labels(labels: Any, i: int) -> np.ndarray:
    """An array of labels, one for each row."""
    try:
        labels = np.asarray(labels)
    except ValueError as error:
        raise ValueError(f"y[{i}] must be an array of labels: {error}.") from None
    if labels.ndim != 1:
        raise ValueError(f"y[{i}] must be an array of labels, one for each row of X[{i}], got shape {labels.shape}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"y[{i}] must be finite, and holds NaN or infinity.")
    return labels


def check_costs(costs: ArrayLike | None, k: int) -> np.ndarray:
    """The costs of labels, 0 on the diagonal."""
    if costs is None:
        return 1.0 - np.eye(k)
    costs = np.asarray(costs, float)
    if costs.shape != (k, k):
        raise ValueError(f"label_costs must have the shape ({k}, {k}), one row for each label, got {costs.shape}.")
    if not np.isfinite(costs).all() or costs.min() < 0:
        raise ValueError("label_costs must be finite and not negative.")
    if np.diag(costs).any():
        raise ValueError("label_costs must be 0 on the diagonal: the right label costs nothing.")
    return costs
